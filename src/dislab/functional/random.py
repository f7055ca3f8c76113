"""Counter-based random numbers: those of step t are a function of (seed, t), not of earlier draws.

A resumed run therefore continues the sequence of an uninterrupted one without any saved generator
state, and every process of a distributed run can draw the global batch and keep its slice. Random
bits come from integer arithmetic only: CPU and accelerator agree in every bit, and the bits of one
image do not depend on the other images of a draw.
"""

from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

BYTES: Final = 8
"""Number of random bytes per counter."""

MASK: Final = 2**64 - 1
"""Mask of 64 bits."""

GOLDEN: Final = 0x9E3779B97F4A7C15 - 2**64
"""Increment of SplitMix64's state, as a signed number."""

_FIRST: Final = 0xBF58476D1CE4E5B9 - 2**64
_SECOND: Final = 0x94D049BB133111EB - 2**64

Words = TypeVar("Words", Tensor, npt.NDArray[np.int64])
"""64-bit integers: a torch tensor or a NumPy array."""


def absorb(state: int, counter: int) -> int:
    """Combine a state with a further number into 64 bits that depend on every bit of both.

    The result is one step of SplitMix64 on the exclusive or of both (Steele, Lea & Flood 2014,
    https://doi.org/10.1145/2660193.2660195).
    """
    state = (state ^ (counter & MASK)) + GOLDEN & MASK
    state = (state ^ (state >> 30)) * _FIRST & MASK
    state = (state ^ (state >> 27)) * _SECOND & MASK
    return state ^ (state >> 31)


def mix(seed: int, *counters: int) -> int:
    """A 63-bit number that depends on every bit of its arguments."""
    state = 0
    for counter in (seed, *counters):
        state = absorb(state, counter)
    return state >> 1


def signed(bits: int) -> int:
    """The value of 64 bits as int64."""
    return ((bits & MASK) ^ 2**63) - 2**63


def short_seed(seed: int) -> int:
    """A seed of 32 bits, scikit-learn's limit: the seed itself if it fits, else mixed bits."""
    return seed if 0 <= seed < 2**32 else mix(seed) >> 31


def host_generator(seed: int, *counters: int) -> np.random.Generator:
    """A numpy generator for one draw.

    Args:
        seed: The seed of a run.
        counters: Numbers that identify a draw, such as the step and a stream number.
    """
    return np.random.Generator(np.random.Philox(key=mix(seed, *counters)))


def device_generator(device: torch.device, seed: int, *counters: int) -> torch.Generator:
    """A torch generator on a device for one draw.

    The numbers of a CPU and of a CUDA generator differ for the same seed.

    Args:
        device: Where the drawn tensors will live.
        seed: The seed of a run.
        counters: Numbers that identify a draw, such as the step and a stream number.
    """
    return torch.Generator(device).manual_seed(mix(seed, *counters))


def finalise(state: Words) -> Words:
    """SplitMix64's mixing function: a bijection of the 64-bit integers."""
    state = (state ^ shifted(state, 30)) * _FIRST
    state = (state ^ shifted(state, 27)) * _SECOND
    return state ^ shifted(state, 31)


def shifted(bits: Words, places: int) -> Words:
    """Logical right shift: fills with zeros; both libraries would repeat the sign of int64."""
    return (bits >> places) & ((1 << (64 - places)) - 1)


def hashed(seed: int, counters: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """64 random bits per counter, as int64.

    The bits are those of the SplitMix64 generator (Steele, Lea & Flood 2014,
    https://doi.org/10.1145/2660193.2660195) whose state starts at `mix(seed)`: counter n gives its
    output number n, counted from 0.

    Args:
        seed: Tells one sequence from another.
        counters: Places in the sequence, int64.
    """
    return finalise((counters + 1) * GOLDEN + mix(seed))


def random_bytes(seed: int, counters: Int[Tensor, " count"]) -> UInt8[Tensor, "count 8"]:
    """Eight uniform bytes per counter, the lowest bits of `hashed` first."""
    return hashed(seed, counters).unsqueeze(-1).view(torch.uint8)
