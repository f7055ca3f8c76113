"""Single images with labels for a few of them."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Dataset, LabelledBatch, Split
from dislab.datamodules._state_groups import Sampler, Weights
from dislab.errors import InputError
from dislab.factors import MISSING, Indices
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.random import host_generator
from dislab.plans import Drawn, PlannedData
from dislab.plans.index_plans import FixedBatches, OrderedBatches


class Labels(NamedTuple):
    """Labelled images.

    Attributes:
        states: State numbers.
        values: Labels in [0, 1] as float32, shape (image, factor); NaN for no value.
    """

    states: Indices
    values: npt.NDArray[np.float32]


@final
class LabelledData(PlannedData):
    """Single images, beside each a labelled one: few labels.

    Locatello et al. (2020), https://arxiv.org/abs/1905.01258. Some images of the training split
    have labels; most of these train, the others validate. A training batch has as many labelled
    images as others, drawn with replacement; its other images are those of `SingleData`. Validation
    and test show every state once, beside labels that did not train.

    A label is the rank of a value among those that occur in the selected states, from 0 for the
    first to 1 for the last one, whatever the kind of the factor; of a continuous factor, it is the
    scaled number. Factors with one value, and those that only distinguish images, have no label.
    Of images with gaps (`gaps: keep` of `FolderDataset`), those with a value of some labelled
    factor can be labelled; a label without a value is NaN, and fits nothing.

    Args:
        dataset: The images and their factors.
        labels: Number of labelled images; None for all of the training split.
        label_validation: Fraction of these that validates; with 0 all train, and the same labels
            are used in validation.
        label_seed: Seed of the choice of labelled images, and of the errors of labels; independent
            of the run's seed.
        label_factors: Names of the labelled factors, in the order of their latents; all of them, in
            the order of the data set, unless given.
        label_bins: Number of evenly spaced values that labels have: coarse labels. Unless given,
            labels are exact.
        label_errors: Fraction of labels that are replaced by a random value of their factor.
        label_permuted: Whether the order of the values of each factor is random.
        **settings: Those of `PlannedData`: batches, splits, workers, transforms, correlation.

    Raises:
        InputError: A number is out of range, a split would be empty, there are fewer images than
            labels, or a named factor is unknown, repeated, constant, or only tells images apart.
    """

    batch_type: ClassVar[type] = LabelledBatch
    takes_gaps: ClassVar[bool] = True

    def __init__(
        self,
        dataset: Dataset,
        labels: int | None = 100,
        label_validation: float = 0.1,
        label_seed: int = 0,
        label_factors: list[str] | None = None,
        label_bins: int | None = None,
        label_errors: float = 0.0,
        label_permuted: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(dataset, **settings)
        self.labels = labels
        self.label_validation = label_validation
        self.label_seed = label_seed
        self.label_factors = label_factors
        self.label_bins = label_bins
        self.label_errors = label_errors
        self.label_permuted = label_permuted
        self._check_labels()

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labelled factors, in the order of the columns of `labels`."""
        if self.label_factors is not None:
            return tuple(self.label_factors)
        return tuple(
            factor.name
            for factor, values in zip(self.factors.factors, self._values, strict=True)
            if not factor.nuisance and len(values) > 1
        )

    def plan(self, split: Split) -> "LabelledPlan":
        """The plan that draws the batches of a split."""
        labels = self._labels[split in ("validation", "test")]
        return LabelledPlan(self.indices(split), labels, self.weights(split))

    def ordered(
        self, split: Split, states: Indices, size: int
    ) -> OrderedBatches | FixedBatches | None:
        """Batches of given states in order, beside labels in turn."""
        labels = self._labels[split in ("validation", "test")]
        return FixedBatches(LabelledPlan(states, labels, in_order=True), size, self.split_seed)

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> LabelledBatch:
        """A batch as the objective receives it.

        Args:
            images: The images, then the labelled ones.
            positions: Value numbers behind both.
            labels: The labels.
        """
        return LabelledBatch(images[0], positions[0], images[1], labels["labels"])

    @cached_property
    def _values(self) -> list[Indices]:
        """For each factor, the value numbers that occur in the selected states."""
        positions = self.factors.positions(self.indices("all"))
        return [np.unique(column[column != MISSING]) for column in positions.T]

    @cached_property
    def _candidates(self) -> npt.NDArray[np.bool_]:
        """Which states of the training split have a value of a labelled factor."""
        columns = [self.factors.column(name) for name in self.label_names]
        positions = self.factors.positions(self.indices("train"))[:, columns]
        candidates: npt.NDArray[np.bool_] = (positions != MISSING).any(1)
        return candidates

    @property
    def _candidate_weights(self) -> Weights | None:
        weights = self.weights("train")
        return None if weights is None else weights[self._candidates]

    @cached_property
    def _labels(self) -> tuple[Labels, Labels]:
        """Labels that train, and labels that validate."""
        states, weights = self.indices("train")[self._candidates], self._candidate_weights
        generator = host_generator(self.label_seed)
        count = len(states) if self.labels is None else self.labels
        shares = None if weights is None else weights / weights.sum()
        chosen = generator.choice(states, size=count, replace=False, p=shares)
        values = self._label_values(generator, chosen)
        validating = round(count * self.label_validation)
        if self.label_validation:
            validating = min(max(validating, 1), count - 1)
        trained, rest = chosen[: count - validating], chosen[count - validating :]
        training = Labels(trained, values[: len(trained)])
        return training, Labels(rest, values[len(trained) :]) if validating else training

    def _label_values(
        self, generator: np.random.Generator, states: Indices
    ) -> npt.NDArray[np.float32]:
        columns = []
        for name in self.label_names:
            column = self.factors.column(name)
            occurring = self._values[column]
            places = self.factors[name].places[occurring]
            if self.factors[name].kind != "continuous":
                places = np.arange(len(occurring), dtype=np.float64)
            scale = (places - places.min()) / (places.max() - places.min())
            if self.label_bins is not None and len(scale) > self.label_bins:
                bins = np.minimum(scale * self.label_bins, self.label_bins - 1).astype(np.int64)
                scale = bins / (self.label_bins - 1)
            if self.label_permuted:
                scale = generator.permutation(scale)
            positions = self.factors.positions(states)[:, column]
            ranks = np.searchsorted(occurring, positions)
            wrong = generator.random(len(states)) < self.label_errors
            ranks = np.where(wrong, generator.integers(len(scale), size=len(states)), ranks)
            columns.append(np.where(positions == MISSING, np.nan, scale[ranks]))
        return np.stack(columns, axis=1).astype(np.float32)

    def _check_labels(self) -> None:
        check_count("label_seed", self.label_seed, 0)
        for name in ("label_validation", "label_errors"):
            check_at_least(name, getattr(self, name), 0)
        if self.label_validation >= 1 or self.label_errors > 1:
            raise InputError(
                f"label_validation {self.label_validation} and label_errors {self.label_errors} "
                "are fractions of the labels; the first leaves some for training"
            )
        if self.label_bins is not None:
            check_count("label_bins", self.label_bins, 2)
        if self.labels is not None:
            check_count("labels", self.labels, 2 if self.label_validation else 1)
        self._check_factors()
        weights = self._candidate_weights
        available = np.count_nonzero(self._candidates if weights is None else weights)
        if self.labels is not None and self.labels > available:
            raise InputError(
                f"labels is {self.labels}, and the training split has {available} images with "
                "labels; lower labels, or set it to null to use all of them"
            )

    def _check_factors(self) -> None:
        names = self.label_names
        if not names or len(set(names)) < len(names) or not set(names) <= set(self.factor_names):
            raise InputError(
                f"label_factors is {list(names)}; it names at least one factor that varies, each "
                f"once: {', '.join(self.factor_names)}"
            )
        for name in names:
            if self.factors[name].nuisance:
                raise InputError(
                    f"label_factors names {name}, which only tells images apart; leave it out"
                )
            if len(self._values[self.factors.column(name)]) < 2:
                raise InputError(
                    f"label_factors names {name}, which has a single value in the selected states; "
                    "leave it out, or include other values"
                )


class LabelledPlan:
    """Draws single states, beside each a labelled one.

    Args:
        states: The states to draw from.
        labels: The labelled images to draw from.
        weights: Weight of each state in a draw; None if all are equal.
        in_order: Whether batches are the states in order, beside the labelled images in turn.
    """

    def __init__(
        self,
        states: Indices,
        labels: Labels,
        weights: Weights | None = None,
        in_order: bool = False,
    ) -> None:
        self.states = states
        self.labels = labels
        self.in_order = in_order
        self._sampler = Sampler(len(states), weights)

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` images, from the batch of number `step` on.

        The last batch in order may be smaller.
        """
        if self.in_order:
            states = self.states[step * count : (step + batches) * count]
            rows = np.arange(step * count, step * count + len(states)) % len(self.labels.states)
        else:
            # first the states, which are then those of SingleData
            states = self.states[self._sampler.draw(generator, count * batches)]
            rows = generator.integers(len(self.labels.states), size=count * batches)
        labelled = self.labels.states[rows]
        return Drawn(np.stack([states, labelled]), {"labels": self.labels.values[rows]})
