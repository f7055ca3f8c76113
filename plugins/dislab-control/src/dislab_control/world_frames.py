"""Data set of images seen by a random agent."""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import ClassVar, Final, final

import numpy as np
from gymnasium.vector.utils import batch_space

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.checks import check_at_least, check_count
from dislab_control.world import States, World
from dislab_control.worlds import world_of

MOST: Final = 1_000_000
"""Maximum number of images."""

_COPIES: Final = 64
_DECIMALS: Final = 9
_BLOCK: Final = 512
_PATIENCE: Final = 100
"""Number of steps per image after which the search for new states is abandoned."""


@final
class WorldFrames(BankedDataset):
    """Images seen by an agent that acts at random, with their exact factors.

    The agent acts in 64 copies of the world; repeated states are skipped, so that every image has a
    different state. Values of continuous factors are rounded to nine decimals before rendering.
    Images are in the order in which they were seen.

    Random exploration is the first stage of DARLA, Higgins et al. (2017),
    https://arxiv.org/abs/1707.08475, section 3.

    Args:
        world: Name of the world, such as `SeekAvoid`.
        settings: Settings of the world, such as `{domain: target}`; the others keep their defaults.
        images: Number of images; the first ones are the same for every number.
        seed: Seed of the episodes and the actions.

    Raises:
        InputError: There is no such world or setting, or a number is out of range.
    """

    licence: ClassVar[str] = "Apache-2.0 (drawn here)"
    citation: ClassVar[str] = "Higgins et al. (2017), DARLA, https://arxiv.org/abs/1707.08475"
    size: ClassVar[int | None] = 245_760_128
    contents: ClassVar[str] = "20,000 images 64×64×3 of the world SeekAvoid: 5 factors and 4 places"
    cache: ClassVar[str] = "world_frames"

    def __init__(
        self,
        world: str = "SeekAvoid",
        settings: dict[str, bool | int | float | str] | None = None,
        images: int = 20_000,
        seed: int = 0,
    ) -> None:
        check_count("images", images, 1, MOST)
        check_at_least("seed", seed, 0)
        self.world = world
        self.settings = settings
        self.images_wanted = images
        self.seed = seed
        self._world = world_of(world, settings or {})

    @cached_property
    def factors(self) -> FactorSpace:
        """Factors of the world, with a table of the states that were seen.

        Raises:
            InputError: The world has fewer states than the requested number of images.
        """
        columns = [
            trait.factor(self._states[:, column]) for column, trait in enumerate(self._world.traits)
        ]
        factors, positions = zip(*columns, strict=True)
        return FactorSpace(factors, np.stack(positions, axis=1))

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width of the world's images."""
        height, width, channels = self._world.image_shape
        return (channels, height, width)

    @cached_property
    def _states(self) -> States:
        return explored(self._world, self.images_wanted, self.seed)

    def _pictures(self) -> Pictures:
        origin = {"source": "drawn", **self._world.settings, "seed": str(self.seed)}
        settings = "-".join(
            value for name, value in origin.items() if name not in ("source", "world")
        )
        name = f"world_frames/{origin['world']}-{settings}-{self.images_wanted}"
        return Pictures(name, self.images_wanted, origin, Blocks(_BLOCK, partial(_rendered, self)))


def explored(world: World, count: int, seed: int) -> States:
    """Finds distinct states by random actions, in the order in which they are seen.

    Args:
        world: The world.
        count: Number of states.
        seed: Seed of the episodes and the actions.

    Raises:
        InputError: Not enough distinct states were found.
    """
    states: dict[bytes, States] = {}
    for seen in _episodes(world, seed, 1 + _PATIENCE * count // _COPIES):
        for state in seen:
            states.setdefault(state.tobytes(), state)
        if len(states) >= count:
            return np.stack(list(states.values())[:count])
    raise InputError(
        f"images is {count}, but random actions led to {len(states)} different states only; ask "
        "for fewer images or change the settings of the world"
    )


def _episodes(world: World, seed: int, steps: int) -> Iterator[States]:
    """Yields the states of all copies, step by step; no episode exceeds the world's length."""
    streams = np.random.SeedSequence(seed).spawn(_COPIES + 1)
    draws = [np.random.default_rng(generator_seed) for generator_seed in streams[:-1]]
    policy = batch_space(world.actions, _COPIES)
    policy.seed(int(streams[-1].generate_state(1)[0]))
    states = np.concatenate([world.start(generator_seed) for generator_seed in draws])
    # staggered ages, so that the first episodes do not all end at once
    age = np.arange(_COPIES) * world.length // _COPIES
    for _ in range(steps):
        # adding 0 turns -0 into 0
        yield np.round(states, _DECIMALS) + 0.0
        states, _, ended = world.step(states, policy.sample(), draws)
        age += 1
        for copy in np.flatnonzero(ended | (age >= world.length)).tolist():
            states[copy], age[copy] = world.start(draws[copy])[0], 0


def pixel_rows(world: World, states: States) -> Rows:
    """Renders images of states in the format of a bank: rows of bytes, channels first.

    Args:
        world: The world.
        states: Values of the factors.
    """
    images = world.draw(states)
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(states), -1)


def _rendered(dataset: WorldFrames, start: int, stop: int) -> Rows:
    return pixel_rows(dataset._world, dataset._states[start:stop])
