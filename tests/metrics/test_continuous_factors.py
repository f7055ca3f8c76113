"""Factors that were measured: scores take them by their numbers, or by bins of these."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace, PlainKind
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
    ContinuousFactorWarning,
    DownstreamAccuracy,
    Explicitness,
    FactorVAEScore,
    InfoMEC,
    MIGSup,
    Modularity,
    evaluate,
    evaluate_fully,
)
from dislab.metrics._arrays import bank_of

DCI_HGBT = "dci_hgbt_disentanglement dci_hgbt_completeness dci_hgbt_informativeness"
SCORES: dict[str, tuple[Any, float, float]] = {
    # least for perfect codes, most for noise
    "mig": (MIG, 0.9, 0.02),
    "mig_sup": (MIGSup, 0.9, 0.02),
    "dcimig": (DCIMIG, 0.85, 0.03),
    "dmig": (DMIG, 0.95, 0.02),
    "omes": (OMES, 0.95, 0.6),
    "jemmig": (JEMMIG, 0.9, 0.25),
    "modularity_active": (partial(Modularity, active_only=True), 0.98, 0.2),
    "infom_bins": (partial(InfoMEC, estimator="bins"), 0.9, 0.2),
    "infom_knn infoc_knn": (InfoMEC, 0.9, 0.7),
    "infoe": (InfoMEC, 0.5, 0.05),
    "irs": (IRS, 0.8, 0.4),
    "block_r2_linear": (BlockMCC, 0.999, 0.02),
    "dcies_rf_informativeness": (partial(DCIES, capacities=(1, 8)), 0.98, 0.02),
    "mcc_linear_pearson": (partial(MCC, alignment="linear"), 0.999, 0.1),
    "mcc_pearson": (MCC, 0.999, 0.1),
    "rdc": (RDC, 0.999, 0.15),
    "sap_r2": (SAP, 0.95, 0.02),
    "sap_svc": (partial(SAP, predictor="svc"), 0.95, 0.02),
    DCI_HGBT: (DCI, 0.98, 0.15),
    "dci_gbt_disentanglement": (partial(DCI, learner="gbt"), 0.98, 0.15),
    "dci_rf_disentanglement": (partial(DCI, learner="rf"), 0.98, 0.15),
    "dci_lasso_informativeness": (partial(DCI, learner="lasso"), 0.98, 0.02),
    "dci_lassocv_informativeness": (partial(DCI, learner="lassocv"), 0.95, 0.02),
    "downstream_logistic_400": (partial(DownstreamAccuracy, labels=(400,), tested=200), 0.99, 0.02),
    "downstream_hgbt_400": (
        partial(DownstreamAccuracy, classifier="hgbt", labels=(400,), tested=200),
        0.98,
        0.02,
    ),
    "explicitness_multinomial": (partial(Explicitness, classifier="multinomial"), 0.9, 0.55),
    "factor_vae_score": (partial(FactorVAEScore, votes_train=600, votes_test=300), 1.0, 0.6),
    "beta_vae_score": (partial(BetaVAEScore, points_train=600, points_test=300), 0.99, 0.6),
}


def measured(images: int = 1500, seed: int = 0) -> npt.NDArray[np.float64]:
    """Two factors in units of their own, far from zero."""
    points = np.random.default_rng(seed).random((images, 2))
    return np.asarray(points * [3.0, 1e4] + [-1.0, 7e3])


def perfect(factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    noise = np.random.default_rng(9).normal(size=(len(factors), 1))
    return np.hstack([(factors - factors.mean(0)) / factors.std(0), 1e-3 * noise])


def scored(build: Any, codes: Any, factors: Any, **settings: Any) -> dict[str, float]:
    with pytest.warns(ContinuousFactorWarning):
        return evaluate(codes, factors, build, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("names", SCORES)
def test_perfect_codes_are_near_the_ceiling_and_noise_near_zero(names: str) -> None:
    build, least, most = SCORES[names]
    factors = measured(600 if "dci" in names or "downstream" in names else 1500)
    codes = perfect(factors)
    if names in ("mig_sup", "jemmig"):
        codes = codes[:, :2]  # the others speak of a noisy latent, too
    found = scored(build, codes, factors)
    noise = scored(build, np.random.default_rng(5).normal(size=codes.shape), factors)
    for name in names.split():
        assert found[name] >= least, name
        assert noise[name] <= most, name


def test_numbers_are_found_and_one_line_says_so() -> None:
    factors = measured()
    factors[:, 0] = np.arange(1500) % 7 / 2  # seven numbers are levels, whatever they are
    with pytest.warns(ContinuousFactorWarning) as said:
        found = evaluate_fully(perfect(factors), factors, "MIG", names=["level", "y"])
    (message,) = [str(one.message) for one in said]
    assert message.startswith("y is continuous: it has 1500 different numbers in 1500 images")
    assert "name another kind in kinds, such as y: ordinal; leave out of factors what" in message
    assert found.provenance["factors"] == {"level": 7, "y": 1500}
    assert found.provenance["continuous"] == ["y"]


def test_the_kind_that_is_named_is_taken() -> None:
    factors = measured(400)
    kinds: dict[str, PlainKind] = {"factor_0": "continuous", "factor_1": "continuous"}
    named = evaluate(perfect(factors), factors, "MIG", kinds=kinds)
    assert named == scored("MIG", perfect(factors), factors)
    levels: dict[str, PlainKind] = {"factor_0": "ordinal", "factor_1": "ordinal"}
    classes = evaluate(perfect(factors), factors, "MIG", kinds=levels)
    assert classes["mig"] < 0.1 < named["mig"]
    few = np.random.default_rng(0).integers(12, size=(400, 2))
    assert evaluate(few, few, "MIG", kinds=kinds)["mig"] > 0.9


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"z": "ordinal"}, "kinds names 'z', which is no factor; they are factor_0, f"),
        ({"factor_0": "circular"}, "factor_0 is circular, and its period is missing; give space="),
        (
            {"factor_0": "cyclic"},
            "the kind of factor_0 is 'cyclic'; choose one of ordinal, categorical, continuous$",
        ),
    ],
)
def test_kinds_that_make_no_sense_are_refused(kinds: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bank_of(np.zeros((30, 2)), measured(30), None, None, None, kinds)


def test_numbers_that_are_no_numbers_are_refused() -> None:
    factors = measured(60)
    factors[3, 1] = np.nan
    with pytest.raises(InputError, match="factor factor_1 holds NaN or infinity in 1 of 60 images"):
        evaluate(np.zeros((60, 2)), factors, "MIG")


@pytest.mark.slow
def test_units_of_factors_change_nothing() -> None:
    factors = measured(150)
    codes = perfect(factors)
    for name in ("MIG", "DCI", "MCC", "SAP"):
        plain = scored(name, codes, factors)
        other = scored(name, codes, factors * [1e-6, 1e3])
        assert other == pytest.approx(plain, abs=1e-6)


def test_other_bins_and_resamples() -> None:
    factors = measured(600)
    codes = perfect(factors) + 0.1 * np.random.default_rng(1).normal(size=(600, 3))
    space = FactorSpace(
        (
            Factor("x", tuple(np.unique(factors[:, 0]).tolist()), "continuous"),
            Factor("y", tuple(np.unique(factors[:, 1]).tolist()), "continuous"),
        ),
        np.argsort(np.argsort(factors, axis=0), axis=0),
    )
    positions = space.positions(np.arange(600))
    given = evaluate(codes, positions, {"m": partial(MIG, bins=7, factor_bins=5)}, space=space)
    width = np.ptp(factors, axis=0) / 5
    levels = np.minimum((factors - factors.min(0)) // width, 4).astype(int)
    assert given["mig"] == pytest.approx(evaluate(codes, levels, partial(MIG, bins=7))["mig"])
    build = {"m": partial(MIG, factor_bins=5)}
    some = evaluate_fully(codes, positions, build, space=space, bootstrap=20)
    same = evaluate_fully(codes, levels, "MIG", names=["x", "y"], bootstrap=20)
    assert some.intervals["mig"] == pytest.approx(same.intervals["mig"])


def test_irs_needs_bins() -> None:
    space = FactorSpace((Factor("x", tuple(np.linspace(0, 1, 50).tolist()), "continuous"),))
    with pytest.raises(InputError, match=r"bins is null, .* and x is one"):
        IRS(space, bins=None)


def test_a_score_of_ones_own_sees_bins_and_numbers() -> None:
    from dislab.codes.bank import checked

    space = FactorSpace(
        (
            Factor("a", (0.0, 5.0)),
            Factor("x", (2.0, 2.5, 2.6, 10.0), "continuous"),
        ),
        np.array([[0, 0], [1, 1], [0, 2], [1, 3]]),
    )
    positions = torch.from_numpy(space.positions(np.arange(4)))
    bank = checked([torch.zeros(4, 2)], [positions], space, 1)
    assert bank.continuous == (1,)
    assert bank.factors.tolist() == [[0, 0], [1, 1], [0, 1], [1, 19]]
    assert torch.allclose(bank.numbers[:, 1], torch.tensor([0, 0.0625, 0.075, 1]).double())
    assert bank.numbers[:, 0].tolist() == [0, 1, 0, 1]
    assert bank.with_factor_bins(2).factors[:, 1].tolist() == [0, 0, 0, 1]
    drawn = bank.rows(torch.tensor([3, 3, 0]))
    assert drawn.with_factor_bins(2).factors[:, 1].tolist() == [1, 1, 0]
    kept = bank.of_factors([1])
    assert kept.continuous == (0,)
    assert kept.factors[:, 0].tolist() == [0, 1, 1, 19]
    assert bank.in_order(torch.tensor([3, 2, 1, 0])).factors[:, 1].tolist() == [19, 1, 1, 0]
    other = drawn.with_codes(torch.ones(3, 1).double())
    assert other.codes.tolist() == [[1], [1], [1]]
    assert other.continuous == (1,)
    assert other.numbers.tolist() == drawn.numbers.tolist()
