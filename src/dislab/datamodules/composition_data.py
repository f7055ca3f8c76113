"""Triplets of reference, transform and target: the reference with one factor of the transform."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, final, get_args

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import CompositionBatch, Dataset, Split
from dislab.datamodules._partners import GroupPartners, present_values
from dislab.datamodules._state_groups import StateGroups, Weights, canonical_positions
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_choice, naming
from dislab.plans import Drawn, PlannedData

Triplets = Literal["within_split", "across_splits"]


@final
class CompositionData(PlannedData):
    """Triplets: a reference, a transform, and the reference with one factor of the transform.

    The action, which names the factor, is drawn first, then the target, then a reference that
    differs from it in this factor alone, then a transform among the states that agree with it in
    this factor. On a complete grid this equals drawing a reference, an action, and a transform that
    differs in the factor; on other data it ensures that all states of a triplet exist.

    With `triplets` within_split, all three images belong to one split: in training none is held
    out, in a test all are. With across_splits, references and transforms of a test are any selected
    states, and those of validation any outside the test split. Validation and test draw as many
    triplets as they have states, the same every time; a factor that none of their triplets can
    transfer is left out.

    Montero et al. (2021), https://openreview.net/forum?id=qbH974jKUVy, section 2.3, and the
    authors' code, which takes the three images from one split and requires the factor to differ.

    Args:
        dataset: The images and their factors.
        transfer: Names of the factors that may be transferred; all that vary unless given.
        triplets: Source of references and transforms: the split of the target, or further splits in
            validation and test.
        **settings: Those of `PlannedData`: batches, splits, workers, transforms, correlation.

    Raises:
        InputError: A number is out of range, a split would be empty, a factor has one value, or
            triplets is none of the choices.
    """

    offers: ClassVar[tuple[str, ...]] = (*PlannedData.offers, "action_names")
    batch_type: ClassVar[type] = CompositionBatch

    def __init__(
        self,
        dataset: Dataset,
        transfer: list[str] | None = None,
        triplets: Triplets = "within_split",
        **settings: Any,
    ) -> None:
        super().__init__(dataset, **settings)
        check_choice("triplets", triplets, get_args(Triplets))
        self.triplets = triplets
        values = present_values(self.factors, self.indices("all"))
        varying = [
            self.factors.names[column]
            for column in self.factors.essential
            if len(values[column]) > 1
        ]
        self.transfer = varying if transfer is None else transfer
        with naming("transfer"):
            for name in self.transfer:
                self.factors.column(name)
        if (
            not self.transfer
            or len(set(self.transfer)) < len(self.transfer)
            or set(self.transfer) - set(varying)
        ):
            raise InputError(
                f"transfer names factors that vary, each once, not {self.transfer}; they are "
                f"{', '.join(varying) or 'none'}"
            )

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the factors that may be transferred."""
        return tuple(self.transfer)

    def plan(self, split: Split) -> "CompositionPlan":
        """The plan that draws the batches of a split.

        Raises:
            InputError: Some factor cannot be transferred in training, or none in another split.
        """
        sources = self._sources(split)
        targets = np.searchsorted(sources, self.indices(split))
        columns = [self.factors.column(name) for name in self.transfer]
        look = canonical_positions(self.dataset, sources)
        plan = CompositionPlan(sources, targets, look, columns, self.weights(split))
        self._check_triplets(split, plan.impossible)
        return plan

    def _sources(self, split: Split) -> Indices:
        """The states that references and transforms are drawn from."""
        if self.triplets == "within_split" or split == "train":
            return self.indices(split)
        states = self.indices("all")
        return np.setdiff1d(states, self.indices("test")) if split == "validation" else states

    def _check_triplets(self, split: Split, impossible: list[int]) -> None:
        names = [self.factors.names[column] for column in impossible]
        possible = [name for name in self.transfer if name not in names]
        if not names or (possible and split != "train"):
            return
        if split == "train":
            cure = f"set transfer to {possible}" if possible else "set transfer to other factors"
            cure += ", or include more states"
        else:
            cure = f"set {split} to a larger fraction, or to 0 to go without"
            if split == "test" and self.hold_out is not None:
                cure = "widen hold_out"
            if self.triplets == "within_split":
                cure += ", or set triplets to across_splits"
        raise InputError(
            f"among the {len(self.indices(split))} states of the {split} split no target differs "
            f"from a reference in {' or '.join(names)} alone; {cure}"
        )

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> CompositionBatch:
        """A batch as the objective receives it.

        Args:
            images: References, transforms and targets.
            positions: Value numbers behind the images.
            labels: Which factor is transferred: `action`.
        """
        return CompositionBatch(images[0], images[1], images[2], positions[0], labels["action"])


class CompositionPlan:
    """Draws triplets of states.

    Args:
        sources: The states to draw references and transforms from.
        targets: Rows of the sources that may be targets.
        look: One row per source, with equal rows for equal images.
        columns: The factors that may be transferred.
        weights: Weight of each state in a training draw, where all sources are targets.

    Attributes:
        impossible: The factors that no triplet can transfer.
    """

    def __init__(
        self,
        sources: Indices,
        targets: Indices,
        look: Indices,
        columns: list[int],
        weights: Weights | None,
    ) -> None:
        self.sources = sources
        self._look = look
        self._columns = np.array(columns)
        self._pairs = GroupPartners(look, columns, (1,), weights, targets)
        self._transforms = StateGroups(look, [[column] for column in columns], weights)
        self.impossible = [column for (column,) in self._pairs.impossible]

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` triplets; `step` is not used."""
        target, reference = self._pairs.attempt(generator, count * batches)
        differs = self._look.take(target, axis=0) != self._look.take(reference, axis=0)
        action = differs[:, self._columns].argmax(axis=1)
        transform = self._transforms.pick(generator, action, target)[0]
        states = self.sources[np.stack([reference, transform, target])]
        return Drawn(states, {"action": action})
