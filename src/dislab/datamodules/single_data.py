"""Single images for unsupervised training."""

from typing import Literal, final

import numpy as np

from dislab.base import Dataset, Split
from dislab.datamodules._planned import PlannedData
from dislab.datamodules._plans import Drawn
from dislab.datamodules._runs import Lottery, Weights
from dislab.factors import Correlation, Indices, Selection


@final
class SingleData(PlannedData):
    """Single images, drawn at random with replacement.

    The training batch of a step is a function of the run's seed and the step alone: the same for
    every number of workers, split over the processes of a distributed run, and continued exactly
    when a run is resumed. The other splits are walked through in order, every state once.

    Args:
        dataset: The images and their factors.
        batch_size: Images in a training batch, over all processes together.
        include: The states that take part, as conditions on factors; all unless given.
        hold_out: The states of the test split, as conditions on factors; neither they nor their
            duplicates are trained on. Unless given, a random part of the states is held out.
        validation: Fraction of the states that validate.
        test: Fraction of the states that test; not used with hold_out.
        split_seed: Decides the random splits; another number than the run's seed, so that runs
            with different seeds share their test states.
        steps_per_epoch: Batches that count as an epoch; unless given, as many as fill the
            training split once.
        eval_batch_size: Images in a batch of validation, test and prediction, in each process.
        num_workers: Processes that gather images ahead; for small images none is fastest.
        residency: Where images are gathered: `host`, `device`, or `auto`, which takes a CUDA
            device whenever the tables fill at most a quarter of its free memory.
        correlation: Two factors that training draws together, and how strongly; independent
            unless given.
        resize: Height and width in pixels that images are brought to; unless given, their own.
        colour: `grey` takes the luminance of RGB images, `rgb` repeats a single channel.

    Raises:
        InputError: A number is out of range, or a split would be empty.
    """

    def __init__(
        self,
        dataset: Dataset,
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

    def plan(self, split: Split) -> "SinglePlan":
        """What draws the batches of a split.

        Args:
            split: Which part of the selected states.
        """
        return SinglePlan(self.indices(split), self.weights(split))


class SinglePlan:
    """Single states, drawn with replacement.

    Args:
        states: The states to draw from.
        weights: How often each is drawn; None where all are alike.
    """

    def __init__(self, states: Indices, weights: Weights | None = None) -> None:
        self.states = states
        self._lottery = Lottery(len(states), weights)

    def draw(
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
    ) -> Drawn:
        """Some batches, one behind the other.

        Args:
            generator: Where every random number comes from.
            count: Images in a batch.
            number: Which batch is the first; makes no difference.
            batches: How many batches.
        """
        return Drawn(self.states[self._lottery.draw(generator, count * batches)])
