"""Counter-based random numbers: those of step t are a function of (seed, t), not of history.

A resumed run therefore continues the sequence of an uninterrupted one without any saved generator
state, and every process of a distributed run can draw the global batch and keep its slice. Random
bits come from integer arithmetic only: a CPU and an accelerator agree in every bit, and the bits
of one image do not depend on which others are asked for.
"""

from typing import Final

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

_MASK: Final = 2**64 - 1

BYTES: Final = 8
"""Random bytes that one counter gives."""

_GOLDEN: Final = 0x9E3779B97F4A7C15 - 2**64
_FIRST: Final = 0xBF58476D1CE4E5B9 - 2**64
_SECOND: Final = 0x94D049BB133111EB - 2**64


def mix(seed: int, *counters: int) -> int:
    """A 63-bit number that depends on every bit of its arguments.

    Each argument passes once through the SplitMix64 finaliser (Steele, Lea & Flood 2014,
    https://doi.org/10.1145/2660193.2660195).

    Args:
        seed: The seed of a run.
        counters: What tells one draw from another, such as the step and a stream number.
    """
    state = 0
    for number in (seed, *counters):
        state = (state ^ (number & _MASK)) + 0x9E3779B97F4A7C15 & _MASK
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & _MASK
        state ^= state >> 31
    return state >> 1


def short_seed(seed: int) -> int:
    """The seed itself where 32 bits hold it, all that scikit-learn takes, else 32 bits of its mix.

    Args:
        seed: Any seed.
    """
    return seed if 0 <= seed < 2**32 else mix(seed) >> 31


def host_generator(seed: int, *counters: int) -> np.random.Generator:
    """A numpy generator for one draw.

    Args:
        seed: The seed of a run.
        counters: What tells one draw from another, such as the step and a stream number.
    """
    return np.random.Generator(np.random.Philox(key=mix(seed, *counters)))


def device_generator(device: torch.device, seed: int, *counters: int) -> torch.Generator:
    """A torch generator on a device for one draw.

    The numbers of a CPU and of a CUDA generator differ for the same seed.

    Args:
        device: Where the drawn tensors will live.
        seed: The seed of a run.
        counters: What tells one draw from another, such as the step and a stream number.
    """
    return torch.Generator(device).manual_seed(mix(seed, *counters))


def hashed(seed: int, counters: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """64 random bits a counter, as int64.

    The bits are those of the SplitMix64 generator (Steele, Lea & Flood 2014,
    https://doi.org/10.1145/2660193.2660195) whose state starts at `mix(seed)`: counter n gives its
    output number n, counted from 0.

    Args:
        seed: Tells one sequence from another.
        counters: Places in the sequence, int64.
    """
    state = (counters + 1) * _GOLDEN + mix(seed)
    state = (state ^ _shifted(state, 30)) * _FIRST
    state = (state ^ _shifted(state, 27)) * _SECOND
    return state ^ _shifted(state, 31)


def random_bytes(seed: int, counters: Int[Tensor, " count"]) -> UInt8[Tensor, "count 8"]:
    """Eight uniform bytes a counter, the lowest bits of `hashed` first.

    Args:
        seed: Tells one sequence from another.
        counters: Places in the sequence, int64.
    """
    return hashed(seed, counters).unsqueeze(-1).view(torch.uint8)


def _shifted(bits: Int[Tensor, "*shape"], places: int) -> Int[Tensor, "*shape"]:
    """To the right, filled with zeros: torch repeats the sign."""
    return (bits >> places) & ((1 << (64 - places)) - 1)
