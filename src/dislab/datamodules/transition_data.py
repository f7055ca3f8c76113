"""Consecutive states: one factor moves by one step."""

from collections.abc import Mapping
from typing import ClassVar, Literal, final

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Dataset, Split, TransitionBatch
from dislab.datamodules._planned import PlannedData
from dislab.datamodules._plans import Drawn
from dislab.datamodules._runs import Lottery, Weights
from dislab.datamodules._steps import steps
from dislab.errors import InputError
from dislab.factors import Correlation, Indices, Selection
from dislab.functional.checks import naming


@final
class TransitionData(PlannedData):
    """Images before and after one factor moved to its next or its previous value.

    An action is drawn first, each as likely, then a state in which it is possible. Circular
    factors go round; where their last value shows the same as their first, it is skipped. Both
    states are of the same split. Validation and test draw as many transitions as they have
    states, the same every time.

    Args:
        dataset: The images and their factors.
        batch_size: Transitions in a training batch, over all processes together.
        move: Names of the factors that move; all but categorical ones unless given. A categorical
            factor moves through its values in their order.
        include: The states that take part, as conditions on factors; all unless given.
        hold_out: The states of the test split, as conditions on factors; neither they nor their
            duplicates are trained on.
            Unless given, a random part of the states is held out.
        validation: Fraction of the states that validate.
        test: Fraction of the states that test; not used with hold_out.
        split_seed: Decides the random splits and the transitions of validation and test.
        steps_per_epoch: Batches that count as an epoch; unless given, as many as fill the
            training split once.
        eval_batch_size: Transitions in a batch of validation and test, and images in one of
            prediction, in each process.
        num_workers: Processes that gather images ahead; for small images none is fastest.
        residency: Where images are gathered: `host`, `device`, or `auto`, which takes a CUDA
            device whenever the tables fill at most a quarter of its free memory.
        correlation: Two factors that training draws together, and how strongly; independent
            unless given.
        resize: Height and width in pixels that images are brought to; unless given, their own.
        colour: `grey` takes the luminance of RGB images, `rgb` repeats a single channel.

    Raises:
        InputError: A number is out of range, a split would be empty, or a factor cannot move.
    """

    batch_type: ClassVar[type] = TransitionBatch

    def __init__(
        self,
        dataset: Dataset,
        move: list[str] | None = None,
        batch_size: int = 64,
        include: Selection | None = None,
        hold_out: Selection | None = None,
        validation: float = 0.01,
        test: float = 0.05,
        split_seed: int = 0,
        steps_per_epoch: int | None = None,
        eval_batch_size: int = 256,
        num_workers: int = 0,
        residency: Literal["auto", "host", "device"] = "auto",
        correlation: Correlation | None = None,
        resize: int | None = None,
        colour: Literal["keep", "grey", "rgb"] = "keep",
    ) -> None:
        super().__init__(
            dataset,
            batch_size,
            include,
            hold_out,
            validation,
            test,
            split_seed,
            steps_per_epoch,
            eval_batch_size,
            num_workers,
            residency,
            correlation,
            resize,
            colour,
        )
        kinds = {
            factor.name: factor.kind
            for factor in self.factors.factors
            if len(factor) > 1 and not factor.nuisance
        }
        ordered = [name for name, kind in kinds.items() if kind != "categorical"]
        self.move = ordered if move is None else move
        with naming("move"):
            for name in self.move:
                self.factors.column(name)
        if not self.move or len(set(self.move)) < len(self.move) or set(self.move) - set(kinds):
            raise InputError(
                f"move names factors of at least two values, each once, not {self.move}; those "
                f"with an order are {', '.join(ordered) or 'none'}"
            )

    @property
    def action_names(self) -> tuple[str, ...]:
        """One action up and one down for each factor that moves."""
        return tuple(f"{name}{sign}" for name in self.move for sign in "+-")

    def plan(self, split: Split) -> "TransitionPlan":
        """What draws the batches of a split.

        Args:
            split: Which part of the selected states.

        Raises:
            InputError: No state can move, or in training an action is never possible.
        """
        states = self.indices(split)
        columns = [self.factors.column(name) for name in self.move]
        after = np.concatenate(
            [steps(self.factors, states, column, way) for column in columns for way in (1, -1)]
        ).reshape(-1, len(states))
        idle = [name for name, row in zip(self.action_names, after, strict=True) if (row < 0).all()]
        if len(idle) == len(after) or (idle and split == "train"):
            raise InputError(
                f"none of the {len(states)} states of the {split} split can move by "
                f"{', '.join(idle)}; enlarge the split (0 goes "
                "without), or name other factors to move"
            )
        changed = np.zeros((len(after), len(self.factors.names)), dtype=np.bool_)
        changed[np.arange(len(after)), np.repeat(columns, 2)] = True
        return TransitionPlan(states, after, changed, self.weights(split))

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> TransitionBatch:
        """A batch as the objective receives it.

        Args:
            images: Images before and after.
            positions: Value numbers behind the images.
            labels: Which factors `changed`, and by which `action`.
        """
        return TransitionBatch(
            images[0], images[1], positions[0], positions[1], labels["changed"], labels["action"]
        )


class TransitionPlan:
    """States and what they become.

    Args:
        states: The states to draw from.
        after: For each action, the state that each state becomes; -1 where there is none.
        changed: For each action, which factor it moves.
        weights: How often each state is drawn; None where all are alike.
    """

    def __init__(
        self, states: Indices, after: Indices, changed: np.ndarray, weights: Weights | None
    ) -> None:
        self.states = states
        self.after = after
        self.changed = changed
        which, self._row = np.nonzero(after >= 0)
        self._ends = np.append(0, np.cumsum(np.bincount(which, minlength=len(after))))
        self._possible = np.unique(which)
        self._lottery = Lottery(len(which), None if weights is None else weights[self._row])

    def draw(
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
    ) -> Drawn:
        """Some batches, one behind the other.

        Args:
            generator: Where every random number comes from.
            count: Transitions in a batch.
            number: Which batch is the first; makes no difference.
            batches: How many batches.
        """
        action = self._possible[generator.integers(len(self._possible), size=count * batches)]
        low, high = self._ends[action], self._ends[action + 1]
        row = self._row[self._lottery.between(generator, low, high)]
        states = np.stack([self.states[row], self.after[action, row]])
        return Drawn(states, {"changed": self.changed[action], "action": action})
