"""InfoM, InfoE and InfoC."""

import math
from typing import Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.importance import check_enough, too_few
from dislab.codes.information import gaps_of_counts, joint_counts, neighbour_information
from dislab.codes.learners import LogisticClassifier
from dislab.codes.splits import spread_columns
from dislab.errors import InputError
from dislab.factors import FactorSpace, are_measured
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator

Estimator = Literal["knn", "bins", "discrete"]
"""Estimator of the mutual information: nearest neighbours, equal-width bins as in `MIG`, or counts
of the distinct codes."""


def concentration_ratio(
    shares: Float[Tensor, "row column"],
) -> Float[Tensor, " row"]:
    """The largest entry's share of each row, rescaled so that equal entries give 0.

    A row of zeros gives 0. Hsu et al. (2023), https://arxiv.org/abs/2305.18378; the mean over rows
    of a normalised matrix of mutual information is InfoM or InfoC.
    """
    columns = shares.shape[1]
    if columns < 2:
        return (shares[:, 0] > 0).to(shares.dtype)
    total = shares.sum(1)
    ratio = shares.max(1).values / torch.where(total > 0, total, 1.0)
    return torch.where(total > 0, (ratio - 1 / columns) / (1 - 1 / columns), 0.0).clamp(0.0, 1.0)


@final
class InfoMEC(Metric):
    """Modularity, explicitness and compactness as shares of information.

    InfoM is, for each latent, the share of its information, summed over factors, that is about its
    best factor; InfoC is, for each factor, the share of the information about it, summed over
    latents, that its best latent has. Both are rescaled so that equal shares give 0. InfoE is the
    information that a linear classifier extracts: the share of a factor's entropy by which a
    logistic regression on all latents lowers its log-loss. The names of the results contain the
    estimator. For latents with few distinct codes, as in QLAE, `discrete` counts each code
    separately, removes only constant latents, and gives the regression one column per code
    (`infoe_discrete`).

    Hsu et al. (2023), https://arxiv.org/abs/2305.18378, with the settings of its published code.
    For continuous latents (`knn`): ten neighbours; latents whose range is at most a twentieth of
    the largest range are left out of InfoM and InfoC. For both estimators, the regression has no
    penalty, makes at most 100 steps, and is evaluated on its training images. The published code
    weights the values of a factor by their inverse frequency, which changes nothing if all are
    equally frequent; here they are not weighted. Constant factors are left out.

    Args:
        space: The factors of the images.
        estimator: `knn` or `bins`, or `discrete` for latents with few distinct codes.
        neighbours: Number of neighbours of `knn`.
        bins: Number of bins of `bins`.
        seed: Seed of the noise that separates equal codes for `knn`.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The estimator is unknown, there are no neighbours, or the bins
            are not from 2 to 10,000.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> from functools import partial
        >>> import numpy as np
        >>> from dislab.metrics import InfoMEC, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> score = partial(InfoMEC, estimator="bins")
        >>> scores = [evaluate(codes, factors, {"score": score}) for codes in (factors, turned)]
        >>> [round(score["infom_bins"], 2) for score in scores]
        [1.0, 0.2]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    engines = ("scikit-learn",)
    bootstraps = False  # copies of an image would be each other's nearest neighbours

    def __init__(
        self,
        space: FactorSpace,
        estimator: Estimator = "knn",
        neighbours: int = 10,
        bins: int = 20,
        seed: int = 0,
        factor_bins: int = FACTOR_BINS,
    ) -> None:
        super().__init__(space)
        check_bins("factor_bins", factor_bins)
        self.factor_bins = factor_bins
        check_count("neighbours", neighbours, 1)
        check_bins("bins", bins)
        self.estimator: Estimator = estimator
        self.neighbours = neighbours
        self.bins = bins
        self.seed = seed

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against a single factor, which cannot be compared with others."""
        return too_few(max(2, sample.latents), sample.varied)

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """`infom_<estimator>`, `infoc_<estimator>`, `infoe`, `infomec_num_active`, and parts.

        With `discrete`, `infoe` is named `infoe_discrete`.

        Parts are `infomec_<estimator>_information` (latent, factor), in shares of the factor's
        entropy, and `infoe_per_factor`, NaN for constant factors. If all latents are constant, all
        scores are 0.

        Raises:
            InputError: There are fewer than two factors that vary, or with `discrete` a latent has
                nearly as many distinct codes as there are images.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        varied = bank.varied.nonzero().flatten().tolist()
        check_enough(max(2, bank.codes.shape[1]), len(varied))
        shares = self._shares(bank, varied)
        discrete = self.estimator == "discrete"
        span = bank.codes.amax(0) - bank.codes.amin(0)
        active = span > (0.0 if discrete else span.max() / 20)
        pruned = shares[active]
        inputs = _one_hot(bank.codes) if discrete else bank.codes
        explicit = torch.stack([self._explicit(inputs, bank, column) for column in varied])
        infoe = "infoe_discrete" if discrete else "infoe"
        some, zero = bool(active.any()), torch.zeros_like(explicit[0])
        factors = len(self.space.factors)
        return {
            f"infom_{self.estimator}": concentration_ratio(pruned).mean() if some else zero,
            f"infoc_{self.estimator}": concentration_ratio(pruned.T).mean() if some else zero,
            infoe: explicit.mean(),
            "infomec_num_active": active.sum(),
            f"infomec_{self.estimator}_information": spread_columns(shares, varied, factors, 0.0),
            f"{infoe}_per_factor": spread_columns(explicit, varied, factors, torch.nan),
        }

    def _shares(self, bank: CodeBank, varied: list[int]) -> Float[Tensor, "latent varied"]:
        if self.estimator == "discrete":
            gaps = gaps_of_counts(joint_counts(_code_numbers(bank.codes), bank.factors[:, varied]))
            return gaps.mutual_information / gaps.entropy
        gaps = bank.information(self.bins)
        entropy = gaps.entropy[varied]
        if self.estimator == "bins":
            return gaps.mutual_information[:, varied] / entropy
        columns = [
            neighbour_information(
                bank.codes,
                bank.factors[:, column],
                self.neighbours,
                host_generator(self.seed, column),
            )
            for column in varied
        ]
        return torch.stack(columns, dim=1) / entropy

    def _explicit(
        self, codes: Float[Tensor, "image input"], bank: CodeBank, column: int
    ) -> Float[Tensor, ""]:
        labels = bank.factors[:, column]
        counts = torch.bincount(labels).double()
        entropy = math.log(len(labels)) - torch.xlogy(counts, counts).sum() / len(labels)
        scale = self.estimator != "discrete"
        model = LogisticClassifier(C=math.inf, iterations=100, scale=scale).fit(codes, labels)
        loss = model.log_loss(codes, labels).to(entropy)
        return (1 - loss / entropy).clamp(0.0, 1.0)


def _code_numbers(codes: Float[Tensor, "image latent"]) -> Int[Tensor, "image latent"]:
    """Number of each latent's code among its distinct codes, from 0."""
    columns = []
    for latent, column in enumerate(codes.T):
        values, numbers = column.unique(return_inverse=True)
        if are_measured(len(values), len(column)):
            raise InputError(
                f"latent {latent} takes {len(values)} different codes in {len(column)} images, and "
                "is not discrete; set estimator to knn or bins"
            )
        columns.append(numbers)
    return torch.stack(columns, dim=1)


def _one_hot(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image input"]:
    """One column for each distinct code of each latent, 1 for images with that code."""
    numbers = _code_numbers(codes)
    columns = [torch.nn.functional.one_hot(column) for column in numbers.T]
    return torch.cat(columns, dim=1).to(codes)
