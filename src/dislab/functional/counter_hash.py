"""Random bits as a function of a seed and a counter, computed where the counters are.

Integer arithmetic only, so that a CPU and an accelerator agree in every bit, and no state: the
bits of one image do not depend on which others are asked for.
"""

from typing import Final

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.functional.draws import mix

BYTES: Final = 8
"""Random bytes that one counter gives."""

_GOLDEN: Final = 0x9E3779B97F4A7C15 - 2**64
_FIRST: Final = 0xBF58476D1CE4E5B9 - 2**64
_SECOND: Final = 0x94D049BB133111EB - 2**64


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
