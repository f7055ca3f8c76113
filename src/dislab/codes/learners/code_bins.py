"""Codes as numbers of bins, and sums of weights in the bins."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

MOST_BINS: Final = 255
"""Most bins of a latent: their numbers are bytes, and one byte stands for no split."""


class CodeBins(NamedTuple):
    """Codes in bins, and the images of each bin.

    Attributes:
        number: Which bin each code is in, shape (latent, image).
        thresholds: Largest codes of all bins but the last one, for each latent.
        images: Images in the lowest bin of each latent, one latent after the other, in the next
            one, and so on; all latents have as many bins here as any has.
        starts: Where in `images` each of these parts begins, and where the last one ends.
    """

    number: npt.NDArray[np.uint8]
    thresholds: tuple[npt.NDArray[np.float64], ...]
    images: Int[Tensor, " place"]
    starts: Int[Tensor, " bin_and_end"]

    @property
    def bins(self) -> int:
        """The most bins that a latent has."""
        return max(map(len, self.thresholds)) + 1

    def sums(self, weights: Float[Tensor, "image kind"]) -> Float[Tensor, "bin latent kind"]:
        """What the weights of the images in each bin add up to.

        Args:
            weights: Weights of each image, contiguous.
        """
        summed = embedding_bag(
            self.images, weights, self.starts, mode="sum", include_last_offset=True
        )
        return summed.view(self.bins, len(self.number), -1)


def bin_codes(codes: npt.NDArray[np.floating[Any]], bins: int = MOST_BINS) -> CodeBins:
    """Bins of nearly equal numbers of images, or one for each code where there are few.

    Thresholds lie where scikit-learn's histogram boosting has them, but for more than 200,000
    images, of which that takes a sample.

    Args:
        codes: Finite codes, one row an image.
        bins: Largest number of bins, 2 to 255.
    """
    columns = np.sort(codes.astype(np.float64), axis=0).T
    thresholds = tuple(_thresholds(column, bins) for column in columns)
    number = np.stack(
        [
            np.searchsorted(edges, column).astype(np.uint8)
            for edges, column in zip(thresholds, codes.T, strict=True)
        ]
    )
    latents, most = len(number), max(map(len, thresholds)) + 1
    part = (number.astype(np.int64) * latents + np.arange(latents)[:, None]).ravel()
    images = np.argsort(part, kind="stable") % number.shape[1]
    starts = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=most * latents))])
    return CodeBins(number, thresholds, torch.from_numpy(images), torch.from_numpy(starts))


def _thresholds(ordered: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.float64]:
    different = np.unique(ordered)
    if len(different) <= bins:
        return different[:-1] / 2 + different[1:] / 2  # halves first: sums may overflow
    shares = np.linspace(0, 100, bins + 1)[1:-1]  # in percent, to be rounded as there
    return np.unique(np.percentile(ordered, shares, method="averaged_inverted_cdf"))
