"""Banks drawn with replacement from a bank, with the counts of many resamples in one pass."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor

from dislab.codes.bank import CodeBank
from dislab.codes.information import InformationGaps, gaps_of_counts
from dislab.functional.random import host_generator

NUMBERS_AT_ONCE: Final = 2**23
"""Largest number of row weights and count-table cells in memory at once."""


def resamples(bank: CodeBank, count: int, seed: int) -> Iterator[CodeBank]:
    """Draws resamples of a bank, uniformly and with replacement, each with as many images.

    Each uses the bins of the original bank. Counts and mutual information are computed for many
    resamples together, as one sparse product of cells and weights; the weight of a row is its
    number of draws.
    """
    generator = host_generator(seed)
    together = max(1, NUMBERS_AT_ONCE // (len(bank) + 1))
    for start in range(0, count, together):
        rows = generator.integers(len(bank), size=(min(together, count - start), len(bank)))
        shared = _Informed(bank, rows)
        for index, images in enumerate(torch.from_numpy(rows).to(bank.codes.device)):
            yield bank.resampled(images, partial(shared.information, index))


class _Informed:
    """Mutual information of several resamples, computed on first use for each number of bins."""

    def __init__(self, bank: CodeBank, rows: npt.NDArray[np.int64]) -> None:
        self.bank = bank
        self.rows = rows
        self.computed: dict[tuple[int, int], InformationGaps] = {}

    def information(self, resample: int, bins: int, factor_bins: int) -> InformationGaps:
        key = bins, factor_bins
        if key not in self.computed:
            self.computed[key] = self._all(self.bank.with_factor_bins(factor_bins), bins)
        return InformationGaps(*(part[resample] for part in self.computed[key]))

    def _all(self, bank: CodeBank, bins: int) -> InformationGaps:
        images = len(bank)
        # the narrowest integers that hold a count: memory limits the speed of the product
        width = np.uint16 if images < 2**16 else np.int32
        weights = np.stack([np.bincount(row, minlength=images) for row in self.rows]).T
        weights = np.ascontiguousarray(weights.astype(width))
        latents, factors = bank.codes.shape[1], bank.factors.shape[1]
        values = int(bank.factors.max()) + 1
        step = max(1, NUMBERS_AT_ONCE // (latents * bins * values * factors))
        parts = []
        for start in range(0, len(self.rows), step):
            part = np.ascontiguousarray(weights[:, start : start + step])
            parts.append(gaps_of_counts(weighted_counts(bank, bins, part)))
        device = bank.codes.device
        return InformationGaps(
            *(torch.cat(chunks).to(device) for chunks in zip(*parts, strict=True))
        )


def weighted_counts(
    bank: CodeBank, bins: int, weights: npt.NDArray[np.integer[Any]]
) -> list[Int[Tensor, "resample latent bin _"]]:
    """Counts of each resample's images by latent bin and value, one table per factor.

    `weights` is the number of draws of each row, shape (image, resample).
    """
    from scipy.sparse import csr_matrix

    binned, factors = bank.binned(bins).cpu().numpy(), bank.factors.cpu().numpy()
    images, latents = binned.shape
    cells = binned + np.arange(latents) * bins
    ones = np.ones(cells.size, dtype=weights.dtype)
    ends = np.arange(0, cells.size + 1, latents)
    tables = []
    for column in factors.T:
        values = int(column.max()) + 1
        shape = images, latents * bins * values
        table = csr_matrix((ones, (cells * values + column[:, None]).ravel(), ends), shape)
        counts = (table.T.tocsr() @ weights).T.astype(np.int64)
        tables.append(torch.from_numpy(counts.reshape(-1, latents, bins, values)))
    return tables
