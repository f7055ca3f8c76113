"""Disentanglement, completeness and informativeness."""

from collections.abc import Sequence
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import CodeBank
from dislab.codes.importance import check_enough, importance_scores, too_few
from dislab.codes.learners import (
    HistogramBoosting,
    HistogramRegression,
    LassoRegression,
    TreeEnsemble,
)
from dislab.codes.learners.tree_ensemble import Constant
from dislab.codes.splits import (
    TEST_FRACTION,
    check_fraction,
    check_labels,
    explained_share,
    spread_columns,
    train_count,
)
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_above
from dislab.functional.random import short_seed

Model = Constant | HistogramBoosting | HistogramRegression | LassoRegression | TreeEnsemble
Learner = Literal["hgbt", "gbt", "rf", "lasso", "lassocv"]
"""Learner that predicts the factors; see `DCI`."""


@final
class DCI(Metric):
    """Disentanglement, completeness and informativeness, from importances for predicting factors.

    One learner per factor is trained on the first images and tested on the last ones, so that
    images must be in random order. Disentanglement measures whether a latent matters for one factor
    only, completeness whether a factor needs one latent only, and informativeness is the accuracy.
    The names of all results contain the learner, because other learners give other numbers: `hgbt`,
    boosted trees of depth 3 on histograms, 100 rounds, the fast default; `gbt`, scikit-learn's
    exact gradient boosting, the published learner, 10 to 25 times slower; `rf`, a random forest of
    100 trees with at least five images per leaf; `lasso`, absolute weights of a lasso on
    standardised codes; `lassocv`, the same on codes that are only centred, as in the code of
    Montero et al. (2021), https://openreview.net/forum?id=qbH974jKUVy, whose text mentions a
    cross-validated penalty.

    For a continuous factor, the same trees are fitted with squared errors (as Eastwood & Williams
    do for all factors), or the lasso; its informativeness is the explained share of its variance,
    R², or 0 if that is negative.

    Eastwood & Williams (2018), https://openreview.net/forum?id=By-7dz-AZ, with boosted trees,
    weighted completeness and accuracy as in Locatello et al. (2019),
    https://arxiv.org/abs/1811.12359. Eastwood & Williams' unweighted completeness and normalised
    error are separate results. Constant factors are left out, also from the maximal entropy that
    normalises disentanglement.

    Args:
        space: The factors of the images.
        learner: Learner that predicts the factors: `hgbt`, `gbt`, `rf`, `lasso` or `lassocv`.
        test_fraction: Share of the images, the last ones, used for testing.
        seed: Seed of the learner.
        alpha: Penalty of the two lassos; null chooses it by five-fold cross-validation.
        tolerance: Tolerance at which the two lassos stop; see `LassoRegression`.

    Raises:
        InputError: The learner is unknown, the fraction is not between 0 and 1, or the penalty or
            the tolerance not above 0.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import DCI, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [DCI]) for codes in (factors, turned)]
        >>> [round(score["dci_hgbt_disentanglement"], 2) for score in scores]
        [1.0, 0.0]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # refits would take hours, and duplicates leak into the test part
    engines = ("scikit-learn",)
    least: ClassVar[int] = 3  # two training images and one test image

    def __init__(
        self,
        space: FactorSpace,
        learner: Learner = "hgbt",
        test_fraction: float = TEST_FRACTION,
        seed: int = 0,
        alpha: float | None = 0.02,
        tolerance: float = 1e-10,
    ) -> None:
        super().__init__(space)
        check_fraction(test_fraction)
        if alpha is not None and not 0 < alpha < float("inf"):
            raise InputError(f"alpha is {alpha}; it must be above 0, or null to have it chosen")
        check_above("tolerance", tolerance, 0)
        self.learner: Learner = learner
        self.engines = ("numpy",) if learner == "hgbt" else self.engines
        self.test_fraction = test_fraction
        self.seed = seed
        self.alpha = alpha
        self.tolerance = tolerance

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against a single latent or factor, which cannot be compared with others."""
        return too_few(sample.latents, sample.varied)

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The scores and their parts, with the learner in each name (`dci_hgbt_…`).

        Scores are `disentanglement`, `completeness`, `completeness_unweighted`, `informativeness`
        (accuracy on the test part; R² of continuous factors), `informativeness_train` and
        `informativeness_nrmse` (root mean squared error on the test part, in standard deviations of
        its value numbers; lower is better). Parts are `importance` (latent, factor),
        `disentanglement_per_latent`, and `completeness_per_factor`, `informativeness_per_factor`
        and `informativeness_nrmse_per_factor`, which are NaN for constant factors, the last one
        also for factors that are constant in the test part.

        Raises:
            InputError: There are fewer than two latents or factors that vary, or a factor varies
                in the images to test on only.
        """
        varied = bank.varied.nonzero().flatten().tolist()
        check_enough(bank.codes.shape[1], len(varied))
        return self._results(bank, varied, self._fit(bank, varied))

    def chance(self, shuffled: CodeBank) -> dict[str, Tensor]:
        """The scores of predicting the most frequent value, or the mean of a continuous factor."""
        varied = shuffled.varied.nonzero().flatten().tolist()
        cut = train_count(len(shuffled.codes), self.test_fraction)
        latents = shuffled.codes.shape[1]
        labels = (self._targets(shuffled, column)[:cut] for column in varied)
        models = [Constant(latents, target) for target in labels]
        return self._results(shuffled, varied, models)

    def _results(
        self, bank: CodeBank, varied: list[int], models: Sequence[Model]
    ) -> dict[str, Tensor]:
        """Scores and parts of fitted models."""
        importance = torch.stack([model.importances() for model in models], dim=1)
        judged = [
            self._judge(bank, column, model) for column, model in zip(varied, models, strict=True)
        ]
        train, test, error = torch.stack(judged, dim=1)
        scores, factors = importance_scores(importance), len(self.space.factors)
        parts = {
            "disentanglement": scores.disentanglement,
            "completeness": scores.completeness,
            "completeness_unweighted": scores.per_factor.mean(),
            "informativeness": test.mean(),
            "informativeness_train": train.mean(),
            "informativeness_nrmse": error.nanmean(),
            "importance": spread_columns(importance, varied, factors, 0.0),
            "disentanglement_per_latent": scores.per_latent,
        }
        for name, values in {
            "completeness": scores.per_factor,
            "informativeness": test,
            "informativeness_nrmse": error,
        }.items():
            parts[f"{name}_per_factor"] = spread_columns(values, varied, factors, torch.nan)
        return {f"dci_{self.learner}_{name}": value for name, value in parts.items()}

    def _fit(self, bank: CodeBank, varied: list[int]) -> Sequence[Model]:
        """One learner per factor, fitted to the first images."""
        cut = train_count(len(bank.codes), self.test_fraction)
        codes = bank.codes[:cut].cpu()
        for column in varied:
            name, repeats = self.space.names[column], column not in bank.continuous
            check_labels(self._targets(bank, column), cut, "DCI", name, unseen=repeats)
        targets = [self._targets(bank, column)[:cut] for column in varied]
        if self.learner != "hgbt":
            return [self._learner().fit(codes, target) for target in targets]
        levels = [target for target in targets if not target.is_floating_point()]
        numbers = [target for target in targets if target.is_floating_point()]
        classifiers = iter(
            HistogramBoosting().fit_each(codes, torch.stack(levels, 1)) if levels else ()
        )
        regressions = iter(
            HistogramRegression().fit_each(codes, torch.stack(numbers, 1)) if numbers else ()
        )
        return [
            next(regressions) if target.is_floating_point() else next(classifiers)
            for target in targets
        ]

    def _targets(
        self, bank: CodeBank, column: int
    ) -> Int[Tensor, " image"] | Float[Tensor, " image"]:
        """The targets of a factor: its value numbers, or the values of a continuous factor."""
        source = bank.numbers if column in bank.continuous else bank.factors
        return source[:, column].cpu()

    def _judge(self, bank: CodeBank, column: int, model: Model) -> Float[Tensor, " 3"]:
        """Accuracy or R² on the training and the test part, and the error on the test part."""
        cut = train_count(len(bank.codes), self.test_fraction)
        labels = self._targets(bank, column)
        predicted = model.predict(bank.codes.cpu()).double()
        spread = labels[cut:].double().std(correction=0)
        error = (predicted - labels)[cut:].square().mean().sqrt() / spread
        error = torch.where(spread > 0, error, torch.nan)
        if column in bank.continuous:
            return torch.stack(
                [
                    explained_share(predicted[:cut], labels[:cut]),
                    explained_share(predicted[cut:], labels[cut:]),
                    error,
                ]
            )
        seen = labels[:cut].double()
        nearest = predicted.round().clamp(seen.min(), seen.max())
        right = (nearest == labels).double()
        return torch.stack([right[:cut].mean(), right[cut:].mean(), error])

    def _learner(self) -> LassoRegression | TreeEnsemble:
        seed = short_seed(self.seed)
        if self.learner == "gbt":
            return TreeEnsemble("boosting", seed=seed)
        if self.learner == "rf":
            return TreeEnsemble("forest", leaf=5, seed=seed)
        if self.learner == "lasso":
            return LassoRegression(self.alpha, tolerance=self.tolerance)
        return LassoRegression(
            self.alpha, scale=False, selection="random", seed=seed, tolerance=self.tolerance
        )
