"""Counter-based draws: the random numbers of step t are a function of (seed, t), not of history.

A resumed run therefore continues the sequence of an uninterrupted one without any saved generator
state, and every process of a distributed run can draw the global batch and keep its slice.
"""

from typing import Final

import numpy as np
import torch

_MASK: Final = 2**64 - 1


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
