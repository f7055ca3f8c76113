"""Scores of an encoding, and their spread over several models."""

import math
import statistics
from collections.abc import Mapping
from typing import Any, Final

from dislab.base import MetricBuilder
from dislab.callbacks._encoding import Encoding
from dislab.factors import FactorSpace
from dislab.functional.code_bank import checked
from dislab.metrics.evaluation import Bootstrap, Evaluation, score_bank

ACTIVE: Final = 0.01
"""From how many nats of KL a latent counts as active."""


def score(
    metrics: Mapping[str, MetricBuilder],
    space: FactorSpace,
    encoding: Encoding,
    bootstrap: Bootstrap,
) -> Evaluation:
    """All scores of one encoding, and of a method with posteriors the KL of each latent.

    Args:
        metrics: Makes the scores, by the user's names.
        space: The factors behind the images.
        encoding: Codes and factors.
        bootstrap: How intervals are found.
    """
    bank = checked([encoding.codes], [encoding.factors], space, least=1)
    found = score_bank(metrics, space, bank, bootstrap)
    if encoding.kl is None:
        return found
    active = {"active_units": float((encoding.kl > ACTIVE).sum())}
    parts = found.parts | {"kl_per_latent": encoding.kl.tolist()}
    return found._replace(values=found.values | active, parts=parts)


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
