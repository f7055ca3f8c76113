"""Disentanglement, completeness, informativeness, explicitness and size."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Final, Literal, NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Metric, Sample
from dislab.codes.bank import CodeBank
from dislab.codes.importance import check_enough, importance_scores, too_few
from dislab.codes.learners import LogisticClassifier, RidgeRegression, TreeEnsemble
from dislab.codes.learners.tree_ensemble import Constant
from dislab.codes.splits import (
    TEST_FRACTION,
    check_fraction,
    check_labels,
    explained_share,
    spread_columns,
    standardized,
    train_count,
)
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator, short_seed

Probe = Literal["rf", "rff"]
"""Random forests, or linear models on random Fourier features."""

_CAPACITIES: Final[dict[Probe, tuple[int, ...]]] = {
    "rf": (1, 2, 3, 4, 8, 10, 12, 14, 16, 18, 20, 32),
    "rff": (16, 32, 64, 128, 256, 512, 1024),
}
"""Default capacities: depths of the trees, as published, and numbers of features."""
_FREQUENCY: Final = 0.08
"""Standard deviation of the frequencies of Fourier features, in cycles per unit of a code."""


def explicitness(
    losses: Float[Tensor, " probe"], capacities: Float[Tensor, " probe"], baseline: float
) -> Float[Tensor, ""]:
    """One minus the normalised area between a loss-capacity curve and its lowest point; at most 1.

    The area is divided by that of the triangle from the baseline (the loss of a guess) at the
    smallest capacity to a loss of 0 at the largest. For each capacity, the smallest loss of all
    capacities up to it counts. There are at least two capacities, in ascending order. Eastwood et
    al. (2023), https://arxiv.org/abs/2210.00364, computed as by their published code.
    """
    lowest = losses.cummin(0).values
    area = torch.trapezoid(lowest - lowest[-1], capacities)
    return 1 - 2 * area / ((capacities[-1] - capacities[0]) * baseline)


class _Probed(NamedTuple):
    """Losses and importances of the probes of one factor.

    Attributes:
        losses: Loss on the test part for each capacity, shape (capacity,).
        importances: Importance of each latent, shape (capacity, latent); zeros for linear models.
        baseline: Loss of a guess.
    """

    losses: Tensor
    importances: Tensor
    baseline: float


@final
class DCIES(Metric):
    """DCI with explicitness (ease of use of the codes) and size (number of factors per latent).

    Probes of increasing capacity predict each factor. They are trained on the first images and
    tested on the last ones, so that images must be in random order. Explicitness is 1 if the
    smallest probe is as good as the largest, and decreases with the area under the loss-capacity
    curve. Size is the number of varying factors divided by the number of latents. Disentanglement,
    completeness and informativeness are those of the capacity with the best informativeness. The
    names of all results contain the probe: `rf`, random forests of 100 trees, whose capacity is the
    depth; `rff`, linear models on random Fourier features, whose capacity is the logarithm of the
    number of parameters, and which have no importances. **Uninformative codes have an explicitness
    of 1**, because more capacity does not help: read it together with informativeness.

    Eastwood et al. (2023), https://arxiv.org/abs/2210.00364. As in their code, a categorical factor
    is classified, with the error rate as loss and the error rate of a random guess as baseline; any
    other factor is regressed as a number, with 1 − R² as loss (at most 1 here) and a baseline of 1.
    Their third probe, perceptrons with importances by Shapley values, is left out. They train
    linear models by gradient steps, without a penalty; here these are solved with a ridge penalty
    of 1, or C = 1, and codes are standardised before Fourier features are computed. Constant
    factors are left out. For size, only the abstracts were accessible, of which the workshop
    version of 2022 calls it "relative to the ground truth", and their code does not compute it:
    this ratio, with factors in the numerator, is dislab's interpretation.

    Args:
        space: The factors of the images.
        probe: `rf` or `rff`.
        capacities: Depths of trees, or (even) numbers of features, in ascending order; null is 1 to
            32, or 16 to 1,024.
        test_fraction: Share of the images, the last ones, used for testing.
        seed: Seed of the forests and of the features.

    Raises:
        InputError: The probe is unknown, there are fewer than two capacities, they are not in
            ascending order, one is too small or odd, or the fraction is not between 0 and 1.

    Examples:
        Codes that are the factors, and their sum and difference:

        >>> from functools import partial
        >>> import numpy as np
        >>> from dislab.metrics import DCIES, evaluate
        >>> factors = np.indices((3, 4)).reshape(2, -1).T.repeat(25, axis=0)
        >>> turned = factors @ [[1, -1], [1, 1]]
        >>> score = partial(DCIES, capacities=(1, 4))
        >>> scores = [evaluate(codes, factors, {"score": score}) for codes in (factors, turned)]
        >>> [round(score["dcies_rf_disentanglement"], 2) for score in scores]
        [1.0, 0.01]
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    bootstraps = False  # repeated images would leak into the test part
    engines = ("scikit-learn",)
    least: ClassVar[int] = 3  # two training images and one test image

    def __init__(
        self,
        space: FactorSpace,
        probe: Probe = "rf",
        capacities: tuple[int, ...] | None = None,
        test_fraction: float = TEST_FRACTION,
        seed: int = 0,
    ) -> None:
        super().__init__(space)
        check_fraction(test_fraction)
        self.probe: Probe = probe
        self.capacities = _CAPACITIES[probe] if capacities is None else tuple(capacities)
        _check_capacities(self.capacities, probe)
        self.test_fraction = test_fraction
        self.seed = seed

    def inapplicable(self, sample: Sample) -> str | None:
        """Reason against a single latent or factor, which cannot be compared with others."""
        return too_few(sample.latents, sample.varied)

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """The scores and their parts, with the probe in each name (`dcies_rf_…`).

        Scores are `explicitness`, `informativeness` (accuracy or R² on the test part), for `rf`
        also `disentanglement` and `completeness`, and `size`. Parts are `explicitness_per_factor`
        and `informativeness_per_factor`, which are NaN for constant factors, for `rf` also
        `importance` (latent, factor), and `loss` (capacity, factor), both 0 for constant factors.

        Raises:
            InputError: There are fewer than two latents or factors that vary, or a factor varies
                in the images to test on only.
        """
        latents, varied = bank.codes.shape[1], bank.varied.nonzero().flatten().tolist()
        check_enough(latents, len(varied))
        cut = train_count(len(bank), self.test_fraction)
        for column in varied:
            name, kind = self.space.names[column], self._classified(bank, column)
            check_labels(self._targets(bank, column), cut, "DCIES", name, unseen=kind)
        results = self._results(varied, [self._probed(bank, column, cut) for column in varied])
        size = torch.tensor(len(varied) / latents, dtype=torch.float64)
        scalars = {name: value for name, value in results.items() if value.ndim == 0}
        return {**scalars, f"dcies_{self.probe}_size": size, **results}

    def chance(self, shuffled: CodeBank) -> dict[str, Tensor]:
        """The scores of predicting the most frequent value, or the mean of a regressed factor."""
        varied = shuffled.varied.nonzero().flatten().tolist()
        cut, latents = train_count(len(shuffled), self.test_fraction), shuffled.codes.shape[1]
        probed = []
        for column in varied:
            targets = self._targets(shuffled, column)
            guess = Constant(latents, targets[:cut])
            loss = _loss(guess.predict(shuffled.codes[cut:]), targets[cut:])
            losses = loss.repeat(len(self.capacities))
            nothing = torch.zeros(len(losses), latents, dtype=torch.float64)
            probed.append(_Probed(losses, nothing, self._baseline(targets)))
        return self._results(varied, probed)

    def _results(self, varied: list[int], probed: Sequence[_Probed]) -> dict[str, Tensor]:
        """Scores and parts of the probes, without the size."""
        factors = len(self.space.factors)
        losses = torch.stack([probe.losses for probe in probed], dim=1)
        curves = [
            explicitness(probe.losses, self._capacities(), probe.baseline) for probe in probed
        ]
        easy, best = torch.stack(curves), int(losses.mean(1).argmin())
        informed = 1 - losses[best]
        importance = torch.stack([probe.importances[best] for probe in probed], dim=1)
        scores = {"explicitness": easy.mean(), "informativeness": informed.mean()}
        parts = {
            "explicitness_per_factor": spread_columns(easy, varied, factors, torch.nan),
            "informativeness_per_factor": spread_columns(informed, varied, factors, torch.nan),
            "loss": spread_columns(losses, varied, factors, 0.0),
        }
        if self.probe == "rf":
            shares = importance_scores(importance)
            scores["disentanglement"] = shares.disentanglement
            scores["completeness"] = shares.completeness
            parts["importance"] = spread_columns(importance, varied, factors, 0.0)
        return {f"dcies_{self.probe}_{name}": probe for name, probe in (scores | parts).items()}

    def _probed(self, bank: CodeBank, column: int, cut: int) -> _Probed:
        """The probes of one factor, trained on the first images and tested on the others."""
        targets, codes = self._targets(bank, column), bank.codes.cpu()
        losses, importances = [], []
        for capacity in self.capacities:
            inputs = codes if self.probe == "rf" else self._features(codes, cut, capacity)
            model = self._model(capacity, targets).fit(inputs[:cut], targets[:cut])
            losses.append(_loss(model.predict(inputs[cut:]), targets[cut:]))
            importances.append(
                model.importances()
                if isinstance(model, TreeEnsemble)
                else torch.zeros(codes.shape[1], dtype=torch.float64)
            )
        return _Probed(torch.stack(losses), torch.stack(importances), self._baseline(targets))

    def _model(
        self, capacity: int, targets: Tensor
    ) -> TreeEnsemble | LogisticClassifier | RidgeRegression:
        if self.probe == "rf":
            return TreeEnsemble("forest", seed=short_seed(self.seed), depth=capacity)
        return RidgeRegression() if targets.is_floating_point() else LogisticClassifier()

    def _features(
        self, codes: Float[Tensor, "image latent"], cut: int, count: int
    ) -> Float[Tensor, "image feature"]:
        """Cosines and sines of random combinations of standardised codes."""
        directions = host_generator(self.seed).normal(size=(count // 2, codes.shape[1]))
        cycles = standardized(codes, cut) @ torch.from_numpy(_FREQUENCY * directions).T
        angles = 2 * math.pi * cycles
        return torch.cat([angles.cos(), angles.sin()], dim=1)

    def _capacities(self) -> Float[Tensor, " capacity"]:
        """Capacities of the probes: depths of trees, or logarithms of the numbers of parameters."""
        numbers = torch.tensor(self.capacities, dtype=torch.float64)
        return numbers if self.probe == "rf" else (numbers + 1).log()

    def _classified(self, bank: CodeBank, column: int) -> bool:
        return self.space.factors[column].kind == "categorical"

    def _targets(
        self, bank: CodeBank, column: int
    ) -> Int[Tensor, " image"] | Float[Tensor, " image"]:
        """The targets: integer value numbers of a categorical factor, else floats."""
        source = bank.factors if self._classified(bank, column) else bank.numbers
        return source[:, column].cpu()

    def _baseline(self, targets: Tensor) -> float:
        """Loss of a guess: error rate of a random value, or 1 for regression (loss of the mean)."""
        return 1.0 if targets.is_floating_point() else 1 - 1 / len(torch.unique(targets))


def _loss(
    predicted: Int[Tensor, " image"] | Float[Tensor, " image"],
    targets: Int[Tensor, " image"] | Float[Tensor, " image"],
) -> Float[Tensor, ""]:
    """Error rate; for regression, the unexplained share of the variance."""
    if targets.is_floating_point():
        return 1 - explained_share(predicted.to(targets), targets)
    return (predicted != targets).double().mean()


def _check_capacities(capacities: tuple[int, ...], probe: Probe) -> None:
    least = 1 if probe == "rf" else 2
    for capacity in capacities:
        check_count("capacities", capacity, least)
    ascend = all(low < high for low, high in pairwise(capacities))
    if len(capacities) < 2 or not ascend:
        raise InputError(
            f"capacities are {list(capacities)}; give at least two, in ascending order"
        )
    if probe == "rff" and any(capacity % 2 for capacity in capacities):
        raise InputError(
            f"capacities are {list(capacities)}; Fourier features come in pairs, so that each "
            "number must be even"
        )
