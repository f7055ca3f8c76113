"""Check of scores."""

import inspect
import math
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor

from dislab.base import Metric, MetricBuilder
from dislab.base.failures import failure, message_of
from dislab.base.metric import primary
from dislab.codes.bank import CodeBank, checked
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.random import device_generator
from dislab.testing._claims import (
    CPU,
    mistakes,
    must,
    must_equal,
    must_keep_states,
    part_from,
    random_states,
    refuses,
)

_ROUNDING: Final = 1e-5
"""Largest change of a score in another order of the images, as a share of its value."""
_CHANCE: Final = 0.2
"""Likewise of a score that draws images, or learns from the first ones; a share of its range."""
_ORDERS: Final = 3
"""Number of other orders of the images."""


def check_metric(build: MetricBuilder, images: int = 3000) -> None:
    """Checks that a score is a pure function of codes and factors and is never NaN.

    Tests informative codes, noise, constant latents, fewer latents than factors, more latents than
    images, a constant factor, a continuous factor and a resample of the images. In each case the
    primary scalar lies within the bounds of the class, if it has some, or the score raises an
    `InputError`, which is allowed for few images, for fewer latents than factors, for codes with
    only constant latents and for a continuous factor. The class says `higher_is_better`. The score
    leaves codes, factors and the global random states unchanged, rejects a single image, and
    depends neither on factor values that no image has nor on the order of the images. With a
    setting `seed`, or with `bootstraps = False`, it may draw images or learn from the first ones:
    their order then moves the primary scalar by at most a fifth of its range.

    Args:
        build: The class, or a partial of it.
        images: Number of images to score.
    """
    space = FactorSpace((Factor("a", (0.0, 1.0, 2.0)), Factor("b", (0.0, 1.0, 2.0, 3.0))))
    generator = device_generator(CPU, 0)
    index = torch.randint(len(space), (images,), generator=generator)
    factors = torch.from_numpy(space.positions(index.numpy()))
    noise = torch.randn(images, 3, generator=generator)
    informative = torch.cat([factors.float(), noise[:, :1]], dim=1)
    cls = build.func if isinstance(build, partial) else build
    if inspect.isclass(cls) and issubclass(cls, Metric):
        must(
            cls.compute is Metric.compute,
            f"{cls.__name__} implements `score`, not `compute`, which checks the codes and calls "
            "`score`",
        )
    metric = part_from(Metric, build, space=space)
    must(
        metric.higher_is_better is not None,
        f"{type(metric).__name__} says whether more is better: higher_is_better = True, or False",
    )
    for codes in (informative, noise):
        _check_cuts(build, space, codes, factors)
    _check_odd_codes(build, space, informative[:300], factors[:300], generator)
    _check_purity(build(space), informative[:300], factors[:300])
    _check_missing_value(build, space, informative[:300], factors[:300])
    _check_continuous(build, noise[:300], factors[:300])
    refuses(
        lambda: _scored(build(space), informative[:1], factors[:1]), "a score refuses one image"
    )


def _check_cuts(build: MetricBuilder, space: FactorSpace, codes: Tensor, factors: Tensor) -> None:
    results: list[Any] = []
    for parts in (1, 1, 4):
        metric = build(space)
        for rows in torch.chunk(torch.arange(len(codes)), parts):
            metric.update(codes[rows], factors[rows])
        with mistakes():
            results.append(metric.compute())
        _check_kind(type(metric).__name__, results[-1])
    single, again, several = results
    must(
        single.keys() == several.keys(),
        f"compute returns the same names every time, not {', '.join(single)} and then "
        f"{', '.join(several)}",
    )
    for name in single:
        must(bool(single[name].isfinite().all()), f"{name} is finite, not {single[name].tolist()}")
        must_equal(
            again[name],
            single[name],
            f"two computations on the same codes give the same {name} (draw random numbers from "
            "dislab.functional.random.host_generator(self.seed, purpose))",
        )
        must_equal(
            several[name], single[name], f"{name} of four updates is that of one with all images"
        )
    _check_primary(build(space), single)


def _check_kind(score: str, result: object) -> None:
    """Refuses a result that is no dictionary of tensors, and says what it is."""
    expected = "; it must return a dictionary of tensors by name"
    if not isinstance(result, Mapping):
        raise AssertionError(f"{score}.score returns a {type(result).__name__}{expected}")
    for name, value in result.items():
        if not isinstance(value, Tensor):
            kind = type(value).__name__
            raise AssertionError(f"{score}.score returns {name} as {kind}{expected}")


def _check_odd_codes(
    build: MetricBuilder,
    space: FactorSpace,
    codes: Tensor,
    factors: Tensor,
    generator: torch.Generator,
) -> None:
    still = torch.cat([codes, torch.full((len(codes), 2), 7.0)], dim=1)
    wide = torch.randn(60, 90, generator=generator)
    narrow = factors.clone()
    narrow[:, 1] = 2
    cases = {
        "constant latents": (still, factors, False),
        "codes that never change": (torch.zeros_like(codes), factors, True),
        "fewer latents than factors": (codes[:, :1], factors, True),
        "more latents than images": (wide, factors[:60], True),
        "a factor that never varies": (codes, narrow, True),
    }
    for name, (odd, positions, may_refuse) in cases.items():
        metric = build(space)
        try:
            result = _scored(metric, odd, positions, name)
        except InputError as error:
            must(may_refuse, f"{name} are no reason to refuse ({error})")
            continue
        broken = [score for score, value in result.items() if value.ndim == 0 and value.isnan()]
        must(not broken, f"{name} do not make a scalar NaN, but {', '.join(broken)} is")
        _check_primary(metric, result)


def _check_purity(metric: Metric, codes: Tensor, factors: Tensor) -> None:
    bank = checked([codes], [factors], metric.space, metric.least)
    before = bank.codes.clone(), bank.factors.clone()
    states = random_states()
    first, again = metric.score(bank), metric.score(bank)
    must_equal(bank.codes, before[0], "score leaves the codes of the bank alone")
    must_equal(bank.factors, before[1], "score leaves the factors of the bank alone")
    must_keep_states(states, "score draws from a generator of its own")
    for name, value in first.items():
        must_equal(again[name], value, f"{name} is the same the second time")
    if metric.bootstraps:
        rows = torch.arange(len(codes)).remainder(len(codes) - 7)
        result = metric.score(bank.rows(rows))
        resampled = result[primary(result)].item()
        must(
            math.isfinite(resampled),
            f"a resample of the images can be scored, but gives {resampled}; a class for which it "
            "makes no sense sets bootstraps = False",
        )
    _check_order(metric, bank, first)


def _check_order(metric: Metric, bank: CodeBank, first: Mapping[str, Tensor]) -> None:
    """Refuses a score that the order of the images changes by more than rounding, or chance."""
    generator = device_generator(CPU, 0)
    orders = [torch.randperm(len(bank), generator=generator) for _ in range(_ORDERS)]
    others = [metric.score(bank.in_order(order)) for order in orders]
    lower, upper = metric.plot_lower_bound, metric.plot_upper_bound
    chance = math.inf if lower is None or upper is None else _CHANCE * (upper - lower)
    exact = metric.bootstraps and "seed" not in inspect.signature(type(metric)).parameters
    scalars = [name for name, value in first.items() if value.ndim == 0]
    for name in scalars if exact else [primary(first)]:
        before = first[name].item()
        after = max((other[name].item() for other in others), key=lambda each: abs(each - before))
        room = _ROUNDING * abs(before) + 1e-6 if exact else chance
        must(
            abs(after - before) <= room,
            "a score does not depend on the order of the images, but "
            f"{name} is {before:.4g}, and {after:.4g} with the same images in another order; use "
            "all of them alike, and let a score that learns from the first ones and tests on the "
            "last say bootstraps = False",
        )


def _check_missing_value(
    build: MetricBuilder, space: FactorSpace, codes: Tensor, factors: Tensor
) -> None:
    larger = FactorSpace((*space.factors[:1], Factor("b", (0.0, 1.0, 2.0, 3.0, 4.0))))
    plain, wider = (
        _scored(build(factor_space), codes, factors) for factor_space in (space, larger)
    )
    name = primary(plain)
    before, after = plain[name].item(), wider[name].item()
    must(
        abs(after - before) <= 1e-9,
        f"{name} does not depend on values that no image has; it is {before:.4g}, and {after:.4g} "
        "where factor b has one more value in the factor space: use those of bank.factors",
    )


def _check_continuous(build: MetricBuilder, noise: Tensor, factors: Tensor) -> None:
    """Checks a score on a continuous factor that has the same values as a noise latent."""
    measured = noise[:, :1].double()
    order = measured[:, 0].argsort().argsort()
    numbers = tuple(measured[:, 0].sort().values.tolist())
    space = FactorSpace((Factor("a", (0.0, 1.0, 2.0)), Factor("x", numbers, "continuous")))
    try:
        metric = build(space)
        positions = torch.stack([factors[:, 0], order], dim=1)
        result = _scored(metric, noise, positions, "a continuous factor")
    except InputError:
        return
    broken = [score for score, value in result.items() if value.ndim == 0 and value.isnan()]
    must(not broken, f"a continuous factor does not make a scalar NaN, but {', '.join(broken)} is")
    _check_primary(metric, result)


def _check_primary(metric: Metric, result: Mapping[str, Tensor]) -> None:
    try:
        name = primary(result)
    except InputError as error:
        raise AssertionError(f"{type(metric).__name__}.score: {error}") from error
    value = result[name].item()
    lower, upper = metric.plot_lower_bound, metric.plot_upper_bound
    must(lower is None or value >= lower - 1e-9, f"{name} is at least {lower}, not {value}")
    must(upper is None or value <= upper + 1e-9, f"{name} is at most {upper}, not {value}")


def _scored(metric: Metric, codes: Tensor, factors: Tensor, case: str = "") -> dict[str, Tensor]:
    """The results for some images; an AssertionError names the `case` that the score fails in."""
    metric.update(codes, factors)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            result: dict[str, Tensor] = metric.compute()
    except InputError:
        raise
    except Exception as error:  # a score may raise anything
        images = f"{len(codes)} images" + (f" with {case}" if case else "")
        raise AssertionError(
            f"{failure(error) or message_of(error)}; there are {images}: score them (bank.varied "
            "tells which factors vary), or let the score raise an InputError that says why not"
        ) from error
    return result
