"""Random states of a split."""

from dislab.base.datamodule import DataModule, Split
from dislab.factors import Indices
from dislab.functional.random import host_generator


def drawable(data: DataModule, split: Split) -> Indices:
    """State numbers of a split; a split that the data module goes without stands for all states.

    Args:
        data: The data module.
        split: Where to draw from.
    """
    states = data.indices(split)
    return states if len(states) else data.indices("all")


def draw_states(data: DataModule, split: Split, points: int, seed: int) -> Indices:
    """State numbers of a split in random order, without replacement; all of them if they are few.

    A split that the data module goes without stands for all states.

    Args:
        data: The data module.
        split: Where to draw from.
        points: How many to draw.
        seed: Decides the draw.
    """
    states = drawable(data, split)
    return host_generator(seed).choice(states, size=min(points, len(states)), replace=False)
