"""Laws of every score: order and units of latents, idle latents, noise, odd sizes."""

import warnings
from collections.abc import Iterable
from functools import cache, partial
from inspect import signature
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from dislab import metrics
from dislab.codes.bank import ConstantFactorWarning
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import (
    DCI,
    DCIES,
    DCIMIG,
    DMIG,
    IRS,
    JEMMIG,
    MCC,
    MIG,
    OMES,
    RDC,
    SAP,
    BetaVAEScore,
    BlockMCC,
    DownstreamAccuracy,
    Explicitness,
    FactorVAEScore,
    GaussianTotalCorrelation,
    InfoMEC,
    MeanPairwiseMI,
    MIGSup,
    Modularity,
    WassersteinCorrelation,
)
from dislab.plugins import available

SIZES = (3, 4, 5)
SPACE = FactorSpace(
    tuple(
        Factor(name, tuple(map(float, range(size))))
        for name, size in zip("abc", SIZES, strict=True)
    )
)


class Case(NamedTuple):
    """A score, what it makes of noise and of perfect codes at most and at least, and its laws."""

    build: Any
    noise: tuple[float, float]
    perfect: tuple[float, float]
    scale_free: bool = True
    slack: float = 1e-9


CHANCE = (1 / 3 + 1 / 4 + 1 / 5) / 3
CASES = {
    "beta_vae_score": Case(
        partial(BetaVAEScore, points_train=600, points_test=300), (0.2, 0.5), (0.99, 1.0)
    ),
    "block_mcc_kernel": Case(
        partial(BlockMCC, regression="kernel", most=400), (0, 0.1), (0.99, 1.0), slack=1e-6
    ),
    "block_mcc_linear": Case(BlockMCC, (0, 0.1), (0.999, 1.0)),
    "dcies_rf_disentanglement": Case(
        partial(DCIES, capacities=(1, 4)), (0, 0.1), (0.85, 1.0), slack=0.05
    ),
    "dcies_rff_informativeness": Case(
        partial(DCIES, probe="rff", capacities=(16, 64)), (0, 0.05), (0.9, 1.0), slack=0.05
    ),
    "dci_gbt_disentanglement": Case(partial(DCI, learner="gbt"), (0, 0.1), (0.95, 1.0), slack=0.05),
    "dci_hgbt_disentanglement": Case(DCI, (0, 0.1), (0.95, 1.0), slack=0.05),
    "dci_rf_disentanglement": Case(partial(DCI, learner="rf"), (0, 0.1), (0.85, 1.0), slack=0.05),
    "dci_lasso_informativeness": Case(
        partial(DCI, learner="lasso"), (CHANCE - 0.1, CHANCE + 0.1), (0.99, 1.0)
    ),
    "dci_lassocv_informativeness": Case(
        partial(DCI, learner="lassocv"),
        (CHANCE - 0.1, CHANCE + 0.1),
        (0.99, 1.0),
        scale_free=False,
        slack=1e-3,
    ),
    "dcimig": Case(DCIMIG, (0, 0.03), (0.95, 1.0)),
    "dmig": Case(DMIG, (0, 0.02), (0.95, 1.0)),
    "downstream_logistic_400": Case(
        partial(DownstreamAccuracy, labels=(10, 400), tested=400),
        (CHANCE - 0.1, CHANCE + 0.1),
        (0.95, 1.0),
        slack=0.02,
    ),
    "explicitness_normalized": Case(Explicitness, (0, 0.1), (0.6, 1.0), slack=1e-6),
    "explicitness_multinomial_normalized": Case(
        partial(Explicitness, classifier="multinomial"), (0, 0.1), (0.95, 1.0), slack=1e-3
    ),
    "factor_vae_score": Case(
        partial(FactorVAEScore, votes_train=600, votes_test=300),
        (0.2, 0.5),
        (1.0, 1.0),
        scale_free=False,
    ),
    "gaussian_total_correlation": Case(GaussianTotalCorrelation, (0, 0.02), (0, 0.02)),
    "gaussian_wasserstein_correlation": Case(
        WassersteinCorrelation, (0, 0.05), (0, 0.05), scale_free=False
    ),
    "infom_bins": Case(
        partial(InfoMEC, estimator="bins"), (0, 0.35), (0.95, 1.0), scale_free=False
    ),
    "infom_knn": Case(InfoMEC, (0, 0.6), (0.95, 1.0), scale_free=False, slack=1e-3),
    "irs": Case(IRS, (0, 0.35), (0.999, 1.0), scale_free=False),
    "jemmig": Case(JEMMIG, (0, 0.3), (0.97, 1.0)),
    "mcc_pearson": Case(MCC, (0, 0.08), (0.999, 1.0)),
    "mcc_linear_pearson": Case(partial(MCC, alignment="linear"), (0, 0.15), (0.999, 1.0)),
    "mcc_spearman": Case(partial(MCC, correlation="spearman"), (0, 0.08), (0.999, 1.0)),
    "mcc_pairs_pearson": Case(partial(MCC, average="pairs"), (0, 0.08), (0.999, 1.0)),
    "mean_pairwise_mi": Case(MeanPairwiseMI, (0, 0.15), (0, 0.05)),
    "mig": Case(MIG, (0, 0.02), (0.95, 1.0)),
    "mig_sup_active": Case(MIGSup, (0, 0.02), (0.95, 1.0)),
    "modularity_active": Case(partial(Modularity, active_only=True), (0, 0), (0.99, 1.0)),
    "omes": Case(OMES, (0.2, 0.5), (0.99, 1.0)),
    "rdc": Case(RDC, (0, 0.15), (0.999, 1.0), slack=1e-6),
    "sap_r2": Case(SAP, (0, 0.01), (0.99, 1.0)),
    "sap_svc": Case(partial(SAP, predictor="svc", standardize=True), (0, 0.1), (0.3, 1.0)),
}
COSTLY = {
    *("block_mcc_kernel", "dcies_rf_disentanglement"),
    *("dci_gbt_disentanglement", "dci_rf_disentanglement"),
}
"""Scores of seconds, whose class has a quicker variant here: `make slow` tries their laws."""
DETERMINISTIC = [name for name, case in CASES.items() if case.slack <= 1e-6]


def tried(names: Iterable[str]) -> list[Any]:
    """The scores of a law, of which the costly ones are slow tests."""
    slow = pytest.mark.slow
    return [pytest.param(name, marks=slow) if name in COSTLY else name for name in names]


def draw_factors(images: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(size, (images,), generator=generator) for size in SIZES]
    return torch.stack(columns, dim=1)


def noise(images: int, latents: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed + 100)
    return torch.randn(images, latents, generator=generator, dtype=torch.float64)


def built(name: str) -> Any:
    return CASES[name].build(SPACE)


def score(name: str, codes: Tensor, factors: Tensor) -> dict[str, Tensor]:
    metric = built(name)
    metric.update(codes, factors)
    result: dict[str, Tensor] = metric.compute()
    return result


def graded_codes(factors: Tensor) -> Tensor:
    """Latents of which some know one factor, some two, some none."""
    own = factors.double()
    mixed = own @ torch.tensor([[1.0, 0, 0.4, 0], [0, 1, 0.4, 0], [0, 0, 0.2, 0]]).double()
    return mixed + 0.3 * noise(len(factors), 4, seed=3)


def graded(name: str) -> tuple[Tensor, Tensor]:
    """Graded codes and the factors of as many images as a score needs."""
    factors = draw_factors(400 if "downstream" not in name else 800)
    return graded_codes(factors), factors


@cache
def graded_score(name: str) -> dict[str, Tensor]:
    """The score of graded codes, with which several laws compare that of changed codes."""
    return score(name, *graded(name))


def test_every_score_obeys_laws() -> None:
    classes = {type(built(name)).__name__ for name in CASES}
    assert classes == {one.name for one in available("metrics") if one.distribution == "dislab"}


@pytest.mark.slow
@pytest.mark.parametrize("name", tried(CASES))
def test_noise_and_perfect_codes(name: str) -> None:
    factors = draw_factors(1200)
    for codes, (least, most) in (
        (noise(1200, 4), CASES[name].noise),
        (factors.double(), CASES[name].perfect),
    ):
        value = score(name, codes, factors)[name].item()
        assert least - 1e-12 <= value <= most + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", tried(CASES))
def test_the_order_of_latents_does_not_matter(name: str) -> None:
    codes, factors = graded(name)
    changed = score(name, codes[:, torch.tensor([2, 0, 3, 1])], factors)[name]
    plain = graded_score(name)[name]
    assert changed.item() == pytest.approx(plain.item(), abs=CASES[name].slack)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", tried(name for name in CASES if CASES[name].scale_free))
def test_units_of_latents_do_not_matter(name: str) -> None:
    codes, factors = graded(name)
    scaled = codes * torch.tensor([4.0, 0.25, 2.0, 8.0]).double()
    plain, changed = graded_score(name)[name], score(name, scaled, factors)[name]
    assert changed.item() == pytest.approx(plain.item(), abs=max(CASES[name].slack, 1e-6))


@pytest.mark.parametrize(
    "name",
    ["factor_vae_score", "gaussian_wasserstein_correlation", "infom_bins", "irs"],
)
def test_units_of_latents_matter_where_the_page_says_so(name: str) -> None:
    codes, factors = graded(name)
    scaled = codes * torch.tensor([1.0, 1e-3, 1e2, 1.0]).double()
    plain, changed = graded_score(name)[name], score(name, scaled, factors)[name]
    assert abs(changed.item() - plain.item()) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", tried(CASES))
@pytest.mark.parametrize("kind", ["idle", "all idle", "wide", "few"])
def test_odd_codes_give_numbers(name: str, kind: str) -> None:
    images = {"wide": 24, "few": 12}.get(kind, 200)
    if "downstream" in name:
        images = 800
    factors = draw_factors(images)
    if kind in ("wide", "few"):
        factors[:2] = torch.tensor([[0, 0, 0], [1, 1, 1]])
    codes = {
        "idle": torch.cat([graded_codes(factors), torch.full((images, 2), 7.1)], dim=1),
        "all idle": torch.full((images, 3), 0.1).double(),
        "wide": noise(images, 40),
        "few": noise(images, 3),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few images lack values
        result = score(name, codes, factors)
    for part, value in result.items():
        assert bool(value.isfinite().all()), part
    if kind == "all idle" and name not in ("beta_vae_score",):
        assert result[name].item() <= 0.55 if "inform" in name or "down" in name else 1e-9


@pytest.mark.parametrize("name", tried(DETERMINISTIC))
def test_idle_latents_change_nothing(name: str) -> None:
    if name in ("mean_pairwise_mi", "explicitness_normalized"):
        pytest.skip("a mean over latents, or an optimum up to its tolerance")
    codes, factors = graded(name)
    more = torch.cat([codes, torch.full((len(codes), 2), 0.1).double()], dim=1)
    plain, changed = graded_score(name)[name], score(name, more, factors)[name]
    assert changed.item() == pytest.approx(plain.item(), abs=1e-9)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", tried(CASES))
def test_factors_that_never_vary_are_left_out(name: str) -> None:
    factors = draw_factors(200 if "downstream" not in name else 800)
    codes = graded_codes(factors)
    factors[:, 1] = 2
    with pytest.warns(ConstantFactorWarning, match="b took one value only"):
        result = score(name, codes, factors)
    for part, value in result.items():
        if part.endswith("per_factor") and part != "dcimig_per_factor":
            assert value.isnan().tolist() == [False, True, False], part
        else:
            assert bool(value.isfinite().all()), part


SCORES = [plugin.name for plugin in available("metrics") if plugin.distribution == "dislab"]
SEEDED = {
    name: "seed" in signature(getattr(case.build, "func", case.build)).parameters
    for name, case in CASES.items()
}
UNUSED_SEEDS = {"dci_hgbt_disentanglement", "dci_lasso_informativeness", "infom_bins"}
"""Learners and estimators that draw nothing, though their class has a seed for others."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, seeded in SEEDED.items() if seeded])
def test_seeds_repeat_and_differ(name: str) -> None:
    """The same seed gives the same results; another one changes some, unless nothing is drawn."""
    factors = draw_factors(300)
    codes = torch.round(factors.double() + noise(300, 3), decimals=1)
    codes = torch.cat([codes, codes[:, :1]], dim=1)  # an equal latent, so that splits tie

    def result(seed: int) -> dict[str, Tensor]:
        metric = CASES[name].build(SPACE, seed=seed)
        metric.update(codes, factors)
        return {part: value.nan_to_num() for part, value in metric.compute().items()}

    first, again = result(0), result(0)
    for part in first:
        assert torch.equal(first[part], again[part]), part
    others = map(result, (1, 2))  # the second only where the first changes nothing
    differs = any(not torch.equal(other[part], first[part]) for other in others for part in first)
    assert differs is (name not in UNUSED_SEEDS), name


def test_every_score_with_a_seed_draws_in_some_case() -> None:
    classes = {name for name in SCORES if "seed" in signature(getattr(metrics, name)).parameters}
    drawing = {
        type(built(name)).__name__
        for name, seeded in SEEDED.items()
        if seeded and name not in UNUSED_SEEDS
    }
    assert drawing == classes


def test_every_score_shows_itself_on_codes() -> None:
    """The class has an example, which runs as a doctest."""
    assert [name for name in SCORES if ">>>" not in (getattr(metrics, name).__doc__ or "")] == []


@pytest.mark.every(4)
@pytest.mark.parametrize("name", tried(CASES))
def test_incomplete_and_correlated_images_are_fine(name: str) -> None:
    factors = draw_factors(1500)
    factors = factors[(factors[:, 1] - factors[:, 2]).abs() <= 1]
    if "downstream" in name:
        factors = torch.cat([factors, factors])
    least, most = CASES[name].perfect
    value = score(name, factors.double(), factors)[name].item()
    if CASES[name].build in (GaussianTotalCorrelation, WassersteinCorrelation, MeanPairwiseMI):
        assert value > most  # the factors themselves depend on each other
    elif name in ("dcimig", "infom_bins", "infom_knn", "mig", "mig_sup_active", "jemmig"):
        assert value < least  # a latent has information on the other factor through its own one
    else:
        assert value > 0.3


@pytest.mark.every(4)
@pytest.mark.parametrize("name", tried(CASES))
def test_direction_and_bounds_are_declared(name: str) -> None:
    metric = built(name)
    unsupervised = (GaussianTotalCorrelation, WassersteinCorrelation, MeanPairwiseMI)
    assert metric.higher_is_better is not isinstance(metric, unsupervised)
    assert metric.plot_lower_bound == 0.0
    assert metric.plot_upper_bound == (None if isinstance(metric, unsupervised) else 1.0)
    first = next(iter(graded_score(name).values()))
    assert first.ndim == 0


BINS = [
    pytest.param(name, setting, id=f"{name}.{setting}")
    for name in SCORES
    for setting in signature(getattr(metrics, name)).parameters
    if setting in ("bins", "factor_bins")
]


def test_many_scores_take_bins() -> None:
    assert len(BINS) > 15


@pytest.mark.every(4)
@pytest.mark.parametrize("bins", [1, 0, -3, 10_001, 10**9, 10**12, 2.5, True, float("nan")])
@pytest.mark.parametrize(("name", "setting"), BINS)
def test_bins_out_of_bounds_are_refused_by_every_score(
    name: str, setting: str, bins: float
) -> None:
    build = getattr(metrics, name)
    with pytest.raises(InputError, match=rf"^([A-Za-z]+\.)?{setting} is .*; it must be "):
        build(SPACE, **{setting: bins})
    for allowed in (2, 10_000):
        assert getattr(build(SPACE, **{setting: allowed}), setting) == allowed
