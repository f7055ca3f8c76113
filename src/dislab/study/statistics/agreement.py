"""Agreement between the latents of models: UDR, and one-to-one matching of latents."""

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from dislab.errors import InputError
from dislab.functional.checks import check_above, check_at_least, check_choice
from dislab.study.statistics._frames import Columns, chosen_settings, groups

Similarity = Literal["lasso", "spearman"]
"""Similarity measure between latents of two models."""
Form = Literal["pooled", "averaged"]
"""Method of averaging over the latents of both models of a pair."""

LEAST_MODELS: Final = 5
"""Minimum number of models of one setting for UDR."""
ALPHA: Final = 0.1
"""Penalty of the Lasso."""


class Agreement(NamedTuple):
    """Pairwise agreement between models.

    Attributes:
        scores: Median over the other models, shape (model,).
        pairs: Score of each pair, shape (model, model); NaN on the diagonal. With the Lasso, entry
            (i, j) predicts latents of i from those of j.
        informative: Number of informative latents of each model.
    """

    scores: Float[np.ndarray, " model"]
    pairs: Float[np.ndarray, "model model"]
    informative: list[int]


def udr(
    codes: Sequence[Float[np.ndarray, "image _"]],
    kl: Sequence[Float[np.ndarray, " _"]],
    similarity: Similarity = "lasso",
    form: Form = "pooled",
    alpha: float = ALPHA,
    threshold: float = 0.01,
) -> Agreement:
    """Unsupervised disentanglement ranking of models that differ only in the seed.

    A disentangled model learns the same latents with every seed, up to order and sign; an entangled
    one learns different mixtures each time. Given the similarity R between the informative latents
    a of one model and b of another, each latent is scored by its closest partner, max R² / Σ R, and
    a pair of models by

    * `pooled`: the mean over all latents of both models, as in the paper;
    * `averaged`: the average of both models' mean over their own latents, as in the authors' code.
      Both are equal if the models have the same number of informative latents.

    A latent without any similarity scores 0. A model's score is the median over its partners. It
    lies in [0, 1], and with `lasso` in [0, 1 − alpha] if latents are uncorrelated.

    Duan et al. (2020), https://arxiv.org/abs/1905.12614; defaults as in the authors'
    code. Departure: the score of a pair with a model without informative latents is 0; the
    authors' code fails.

    Args:
        codes: Posterior means of each model for the same images, in the same order.
        kl: KL of each model's latents from the prior, averaged over images, in nats.
        similarity: `lasso`, |weights| that predict the standardized latents of one model from
            those of the other; `spearman`, |rank correlation|.
        form: `pooled` or `averaged`.
        alpha: Penalty of the Lasso.
        threshold: KL above which a latent is informative, in nats.

    Raises:
        InputError: There are fewer than five models, arrays have inconsistent shapes or non-finite
            values, or a setting is out of bounds.
    """
    check_choice("similarity", similarity, ("lasso", "spearman"))
    check_choice("form", form, ("pooled", "averaged"))
    check_above("alpha", alpha, 0)
    latents = _informative(codes, kl, threshold)
    if len(codes) < LEAST_MODELS:
        raise InputError(
            f"UDR compares models of one setting that differ in the seed: {len(codes)} given, at "
            f"least {LEAST_MODELS} needed; train more seeds"
        )
    matrices = _similarities(latents, similarity, alpha)
    return _agreement(
        latents, {pair: pair_score(matrix, form) for pair, matrix in matrices.items()}
    )


def udr_by_setting(
    table: pd.DataFrame,
    codes: Mapping[Any, Float[np.ndarray, "image _"]],
    kl: Mapping[Any, Float[np.ndarray, " _"]],
    by: Columns = None,
    similarity: Similarity = "lasso",
    form: Form = "pooled",
) -> pd.Series:
    """UDR of every run among the runs of the same setting, as a series named `udr_lasso_pooled`.

    Runs without codes, and those of settings with fewer than five runs with codes, get NaN.

    Args:
        table: One row per run; the index is the run's id.
        codes: Posterior means by run id, for the same images.
        kl: KL of each latent from the prior by run id, in nats.
        by: Names of the columns that define a setting; `None` for every setting but the seed.
        similarity: See `udr`.
        form: See `udr`.

    Raises:
        InputError: No setting has five runs with codes, a column is missing, or as for `udr`.
    """
    scores = pd.Series(np.nan, index=table.index, name=f"udr_{similarity}_{form}")
    most = 0
    for _, group in groups(table, chosen_settings(table, by, "by")):
        members = [run for run in group.index if run in codes and run in kl]
        most = max(most, len(members))
        if len(members) >= LEAST_MODELS:
            agreement = udr(
                [codes[run] for run in members], [kl[run] for run in members], similarity, form
            )
            scores[members] = agreement.scores
    if most < LEAST_MODELS:
        raise InputError(
            f"UDR needs at least {LEAST_MODELS} seeds of one setting; the setting with the most "
            f"runs with codes has {most}; train more seeds"
        )
    return scores


def alignment(
    codes: Sequence[Float[np.ndarray, "image _"]],
    kl: Sequence[Float[np.ndarray, " _"]],
    threshold: float = 0.01,
) -> Agreement:
    """Mean |rank correlation| of latents matched one to one between models.

    The latents of two models are matched to maximise the sum of |rank correlations|, which is then
    divided by the larger number of informative latents: a latent without a partner counts 0. Unlike
    UDR, it ignores whether other latents carry the same information.

    The matching is that of the mean correlation coefficient between two models: Khemakhem et al.
    (2020), https://arxiv.org/abs/1907.04809.

    Args:
        codes: Posterior means of each model for the same images, in the same order.
        kl: KL of each model's latents from the prior, averaged over images, in nats.
        threshold: KL above which a latent is informative, in nats.

    Raises:
        InputError: There are fewer than two models, arrays have inconsistent shapes or non-finite
            values, or the threshold is negative.
    """
    latents = _informative(codes, kl, threshold)
    if len(latents) < 2:
        raise InputError(f"alignment compares models: {len(latents)} given, at least 2 needed")
    matrices = _similarities(latents, "spearman", 0.0)
    return _agreement(latents, {pair: _matched(matrix) for pair, matrix in matrices.items()})


def every_agreement(
    codes: Mapping[Any, Float[np.ndarray, "image _"]],
    kl: Mapping[Any, Float[np.ndarray, " _"]],
    threshold: float = 0.01,
) -> pd.DataFrame:
    """UDR in every form, and alignment, of models that differ only in the seed.

    One row per model, with the columns `udr_<similarity>_<form>` (see `udr`), `alignment` (see
    `alignment`) and `informative`, the number of informative latents. UDR is NaN for fewer than
    five models, alignment for a single one. Each pair of models is compared once.

    Args:
        codes: Posterior means by model, for the same images.
        kl: KL of each latent from the prior by model, in nats.
        threshold: KL above which a latent is informative, in nats.

    Raises:
        InputError: Arrays have inconsistent shapes or non-finite values, or the threshold is
            negative.
    """
    names = list(codes)
    latents = _informative([codes[name] for name in names], [kl[name] for name in names], threshold)
    matrices = {name: _similarities(latents, name, ALPHA) for name in get_args(Similarity)}
    columns: dict[str, Any] = {
        f"udr_{similarity}_{form}": _agreement(
            latents, {pair: pair_score(part, form) for pair, part in matrices[similarity].items()}
        ).scores
        if len(latents) >= LEAST_MODELS
        else np.nan
        for similarity in get_args(Similarity)
        for form in get_args(Form)
    }
    matched = {pair: _matched(part) for pair, part in matrices["spearman"].items()}
    columns["alignment"] = _agreement(latents, matched).scores if matched else np.nan
    columns["informative"] = [float(part.shape[1]) for part in latents]
    return pd.DataFrame(columns, index=names)


def latent_similarity(
    first: Float[np.ndarray, "image latent"],
    second: Float[np.ndarray, "image partner"],
    similarity: Similarity,
    alpha: float = ALPHA,
) -> Float[np.ndarray, "latent partner"]:
    """Non-negative similarity between every latent of one model and every latent of another.

    Args:
        first: Codes of the first model, the targets of the Lasso.
        second: Codes of the other model for the same images.
        similarity: See `udr`.
        alpha: Penalty of the Lasso.
    """
    first, second = _units(first, similarity), _units(second, similarity)
    return _similarity(first, second, similarity, alpha)


def _similarities(
    latents: Sequence[Float[np.ndarray, "image _"]], similarity: Similarity, alpha: float
) -> dict[tuple[int, int], Float[np.ndarray, "_ _"]]:
    """Similarity of the informative latents of every ordered pair of models."""
    units = [_units(codes, similarity) for codes in latents]
    if similarity == "lasso":
        return {
            (first, second): _similarity(units[first], units[second], similarity, alpha)
            for first, second in permutations(range(len(latents)), 2)
        }
    matrices = {}
    for first, second in combinations(range(len(latents)), 2):
        matrices[first, second] = _similarity(units[first], units[second], similarity, alpha)
        matrices[second, first] = matrices[first, second].T
    return matrices


def _agreement(
    latents: Sequence[Float[np.ndarray, "image _"]], scores: Mapping[tuple[int, int], float]
) -> Agreement:
    """The scores of pairs as a matrix, and the median of each model."""
    pairs = np.full((len(latents), len(latents)), np.nan)
    for pair, score in scores.items():
        pairs[pair] = score
    return Agreement(np.nanmedian(pairs, axis=1), pairs, [codes.shape[1] for codes in latents])


def _units(
    codes: Float[np.ndarray, "image latent"], similarity: Similarity
) -> Float[np.ndarray, "image latent"]:
    """Codes or their ranks, standardised to mean 0 and deviation 1; 0 for a constant latent."""
    from scipy.stats import rankdata
    from sklearn.preprocessing import StandardScaler

    if not codes.size:
        return codes
    values = rankdata(codes, axis=0) if similarity == "spearman" else codes
    return np.asarray(StandardScaler().fit_transform(values))


def _similarity(
    first: Float[np.ndarray, "image latent"],
    second: Float[np.ndarray, "image partner"],
    similarity: Similarity,
    alpha: float,
) -> Float[np.ndarray, "latent partner"]:
    """Similarity of every pair of latents of two models, from the results of `_units`."""
    from sklearn.linear_model import Lasso

    shape = first.shape[1], second.shape[1]
    if 0 in shape:
        return np.zeros(shape)
    if similarity == "spearman":
        return np.asarray(np.abs(first.T @ second) / len(first))
    weights = Lasso(alpha=alpha, precompute=True).fit(second, first).coef_
    return np.asarray(np.abs(weights).reshape(shape))  # restores the axis of a single target


def pair_score(similarity: Float[np.ndarray, "latent partner"], form: Form) -> float:
    """Score of a pair of models, from the similarity of their informative latents.

    Args:
        similarity: Non-negative numbers.
        form: See `udr`.
    """
    if not similarity.size:
        return 0.0
    sides = [_strengths(similarity), _strengths(similarity.T)]
    if form == "pooled":
        return float(np.concatenate(sides).mean())
    return float(np.mean([side.mean() for side in sides]))


def _strengths(similarity: Float[np.ndarray, "latent partner"]) -> Float[np.ndarray, " latent"]:
    """Squared largest similarity of each latent, divided by the sum of all; 0 if all are 0."""
    total = similarity.sum(1)
    shares = np.divide(similarity.max(1) ** 2, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(shares)


def _matched(similarity: Float[np.ndarray, "latent partner"]) -> float:
    """Sum of the best one-to-one matching, divided by the larger number of latents."""
    from scipy.optimize import linear_sum_assignment

    chosen = linear_sum_assignment(similarity, maximize=True)
    return float(similarity[chosen].sum() / max(*similarity.shape, 1))


def _informative(
    codes: Sequence[Float[np.ndarray, "image _"]],
    kl: Sequence[Float[np.ndarray, " _"]],
    threshold: float,
) -> list[Float[np.ndarray, "image _"]]:
    """Informative latents of each model in double precision; checks shapes and values."""
    check_at_least("threshold", threshold, 0)
    if len(codes) != len(kl):
        raise InputError(f"codes of {len(codes)} models and KL of {len(kl)}; give one KL a model")
    latents = []
    for index, (mean, divergence) in enumerate(zip(codes, kl, strict=True)):
        images = len(codes[0])
        if len(mean) != images or mean.shape[1:] != divergence.shape or images < 2:
            raise InputError(
                f"model {index} has codes of shape {mean.shape} and KL of shape "
                f"{divergence.shape}; give (images, latents) and (latents,), with the same "
                f"images for every model, at least 2 (model 0 has {images})"
            )
        if not np.isfinite(mean).all() or not np.isfinite(divergence).all():
            raise InputError(f"codes or KL of model {index} are not finite; leave the model out")
        informative: Bool[np.ndarray, " latent"] = divergence > threshold
        latents.append(mean[:, informative].astype(np.float64))
    return latents
