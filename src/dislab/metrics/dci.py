"""Disentanglement, completeness and informativeness."""

import warnings
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.code_bank import CodeBank
from dislab.functional.importance import check_enough, importance_scores
from dislab.learners import HistogramBoosting

Learner = Literal["hgbt"]
"""What predicts the factors: `hgbt`, boosted trees of depth 3 on histograms, 100 rounds."""


class UnseenValueWarning(UserWarning):
    """A factor has values in the test part that the training part lacks."""


@final
class DCI(Metric):
    """Disentanglement, completeness and informativeness of importances in predicting factors.

    One classifier a factor learns from the first images and is tested on the last ones, which
    must therefore arrive in random order. Disentanglement asks whether a latent matters for one
    factor only, completeness whether a factor needs one latent only, informativeness is the
    accuracy. The learner is part of every result's name, since other learners give other numbers.

    Eastwood & Williams (2018), https://openreview.net/forum?id=By-7dz-AZ, with boosted trees,
    weighted completeness and accuracy as in Locatello et al. (2019),
    https://arxiv.org/abs/1811.12359. Factors that never vary are left out, also of the largest
    entropy that disentanglement is measured by.

    Args:
        space: The factors behind the images.
        learner: What predicts the factors.
        test_fraction: Share of the images, the last ones, that are kept for testing.
        seed: Seed of the learner.

    Raises:
        InputError: The learner is unknown, or the fraction is not between 0 and 1.
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # trees fit anew would take hours, and duplicates leak into the test part
    engines = ("scikit-learn",)
    least: ClassVar[int] = 3  # two images to learn from and one to test on

    def __init__(
        self,
        space: FactorSpace,
        learner: Learner = "hgbt",
        test_fraction: float = 1 / 3,
        seed: int = 0,
    ) -> None:
        super().__init__(space)
        if learner != "hgbt":
            raise InputError(f"there is no learner {learner!r} for DCI; the only one is hgbt")
        if not 0 < test_fraction < 1:
            raise InputError(
                f"test_fraction is {test_fraction}; it must lie between 0 and 1, both excluded"
            )
        self.learner: Learner = learner
        self.test_fraction = test_fraction
        self.seed = seed

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The scores and their parts, with the learner in front of each name (`dci_hgbt_…`).

        Scores are `disentanglement`, `completeness`, `informativeness` (accuracy on the test
        part) and `informativeness_train`. Parts are `importance` (latent, factor),
        `disentanglement_per_latent`, and `completeness_per_factor` and
        `informativeness_per_factor`, which are NaN for factors that never vary.

        Args:
            bank: Checked codes and factors.

        Raises:
            InputError: There are fewer than two latents or factors that vary, or a factor varies
                in the images to test on only.
        """
        varied = bank.varied.nonzero().flatten().tolist()
        check_enough(bank.codes.shape[1], len(varied))
        fitted = [self._fit(bank, column) for column in varied]
        importance = torch.stack([one for one, _ in fitted], dim=1)
        accuracy = torch.stack([one for _, one in fitted])
        scores = importance_scores(importance)
        parts = {
            "disentanglement": scores.disentanglement,
            "completeness": scores.completeness,
            "informativeness": accuracy[:, 1].mean(),
            "informativeness_train": accuracy[:, 0].mean(),
            "importance": self._spread(importance, varied, 0.0),
            "disentanglement_per_latent": scores.per_latent,
            "completeness_per_factor": self._spread(scores.per_factor[None], varied, torch.nan)[0],
            "informativeness_per_factor": self._spread(accuracy[None, :, 1], varied, torch.nan)[0],
        }
        return {f"dci_{self.learner}_{name}": value for name, value in parts.items()}

    def _fit(
        self, bank: CodeBank, column: int
    ) -> tuple[Float[Tensor, " latent"], Float[Tensor, " 2"]]:
        """Importances, and accuracies on the training and the test part, for one factor."""
        count = len(bank.codes)
        cut = min(max(count - round(count * self.test_fraction), 2), count - 1)
        labels = bank.factors[:, column].cpu()
        codes = bank.codes.cpu()
        self._check_labels(labels[:cut], labels[cut:], self.space.names[column])
        model = HistogramBoosting(seed=self.seed).fit(codes[:cut], labels[:cut])
        right = (model.predict(codes) == labels).double()
        return model.importances(), torch.stack([right[:cut].mean(), right[cut:].mean()])

    def _check_labels(
        self, train: Int[Tensor, " train"], test: Int[Tensor, " test"], name: str
    ) -> None:
        if (train == train[:1]).all():
            raise InputError(
                f"factor {name} takes one value only in the {len(train)} images to learn from, "
                "but varies in the rest; give DCI images in random order, or more of them"
            )
        unseen = set(test.tolist()) - set(train.tolist())
        if unseen:
            warnings.warn(
                f"{len(unseen)} values of factor {name} occur in the images to test on but not in "
                "those to learn from; all images with them count as mistakes",
                UnseenValueWarning,
                stacklevel=5,
            )

    def _spread(
        self, columns: Float[Tensor, "row varied"], varied: list[int], fill: float
    ) -> Float[Tensor, "row factor"]:
        """The columns of the factors that vary put in their places among all."""
        spread = columns.new_full((len(columns), len(self.space.factors)), fill)
        spread[:, varied] = columns
        return spread
