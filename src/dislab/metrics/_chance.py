"""Chance levels: scores of the codes of other images."""

import warnings
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

from dislab.base import Metric
from dislab.base.failures import parts_named
from dislab.codes.bank import CodeBank
from dislab.errors import InputError
from dislab.functional.random import host_generator

_STREAM: Final = 0xC4


def chance_levels(
    metrics: Mapping[str, Metric],
    titles: Mapping[tuple[str, str], str],
    bank: CodeBank,
    seed: int,
) -> dict[str, float]:
    """The chance level of each scalar that has one, by its final name.

    `titles` maps the name of a score and of its result to the final name; `seed` is that of the
    permutation of the codes.
    """
    if len(bank) < 2:
        return {}
    order = torch.from_numpy(host_generator(seed, _STREAM).permutation(len(bank)))
    shuffled = bank.with_codes(bank.codes[order.to(bank.codes.device)])
    levels = {}
    for key, metric in metrics.items():
        if not metric.compares:
            continue
        for name, value in _chance(metric, shuffled).items():
            if value.ndim == 0 and (key, name) in titles:
                levels[titles[key, name]] = float(value)
    return levels


def _chance(metric: Metric, shuffled: CodeBank) -> dict[str, Tensor]:
    """Scores of shuffled codes; empty if the score cannot be computed."""
    try:
        with parts_named(), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # already given for the codes
            return metric.chance(shuffled)
    except InputError:
        return {}
