"""Scores of two plain arrays, and the default set of scores."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dislab import plugins
from dislab.base import MetricBuilder
from dislab.codes.bank import CodeBank
from dislab.errors import InputError, warn
from dislab.factors import FactorSpace, PlainKind, are_measured
from dislab.functional.checks import check_count
from dislab.metrics._arrays import Array, Groups, bank_of, tensor
from dislab.metrics.evaluation import Bootstrap, Evaluation, built, score_bank
from dislab.metrics.score_table import is_of_no_latent
from dislab.naming.builders import Choices as Parts
from dislab.naming.builders import chosen
from dislab.naming.settings import checks_arguments

DEFAULT: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "mig": ("MIG", {}),
    "dci_hgbt": ("DCI", {}),
    "sap_r2": ("SAP", {"predictor": "r2"}),
    "sap_svc": ("SAP", {"predictor": "svc"}),
    "modularity": ("Modularity", {}),
    "explicitness": ("Explicitness", {}),
    "factor_vae_score": ("FactorVAEScore", {}),
    "beta_vae_score": ("BetaVAEScore", {}),
    "gaussian_total_correlation": ("GaussianTotalCorrelation", {}),
    "wasserstein_correlation": ("WassersteinCorrelation", {}),
    "mean_pairwise_mi": ("MeanPairwiseMI", {}),
}
"""The default set: class and settings of each score, by name."""

_FEW: Final = 20
"""Smallest number of images whose scores need no warning."""

Choices: TypeAlias = Parts | None
"""One score, several, or several with names of the user; None for the default set."""


class SkippedScoreWarning(UserWarning):
    """A score of the default set was skipped because it cannot score these codes."""


class DoubtfulScoresWarning(UserWarning):
    """The scores say little: codes are constant or of small scale, or there are very few images."""


@checks_arguments
def evaluate(
    codes: "Array",
    factors: "Array | None" = None,
    metrics: "Choices" = None,
    names: Sequence[str] | None = None,
    space: FactorSpace | None = None,
    bootstrap: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
    shuffle: bool = True,
    kinds: Mapping[str, PlainKind] | None = None,
    groups: Groups | None = None,
) -> dict[str, float]:
    """The scores of codes against factors, by name.

    With a bootstrap, the bounds of the interval of score `mig` are `mig_low` and `mig_high`; scores
    that fit a model have no interval. `dislab.metrics.evaluate_fully` returns parts and provenance
    too.

    Args:
        codes: One row per image, one column per latent; an array, a tensor or nested lists; or what
            `run.encode()` returns, which has factors and their names too.
        factors: Value numbers 0, 1, 2, …, measured numbers, or texts, which are the names of
            classes; one row per image, one column per factor.
        metrics: Class names of plugins, settings such as `MIG.bins=30`, names of YAML files as of
            `dislab score --metrics`, classes, partials of classes, or a dictionary of any of these
            but files by names of your own; the default set unless given.
        names: Names of the factors, for parts and messages; unless given, those of the columns of
            a table of pandas, polars or Arrow, and `factor_0`, `factor_1`, … for an array.
        space: The factors with all their values; unless given, a factor's values are the numbers
            from 0 to its largest.
        bootstrap: Number of resamples for intervals; 0 for none.
        confidence: Share of the resampled scores inside an interval.
        seed: Seed of the image order, of the resamples, and of every score with a seed that is not
            set.
        shuffle: Whether to put the images in random order first, which scores need that learn from
            the first images and test on the last ones.
        kinds: Kind of each factor, by its name: ordinal, categorical or continuous. Unless given, a
            factor is ordinal, continuous if it has nearly as many distinct values as there are
            images, or categorical if its values are texts. Circular factors, which have a period,
            are given by `space`.
        groups: Columns of each vector-valued latent, such as `[[0, 1], [2, 3]]`, which is reduced
            to its first principal component. Unless given, each column is a latent, or each vector
            if codes have shape (images, latents, columns).

    Raises:
        InputError: The arrays cannot be scored, a score does not exist, or a setting is invalid;
            the message says why.

    Warns:
        ConstantFactorWarning: Some factors take one value only; they are left out.
        ContinuousFactorWarning: Some factors without a given kind are treated as continuous.
        DoubtfulScoresWarning: The codes are constant, vary too little for the FactorVAE score, are
            those of fewer than 20 images, or look as if they were swapped with the factors.
        SkippedScoreWarning: A score of the default set cannot score these codes. For a score named
            in `metrics`, this is an InputError.
    """
    full = evaluate_fully(
        codes,
        factors,
        metrics,
        names,
        space,
        bootstrap,
        confidence,
        seed,
        shuffle,
        kinds,
        groups,
        chance=False,
    )
    ends = {
        f"{name}_{end}": value
        for name, interval in full.intervals.items()
        for end, value in zip(("low", "high"), interval, strict=True)
    }
    return full.values | ends


@checks_arguments
def evaluate_fully(
    codes: "Array",
    factors: "Array | None" = None,
    metrics: "Choices" = None,
    names: Sequence[str] | None = None,
    space: FactorSpace | None = None,
    bootstrap: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
    shuffle: bool = True,
    kinds: Mapping[str, PlainKind] | None = None,
    groups: Groups | None = None,
    chance: bool = True,
) -> Evaluation:
    """The scores with their intervals, parts and provenance.

    The arguments, errors and warnings are those of `evaluate`. With `chance`, the chance level of
    each score is computed too: the score of codes of other images, and for DCI that of a prediction
    of the most frequent value.
    """
    prepared = prepare(
        codes, factors, metrics, names, space, bootstrap, confidence, seed, shuffle, kinds, groups
    )
    return prepared.evaluation(chance)


class Prepared(NamedTuple):
    """Checked codes and factors, and the builders and settings of their scores."""

    builders: dict[str, MetricBuilder]
    space: FactorSpace
    bank: CodeBank
    bootstrap: Bootstrap
    optional: bool
    sampling: dict[str, Any]

    def evaluation(self, chance: bool) -> Evaluation:
        """The scores of the codes."""
        evaluation = score_bank(*self[:-1], chance=chance)
        for name, reason in evaluation.skipped.items():
            warn(f"{name} was not taken: {reason}", SkippedScoreWarning)
        _warn_of_small_codes(evaluation, self.bank)
        return evaluation._replace(provenance={**evaluation.provenance, **self.sampling})


def prepare(
    codes: "Array",
    factors: "Array | None" = None,
    metrics: "Choices" = None,
    names: Sequence[str] | None = None,
    space: FactorSpace | None = None,
    bootstrap: int = 0,
    confidence: float = 0.95,
    seed: int = 0,
    shuffle: bool = True,
    kinds: Mapping[str, PlainKind] | None = None,
    groups: Groups | None = None,
) -> Prepared:
    """Checks all arguments of `evaluate` before anything is scored."""
    check_count("bootstrap", bootstrap, 0, most=1_000_000)
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must lie between 0 and 1, both excluded")
    chosen = builders(metrics, seed)
    order = seed if shuffle else None
    codes, factors, names = _apart(codes, factors, names, space)
    is_declared = space is not None or bool(kinds)
    bank, space = bank_of(codes, factors, names, space, order, kinds, groups)
    _warn_if_doubtful(bank, space)
    if not is_declared:
        _warn_if_swapped(bank, space)
    for build in chosen.values():
        built(build, space)  # refuses wrong settings
    sampling: dict[str, Any] = {"seed": seed, "shuffled": shuffle}
    if groups is not None:
        sampling["groups"] = [list(group) for group in groups]
    resampling = Bootstrap(bootstrap, confidence, seed)
    return Prepared(chosen, space, bank, resampling, metrics is None, sampling)


def _apart(
    codes: Any, factors: Array | None, names: Sequence[str] | None, space: FactorSpace | None
) -> tuple[Array, Array, Sequence[str] | None]:
    """Codes, factors and names of factors, which codes of a run have with them."""
    if not (hasattr(codes, "codes") and hasattr(codes, "factors")):
        if factors is None:
            tensor("codes", codes)  # refuses what is no table
            raise InputError(
                "factors are missing; give one row for each image, as codes have, or "
                "run.encode(), which has both"
            )
        return codes, factors, names
    if factors is not None:
        raise InputError(
            f"{type(codes).__name__} has codes and factors; leave out factors, and name other "
            "arguments, as in metrics=['MIG']; labels of your own are in another order: "
            "evaluate(encoded.codes, labels[encoded.rows])"
        )
    if names is None and space is None:
        names = getattr(codes, "names", None)
    return codes.codes, codes.factors, names


def _warn_if_doubtful(bank: CodeBank, space: FactorSpace) -> None:
    if not bank.std.any():
        warn(
            f"all latents are constant in {len(bank):,} images, so that the scores are those of "
            "codes without information, such as those of a collapsed model",
            DoubtfulScoresWarning,
        )
    elif len(bank) < _FEW:
        has_columns = min(bank.codes.shape[1], len(space.factors)) > len(bank)
        remedy = "; if their columns are images, give codes.T and factors.T"
        transposed = remedy if has_columns else ""
        warn(
            f"{len(bank)} images are too few to tell good codes from bad ones: scores of so few "
            f"are high or low by chance; some thousand images are usual{transposed}",
            DoubtfulScoresWarning,
        )


def _warn_if_swapped(bank: CodeBank, space: FactorSpace) -> None:
    """Warns if each factor was measured and each code numbers few values."""
    are_codes = all(factor.kind == "continuous" for factor in space.factors)
    are_factors = bool(((bank.codes >= 0) & (bank.codes == bank.codes.floor())).all())
    if not are_codes or not are_factors or not bank.std.any():
        return
    if not any(are_measured(len(column.unique()), len(column)) for column in bank.codes.T):
        warn(
            "codes are whole numbers of few values, and factors have a new number in nearly every "
            "image, as if the two were swapped; codes come first, then factors; if they are "
            f"right, say so in kinds, such as {space.names[0]}: continuous",
            DoubtfulScoresWarning,
        )


def _warn_of_small_codes(evaluation: Evaluation, bank: CodeBank) -> None:
    for metric in evaluation.metrics.values():
        if bank.std.any() and is_of_no_latent(metric["primary"], evaluation.values):
            warn(
                f"{metric['primary']} is 0 because the largest standard deviation of a latent is "
                f"{bank.std.max():.2g}, below the threshold of {metric['init_args']['threshold']} "
                "from which FactorVAEScore counts latents; rescale the codes, such as "
                "codes / codes.std(), or set a smaller threshold: FactorVAEScore.threshold=0.001",
                DoubtfulScoresWarning,
            )


def builders(choices: Choices, seed: int) -> dict[str, MetricBuilder]:
    """Builders of the chosen scores by name; scores without a seed of their own get `seed`."""
    metrics = _default() if choices is None else choices
    return chosen("metrics", metrics, seed, "score", "MIG.bins=30")


def _default() -> dict[str, MetricBuilder]:
    """The scores of the default set that are installed."""
    installed = {plugin.name for plugin in plugins.available("metrics")}
    return {
        name: functools.partial(plugins.load("metrics", cls), **settings)
        for name, (cls, settings) in DEFAULT.items()
        if cls in installed
    }
