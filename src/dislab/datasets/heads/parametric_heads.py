"""Heads of random identities under a moving light."""

import math
from functools import cached_property
from typing import ClassVar, Final, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.heads import _render as renderer
from dislab.datasets.heads._render import NUMBERS, surface
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator

_MOST: Final = 10_000_000
"""Maximum number of images of a data set."""


@final
class ParametricHeads(BankedDataset):
    """Heads of invented people, 64×64 in grey, from identity, azimuth, elevation and light.

    A head is a smooth surface with nose, brows, eye sockets, cheeks, ears, mouth and chin, painted
    with skin, hair, eyes and lips, under one light and some ambient light; nothing casts shadows.
    An identity is defined by eight random numbers. Azimuths range from -75° to 75°, elevations from
    -30° to 30°, the light from -80° to 80° around the viewer's side of the head.

    Images are rendered on first use and stored in the cache folder: 60,480 images by default, in
    about a minute of one core, 248 MB. Other numbers of values, or another seed, create another
    file.

    The factors are those that Kulkarni et al. (2015), https://arxiv.org/abs/1503.03167, fix or vary
    in a batch; their face model is a different one.

    Args:
        identities: Number of identities.
        azimuths: Number of horizontal poses.
        elevations: Number of vertical poses.
        lights: Number of horizontal positions of the light.
        seed: Seed of the identities.

    Raises:
        InputError: A factor has no value, or the set has more than ten million images.
    """

    licence: ClassVar[str] = "Apache-2.0"
    citation: ClassVar[str] = "rendered here, after Kulkarni et al. (2015), arXiv:1503.03167"
    size: ClassVar[int | None] = 247_726_208
    contents: ClassVar[str] = (
        "60,480 images 64×64×1: identity 64, azimuth 15, elevation 7, light_azimuth 9"
    )
    cache: ClassVar[str] = "parametric_heads"

    def __init__(
        self,
        identities: int = 64,
        azimuths: int = 15,
        elevations: int = 7,
        lights: int = 9,
        seed: int = 0,
    ) -> None:
        self.sizes = identities, azimuths, elevations, lights
        names = "identities", "azimuths", "elevations", "lights"
        for name, size in zip(names, self.sizes, strict=True):
            check_count(name, size, 1, most=_MOST)
        if (count := math.prod(self.sizes)) > _MOST:
            raise InputError(
                f"these settings ask for {count:,} images; at most {_MOST:,} are possible"
            )
        self.seed = seed

    @cached_property
    def factors(self) -> FactorSpace:
        """Identity, azimuth, elevation and light_azimuth, angles in degrees."""
        identities, azimuths, elevations, lights = self.sizes
        return FactorSpace(
            (
                Factor("identity", tuple(map(float, range(identities))), "categorical"),
                Factor("azimuth", _angles(75, azimuths), unit="deg"),
                Factor("elevation", _angles(30, elevations), unit="deg"),
                Factor("light_azimuth", _angles(80, lights), unit="deg"),
            )
        )

    @property
    def image_shape(self) -> ImageShape:
        """One channel, 64 rows, 64 columns."""
        return (1, renderer.SIDE, renderer.SIDE)

    def _pictures(self) -> Pictures:
        sizes = "x".join(map(str, self.sizes))
        name = f"parametric_heads/{sizes}-{self.seed}-{renderer.VERSION}"
        origin = {
            "source": "rendered",
            "renderer": str(renderer.VERSION),
            "sizes": sizes,
            "seed": str(self.seed),
        }
        # one identity per block
        blocks = Blocks(math.prod(self.sizes[1:]), self._block)
        return Pictures(name, len(self.factors), origin, blocks)

    def _block(self, start: int, stop: int) -> Rows:
        """All images of one identity."""
        person = start // math.prod(self.sizes[1:])
        form = surface(host_generator(self.seed, person).uniform(-1, 1, NUMBERS).tolist())
        azimuths, elevations, lights = (
            np.deg2rad(self.factors[name].numbers).tolist()
            for name in ("azimuth", "elevation", "light_azimuth")
        )
        images = [
            renderer.render(form, azimuth, elevation, lights).numpy()
            for azimuth in azimuths
            for elevation in elevations
        ]
        return np.concatenate(images).reshape(stop - start, -1)


def _angles(largest: int, count: int) -> tuple[float, ...]:
    """Angles evenly spaced from one side to the other; a single angle is straight ahead."""
    if count == 1:
        return (0.0,)
    return tuple(np.linspace(-largest, largest, count).tolist())
