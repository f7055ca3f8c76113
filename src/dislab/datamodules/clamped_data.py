"""Batches in which one group of factors varies and all others are held."""

from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import ClampedBatch, Dataset, Split
from dislab.datamodules._state_groups import (
    Sampler,
    StateGroups,
    Weights,
    canonical_positions,
)
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_at_least, naming
from dislab.plans import Drawn, PlannedData


@final
class ClampedData(PlannedData):
    """Batches of images that differ in one group of factors alone.

    The active group of a batch is drawn in proportion to the ratios, then a reference state from
    which other states differ in this group alone, then all images of the batch among these. Factors
    outside all groups are constant within a batch, except nuisance factors, which only distinguish
    images. In validation and test the groups alternate, with the same batches every time.

    Kulkarni et al. (2015), https://arxiv.org/abs/1503.03167, section 3.2: azimuth, elevation,
    light and intrinsic factors in the ratio 1:1:1:10.

    Args:
        dataset: The images and their factors.
        groups: Names of the factors of each group, by the group's name; the groups are numbered
            in this order.
        ratios: Weight of each group in the draw of the active one; equal unless given.
        **settings: Those of `PlannedData`: batches, splits, workers, transforms, correlation.

    Raises:
        InputError: A number is out of range, a split would be empty, the groups overlap or name
            unknown factors, the ratios do not fit them, or a group cannot vary alone.
    """

    offers: ClassVar[tuple[str, ...]] = (*PlannedData.offers, "group_names")
    batch_type: ClassVar[type] = ClampedBatch

    def __init__(
        self,
        dataset: Dataset,
        groups: dict[str, list[str]],
        ratios: dict[str, float] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(dataset, **settings)
        self.groups = groups
        self.ratios = ratios
        if not groups:
            raise InputError("groups is empty; name at least one group of factors")
        with naming("groups"):
            self._check_groups()
        self._shares = self._check_ratios()

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups, in the order of their numbers."""
        return tuple(self.groups)

    def eval_batches(self, split: Split) -> int:
        """Number of evaluation batches of a split over all processes, to cover every group."""
        turns = -(-super().eval_batches(split) // len(self.groups))
        return turns * len(self.groups)

    def plan(self, split: Split) -> "ClampedPlan":
        """The plan that draws the batches of a split.

        Raises:
            InputError: No two states of the split differ in one of the groups alone.
        """
        states, weights = self.indices(split), self.weights(split)
        columns = [{self.factors.column(name) for name in names} for names in self.groups.values()]
        everything = range(len(self.factors.names))
        clamped = [[column for column in everything if column not in group] for group in columns]
        sharing = StateGroups(canonical_positions(self.dataset, states), clamped, weights)
        for name, varied in zip(self.groups, sharing.varied, strict=True):
            if not varied.any():
                raise InputError(
                    f"among the {len(states)} states of the {split} split no two differ in group "
                    f"{name} ({', '.join(self.groups[name])}) alone; enlarge the split (0 goes "
                    "without), or choose other groups"
                )
        return ClampedPlan(states, sharing, self._shares if split == "train" else None, weights)

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> ClampedBatch:
        """A batch as the objective receives it.

        Args:
            images: The images.
            positions: Value numbers behind the images.
            labels: Which group is `active`.
        """
        return ClampedBatch(images, positions, labels["active"])

    def _check_groups(self) -> None:
        seen: dict[str, str] = {}
        for group, names in self.groups.items():
            if not names:
                raise InputError(f"group {group} has no factors; name some, or leave it out")
            for name in names:
                if self.factors[name].nuisance:
                    raise InputError(
                        f"factor {name} of group {group} only tells images apart; leave it out"
                    )
                if name in seen:
                    raise InputError(
                        f"factor {name} is in group {seen[name]} and again in group {group}; "
                        "groups must not overlap"
                    )
                seen[name] = group

    def _check_ratios(self) -> np.ndarray:
        """Share of batches in which each group is active; rejects ratios that do not match."""
        if self.ratios is None:
            return np.full(len(self.groups), 1 / len(self.groups))
        if set(self.ratios) != set(self.groups):
            raise InputError(
                f"ratios are given for {', '.join(self.ratios) or 'nothing'}, and the groups are "
                f"{', '.join(self.groups)}; give one for each group"
            )
        for name, ratio in self.ratios.items():
            check_at_least(f"ratios.{name}", ratio, 0)
        shares = np.array([self.ratios[name] for name in self.groups], dtype=np.float64)
        if not shares.sum():
            raise InputError("all ratios are 0; at least one group must be active sometimes")
        return np.asarray(shares / shares.sum())


class ClampedPlan:
    """Draws batches with one active group each.

    Args:
        states: The states to draw from.
        sharing: For each group, the states sorted by all other factors.
        shares: Share of batches in which each group is active; None to alternate.
        weights: Weight of each state in a draw; None if all are equal.
    """

    def __init__(
        self,
        states: Indices,
        sharing: StateGroups,
        shares: np.ndarray | None,
        weights: Weights | None,
    ) -> None:
        self.states = states
        self.sharing = sharing
        self._groups = None if shares is None else Sampler(len(shares), shares)
        self._varied = [np.flatnonzero(varied) for varied in sharing.varied]
        self._samplers = [
            Sampler(len(rows), None if weights is None else weights[rows]) for rows in self._varied
        ]

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` images.

        Without shares the groups alternate, starting from `step`, that of the first batch.
        """
        if self._groups is None:
            active = np.arange(step, step + batches) % len(self._varied)
        else:
            active = self._groups.draw(generator, batches)
        reference = np.empty(batches, dtype=np.int64)
        for group, lottery in enumerate(self._samplers):
            rows = np.flatnonzero(active == group)
            reference[rows] = self._varied[group][lottery.draw(generator, len(rows))]
        picked = self.sharing.pick(generator, active, reference, proposals=count).T.reshape(-1)
        return Drawn(self.states[picked], {"active": np.repeat(active, count)})
