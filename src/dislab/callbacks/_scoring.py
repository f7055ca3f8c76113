"""Scores of codes, and the records and tables made of them."""

import functools
import inspect
import math
import statistics
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor
from tqdm import tqdm

from dislab.base import Metric, MetricBuilder
from dislab.callbacks._encoding import Encoding
from dislab.factors import FactorSpace

ACTIVE = 0.01
"""From how many nats of KL a latent counts as active."""


class Scores(NamedTuple):
    """What the scores say of one set of codes.

    Attributes:
        values: Scalars by name.
        parts: Lists and nested lists by name, such as one number a factor.
        settings: Class and settings of each score, by the name the user gave it.
    """

    values: dict[str, float]
    parts: dict[str, Any]
    settings: dict[str, dict[str, Any]]


def score(metrics: Mapping[str, MetricBuilder], space: FactorSpace, encoding: Encoding) -> Scores:
    """All scores of one encoding.

    A name that two scores both use is told apart by the name that the user gave each score, as in
    `fine/mig`.

    Args:
        metrics: Makes the scores, by the user's names.
        space: The factors behind the images.
        encoding: Codes and factors.
    """
    results: dict[str, dict[str, Tensor]] = {}
    settings = {}
    bar = tqdm(metrics.items(), desc="scores", unit=" scores", leave=False, disable=None)
    for key, build in bar:
        bar.set_description(key)
        metric = build(space)
        metric.update(encoding.codes, encoding.factors)
        results[key] = metric.compute()
        settings[key] = _settings(build, metric)
    uses = Counter(name for result in results.values() for name in result)
    named = {
        name if uses[name] == 1 else f"{key}/{name}": tensor
        for key, result in results.items()
        for name, tensor in result.items()
    }
    values = {name: float(tensor) for name, tensor in named.items() if tensor.ndim == 0}
    parts = {name: tensor.tolist() for name, tensor in named.items() if tensor.ndim}
    if encoding.kl is not None:
        values["active_units"] = float((encoding.kl > ACTIVE).sum())
        parts["kl_per_latent"] = encoding.kl.tolist()
    return Scores(values, parts, settings)


def spread(copies: list[dict[str, float]]) -> dict[str, dict[str, Any]]:
    """Mean and standard deviation of each score over several models.

    The standard deviation divides by one less than the number of models; of one model it is not
    a number.

    Args:
        copies: The scores of each model, all with the same names.
    """
    by_name = {name: [copy[name] for copy in copies] for name in copies[0]} if copies else {}
    return {
        name: {
            "mean": statistics.fmean(values),
            "std": statistics.stdev(values) if len(values) > 1 else math.nan,
            "values": values,
        }
        for name, values in by_name.items()
    }


def table(values: Mapping[str, float], untrained: Mapping[str, Mapping[str, Any]]) -> str:
    """The scores in aligned columns, one line a score.

    Args:
        values: Scalars by name.
        untrained: What `spread` returned; empty for no such column.
    """
    head = ["score", "value"] + (["untrained"] if untrained else [])
    rows = [head]
    for name, value in values.items():
        row = [name, f"{value:.4f}"]
        if name in untrained:
            floor = untrained[name]
            several = not math.isnan(floor["std"])
            row.append(f"{floor['mean']:.4f}" + (f" ± {floor['std']:.4f}" if several else ""))
        rows.append(row + [""] * (len(head) - len(row)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def _settings(build: MetricBuilder, metric: Metric) -> dict[str, Any]:
    """The class of a score and all its settings, given and default."""
    cls = type(metric)
    own = list(inspect.signature(cls.__init__).parameters.values())[2:]
    defaults = {one.name: one.default for one in own if one.default is not one.empty}
    given = build.keywords if isinstance(build, functools.partial) else {}
    merged = defaults | {name: value for name, value in given.items() if name != "space"}
    plain = {
        name: value if isinstance(value, str | int | float | list | tuple | None) else repr(value)
        for name, value in merged.items()
    }
    return {"class_path": f"{cls.__module__}.{cls.__qualname__}", "init_args": plain}
