"""Twelve laws, the codes that try them, and which score breaks which.

`benchmarks/laws.py` tries every score by every law and writes `docs/laws.md`; `test_laws.py` tries
them in short form and compares the page with this table. Codes and their changes are those of
`dislab.testing.constructions`. A new score gets a line in `SCORES`.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from random import Random
from typing import Any, Final, Literal, NamedTuple

import torch
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from torch import Tensor

from dislab.base import Metric
from dislab.factors import FactorSpace
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
from dislab.testing.constructions import (
    Case,
    alternating,
    codes_of,
    factors_of,
    monotone,
    noise,
    permuted,
    rotated,
    scaled,
    signed,
    space_of,
    with_columns,
)

MOVES: Final = 0.01
"""By how much a score may move and count as unchanged."""
CLEAR: Final = 0.05
"""Distance from an end that counts as reached, a fall that counts as one, a move by chance."""

IMAGES_OF: Final = {"small": (60, 90, 150), "few": (60, 150, 300), "large": (1_000,)}
"""Numbers of images of the cases that are drawn."""


class Law(NamedTuple):
    """A change of the codes, or a kind of codes, and what it should do to a score.

    Attributes:
        statement: The law in words.
        kind: Whether the score should stay, get worse, reach its best or its worst value.
        change: Makes other codes from codes and factors.
        cases: Draws the cases.
        images: Numbers of images of the cases.
        tolerance: Largest move that counts as none, or the distance from an end.
        fixed: Cases that are tried whichever are drawn.
    """

    statement: str
    kind: Literal["stays", "worsens", "best", "worst"]
    change: Callable[[Tensor, Tensor], Tensor]
    cases: st.SearchStrategy[Case]
    images: tuple[int, ...] = IMAGES_OF["small"]
    tolerance: float = MOVES
    fixed: tuple[Case, ...] = ()


class Score(NamedTuple):
    """A score with the results that are tried, and the laws that each of them breaks.

    Attributes:
        build: Makes it from a space of factors.
        breaks: Names of the laws that a result breaks, by name of the result.
        least: Fewest images that it takes.
        draws: How many cases the page tries by each law.
        slow: Whether its trials take many seconds.
        discrete: Whether it takes latents of few codes only; others are rounded to halves.
    """

    build: Callable[[FactorSpace], Metric]
    breaks: Mapping[str, frozenset[str]]
    least: int = 0
    draws: int = 25
    slow: bool = False
    discrete: bool = False


INDEPENDENT: Final = st.just(math.inf)
UNTIED: Final = st.just(False)
MANY: Final = (3, 40)
"""Sizes of which one is more than the 20 bins of scores that count."""
SMALL: Final = st.builds(
    Case,
    images=st.sampled_from(IMAGES_OF["small"]),
    sizes=st.sampled_from(((2, 2), (2, 3), (3, 3), (2, 3, 5), (4, 4, 4))),
    noise=st.sampled_from((0.0, 0.1, 0.3, 1.0)),
    mix=st.sampled_from((0.0, 0.5)),
    idle=st.integers(0, 2),
    seed=st.integers(0, 4),
    band=INDEPENDENT,
    tied=UNTIED,
)
LARGE: Final = st.builds(
    Case,
    images=st.just(1000),
    sizes=st.sampled_from(((2, 2), (3, 3), (2, 3, 5), (4, 4, 4))),
    noise=st.sampled_from((0.0, 0.1, 0.3)),
    mix=st.just(0.0),
    idle=st.integers(0, 2),
    seed=st.integers(0, 4),
    band=INDEPENDENT,
    tied=UNTIED,
)
FEW: Final = st.builds(
    lambda case, images: case._replace(images=images), LARGE, st.sampled_from(IMAGES_OF["few"])
)
CLEAN: Final = st.builds(
    Case,
    images=st.just(1000),
    sizes=st.sampled_from(((2, 2), (3, 3), (2, 3, 5), (4, 4, 4), MANY)),
    noise=st.just(0.0),
    mix=st.just(0.0),
    idle=st.integers(0, 2),
    seed=st.integers(0, 4),
    band=INDEPENDENT,
    tied=UNTIED,
)
LAWS: Final = {
    "permutation": Law(
        "The order of the latents does not matter.",
        "stays",
        lambda codes, _: permuted(codes),
        SMALL,
        fixed=tuple(Case(images=150, sizes=sizes, tied=True) for sizes in ((2, 2), (2, 3, 5))),
    ),
    "sign": Law(
        "The sign of a latent does not matter; every second one is turned.",
        "stays",
        lambda codes, _: signed(codes),
        SMALL,
    ),
    "scale": Law(
        "The unit of a latent does not matter; every second one is multiplied by 10.",
        "stays",
        lambda codes, _: scaled(codes),
        SMALL,
    ),
    "shift": Law(
        "The origin of a latent does not matter; 100 is added to every second one.",
        "stays",
        lambda codes, _: codes + alternating(codes.shape[1], 100.0, 0.0),
        SMALL,
    ),
    "monotone": Law(
        "A monotone map does not matter; z becomes z + z³.",
        "stays",
        lambda codes, _: monotone(codes),
        SMALL,
    ),
    "duplicate": Law(
        "A copy of the first latent changes nothing.",
        "stays",
        lambda codes, _: with_columns(codes, codes[:, :1]),
        SMALL,
    ),
    "dead": Law(
        "A latent that stands still changes nothing.",
        "stays",
        lambda codes, _: with_columns(codes, torch.full_like(codes[:, :1], 0.1)),
        SMALL,
    ),
    "noise": Law(
        "A latent of noise changes nothing but by chance.",
        "stays",
        lambda codes, _: with_columns(codes, noise(len(codes), 1, 2000)),
        LARGE,
        IMAGES_OF["large"],
        CLEAR,
    ),
    "few": Law(
        "A latent of noise changes nothing but by chance, of few images too.",
        "stays",
        lambda codes, _: with_columns(codes, noise(len(codes), 1, 2000)),
        FEW,
        IMAGES_OF["few"],
        CLEAR,
    ),
    "perfect": Law(
        "Codes that are the factors, beside idle latents or none, get the best value.",
        "best",
        lambda codes, _: codes,
        CLEAN,
        IMAGES_OF["large"],
        CLEAR,
        (Case(images=1000, sizes=MANY), Case(images=1000, sizes=(2, 3, 5), idle=1)),
    ),
    "random": Law(
        "Codes that are noise get the worst value.",
        "worst",
        lambda codes, _: noise(codes.shape[0], codes.shape[1], 3000),
        CLEAN.map(lambda case: case._replace(images=5000)),
        (5_000,),
        CLEAR,
    ),
    "rotation": Law(
        "Two perfect latents, turned into each other by 45°, get a worse value.",
        "worsens",
        lambda codes, _: rotated(codes),
        CLEAN,
        IMAGES_OF["large"],
        CLEAR,
        (Case(images=1000, sizes=(2, 3, 5)),),
    ),
}
"""By the name of the column on the page."""


def breaking(**results: str) -> dict[str, frozenset[str]]:
    """Results with the laws that they break, as words in one string."""
    unknown = {law for broken in results.values() for law in broken.split()} - set(LAWS)
    if unknown:
        raise LookupError(f"there is no law {', '.join(unknown)}")
    return {name: frozenset(broken.split()) for name, broken in results.items()}


SCORES: Final = {
    "beta_vae_score": Score(
        partial(BetaVAEScore, points_train=600, points_test=300),
        breaking(beta_vae_score="monotone random"),
    ),
    "block_mcc_linear": Score(
        BlockMCC,
        breaking(block_mcc_linear="monotone rotation", block_r2_linear="monotone rotation"),
    ),
    "block_mcc_kernel": Score(
        partial(BlockMCC, regression="kernel", most=200),
        breaking(block_mcc_kernel="monotone rotation", block_r2_kernel="monotone rotation"),
        draws=5,
        slow=True,
    ),
    "dcies_rf": Score(
        partial(DCIES, capacities=(1, 2, 4, 8)),
        breaking(
            dcies_rf_explicitness="random rotation",
            dcies_rf_informativeness="monotone rotation",
            dcies_rf_disentanglement="duplicate dead random",
            dcies_rf_completeness="duplicate dead random",
            dcies_rf_size="duplicate dead noise few perfect random rotation",
        ),
        draws=5,
        slow=True,
    ),
    "dcies_rff": Score(
        partial(DCIES, probe="rff", capacities=(16, 64, 256)),
        breaking(
            dcies_rff_explicitness="permutation sign monotone duplicate dead noise few perfect "
            "random rotation",
            dcies_rff_informativeness="permutation sign monotone duplicate dead rotation",
        ),
        draws=5,
        slow=True,
    ),
    "dci_gbt": Score(
        partial(DCI, learner="gbt"),
        breaking(
            dci_gbt_disentanglement="sign duplicate",
            dci_gbt_completeness="duplicate dead",
            dci_gbt_informativeness="permutation sign monotone duplicate dead random rotation",
        ),
        draws=5,
        slow=True,
    ),
    "dci_hgbt": Score(
        DCI,
        breaking(
            dci_hgbt_disentanglement="permutation",
            dci_hgbt_completeness="permutation duplicate dead",
            dci_hgbt_informativeness="permutation sign monotone random rotation",
        ),
        draws=5,
        slow=True,
    ),
    "dci_rf": Score(
        partial(DCI, learner="rf"),
        breaking(
            dci_rf_disentanglement="permutation duplicate dead noise few perfect",
            dci_rf_completeness="permutation sign duplicate dead noise few perfect",
            dci_rf_informativeness="duplicate dead few perfect random rotation",
        ),
        draws=5,
        slow=True,
    ),
    "dci_lasso": Score(
        partial(DCI, learner="lasso"),
        breaking(
            dci_lasso_disentanglement="monotone duplicate random",
            dci_lasso_completeness="monotone duplicate dead few random",
            dci_lasso_informativeness="monotone random rotation",
        ),
    ),
    "dci_lassocv": Score(
        partial(DCI, learner="lassocv"),
        breaking(
            dci_lassocv_disentanglement="scale monotone duplicate random",
            dci_lassocv_completeness="scale monotone duplicate dead few random",
            dci_lassocv_informativeness="scale monotone random rotation",
        ),
    ),
    "dcimig": Score(DCIMIG, breaking(dcimig="monotone perfect")),
    "dmig": Score(DMIG, breaking(dmig="monotone duplicate few perfect")),
    "downstream_hgbt": Score(
        partial(DownstreamAccuracy, classifier="hgbt", labels=(400,), tested=200),
        breaking(downstream_hgbt_400="monotone random rotation"),
        least=600,
        draws=5,
        slow=True,
    ),
    "downstream_logistic": Score(
        partial(DownstreamAccuracy, labels=(400,), tested=200),
        breaking(downstream_logistic_400="monotone perfect random rotation"),
        least=600,
    ),
    "explicitness": Score(
        Explicitness,
        breaking(
            explicitness="monotone few perfect random rotation",
            explicitness_normalized="monotone duplicate few perfect rotation",
        ),
    ),
    "explicitness_multinomial": Score(
        partial(Explicitness, classifier="multinomial"),
        breaking(
            explicitness_multinomial="monotone few perfect random rotation",
            explicitness_multinomial_normalized="monotone duplicate few perfect rotation",
        ),
    ),
    "factor_vae_score": Score(
        partial(FactorVAEScore, votes_train=600, votes_test=300),
        breaking(factor_vae_score="monotone random"),
    ),
    "gaussian_total_correlation": Score(
        GaussianTotalCorrelation,
        breaking(gaussian_total_correlation="monotone duplicate few random rotation"),
    ),
    "infomec_bins": Score(
        partial(InfoMEC, estimator="bins"),
        breaking(
            infom_bins="monotone duplicate noise few perfect random",
            infoc_bins="monotone duplicate few perfect random",
            infoe="monotone rotation",
        ),
    ),
    "infomec_discrete": Score(
        partial(InfoMEC, estimator="discrete"),
        breaking(
            infom_discrete="duplicate noise few perfect random",
            infoc_discrete="duplicate few perfect random",
            infoe_discrete="few rotation",
        ),
        discrete=True,
    ),
    "infomec_knn": Score(
        InfoMEC,
        breaking(
            infom_knn="permutation monotone duplicate dead noise few perfect random",
            infoc_knn="permutation monotone duplicate dead random",
        ),
        draws=5,
    ),
    "irs": Score(IRS, breaking(irs="scale monotone duplicate noise few perfect random")),
    "jemmig": Score(JEMMIG, breaking(jemmig="monotone duplicate few perfect random")),
    "mcc_linear": Score(
        partial(MCC, alignment="linear"), breaking(mcc_linear_pearson="monotone rotation")
    ),
    "mcc_linear_spearman": Score(
        partial(MCC, correlation="spearman", alignment="linear"),
        breaking(mcc_linear_spearman="monotone few rotation"),
    ),
    "mcc_pairs": Score(partial(MCC, average="pairs"), breaking(mcc_pairs_pearson="monotone")),
    "mcc_pearson": Score(MCC, breaking(mcc_pearson="monotone")),
    "mcc_spearman": Score(partial(MCC, correlation="spearman"), breaking(mcc_spearman="")),
    "mean_pairwise_mi": Score(
        MeanPairwiseMI, breaking(mean_pairwise_mi="monotone duplicate dead few perfect random")
    ),
    "mig": Score(MIG, breaking(mig="monotone duplicate few perfect")),
    "mig_sup": Score(
        MIGSup,
        breaking(
            mig_sup="monotone duplicate dead noise few perfect",
            mig_sup_active="monotone duplicate few perfect",
        ),
    ),
    "modularity": Score(
        Modularity, breaking(modularity="monotone duplicate dead noise few perfect random rotation")
    ),
    "modularity_active": Score(
        partial(Modularity, active_only=True),
        breaking(modularity_active="monotone duplicate few rotation"),
    ),
    "omes": Score(OMES, breaking(omes="monotone duplicate noise few perfect random"), least=90),
    "rdc": Score(RDC, breaking(rdc="random")),
    "sap_r2": Score(SAP, breaking(sap_r2="monotone duplicate")),
    "sap_svc": Score(
        partial(SAP, predictor="svc"),
        breaking(sap_svc="scale shift monotone duplicate dead few perfect"),
    ),
    "wasserstein_correlation": Score(
        WassersteinCorrelation,
        breaking(
            gaussian_wasserstein_correlation="scale monotone duplicate few random rotation",
            gaussian_wasserstein_correlation_normalized="scale monotone duplicate random rotation",
        ),
    ),
}
"""By a name of its own each score, with each result that is tried and the laws that it breaks."""


class Trial(NamedTuple):
    """A score without and with the change of a law; of a law about one kind of codes only `after`.

    Attributes:
        before: The results of the codes as they are.
        after: The results of the codes that the law makes of them.
        less_is_better: Whether small values are good.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]
    less_is_better: bool


def values(metric: Metric, codes: Tensor, factors: Tensor) -> dict[str, float]:
    """All scalars of a score."""
    metric.update(codes, factors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few images lack values; a lasso of copies has no optimum
        result: Mapping[str, Tensor] = metric.compute()
    return {name: float(value) for name, value in result.items() if value.ndim == 0}


def built(key: str, case: Case) -> Metric:
    return SCORES[key].build(space_of(case.sizes))


def with_few_codes(codes: Tensor) -> Tensor:
    """Latents of more than 50 different codes rounded to halves."""
    columns = [(z * 2).round() / 2 if len(z.unique()) > 50 else z for z in codes.T]
    return torch.stack(columns, dim=1)


def taken(key: str, codes: Tensor) -> Tensor:
    """The codes as a score takes them."""
    return with_few_codes(codes) if SCORES[key].discrete else codes


def enough(key: str, case: Case) -> Case:
    """The case with as many images as a score needs."""
    return case._replace(images=max(case.images, SCORES[key].least))


@lru_cache(maxsize=4096)
def plain(key: str, case: Case) -> Mapping[str, float]:
    """The results of the codes as they are."""
    factors = factors_of(case)
    return values(built(key, case), taken(key, codes_of(case, factors)), factors)


@lru_cache(maxsize=4096)
def tried(key: str, law: str, case: Case) -> Trial:
    """A score tried by a law on one case, which gets as many images as the score needs."""
    case = enough(key, case)
    factors = factors_of(case)
    codes = taken(key, codes_of(case, factors))
    changed = taken(key, LAWS[law].change(codes, factors))
    metric = built(key, case)
    compared = LAWS[law].kind in ("stays", "worsens")
    before = plain(key, case) if compared else {}
    return Trial(before, values(metric, changed, factors), metric.higher_is_better is False)


def broken_by(law: str, trial: Trial, result: str) -> float | None:
    """How far a result moved, or missed the end; None where the law holds."""
    kind, tolerance = LAWS[law].kind, LAWS[law].tolerance
    after = trial.after[result]
    if kind in ("best", "worst"):
        low = (kind == "best") == trial.less_is_better
        if kind == "worst" and trial.less_is_better:  # there is no largest value to reach
            return None if after > tolerance else after
        missed = after if low else 1 - after
        return missed if missed > tolerance else None
    moved = after - trial.before[result]
    if kind == "stays":
        return moved if not abs(moved) <= tolerance else None
    fall = moved if trial.less_is_better else -moved
    return None if fall >= tolerance else moved


def counterexample(key: str, law: str, result: str, draws: int) -> Case | None:
    """The smallest case, of some that Hypothesis draws and the fixed ones, that breaks a law."""

    def breaks(case: Case) -> bool:
        return broken_by(law, tried(key, law, case), result) is not None

    try:
        return find(
            LAWS[law].cases,
            breaks,
            settings=settings(
                max_examples=draws,
                database=None,
                deadline=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
            random=Random(0),
        )
    except NoSuchExample:
        return next(filter(breaks, LAWS[law].fixed), None)


IMAGES: Final = (100, 1_000, 10_000)
"""Numbers of images that a score is compared at."""
NOISY: Final = Case(sizes=(3, 4, 6), noise=0.3, idle=1)
PERFECT: Final = Case(sizes=(3, 4, 6), idle=1)
BAND: Final = 0.2


def movements(key: str) -> Iterator[tuple[str, Case]]:
    """The cases that show how a score moves with the images and with correlated factors."""
    for images in IMAGES:
        if images >= SCORES[key].least:
            yield f"{images:,}", NOISY._replace(images=images)
    for name, case in (("noisy", NOISY), ("perfect", PERFECT)):
        for of, band in (("independent", math.inf), ("correlated", BAND)):
            yield f"{name}, {of}", case._replace(images=3000, band=band)
    yield "perfect, 40 values", Case(images=3000, sizes=MANY, idle=1)


def results() -> dict[str, tuple[str, frozenset[str]]]:
    """Each result with its score and the laws that it breaks."""
    return {
        result: (key, broken)
        for key, score in SCORES.items()
        for result, broken in score.breaks.items()
    }


def to_json(case: Case) -> dict[str, Any]:
    """The attributes of a case that are not as they are by default."""
    return {
        name: value for name, value in case._asdict().items() if value != Case._field_defaults[name]
    }


def from_json(attributes: Mapping[str, Any]) -> Case:
    """The case of such attributes."""
    return Case(**{**attributes, "sizes": tuple(attributes.get("sizes", Case().sizes))})
