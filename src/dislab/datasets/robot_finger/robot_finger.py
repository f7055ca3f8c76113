"""The robot-finger data set, simulated."""

from functools import cached_property, partial
from typing import ClassVar, Final, Literal, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.robot_finger import _render as renderer
from dislab.datasets.robot_finger._states import Hues, check_states, sample, values
from dislab.datasets.robot_finger.scene import FingerScene
from dislab.factors import FactorSpace

_BLOCK: Final = 512


@final
class RobotFinger(BankedDataset):
    """A robot finger beside a coloured cube on a round stage, RGB, from seven factors.

    The factors are the cube's hue, three joint angles and the cube's position and angle, with the
    ranges and numbers of values of Dittadi et al. Of the 2.9 billion combinations, some 46 % are
    excluded, in which the finger would collide with the cube or the floor, so the factors are
    correlated; a uniform sample of the others is drawn. The images are rendered by dislab, not the
    published ones. They are stored in the cache folder with one byte per channel, created on first
    use and mapped into memory.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, section 4

    Args:
        side: Height and width of an image in pixels.
        states: Number of images; a smaller number takes the first ones of a larger.
        hues: Hues of the cube: `train` selects eight of twelve, `heldout` the other four.
        seed: Seed of the drawn states.
        partners: Number of additional, different states after each uniformly drawn one, which
            differ from it in exactly one factor, as weak supervision requires; they count towards
            `states`.

    Raises:
        InputError: `states` is not from 1 to 10,000,000, `partners` is not from 0 to 10, or `seed`
            is below 0.
    """

    licence: ClassVar[str] = "Apache-2.0 (drawn here)"
    citation: ClassVar[str] = (
        "Dittadi, Träuble, Locatello, Wüthrich, Agrawal, Winther, Bauer and Schölkopf (2021), On "
        "the Transfer of Disentangled Representations in Realistic Settings, "
        "https://arxiv.org/abs/2010.14407"
    )
    size: ClassVar[int | None] = 1_228_800_128
    contents: ClassVar[str] = (
        "100,000 images 64×64×3: color 12, joint0 30, joint1 30, joint2 30, x 30, y 30, angle 10"
    )
    drawn: ClassVar[str] = "like the published images in content, not in pixels"
    cache: ClassVar[str] = "robot_finger"

    def __init__(
        self,
        side: Literal[64, 128] = 64,
        states: int = 100_000,
        hues: Hues = "train",
        seed: int = 0,
        partners: int = 0,
    ) -> None:
        check_states(states, hues, seed, partners)
        self.side = side
        self.states = states
        self.hues = hues
        self.seed = seed
        self.partners = partners

    @cached_property
    def factors(self) -> FactorSpace:
        """Hue of the cube, three joints, and x, y and angle of the cube; a table of the states."""
        return sample(self.states, self.hues, self.seed, self.partners)

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, `side` rows, `side` columns."""
        return (3, self.side, self.side)

    def _pictures(self) -> Pictures:
        settings = f"{self.side}-{self.states}-{self.hues}-{self.seed}"
        if self.partners:
            settings += f"-{self.partners}"
        name = f"robot_finger/simulated-{renderer.VERSION}-{settings}"
        origin = {
            "source": "simulated",
            "renderer": str(renderer.VERSION),
            "hues": self.hues,
            "seed": str(self.seed),
            **({"partners": str(self.partners)} if self.partners else {}),
        }
        return Pictures(name, self.states, origin, Blocks(_BLOCK, partial(_rendered, self)))


def _rendered(dataset: RobotFinger, start: int, stop: int) -> Rows:
    states = values(dataset.factors.positions(np.arange(start, stop)))
    return FingerScene(dataset.side).draw(states).reshape(stop - start, -1)
