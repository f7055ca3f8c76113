"""Drawn sources and their mixtures."""

from functools import cached_property
from typing import ClassVar, Final, Literal, final, get_args

import numpy as np

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.checks import check_above, check_choice, check_count
from dislab.functional.random import host_generator
from dislab_identify.mixings import Array, Mixing, MixingName, mixing_of
from dislab_identify.vectors import Content, Vectors

Prior = Literal["gaussian", "laplace", "uniform", "generalised_normal"]

SEGMENT: Final = "segment"
"""Name of the factor that numbers the segments."""

_SCALES: Final = (0.01, 3.0)
"""Bounds of the standard deviations of sources in a segment, as in the code of Khemakhem et al."""
_MOST: Final = 2_000_000


@final
class DrawnWorld(Vectors):
    """Independent sources of unit variance, mixed by an invertible function.

    With more than one segment, each source has another standard deviation in each segment, uniform
    from 0.01 to 3, and the segment is a factor that scores ignore. Each source is a continuous
    factor.

    Hyvärinen & Morioka (2016), https://arxiv.org/abs/1605.06336; mixings, slope 0.2 and standard
    deviations are those of the code of Khemakhem et al. (2020), https://arxiv.org/abs/2002.11537,
    for nonlinear ICA. There, sources are standardised over all points; here their distribution has
    unit variance.

    Args:
        sources: Number of sources, and of features.
        segments: Number of segments; 1 for a stationary world.
        points: Number of points in each segment.
        prior: Distribution of the sources before segments scale them.
        shape: Exponent β of the generalised normal density, proportional to exp(−|z/α|^β).
        mixing: `mlp` (leaky ReLU and orthogonal matrices), `spiral`, `flow` or `identity`.
        layers: Layers of `mlp`, which has one matrix less, or couplings of `flow`.
        turn: Angle of `spiral` in radians per unit of radius, above 0.
        data_seed: Seed of sources and mixing, independent of the run's seed.

    Raises:
        InputError: A number is out of range, a segment has a single point, or the mixing does not
            fit the sources.
    """

    licence: ClassVar[str] = "Apache-2.0 (drawn here)"
    citation: ClassVar[str] = (
        "Hyvärinen & Morioka (2016), Unsupervised Feature Extraction by Time-Contrastive Learning "
        "and Nonlinear ICA, https://arxiv.org/abs/1605.06336"
    )
    size: ClassVar[int | None] = 0
    contents: ClassVar[str] = "40,000 vectors of 5 numbers: 5 sources, 20 segments"

    def __init__(
        self,
        sources: int = 5,
        segments: int = 20,
        points: int = 2000,
        prior: Prior = "gaussian",
        shape: float = 2.0,
        mixing: MixingName = "mlp",
        layers: int = 2,
        turn: float = 1.0,
        data_seed: int = 0,
    ) -> None:
        check_count("sources", sources, 1, 1000)
        check_count("segments", segments, 1, 10_000)
        check_count("points", points, 1)
        check_count("layers", layers, 1, 100)
        check_choice("prior", prior, get_args(Prior))
        check_choice("mixing", mixing, get_args(MixingName))
        check_above("shape", shape, 0)
        if points < 2:
            raise InputError("points is 1; a segment of one point has no spread: give at least 2")
        if segments * points > _MOST:
            raise InputError(f"{segments} segments of {points} points are more than {_MOST:,}")
        if prior != "generalised_normal" and shape != 2:
            raise InputError(f"shape is {shape}, which prior {prior} does not use; leave it out")
        check_above("turn", turn, 0)
        if mixing != "spiral" and turn != 1:
            raise InputError(f"turn is {turn}, which mixing {mixing} does not use; leave it out")
        self.sources = sources
        self.segments = segments
        self.points = points
        self.prior: Prior = prior
        self.shape = shape
        self.data_seed = data_seed
        self.mixing: MixingName = mixing
        self.layers = layers
        self.turn = turn
        self.mixture: Mixing = mixing_of(mixing, sources, layers, data_seed, turn)

    @cached_property
    def latents(self) -> Array:
        """The sources of each point, shape (segments · points, sources)."""
        generator = host_generator(self.data_seed, 0)
        rows = independent_draws(
            self.prior, self.shape, (self.segments * self.points, self.sources), generator
        )
        if self.segments > 1:
            scales = generator.uniform(*_SCALES, (self.segments, self.sources))
            rows = rows * np.repeat(scales, self.points, axis=0)
        return rows

    @cached_property
    def content(self) -> Content:
        """The mixtures, with sources and segment as factors."""
        count = self.segments * self.points
        factors, table = [], []
        for source, column in enumerate(self.latents.T):
            values, position = np.unique(column, return_inverse=True)
            factors.append(Factor(f"source{source}", tuple(values.tolist()), "continuous"))
            table.append(position)
        if self.segments > 1:
            numbers = tuple(map(float, range(self.segments)))
            factors.append(Factor(SEGMENT, numbers, "categorical", nuisance=True))
            table.append(np.arange(count) // self.points)
        space = FactorSpace(tuple(factors), np.stack(table, axis=1).astype(np.int64))
        return Content(self.mixture.mix(self.latents).astype(np.float32), space)

    def provenance(self) -> dict[str, str]:
        """The settings, which determine every vector."""
        names = ("sources", "segments", "points", "prior", "shape", "mixing", "layers", "data_seed")
        turned = ("turn",) if self.mixing == "spiral" else ()
        return {"source": "drawn", **{name: str(getattr(self, name)) for name in names + turned}}


def independent_draws(
    prior: Prior, shape: float, size: tuple[int, int], generator: np.random.Generator
) -> Array:
    """Independent draws of mean 0 and variance 1.

    Args:
        prior: Their distribution.
        shape: Exponent of the generalised normal distribution.
        size: Shape of the result.
        generator: Source of the random numbers.
    """
    if prior == "gaussian":
        return generator.normal(size=size)
    if prior == "laplace":
        return generator.laplace(0.0, 0.5**0.5, size)
    if prior == "uniform":
        return generator.uniform(-(3**0.5), 3**0.5, size)
    return generalised_normal(shape, size, generator)


def generalised_normal(
    shape: float, size: tuple[int, int], generator: np.random.Generator
) -> Array:
    """Draws of unit variance with a density proportional to exp(−|z/α|^shape).

    |z/α|^shape has a gamma distribution with parameter 1/shape; α makes the variance 1.
    """
    from scipy.special import gammaln

    alpha = np.exp(0.5 * (gammaln(1 / shape) - gammaln(3 / shape)))
    size_of_power = generator.gamma(1 / shape, size=size)
    signs = np.where(generator.random(size) < 0.5, -1.0, 1.0)
    return np.asarray(alpha * signs * size_of_power ** (1 / shape))
