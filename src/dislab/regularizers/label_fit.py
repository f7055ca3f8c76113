"""Fit of the first latents to the labels of a few images."""

from typing import Final, Literal, final, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.errors import InputError
from dislab.functional.checks import check_at_least, check_choice, check_count
from dislab.functional.losses import linear_ramp
from dislab.functional.runtime import full_precision, gather_rows, widen

LabelLoss = Literal["cross_entropy", "squared_error", "covariance", "embedding"]
"""Losses of latents beside labels."""
Schedule = Literal["fixed", "annealed", "fine_tuned"]
"""Courses of the weight: constant, rising from 0, or 0 and then constant."""

_ENDS: Final = 2.0
"""The embedded values of a factor lie evenly between minus and plus this at first."""


@full_precision
def label_covariance(
    mean: Float[Tensor, "batch latent"], labels: Float[Tensor, "batch factor"]
) -> Float[Tensor, ""]:
    """Sum of the squared covariances of latents with factors that are not their own.

    Args:
        mean: Means of the posteriors.
        labels: Values of the factors, in [0, 1]; NaN for no value.
    """
    present = ~labels.isnan()
    count = present.sum(0).clamp(min=1)
    values = labels.nan_to_num(0.0)
    centred = torch.where(present, values - values.sum(0) / count, 0.0)
    covariance = (mean - mean.mean(0)).mT @ centred / count
    return covariance.square().sum() - covariance.diagonal().square().sum()


@final
class LabelFit(Regularizer):
    """Fit of the first latents to labels, factor by factor, on labelled images.

    Locatello et al. (2020), https://arxiv.org/abs/1905.01258, section 4. It needs the setting
    `few_labels` of the data module, and stands beside any method's other regularisers. The first
    latents belong to the factors that have labels, in their order. The losses, with means μ_j of
    the posteriors and labels y_j in [0, 1]:

    * `cross_entropy`: Σ_j of the cross-entropy of σ(μ_j) with y_j, in nats;
    * `squared_error`: Σ_j (σ(μ_j) − y_j)²;
    * `covariance`: the sum of the squared covariances of μ_i with y_j, i ≠ j;
    * `embedding`: Σ_j of −log softmax_v(−(μ_j − e_jv)²) at the value of y_j, in nats, with a
      learned number e_jv for each value: it needs no order of the values.

    All are means over the labelled images; an image that has no value of a factor adds nothing
    there. disentanglement_lib sums the first two over the labelled
    batch of 64 images, so there a published weight is 64 times as large here.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        gamma: Weight of the loss.
        loss: The loss.
        schedule: Course of the weight: `fixed`; `annealed`, which rises linearly from 0; or
            `fine_tuned`, which is 0 at first, then `gamma`.
        steps: Optimiser steps that the rise takes, or before the labels are used; not used by
            `fixed`.
        values: Number of evenly spaced values of a factor that the embedding tells apart.

    Raises:
        InputError: A number is out of range, or there is no such loss or schedule.
    """

    needs_labels = True

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        gamma: float = 64.0,
        loss: LabelLoss = "cross_entropy",
        schedule: Schedule = "fixed",
        steps: int = 0,
        values: int = 10,
    ) -> None:
        super().__init__()
        check_at_least("gamma", gamma, 0)
        check_choice("loss", loss, get_args(LabelLoss))
        check_choice("schedule", schedule, get_args(Schedule))
        check_count("steps", steps, 0)
        check_count("values", values, 2)
        self.gamma = gamma
        self.loss = loss
        self.schedule = schedule
        self.steps = steps
        self.embedding: nn.Parameter | None = None
        if loss == "embedding":
            row = torch.linspace(-_ENDS, _ENDS, values)
            self.embedding = nn.Parameter(row.repeat(latent_dim, 1))

    @property
    def smallest_batch(self) -> int:  # type: ignore[override]
        """Two images for a covariance."""
        return 2 if self.loss == "covariance" else 1

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """The weighted loss of labelled images; terms: `loss` (unweighted) and `gamma`.

        The auxiliary loss of `embedding` trains the numbers of the values.

        Raises:
            InputError: More factors have labels than there are latents.
        """
        labels = draws["labels"]
        factors, latents = labels.shape[1], posterior.mean.shape[1]
        if factors > latents:
            raise InputError(
                f"{factors} factors have labels, and the model has {latents} latents; each factor "
                "needs one: raise latent_dim, or name fewer factors in data.label_factors"
            )
        codes, auxiliary = posterior.mean[:, :factors], None
        if self.loss in ("cross_entropy", "squared_error"):
            values = labels.nan_to_num(0.0)  # NaN would reach all gradients
            if self.loss == "cross_entropy":
                each = F.binary_cross_entropy_with_logits(codes, values, reduction="none")
            else:
                each = (codes.sigmoid() - values).square()
            loss = (each * ~labels.isnan()).sum(1).mean()
        elif self.loss == "covariance":
            loss = label_covariance(gather_rows(posterior.mean), gather_rows(labels))
        else:
            assert self.embedding is not None
            embedding = widen(self.embedding)[:factors]
            loss = embedding_loss(codes, labels, embedding.detach())
            auxiliary = embedding_loss(codes.detach(), labels, embedding)
        gamma = self._weight(step)
        return Penalty(gamma * loss, auxiliary, {"loss": loss, "gamma": gamma})

    def _weight(self, step: Int[Tensor, ""]) -> Float[Tensor, ""]:
        if self.schedule == "annealed":
            return linear_ramp(step, 0.0, self.gamma, self.steps)
        gamma = linear_ramp(step, 0.0, self.gamma, 0)
        return gamma * (step >= self.steps) if self.schedule == "fine_tuned" else gamma


def embedding_loss(
    codes: Float[Tensor, "batch factor"],
    labels: Float[Tensor, "batch factor"],
    embedding: Float[Tensor, "factor value"],
) -> Float[Tensor, ""]:
    """Cross-entropy of the value nearest to each label, from distances to embedded values, in nats.

    It is summed over the factors and averaged over the images.

    Args:
        codes: One latent for each factor.
        labels: Values of the factors, in [0, 1]; NaN for no value.
        embedding: A number for each of the evenly spaced values of a factor.
    """
    none = -100  # a class number that counts nothing
    numbers = (labels.nan_to_num(0.0) * (embedding.shape[1] - 1)).round().long()
    numbers = torch.where(labels.isnan(), none, numbers)
    logits = -(codes[:, :, None] - embedding).square()
    nats = F.cross_entropy(
        logits.flatten(0, 1), numbers.flatten(), ignore_index=none, reduction="sum"
    )
    return nats / len(codes)
