"""Says which latents of a scored model carry which factors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dislab.codes.latent_order import (
    ACTIVE,
    LEAST,
    MAIN,
    NAMED,
    NONE_ACTIVE,
    PART,
    chance_noise,
    least_information,
    main_latents,
    own_latents,
)
from dislab.metrics.evaluation import INFORMATION, PER_FACTOR
from dislab.metrics.score_table import highest_of, is_of_no_latent
from dislab.metrics.sheet import (
    first_part,
    information_by_chance,
    information_of,
    informativeness_in,
    parts_of,
)
from dislab.report.figures import scored_factors
from dislab.runs.records import mapping_in

EXPLAINED: Final = "explained_variance"
"""Name of the share of the variance of pixels that reconstructions explain, without its split."""
_LITTLE: Final = 0.1
"""Share of the variance of pixels below which a model draws little more than the mean image."""
_LITTLE_KNOWN: Final = 0.25
"""Share of the entropy of a factor below which its main latent knows little of it."""
_NEAR: Final = 0.05
"""Difference from a half up to which a share of information is called close to it."""
_OF_WHAT: Final = (
    " A percentage is one latent's part of the sum of what each latent in use knows about the "
    "factor"
)
_PREDICTED: Final = 1 - _LITTLE_KNOWN
"""Informativeness from which on latents know more than little of a factor: 0 is chance, if known
by factor, and 1 is no error."""


class LatentInformation(NamedTuple):
    """What latents know about the factors that vary.

    Attributes:
        factors: Names of the factors.
        nats: Information of each latent about each factor; 0 for latents that are not in use.
        least: Nats about a factor from which on a latent carries it.
        noise: Nats about a factor that chance may give a latent.
        entropies: Entropy of each factor in nats; 0 if the record does not say it.
        images: Number of images that were scored; 0 if the record does not say it.
        is_collapsed: Whether no latent is active.
        is_still: Whether no latent with a posterior varies enough to count in the FactorVAE score.
    """

    factors: list[str]
    nats: Float[Tensor, "latent factor"]
    least: Float[Tensor, " factor"]
    noise: Float[Tensor, " factor"]
    entropies: Float[Tensor, " factor"]
    images: int
    is_collapsed: bool
    is_still: bool


def unearned_in(scored: Mapping[str, Any]) -> list[str]:
    """The factors that are predicted only in part, and no better than by untrained models.

    All of them if no latent varies enough to carry one.
    """
    information = information_in(scored)
    if information is not None and information.is_still:
        return information.factors
    return _predictions(scored, scored_factors(scored)).unearned


def verdict(scored: Mapping[str, Any]) -> str:
    """Says which factors have a latent of their own, and when the model does not draw its images.

    Each sentence is left out where its scores are missing. A factor without a latent of its own
    shares one, if that has more than half of the information about the factor, or is spread, or is
    in no latent, or hardly, as `own_latents` counts. Shares of the information that decide this are
    given, with those of the same latent about other factors from a quarter on, and those that are
    just above half, within 0.05, or not surely, within what chance may give this number of images.
    A latent that knows less than a quarter of the factor's entropy has it only weakly, and does not
    count; what it knows is given. A factor that is predicted only in part, and no better than by
    untrained models, has no latent of its own. A latent with a KL of at most 0.1 nats is not in
    use: it has no factor, and its information does not count. Of few images, information counts
    only if chance does not give as much; a factor without any cannot be told.

    Args:
        scored: The record of the scores of codes.
    """
    return " ".join(filter(None, (_on_images(scored), _on_factors(scored))))


def _on_images(scored: Mapping[str, Any]) -> str:
    """A sentence on reconstructions that explain less than a tenth of the variance of pixels."""
    scores = mapping_in(scored, "scores")
    shares = (scores.get(f"{EXPLAINED}_{split}") for split in ("test", "validation", "train"))
    share = next((share for share in shares if isinstance(share, int | float)), 1)
    if not share < _LITTLE:
        return ""
    if share < 0:
        return "Reconstructions are farther from the images than the mean image is: train longer."
    return (
        f"Reconstructions explain {100 * share:.0f} % of the variance of the pixels, little more "
        "than the mean image does: train longer, or weaken the regularizers."
    )


def _on_factors(scored: Mapping[str, Any]) -> str:
    """A sentence on which factors have a latent of their own; empty if that was not scored."""
    if (information := information_in(scored)) is None:
        return ""
    if information.is_collapsed:
        return (
            f"No latent is active: {NONE_ACTIVE} (posterior collapse, or a training that has "
            "hardly begun)."
        )
    if information.is_still:
        return (
            "No latent varies enough over the images to count in the FactorVAE score: codes of all "
            "images are nearly the same (a training that has hardly begun, or posterior collapse)."
        )
    shares = _shares(information)
    owners = dict(
        zip(information.factors, own_latents(information.nats, information.least), strict=True)
    )
    texts = {
        name: f"{name} in z{latent}{_with_others(shares[name], information, name, latent)}"
        for name, latent in owners.items()
        if latent is not None
    }
    unearned = _predictions(scored, list(texts)).unearned
    little = _little_known(information)
    weak = [name for name in texts if name in little and name not in unearned]
    alone = [text for name, text in texts.items() if name not in [*unearned, *weak]]
    if alone:
        verb = "has a latent of its" if len(alone) == 1 else "have a latent of their"
        text = f"{len(alone)} of {len(owners)} factors {verb} own: {', '.join(alone)}"
    elif (untold := _untold(information)) == list(owners):
        return f"What latents carry cannot be told from {information.images:,} images."
    else:
        text = f"No factor {'is seen to have' if untold else 'has'} a latent of its own"
    rest = [name for name, latent in owners.items() if latent is None]
    others = [*_without_own(rest, information, shares)]
    if weak:
        others.insert(0, f"{_listed([texts[name] for name in weak])} only weakly")
    if unearned:
        others.append(
            f"{_listed([texts[name] for name in unearned])} "
            f"{'is' if len(unearned) == 1 else 'are'} predicted no better than by untrained models "
            "of this architecture"
        )
    text = "; ".join([text, *others]) + "."
    named = [
        name
        for name, share in shares.items()
        if owners[name] is not None or (share and f"{name}{share}" in text)
    ]
    if not named:
        return text
    doubt = _doubt(scored, [name for name in named if name not in unearned])
    listed = _listed([f"{name} ({share})" for name, share in little.items()])
    its = "their" if len(little) > 1 else "its"
    ending = (
        f" Less than a quarter of the entropy of {listed} is in {its} latent." if little else ""
    )
    return f"{text}{_OF_WHAT}{doubt}.{ending}"


class _Predictions(NamedTuple):
    """How well all latents together predict factors that are not seen to be predicted well.

    Attributes:
        measured: Informativeness above chance and untrained models, by factor.
        unearned: Factors that untrained models predict no worse, within their spread.
        unknown: Factors without either.
    """

    measured: dict[str, float]
    unearned: list[str]
    unknown: list[str]


def _predictions(scored: Mapping[str, Any], names: Sequence[str]) -> _Predictions:
    """How well factors are predicted, of those that are not seen to be predicted well."""
    informativeness: dict[str, float] = {}
    is_above: dict[str, bool] = {}
    untrained: dict[str, float] = {}
    unsure = list(names)
    with suppress(TypeError, ValueError):  # a record written by hand
        parts = parts_of(mapping_in(scored, "parts"), scored_factors(scored))
        if parts.informativeness is not None and (predicted := parts.predicted()) is not None:
            chance = -np.inf if parts.chance is None else parts.chance + _NEAR
            above = (parts.informativeness > chance).tolist()
            informativeness = dict(zip(parts.names, parts.informativeness.tolist(), strict=True))
            is_above = dict(zip(parts.names, above, strict=True))
            shares = dict(zip(parts.names, predicted.tolist(), strict=True))
            unsure = [name for name in names if not shares.get(name, 0.0) >= _PREDICTED]
            untrained = _untrained(scored)
    unearned = [
        name
        for name in unsure
        if informativeness.get(name, math.nan) <= untrained.get(name, -math.inf)
    ]
    told = [name for name in unsure if is_above.get(name, False)]
    if not untrained and not _is_trained(scored):
        told = []
    measured = {name: informativeness[name] for name in told if name not in unearned}
    others = [name for name in unsure if name not in unearned and name not in measured]
    return _Predictions(measured, unearned, others)


def _doubt(scored: Mapping[str, Any], names: Sequence[str]) -> str:
    """The end of the sentence on percentages of the factors; empty if all are predicted well."""
    measured, unearned, unknown = _predictions(scored, names)
    levels = _listed([f"{level:.2f}" for level in measured.values()])
    rest = "it" if unknown == list(names) else _listed(unknown)
    return "".join(
        [
            f", which may be little of {rest}" if unknown else "",
            f"; all latents together predict {_listed(list(measured))} only in part (DCI "
            f"informativeness {levels})"
            if measured
            else "",
            f"; untrained models of this architecture predict {_listed(unearned)} no worse, within "
            "their spread"
            if unearned
            else "",
        ]
    )


def _untrained(scored: Mapping[str, Any]) -> dict[str, float]:
    """The informativeness of each factor that untrained models may reach; empty if not known."""
    name, factors = informativeness_in(mapping_in(scored, "parts")), scored_factors(scored)
    spreads = untrained_by_factor(scored, f"{name}{PER_FACTOR}", len(factors))
    return dict(zip(factors, map(highest_of, spreads), strict=False))


def _is_trained(scored: Mapping[str, Any]) -> bool:
    """Whether informativeness of all factors together is above untrained models, or not known."""
    name = informativeness_in(mapping_in(scored, "parts"))
    spread = mapping_in(mapping_in(mapping_in(scored, "untrained"), "scores"), name)
    value = mapping_in(scored, "scores").get(name)
    return not (isinstance(value, int | float) and value <= highest_of(spread))


def untrained_by_factor(
    scored: Mapping[str, Any], name: str, count: int
) -> list[dict[str, float | None]]:
    """Mean and deviation over untrained models of a score of single factors; empty if not known.

    Args:
        scored: The record of the scores of codes.
        name: Name of the part, with one number per factor.
        count: The number of factors.
    """
    spread = mapping_in(mapping_in(mapping_in(scored, "untrained"), "parts"), name)
    columns = [spread.get(key) for key in ("mean", "std")]
    if any(not isinstance(column, list) or len(column) != count for column in columns):
        return []
    return [{"mean": mean, "std": std} for mean, std in zip(*columns, strict=True)]


def _listed(texts: Sequence[str]) -> str:
    """Texts as in `x, y and z`; empty for none."""
    *others, last = texts or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _little_known(information: LatentInformation) -> dict[str, str]:
    """The share of the entropy of factors of which their main latent knows less than a quarter."""
    nats, entropies = information.nats, information.entropies.tolist()
    main = main_latents(nats, information.least)
    shares = {
        name: 100 * float(nats[latent, factor]) / entropy
        for factor, (name, latent, entropy) in enumerate(
            zip(information.factors, main, entropies, strict=True)
        )
        if latent is not None and nats[latent, factor] < _LITTLE_KNOWN * entropy
    }
    return {
        name: f"{min(share, 24.9):{'.1f' if share > 24 else '.0f'}} %"
        for name, share in shares.items()
    }


def information_in(scored: Mapping[str, Any]) -> LatentInformation | None:
    """What latents know about the factors that vary; None if that was not scored.

    Args:
        scored: The record of the scores of codes.
    """
    parts, factors = mapping_in(scored, "parts"), scored_factors(scored)
    try:
        told, measured, kl = (
            information_of(parts),
            *(first_part(parts, name) for name in (INFORMATION, "kl_per_latent")),
        )
    except (TypeError, ValueError):  # a record written by hand
        return None
    if told is None or measured is None or measured.shape[1:] != (len(factors),):
        return None
    varies = np.any(np.nan_to_num(measured) != 0, axis=0)  # nothing is known of constant factors
    if not varies.any():
        return None
    told = np.nan_to_num(told[:, varies])
    is_collapsed, is_still = False, False
    if kl is not None and kl.shape == told.shape[:1]:
        told[kl <= NAMED] = 0  # a sample of a latent tells at most its KL
        is_collapsed = bool((kl <= ACTIVE).all())
        scores = mapping_in(scored, "scores")
        is_still = any(is_of_no_latent(name, scores) for name in scores)
        if is_still:  # of a constant code, the KL is that of its mean
            told[:] = 0
    names = list(compress(factors, varies))
    entropies = _entropies(mapping_in(scored, "sample"), names)
    by_chance, images = information_by_chance(parts), mapping_in(scored, "sample").get("images")
    images = images if isinstance(images, int) else 0
    noise = torch.zeros_like(entropies)
    if by_chance is not None and images > 0:
        noise = chance_noise(torch.from_numpy(np.nan_to_num(by_chance[:, varies])), images)
    least = least_information(entropies, noise)
    nats = torch.from_numpy(told)
    return LatentInformation(names, nats, least, noise, entropies, images, is_collapsed, is_still)


def _entropies(sample: Mapping[str, Any], names: Sequence[str]) -> Float[Tensor, " factor"]:
    """Entropy in nats of factors in the scored images; the most it can be, in an older record."""
    measured, sizes = mapping_in(sample, "entropy"), mapping_in(sample, "factors")
    entropies = []
    for name in names:
        size, entropy = sizes.get(name), measured.get(name)
        most = math.log(size) if isinstance(size, int) and size > 0 else 0.0
        entropies.append(entropy if isinstance(entropy, int | float) else most)
    return torch.tensor(entropies, dtype=torch.float64)


def _untold(information: LatentInformation) -> list[str]:
    """The factors about which no latent has more information than chance may give few images."""
    is_noise = information.nats.amax(0) <= information.noise
    is_noise &= information.noise >= information.least
    return list(compress(information.factors, is_noise.tolist()))


def _shares(information: LatentInformation) -> dict[str, str]:
    """The share of a factor's main latent, and how sure it is above half; empty without one.

    Of a factor that is spread, the latents that hold most or a quarter, each with its share.
    """
    largest, total = information.nats.max(0), information.nats.sum(0)
    above = largest.values - MAIN * total
    main, is_spread = main_latents(information.nats, information.least), _is_spread(information)
    texts = {}
    for k, name in enumerate(information.factors):
        if is_spread[k]:
            texts[name] = _over_latents(information.nats[:, k], float(information.noise[k]))
            continue
        near = ", just above half" if above[k] <= _NEAR * total[k] else ""
        near = near or ", not surely above half" * bool(above[k] <= information.noise[k])
        is_there = main[k] is not None
        texts[name] = f" ({100 * float(largest.values[k] / total[k]):.0f} %{near})" * is_there
    return texts


def _is_spread(information: LatentInformation) -> Bool[Tensor, " factor"]:
    """Which factors latents in use know enough about, none of them more than half."""
    nats, total = information.nats, information.nats.sum(0)
    is_there = (nats.amax(0) > LEAST) & (total > information.least)
    return is_there & (nats.amax(0) <= MAIN * total)


def _over_latents(nats: Float[Tensor, " latent"], noise: float) -> str:
    """The latents that hold most or a quarter about a factor, as `carried_factors` counts."""
    shares = nats.where(nats > max(noise, LEAST), 0.0) / nats.sum()
    pairs = zip(*(part.tolist() for part in shares.sort(descending=True)), strict=True)
    least = min(PART, max(float(shares.max()), 1e-9))
    held = [f"{100 * share:.0f} % in z{latent}" for share, latent in pairs if share >= least]
    return f" ({_listed(held)})" if held else ""


def _with_others(share: str, information: LatentInformation, name: str, latent: int) -> str:
    """A share of a factor, with those of the factors of other latents that its latent holds."""
    nats, total = information.nats[latent], information.nats.sum(0)
    main = main_latents(information.nats, information.least)
    others = [
        f"{100 * float(nats[k] / total[k]):.0f} % of {other}"
        for k, other in enumerate(information.factors)
        if other != name and main[k] is not None and nats[k] >= PART * total[k]
    ]
    return f"{share[:-1]}; also {_listed(others)})" if others else share


def _without_own(
    names: Sequence[str], information: LatentInformation, shares: Mapping[str, str]
) -> Iterator[str]:
    """Where factors without a latent of their own are: shared, spread, in no latent, or unknown.

    Little is in any latent of a factor whose largest share is more than half of too little.
    """
    factors, nats, least = information.factors, information.nats, information.least
    is_there = (nats.amax(0) > LEAST) & (nats.sum(0) > least)
    is_spread = _is_spread(information)
    kinds = [is_spread, is_there & ~is_spread, ~is_there]
    untold = _untold(information)
    main = dict(zip(factors, main_latents(nats, least), strict=True))
    together: dict[int, list[str]] = {}
    for name in names:
        if (latent := main[name]) is not None:
            together.setdefault(latent, []).append(f"{name}{shares[name]}")
    yield from (f"{' and '.join(members)} share z{k}" for k, members in together.items())
    rest = [name for name in names if main[name] is None]
    rest = [name for name in rest if name not in untold]
    spread, little, nowhere = (
        [name for name in rest if kind[factors.index(name)]] for kind in kinds
    )
    for members, ending in (
        (spread, "spread over several latents"),
        (nowhere, "in no latent in use"),
    ):
        if members:
            texts = [f"{name}{shares[name]}" for name in members]
            yield f"{_listed(texts)} {'is' if len(members) == 1 else 'are'} {ending}"
    if little:
        yield f"little of {_listed(little)} is in any latent in use"
    if untold:
        yield f"{_listed(untold)} cannot be told from {information.images:,} images"
