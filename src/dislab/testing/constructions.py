"""Factors and codes with properties that are known by construction.

The laws of the scores and `stress` are tried on them.
"""

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.checks import check_count


class Case(NamedTuple):
    """Images and their codes: each latent is a factor, with a share of the next one and noise.

    Attributes:
        images: How many.
        sizes: Number of values of each factor.
        noise: Standard deviation of the noise in each latent, in that of a factor.
        mix: Share of the next factor that each latent has on top of its own.
        idle: Number of further latents, which are noise.
        seed: Decides factors and noise.
        band: Standard deviation of the difference of the first two factors, in shares of their
            range; infinite where they are independent.
        tied: Whether one more latent is a finer version of the first: each of its codes moved a
            little by a coin, so that both latents have the same information about each factor.
    """

    images: int = 60
    sizes: tuple[int, ...] = (2, 2)
    noise: float = 0.0
    mix: float = 0.0
    idle: int = 0
    seed: int = 0
    band: float = math.inf
    tied: bool = False

    def __str__(self) -> str:
        """The case in words."""
        extras = [f"noise {self.noise:g}"] * bool(self.noise) + [f"mix {self.mix:g}"] * bool(
            self.mix
        )
        extras += ["a tied latent"] * self.tied
        extras += [f"{self.idle} idle"] * bool(self.idle) + [f"seed {self.seed}"] * bool(self.seed)
        values = "×".join(map(str, self.sizes))
        return ", ".join([f"{self.images:,} images of {values} values", *extras])


def space_of(sizes: tuple[int, ...]) -> FactorSpace:
    """Ordinal factors `a`, `b`, … with so many values each."""
    return FactorSpace(
        tuple(
            Factor("abcdefg"[column], tuple(map(float, range(size))))
            for column, size in enumerate(sizes)
        )
    )


def noise(images: int, latents: int, seed: int) -> Float[Tensor, "image latent"]:
    """Standard normal codes."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(images, latents, generator=generator, dtype=torch.float64)


def factors_of(case: Case) -> Int[Tensor, "image factor"]:
    """Value numbers, all of them equally likely; with a band, those of the first two agree."""
    generator = torch.Generator().manual_seed(case.seed)
    count = case.images if math.isinf(case.band) else 20 * case.images
    columns = [torch.randint(size, (count,), generator=generator) for size in case.sizes]
    if not math.isinf(case.band):
        first, second = (columns[index] / (case.sizes[index] - 1) for index in (0, 1))
        often = torch.exp(-((first - second) ** 2) / (2 * case.band**2))
        selected = torch.rand(count, generator=generator) < often
        columns = [column[selected][: case.images] for column in columns]
    return torch.stack(columns, dim=1)


def standardised(
    factors: Int[Tensor, "image factor"], sizes: tuple[int, ...]
) -> Float[Tensor, "image factor"]:
    """Value numbers as numbers of mean 0 and deviation 1, where all values are equally likely."""
    counts = torch.tensor(sizes).double()
    return (factors - (counts - 1) / 2) / ((counts**2 - 1) / 12).sqrt()


def codes_of(case: Case, factors: Int[Tensor, "image factor"]) -> Float[Tensor, "image latent"]:
    """The codes of a case, from its factors."""
    standard = standardised(factors, case.sizes)
    mixed = standard + case.mix * standard.roll(1, dims=1)
    random = noise(case.images, len(case.sizes) + case.idle, case.seed + 1000)
    disturbed = mixed + case.noise * random[:, : len(case.sizes)]
    codes = torch.cat([disturbed, random[:, len(case.sizes) :]], dim=1)
    coin = noise(case.images, 1, case.seed + 4000) > 0
    return with_columns(codes, codes[:, :1] + 0.2 * coin) if case.tied else codes


def gaussian_factors(
    world: str, images: int, factors: int = 5, correlation: float = 0.8, seed: int = 0
) -> Float[Tensor, "image factor"]:
    """Standard normal factors, independent or dependent.

    Args:
        world: `independent`; `correlated`, each pair by `correlation`; `copied`, the last factor is
            the first; `summed`, the last is the sum of the others, scaled to a deviation of 1.
        images: How many.
        factors: How many, at least two.
        correlation: Of each pair in the world `correlated`, from 0 up to 1, excluded.
        seed: Decides the factors.

    Raises:
        InputError: There is no such world, there are fewer than two factors, or the correlation is
            out of its range.
    """
    if world not in WORLDS:
        raise InputError(f"world is {world!r}; the worlds are {', '.join(WORLDS)}")
    check_count("factors", factors, 2)
    if not 0 <= correlation < 1:
        raise InputError(f"correlation is {correlation}; it must be from 0 up to 1, excluded")
    columns = noise(images, factors, seed)
    if world == "correlated":
        shared = noise(images, 1, seed + 5000)
        return math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * columns
    if world == "copied":
        columns[:, -1] = columns[:, 0]
    if world == "summed":
        columns[:, -1] = columns[:, :-1].sum(1) / math.sqrt(factors - 1)
    return columns


def cut(factors: Float[Tensor, "image factor"], values: int) -> Int[Tensor, "image factor"]:
    """Standard normal factors as value numbers, all of them equally likely."""
    shares: Tensor = torch.special.ndtr(factors)
    return (shares * values).long().clamp(max=values - 1)


def alternating(latents: int, first: float, second: float) -> Float[Tensor, " latent"]:
    """Two numbers in turn."""
    return torch.tensor([first, second] * latents).double()[:latents]


def with_columns(
    codes: Float[Tensor, "image latent"], columns: Float[Tensor, "image more"]
) -> Float[Tensor, "image total"]:
    """Codes with further latents."""
    return torch.cat([codes, columns], dim=1)


def permuted(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image latent"]:
    """Latents in reverse order."""
    return codes.flip(1)


def signed(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image latent"]:
    """Every second latent with the other sign."""
    return codes * alternating(codes.shape[1], -1.0, 1.0)


def scaled(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image latent"]:
    """Every second latent multiplied by 10."""
    return codes * alternating(codes.shape[1], 10.0, 1.0)


def monotone(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image latent"]:
    """Each code z as z + z³; equal codes stay equal."""
    return codes * (1 + codes.square())


def rotated(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image latent"]:
    """The first two latents turned by 45 degrees."""
    half = math.sqrt(0.5)
    turn = torch.eye(codes.shape[1], dtype=torch.float64)
    turn[:2, :2] = torch.tensor([[half, -half], [half, half]]).double()
    return codes @ turn


def mixed(
    codes: Float[Tensor, "image latent"], latents: int, seed: int
) -> Float[Tensor, "image mixture"]:
    """Linear combinations with standard normal weights."""
    return codes @ noise(codes.shape[1], latents, seed + 6000)


def curved(codes: Float[Tensor, "image latent"], seed: int) -> Float[Tensor, "image latent"]:
    """A random rotation, a leaky ReLU of slope 0.2, and another random rotation: invertible."""
    for layer in (0, 1):
        square = noise(codes.shape[1], codes.shape[1], seed + 7000 + layer)
        codes = codes @ torch.linalg.qr(square).Q
        codes = codes if layer else torch.nn.functional.leaky_relu(codes, 0.2)
    return codes


class Encoder(NamedTuple):
    """A way to make codes of standardised factors.

    Attributes:
        statement: The codes in words.
        encode: Makes them from factors and a seed.
    """

    statement: str
    encode: Callable[[Tensor, int], Tensor]


WORLDS: Final[dict[str, str]] = {
    "independent": "independent factors",
    "correlated": "each pair of factors correlates by 0.8",
    "copied": "the last factor is a copy of the first",
    "summed": "the last factor is the sum of the others",
}
"""Each world of `gaussian_factors` in words."""

ENCODERS: Final[dict[str, Encoder]] = {
    "scaled": Encoder(
        "each latent is a factor; order, signs and units change",
        lambda factors, _: scaled(signed(permuted(factors))),
    ),
    "monotone": Encoder(
        "each latent is z + z³ of a factor z", lambda factors, _: monotone(permuted(factors))
    ),
    "linear": Encoder(
        "as many random linear combinations as factors",
        lambda factors, seed: mixed(factors, factors.shape[1], seed),
    ),
    "dropped": Encoder(
        "each latent is a factor; the last factors, a little less than half, have none",
        lambda factors, _: factors[:, : (factors.shape[1] + 1) // 2],
    ),
    "copies": Encoder(
        "two equal latents for each factor", lambda factors, _: with_columns(factors, factors)
    ),
    "halves": Encoder(
        "two latents for each factor z, its positive and its negative part",
        lambda factors, _: with_columns(factors.relu(), (-factors).relu()),
    ),
    "overcomplete": Encoder(
        "twice as many random linear combinations as factors",
        lambda factors, seed: mixed(factors, 2 * factors.shape[1], seed),
    ),
    "angles": Encoder(
        "two latents for each factor z, sin z and cos z",
        lambda factors, _: with_columns(factors.sin(), factors.cos()),
    ),
    "noise": Encoder(
        "latents that know nothing of the factors",
        lambda factors, seed: noise(len(factors), factors.shape[1], seed + 3000),
    ),
    "curved": Encoder(
        "rotated, bent by a leaky ReLU, and rotated again",
        lambda factors, seed: curved(factors, seed),
    ),
}
"""By name: perfect codes first, then codes with one change or fault each."""
