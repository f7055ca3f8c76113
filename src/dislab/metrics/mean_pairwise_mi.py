"""Mean pairwise mutual information of latents."""

from typing import final

import torch
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.information import information_gaps
from dislab.factors import FactorSpace


@final
class MeanPairwiseMI(Metric):
    """Mutual information of two latents, in nats, averaged over all pairs; 0 is best.

    It needs no factors. Each latent is divided into equal-width bins, as in `MIG`; a constant
    latent shares no information.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359.

    Args:
        space: The factors of the images, which are not used.
        bins: Number of equal-width bins per latent.

    Raises:
        InputError: The bins are not from 2 to 10,000.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import MeanPairwiseMI, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [MeanPairwiseMI]) for codes in (factors, turned)]
        >>> [round(score["mean_pairwise_mi"], 2) for score in scores]
        [0.0, 0.92]
    """

    higher_is_better = False
    compares = False
    plot_lower_bound = 0.0

    def __init__(self, space: FactorSpace, bins: int = 20) -> None:
        super().__init__(space)
        check_bins("bins", bins)
        self.bins = bins

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The score `mean_pairwise_mi`, in nats, and the part `pairwise_mutual_information`.

        The part has shape (latent, latent), with the latents' entropies on the diagonal. The
        score of a single latent is 0.
        """
        binned = bank.binned(self.bins)
        shared = information_gaps(bank.codes, binned, self.bins).mutual_information
        latents = len(shared)
        others = ~torch.eye(latents, dtype=torch.bool, device=shared.device)
        mean = shared[others].mean() if latents > 1 else torch.zeros_like(shared[0, 0])
        return {"mean_pairwise_mi": mean, "pairwise_mutual_information": shared}
