"""Explicitness."""

from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Metric
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins
from dislab.codes.learners import LogisticClassifier, logits_of_answers
from dislab.codes.splits import (
    TEST_FRACTION,
    check_fraction,
    check_labels,
    standardized,
    train_count,
)
from dislab.codes.statistics import roc_auc
from dislab.errors import InputError
from dislab.factors import FactorSpace

Classifier = Literal["one_vs_rest", "multinomial"]
"""One regression per value against all others, or one per factor for all its values."""


@final
class Explicitness(Metric):
    """Area under the ROC curve of logistic regressions that predict factor values.

    The regression is trained on standardised codes of the first images. For each value, the area
    under the ROC curve of its output on the last images is computed: 1/2 for a guess and 1 for a
    perfect order. The score is the mean over values, then over factors.

    Ridgeway & Mozer (2018), https://arxiv.org/abs/1802.05312, use one regression per value and its
    logits: `one_vs_rest`. Locatello et al. (2019), https://arxiv.org/abs/1811.12359, use the
    probabilities of one regression per factor: `multinomial`, with results of a different name. A
    value in the middle of a latent's range can have a peak of probability there, but no linear
    function separates it from both sides: perfect codes of dSprites get 0.98 instead of 0.78.

    Values that no image or every image of the training or the test part has are left out, and
    factors without other values. The squared weights are penalised with C = 1; the intercept is
    not.

    Args:
        space: The factors of the images.
        test_fraction: Share of the images, the last ones, used for testing.
        classifier: `one_vs_rest` or `multinomial`.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: The fraction is not between 0 and 1.

    Examples:
        Codes that are the factors, and the first factor only:

        >>> import numpy as np
        >>> from dislab.metrics import Explicitness, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> half = factors[:, :1]
        >>> scores = [evaluate(codes, factors, [Explicitness]) for codes in (factors, half)]
        >>> [round(score["explicitness"], 2) for score in scores]
        [0.83, 0.64]
    """

    higher_is_better = True
    engines = ("scikit-learn",)
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # repeated images would leak into the test part
    least: ClassVar[int] = 3

    def __init__(
        self,
        space: FactorSpace,
        test_fraction: float = TEST_FRACTION,
        classifier: Classifier = "one_vs_rest",
        factor_bins: int = FACTOR_BINS,
    ) -> None:
        super().__init__(space)
        check_bins("factor_bins", factor_bins)
        self.factor_bins = factor_bins
        check_fraction(test_fraction)
        self.test_fraction = test_fraction
        self.classifier: Classifier = classifier

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The areas `explicitness` and `explicitness_train`, and parts.

        `explicitness_normalized` is twice the area minus 1: 0 for a guess, 1 for a perfect order.
        The part is `explicitness_per_factor`, NaN for constant factors. With `multinomial`, all
        names begin with `explicitness_multinomial` instead.

        Raises:
            InputError: A factor varies only in the test images, or no value occurs in
                both parts.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        varied = bank.varied.nonzero().flatten().tolist()
        cut = train_count(len(bank.codes), self.test_fraction)
        for column in varied:
            name = self.space.names[column]
            check_labels(bank.factors[:, column], cut, "Explicitness", name, "they are left out")
        answers, owner = self._questions(bank, varied)
        usable = answers[:cut].any(0) & ~answers[:cut].all(0)
        answers, owner = answers[:, usable], owner[usable]
        if self.classifier == "multinomial":
            logits = self._probabilities(bank, varied, cut)
        else:
            codes = standardized(bank.codes, cut)
            logits = logits_of_answers(codes[:cut], answers[:cut], codes)
        train = self._means(roc_auc(logits[:cut], answers[:cut]), owner)
        test = self._means(roc_auc(logits[cut:], answers[cut:]), owner)
        if test.isnan().all():
            raise InputError(
                f"no value of any factor is shown by some, but not all, of the "
                f"{len(logits) - cut} images to test on; score more images"
            )
        name = "explicitness" + ("_multinomial" if self.classifier == "multinomial" else "")
        return {
            name: test.nanmean(),
            f"{name}_normalized": (2 * test.nanmean() - 1).clamp(min=0.0),
            f"{name}_train": train.nanmean(),
            f"{name}_per_factor": test,
        }

    def _probabilities(
        self, bank: CodeBank, varied: list[int], cut: int
    ) -> Float[Tensor, "image question"]:
        """The probability of each value in the training images, in the order of the questions."""
        models = [
            LogisticClassifier().fit(bank.codes[:cut], bank.factors[:cut, column])
            for column in varied
        ]
        return torch.cat([model.probabilities(bank.codes) for model in models], dim=1)

    def _questions(self, bank: CodeBank, varied: list[int]) -> tuple[Tensor, Tensor]:
        """Whether each image has each value, a column per value, and the factor of each column."""
        answers, owners = [], []
        for column in varied:
            labels = bank.factors[:, column]
            kinds = torch.unique(labels)
            answers.append(labels[:, None] == kinds)
            owners.append(torch.full_like(kinds, column))
        return torch.cat(answers, dim=1), torch.cat(owners)

    def _means(self, areas: Float[Tensor, " question"], owner: Tensor) -> Float[Tensor, " factor"]:
        factors = range(len(self.space.factors))
        return torch.stack([areas[owner == factor].nanmean() for factor in factors])
