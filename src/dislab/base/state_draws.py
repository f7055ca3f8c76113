"""Random states of a split."""

from dislab.base.datamodule import DataModule, Split
from dislab.factors import Indices
from dislab.functional.random import host_generator


def split_with_states(data: DataModule, split: Split) -> Split:
    """The split itself, or `all` if the data module lacks it."""
    return split if len(data.indices(split)) else "all"


def drawable(data: DataModule, split: Split) -> Indices:
    """State numbers of a split that have a value of every factor, to be scored or shown.

    They come from all states if the data module lacks the split.
    """
    return data.factors.complete(data.indices(split_with_states(data, split)))


def draw_states(data: DataModule, split: Split, points: int, seed: int) -> Indices:
    """State numbers of a split in random order, without replacement; all if fewer than `points`.

    If the data module lacks the split, the draw is from all states.
    """
    states = drawable(data, split)
    return host_generator(seed).choice(states, size=min(points, len(states)), replace=False)
