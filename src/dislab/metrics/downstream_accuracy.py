"""Accuracy of simple predictors of the factors, as a function of the number of labels."""

from collections.abc import Sequence
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import CodeBank
from dislab.codes.learners import (
    HistogramBoosting,
    HistogramRegression,
    LogisticClassifier,
    RidgeRegression,
)
from dislab.codes.splits import explained_share, spread_columns
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_count

Classifier = Literal["logistic", "hgbt"]
"""A logistic regression, or boosted trees on histograms."""


@final
class DownstreamAccuracy(Metric):
    """Accuracy of predicting the factors from codes, with few and with many labels.

    One classifier per factor is trained on the first images, one per label, and tested on the last
    ones, which are the same for all numbers of labels; accuracies are averaged over factors. Sample
    efficiency is the accuracy with 100 labels divided by that with 10,000. The names of all results
    contain the classifier.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359, who choose the penalty of their
    logistic regression by cross-validation and use exact gradient boosting; here codes are
    standardised and C = 1, and the trees are those of `DCI`'s `hgbt`. A continuous factor is
    regressed: with `logistic` by a ridge regression of penalty 1 on standardised codes, with `hgbt`
    by trees with squared errors; its accuracy is the explained share of its variance, R², or 0 if
    that is negative. Constant factors are left out. If all training labels are equal, that label is
    predicted.

    Args:
        space: The factors of the images.
        classifier: `logistic` or `hgbt`.
        labels: Numbers of training images, each evaluated in turn.
        tested: Number of test images, which are the last ones.

    Raises:
        InputError: The classifier is unknown, there are no numbers of labels, or one is below 1.

    Examples:
        Codes that are the factors, and the first factor only:

        >>> from functools import partial
        >>> import numpy as np
        >>> from dislab.metrics import DownstreamAccuracy, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> half = factors[:, :1]
        >>> score = partial(DownstreamAccuracy, labels=(200,), tested=100)
        >>> scores = [evaluate(codes, factors, {"score": score}) for codes in (factors, half)]
        >>> [round(score["downstream_logistic_200"], 2) for score in scores]
        [1.0, 0.6]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # repeated images would leak into the test part
    engines = ("scikit-learn",)
    least: ClassVar[int] = 2

    def __init__(
        self,
        space: FactorSpace,
        classifier: Classifier = "logistic",
        labels: tuple[int, ...] = (10, 100, 1000, 10_000),
        tested: int = 5_000,
    ) -> None:
        super().__init__(space)
        if not labels:
            raise InputError("labels is empty; give the numbers of images to learn from")
        for count in labels:
            check_count("labels", count, 1)
        check_count("tested", tested, 1)
        self.classifier: Classifier = classifier
        self.engines = ("numpy",) if classifier == "hgbt" else self.engines
        self.labels = tuple(labels)
        self.tested = tested

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against too few images for separate training and test images."""
        return self._too_few(sample.images)

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The accuracies `downstream_<classifier>_<labels>`, most labels first, and parts.

        `downstream_<classifier>_efficiency` is among the scores if 100 and 10,000 are in `labels`.
        Parts are the accuracies with the suffix `_per_factor`, NaN for constant factors.

        Raises:
            InputError: There are fewer images than labels and test images together.
        """
        if complaint := self._too_few(len(bank)):
            raise InputError(complaint)
        varied, factors = bank.varied.nonzero().flatten().tolist(), len(self.space.factors)
        prefix = f"downstream_{self.classifier}"
        scores, parts = {}, {}
        for count in sorted(set(self.labels), reverse=True):
            accuracies = self._accuracies(bank, varied, count)
            scores[f"{prefix}_{count}"] = accuracies.mean()
            spread = spread_columns(accuracies, varied, factors, torch.nan)
            parts[f"{prefix}_{count}_per_factor"] = spread
        if {100, 10_000} <= set(self.labels):
            most_accurate = scores[f"{prefix}_10000"]
            some = torch.where(most_accurate > 0, most_accurate, 1.0)
            scores[f"{prefix}_efficiency"] = scores[f"{prefix}_100"] / some
        return scores | parts

    def _too_few(self, images: int) -> str | None:
        most = max(self.labels)
        if images >= most + self.tested:
            return None
        return (
            f"DownstreamAccuracy learns from {most} images and is tested on {self.tested} "
            f"others, but got {images}; encode more, or lower labels or tested"
        )

    def _accuracies(
        self, bank: CodeBank, varied: list[int], count: int
    ) -> Float[Tensor, " varied"]:
        """Accuracies on the last images of models trained on the first `count` images."""
        codes, labels = bank.codes.cpu(), bank.factors.cpu()[:, varied]
        train, tested = labels[:count], codes[-self.tested :]
        predicted = train[:1].repeat(len(tested), 1)  # correct for constant columns
        levels = torch.tensor([column not in bank.continuous for column in varied])
        varies = (train != train[:1]).any(0) & levels
        if varies.any():
            models = self._fitted(codes[:count], train[:, varies])
            predicted[:, varies] = torch.stack([model.predict(tested) for model in models], 1)
        right = (predicted == labels[-self.tested :]).double().mean(0)
        if not levels.all():
            numbers = bank.numbers.cpu()[:, varied][:, ~levels]
            right[~levels] = self._explained(codes[:count], numbers[:count], tested, numbers)
        return right

    def _explained(
        self,
        codes: Float[Tensor, "image latent"],
        train: Float[Tensor, "image factor"],
        tested: Float[Tensor, "other latent"],
        numbers: Float[Tensor, "all factor"],
    ) -> Float[Tensor, " factor"]:
        """R² of continuous factors on the last images; 0 if the training images have one value."""
        varies = (train != train[:1]).any(0)
        shares = torch.zeros(len(varies), dtype=torch.float64)
        if varies.any():
            models: Sequence[HistogramRegression | RidgeRegression]
            if self.classifier == "hgbt":
                models = HistogramRegression().fit_each(codes, train[:, varies])
            else:
                models = [RidgeRegression().fit(codes, column) for column in train[:, varies].T]
            for index, model in zip(varies.nonzero().flatten().tolist(), models, strict=True):
                predicted = model.predict(tested)
                shares[index] = explained_share(predicted, numbers[-self.tested :, index])
        return shares

    def _fitted(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, "image factor"]
    ) -> Sequence[HistogramBoosting | LogisticClassifier]:
        if self.classifier == "hgbt":
            return HistogramBoosting().fit_each(codes, labels)
        return [LogisticClassifier().fit(codes, column) for column in labels.T]
