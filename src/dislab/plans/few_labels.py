"""Labels for a few images, beside the batches of any data module."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.factors import MISSING, FactorSpace, Indices
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.random import host_generator
from dislab.plans.index_plans import Drawn, IndexPlan


class FewLabels(TypedDict, total=False):
    """Labels of a few images of the training split.

    Locatello et al. (2020), https://arxiv.org/abs/1905.01258. Most of the labelled images train,
    the others validate.

    A label is the rank of a value among those that occur in the selected states, from 0 for the
    first to 1 for the last one, whatever the kind of the factor; of a continuous factor, it is the
    scaled number. Factors with one value, and those that only distinguish images, have no label.
    Of images with gaps (`gaps: keep` of a data set), those with a value of some labelled
    factor can be labelled; a label without a value is NaN, and fits nothing.

    Attributes:
        count: Number of labelled images, 100 unless given; None for all of the training split.
        validation: Fraction of these that validates, 0.1 unless given; with 0 all train, and the
            same labels are used in validation.
        seed: Seed of the choice of labelled images, and of the errors of labels, 0 unless given;
            independent of the run's seed.
        factors: Names of the labelled factors, in the order of their latents; all of them, in the
            order of the data set, unless given.
        bins: Number of evenly spaced values that labels have: coarse labels. Unless given, labels
            are exact.
        errors: Fraction of labels that are replaced by a random value of their factor, 0 unless
            given.
        permuted: Whether the order of the values of each factor is random; false unless given.
    """

    count: int | None
    validation: float
    seed: int
    factors: list[str] | None
    bins: int | None
    errors: float
    permuted: bool


LABELLED: Final = "labelled"
"""Name of the labels among the other draws of an index plan."""


class Labels(NamedTuple):
    """Labelled images.

    Attributes:
        states: State numbers.
        values: Labels in [0, 1] as float32, shape (image, factor); NaN for no value.
    """

    states: Indices
    values: npt.NDArray[np.float32]


class LabelChoice:
    """The images that have labels, and these labels.

    Args:
        settings: The settings of the labels.
        space: The factors.
        selected: All states that take part.
        train: States of the training split, ascending.
        weights: Weight of each of these in a draw; None if all are equal.

    Raises:
        InputError: A setting is unknown or out of range, there are fewer images than labels, or a
            named factor is unknown, repeated, constant, or only tells images apart.
    """

    def __init__(
        self,
        settings: FewLabels,
        space: FactorSpace,
        selected: Indices,
        train: Indices,
        weights: npt.NDArray[np.float64] | None,
    ) -> None:
        if unknown := sorted(set(settings) - set(FewLabels.__annotations__)):
            raise InputError(
                f"few_labels has no setting {', '.join(unknown)}; it has "
                f"{', '.join(FewLabels.__annotations__)}"
            )
        self._space = space
        self._count = settings.get("count", 100)
        self._validation = settings.get("validation", 0.1)
        self._seed = settings.get("seed", 0)
        self._factors = settings.get("factors")
        self._bins = settings.get("bins")
        self._errors = settings.get("errors", 0.0)
        self._permuted = settings.get("permuted", False)
        positions = space.positions(selected)
        self._values = [np.unique(column[column != MISSING]) for column in positions.T]
        self._check_numbers()
        self._check_factors()
        columns = [space.column(name) for name in self.names]
        candidates = (space.positions(train)[:, columns] != MISSING).any(1)
        self._states = train[candidates]
        self._weights = None if weights is None else weights[candidates]
        self._check_count()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the labelled factors, in the order of the columns of labels."""
        if self._factors is not None:
            return tuple(self._factors)
        return tuple(
            factor.name
            for factor, values in zip(self._space.factors, self._values, strict=True)
            if not factor.nuisance and len(values) > 1
        )

    @cached_property
    def labels(self) -> tuple[Labels, Labels]:
        """Labels that train, and labels that validate."""
        generator = host_generator(self._seed)
        count = len(self._states) if self._count is None else self._count
        shares = None if self._weights is None else self._weights / self._weights.sum()
        chosen = generator.choice(self._states, size=count, replace=False, p=shares)
        values = self._label_values(generator, chosen)
        validating = round(count * self._validation)
        if self._validation:
            validating = min(max(validating, 1), count - 1)
        trained, rest = chosen[: count - validating], chosen[count - validating :]
        training = Labels(trained, values[: len(trained)])
        return training, Labels(rest, values[len(trained) :]) if validating else training

    def _label_values(
        self, generator: np.random.Generator, states: Indices
    ) -> npt.NDArray[np.float32]:
        columns = []
        for name in self.names:
            column = self._space.column(name)
            occurring = self._values[column]
            places = self._space[name].places[occurring]
            if self._space[name].kind != "continuous":
                places = np.arange(len(occurring), dtype=np.float64)
            scale = (places - places.min()) / (places.max() - places.min())
            if self._bins is not None and len(scale) > self._bins:
                bins = np.minimum(scale * self._bins, self._bins - 1).astype(np.int64)
                scale = bins / (self._bins - 1)
            if self._permuted:
                scale = generator.permutation(scale)
            positions = self._space.positions(states)[:, column]
            ranks = np.searchsorted(occurring, positions)
            wrong = generator.random(len(states)) < self._errors
            ranks = np.where(wrong, generator.integers(len(scale), size=len(states)), ranks)
            columns.append(np.where(positions == MISSING, np.nan, scale[ranks]))
        return np.stack(columns, axis=1).astype(np.float32)

    def _check_numbers(self) -> None:
        check_count("few_labels.seed", self._seed, 0)
        for name, share in (("validation", self._validation), ("errors", self._errors)):
            check_at_least(f"few_labels.{name}", share, 0)
        if self._validation >= 1 or self._errors > 1:
            raise InputError(
                f"few_labels.validation {self._validation} and few_labels.errors {self._errors} "
                "are fractions of the labels; the first leaves some for training"
            )
        if self._bins is not None:
            check_count("few_labels.bins", self._bins, 2)
        if self._count is not None:
            check_count("few_labels.count", self._count, 2 if self._validation else 1)

    def _check_count(self) -> None:
        available = len(self._states)
        if self._weights is not None:
            available = int(np.count_nonzero(self._weights))
        if self._count is not None and self._count > available:
            raise InputError(
                f"few_labels.count is {self._count}, and the training split has {available} images "
                "with labels; lower it, or set it to null to use all of them"
            )

    def _check_factors(self) -> None:
        names = self.names
        if not names or len(set(names)) < len(names) or not set(names) <= set(self._space.names):
            raise InputError(
                f"few_labels.factors is {list(names)}; it names at least one factor that varies, "
                f"each once: {', '.join(self._space.names)}"
            )
        for name in names:
            if self._space[name].nuisance:
                raise InputError(
                    f"few_labels.factors names {name}, which only tells images apart; leave it out"
                )
            if len(self._values[self._space.column(name)]) < 2:
                raise InputError(
                    f"few_labels.factors names {name}, which has a single value in the selected "
                    "states; leave it out, or include other values"
                )


@dataclass(frozen=True)
class InOrder:
    """Single states in their order; the last batch may be smaller.

    Args:
        states: The states.
    """

    states: Indices

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Consecutive batches of `count` images, from the batch of number `step` on."""
        return Drawn(self.states[step * count : (step + batches) * count])


@dataclass(frozen=True)
class LabelledPlan:
    """The draws of another plan, beside each example a labelled image, as the last role.

    Args:
        plan: Draws the other images.
        labels: The labelled images to draw from.
        in_turn: Whether labelled images take turns; else they are drawn with replacement.
    """

    plan: IndexPlan
    labels: Labels
    in_turn: bool = False

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` examples, from the batch of number `step` on."""
        # first the other images, which are then those of the plan alone
        drawn = self.plan.draw(generator, count, step, batches)
        examples = drawn.states.shape[-1]
        if self.in_turn:
            rows = np.arange(step * count, step * count + examples) % len(self.labels.states)
        else:
            rows = generator.integers(len(self.labels.states), size=(examples,))
        states = np.vstack([drawn.states, self.labels.states[rows]])
        return Drawn(states, {**drawn.labels, LABELLED: self.labels.values[rows]})
