"""What the splits of boosted trees explain of the residuals, read from their nodes."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

LARGEST_CURVATURE: Final = 0.25
"""Largest second derivative of a logistic or softmax loss, p·(1 − p)."""


def residual_gains(
    trees: Sequence[npt.NDArray[Any]], rate: float, latents: int
) -> npt.NDArray[np.float64]:
    """By how much the splits at each latent lower the sum of squared residuals, all trees added.

    That is the gain of exact gradient boosting, Friedman (2001),
    https://doi.org/10.1214/aos/1013203451, section 8.1: for a node of n images whose children
    have n₁ and n₂ and mean residuals r₁ and r₂ it is n₁n₂/n·(r₁ − r₂)². Histogram boosting keeps
    H₁H₂/H·(v₁ − v₂)² instead, with H the sums of second derivatives and v = r·n/H the values. If
    both children have the same mean second derivative h, then h = H₁H₂/H·n/(n₁n₂), which is known,
    and the wanted gain is h times the kept one. This is exact in the first round, whose
    probabilities are the same for all images, and an approximation later.

    Args:
        trees: Nodes of each tree of scikit-learn's histogram boosting, fitted to a logistic or
            softmax loss without a penalty on the values of leaves.
        rate: Shrinkage, which the values of leaves contain.
        latents: Number of latents.
    """
    nodes = np.concatenate(trees)
    sizes = np.array([len(tree) for tree in trees])
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    leaf = nodes["is_leaf"] == 1
    split = np.flatnonzero(~leaf)
    left = nodes["left"][split].astype(np.int64) + start[split]
    right = nodes["right"][split].astype(np.int64) + start[split]
    value = np.where(leaf, nodes["value"] / rate, nodes["value"])
    count = nodes["count"].astype(np.float64)
    kept = nodes["gain"][split]
    apart = count[left] * count[right] / count[split] * (value[left] - value[right]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = np.where(apart > 0, kept / apart, 0.0).clip(0.0, LARGEST_CURVATURE)
    sums = np.bincount(nodes["feature_idx"][split], kept * curvature, minlength=latents)
    return sums.astype(np.float64)
