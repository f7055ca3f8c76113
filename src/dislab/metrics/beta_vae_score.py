"""The score of the β-VAE paper."""

from collections.abc import Sequence
from typing import Final, NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import FACTOR_BINS, CodeBank
from dislab.codes.checks import check_bins, single_factor
from dislab.codes.learners import LogisticClassifier
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator

_POINTS_AT_ONCE: Final = 64
"""Number of points whose codes are gathered together, to limit memory; changes no result."""


class PairDraw(NamedTuple):
    """The pairs of each point.

    Attributes:
        factor: The factor shared by the pairs of a point, shape (point,).
        rows: Rows of the bank, shape (2, point, pair).
    """

    factor: Tensor
    rows: Tensor


def draw_pairs(
    factors: Int[Tensor, "image factor"],
    varied: Bool[Tensor, " factor"],
    points: int,
    pairs: int,
    generator: np.random.Generator,
    names: Sequence[str],
) -> PairDraw:
    """Draws pairs for each point, with replacement, from the bank.

    For each point, a factor is drawn uniformly among those that vary. The first image of a pair is
    drawn uniformly, the second among the other images with the same value. Images with a unique
    value are in no pair. `pairs` is the number of pairs per point.

    Raises:
        InputError: No two images share a value of one of the factors.
    """
    bank = factors.cpu().numpy()
    shared = generator.choice(np.flatnonzero(varied.cpu().numpy()), points)
    rows = np.empty((2, points, pairs), dtype=np.int64)
    for factor in np.unique(shared):
        column = bank[:, factor]
        columns = np.flatnonzero(shared == factor)
        order = np.argsort(column, kind="stable")
        count = np.bincount(column)
        value = column[order]
        # places in the sorted column, where images with equal values are adjacent
        usable = np.flatnonzero(count[value] > 1)
        if not len(usable):
            raise InputError(
                f"no two images share a value of factor {names[factor]}, so that no pair can; "
                "score more images, or group its values"
            )
        position = usable[generator.integers(len(usable), size=(len(columns), pairs))]
        size = count[value[position]]
        first = (np.cumsum(count) - count)[value[position]]
        step = 1 + (generator.random(position.shape) * (size - 1)).astype(np.int64)
        rows[0, columns] = order[position]
        rows[1, columns] = order[first + (position - first + step) % size]
    return PairDraw(
        torch.from_numpy(shared.astype(np.int64)).to(factors.device),
        torch.from_numpy(rows).to(factors.device),
    )


def mean_differences(
    codes: Float[Tensor, "image latent"], draw: PairDraw
) -> Float[Tensor, "point latent"]:
    """Mean absolute difference of the codes over the pairs of each point."""
    pairs = draw.rows.shape[2]
    parts = []
    for first, second in zip(*(part.split(_POINTS_AT_ONCE) for part in draw.rows), strict=True):
        apart = codes.index_select(0, first.flatten()) - codes.index_select(0, second.flatten())
        parts.append(apart.abs_().view(len(first), pairs, -1).mean(1))
    return torch.cat(parts)


@final
class BetaVAEScore(Metric):
    """Accuracy of predicting the factor that pairs share, from mean differences of their codes.

    A point is the mean absolute difference of the codes over pairs that share a factor. A linear
    classifier is trained to predict this factor from points, and tested on other points. The chance
    level is the score of the codes of other images: with many images one over the number of
    factors, with few it is higher.

    Higgins et al. (2017), https://openreview.net/forum?id=Sy2fzU9gl. Pairs are drawn with
    replacement from the encoded images, so that incomplete and correlated data sets work too; the
    paper renders new images. The classifier is a logistic regression as in Locatello et al. (2019),
    https://arxiv.org/abs/1811.12359, here on standardised points, so that the scales of latents do
    not matter. Constant factors are left out.

    Args:
        space: The factors of the images.
        points_train: Number of training points.
        points_test: Number of test points.
        pairs: Number of pairs per point.
        seed: Seed of the draws.
        factor_bins: Number of equal-width bins per continuous factor.

    Raises:
        InputError: A number is below 1, or there are fewer than 2 training points.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> import numpy as np
        >>> from dislab.metrics import BetaVAEScore, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> scores = [evaluate(codes, factors, [BetaVAEScore]) for codes in (factors, turned)]
        >>> [round(score["beta_vae_score"], 2) for score in scores]
        [1.0, 0.95]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    engines = ("scikit-learn",)
    bootstraps = False  # an image and its copy would count as a pair

    def __init__(
        self,
        space: FactorSpace,
        points_train: int = 10_000,
        points_test: int = 5_000,
        pairs: int = 64,
        seed: int = 0,
        factor_bins: int = FACTOR_BINS,
    ) -> None:
        super().__init__(space)
        check_bins("factor_bins", factor_bins)
        self.factor_bins = factor_bins
        check_count("points_train", points_train, 2, most=10_000_000)
        check_count("points_test", points_test, 1, most=10_000_000)
        check_count("pairs", pairs, 1, most=100_000)
        self.points_train = points_train
        self.points_test = points_test
        self.pairs = pairs
        self.seed = seed

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against a single factor, which every code tells from no other."""
        return single_factor(sample.varied)

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The accuracies `beta_vae_score` on test, `beta_vae_score_train` on training points.

        Raises:
            InputError: No two images share a value of one of the factors.
        """
        bank = bank.with_factor_bins(self.factor_bins)
        train, fixed = self._points(bank, 0, self.points_train)
        test, truth = self._points(bank, 1, self.points_test)
        if (fixed == fixed[0]).all():  # a single factor varies, or there are very few points
            train_right, test_right = torch.ones_like(fixed, dtype=torch.bool), truth == fixed[0]
        else:
            model = LogisticClassifier().fit(train, fixed)
            train_right, test_right = model.predict(train) == fixed, model.predict(test) == truth
        return {
            "beta_vae_score": test_right.double().mean(),
            "beta_vae_score_train": train_right.double().mean(),
        }

    def _points(
        self, bank: CodeBank, part: int, points: int
    ) -> tuple[Float[Tensor, "point latent"], Int[Tensor, " point"]]:
        generator, names = host_generator(self.seed, part), self.space.names
        draw = draw_pairs(bank.factors, bank.varied, points, self.pairs, generator, names)
        return mean_differences(bank.codes, draw), draw.factor
