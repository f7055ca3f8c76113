"""Random numbers as a function of seed, name, step and position, not of earlier draws.

`Stream` draws torch tensors on any device; `Stream.host` gives a NumPy generator for index plans.
The formula, in integers modulo 2⁶⁴, with `finalise` the mixing function of SplitMix64:

    absorb(a, b) = finalise((a XOR b) + G),  G = 0x9E3779B97F4A7C15
    state        = absorb(absorb(absorb(0, seed), stream), step)
    word n       = finalise(state + (n + 1)·G)

`stream` starts at 0 and absorbs one number for each name on the path to the draw: the 64-bit FNV-1a
hash of the name's UTF-8 bytes (http://www.isthe.com/chongo/tech/comp/fnv/). Word n is output n of
the generator SplitMix64 when it starts at `state`: Steele, Lea & Flood (2014),
https://doi.org/10.1145/2660193.2660195. Positions are counted along rows: with C columns, the entry
in row r and column c has n = r·C + c.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.functional.random import GOLDEN, MASK, absorb, finalise, shifted, signed

_CPU: Final = torch.device("cpu")
_LOW: Final = 2**32 - 1

_AHEAD: Final = 16
"""Number of steps whose small draws a CPU makes together, which costs as much as those of one
step."""

_SMALL: Final = 2048
"""Largest size of a draw that is made ahead."""

_LATE: Final = 2**62
"""From this step on, an int64 tensor might not hold the next steps."""

_KEPT: Final = 128
"""Number of cached blocks of words, and of normal numbers: at most 34 MB each."""


@dataclass(frozen=True)
class Stream:
    """Source of the random numbers of one step, the same on every device.

    Uniform numbers, integers and permutations have equal bits everywhere; normal numbers agree to
    one unit in the last place. A draw depends only on the seed, the names and the step: not on
    other draws, their order or their sizes, nor on the number of processes. Each draw of a step
    needs its own name; draws with the same name share their bits.

    Nothing waits for the device. If the step or the seed is a tensor on the device, a draw can be
    captured into a CUDA graph, compiled, and stacked by `torch.func.vmap`.

    Args:
        seed: Seed of the run; an int64 scalar tensor to stack several runs.
        step: Number of the step or of the batch; an int64 scalar tensor if it stays on the device.
        device: Device on which the numbers are drawn, or its name.
        path: State of the names so far; `of` extends it.
    """

    seed: int | Tensor
    step: int | Tensor = 0
    device: torch.device = _CPU
    path: int = 0

    def __post_init__(self) -> None:
        """Takes the name of a device, too, which type checkers refuse."""
        device: Any = self.device
        if isinstance(device, str):
            object.__setattr__(self, "device", torch.device(device))

    def of(self, *names: str) -> "Stream":
        """A sub-stream under some names, independent of this stream and of those under other names.

        Args:
            names: Names, outermost first.
        """
        path = self.path
        for name in names:
            path = absorb(path, _hash(name))
        return replace(self, path=path)

    def uniform(self, name: str, *shape: int) -> Float[Tensor, "..."]:
        """Numbers in [0, 1), multiples of 2⁻²⁴, each from the top 24 bits of a word.

        Args:
            name: Name of the draw.
            shape: Shape of the result.
        """
        bits = shifted(self._words(name, math.prod(shape)), 40)
        return bits.to(torch.get_default_dtype()).mul(2.0**-24).view(shape)

    def normal(self, name: str, *shape: int) -> Float[Tensor, "..."]:
        """Standard normal numbers, two from each word w.

        With u = (⌊w / 2³²⌋ + ½) / 2³² and v = (w mod 2³²) / 2³² they are r·cos(2πv) and
        r·sin(2πv), where r = √(−2 log u): Box & Muller (1958),
        https://doi.org/10.1214/aoms/1177706645. They are computed in float64 and rounded, except on
        Apple's devices, which have no float64: there they may differ by some units in the last
        place.

        Args:
            name: Name of the draw.
            shape: Shape of the result.
        """
        stream, count = self.of(name), math.prod(shape)
        if not stream._looks_ahead(count):
            return _normals(stream, count).view(shape)
        block, row = divmod(cast("int", stream.step), _AHEAD)
        ahead = _normals_ahead(stream.seed, stream.path, block, count, torch.get_default_dtype())
        return ahead[row].clone().view(shape)

    def integers(self, name: str, bound: int, *shape: int) -> Int[Tensor, "..."]:
        """Integers from 0 to below a bound, each the top 63 bits of a word modulo the bound.

        The relative difference between the probabilities of two values is at most about bound /
        2⁶³.

        Args:
            name: Name of the draw.
            bound: Exclusive upper bound.
            shape: Shape of the result.
        """
        return (shifted(self._words(name, math.prod(shape)), 1) % bound).view(shape)

    def permutations(self, name: str, count: int, columns: int) -> Int[Tensor, "count columns"]:
        """For each column, a permutation of the numbers from 0 to `count` − 1.

        It is the order of the column's words, sorted as signed numbers; words of a draw are
        distinct.

        Args:
            name: Name of the draw.
            count: Numbers in each permutation.
            columns: How many permutations.
        """
        return self._words(name, count * columns).view(count, columns).argsort(0)

    def generator(self, name: str) -> torch.Generator:
        """A torch generator on the device, for distributions that a stream lacks.

        Its numbers differ between devices, and it cannot be captured into a graph.

        Args:
            name: Name of the draw.
        """
        state = self.of(name)._state()
        return torch.Generator(self.device).manual_seed(int(state) & (2**63 - 1))

    def host(self) -> "HostGenerator":
        """A NumPy generator of this stream, for draws on the host."""
        return HostGenerator(self)

    def _words(self, name: str, count: int) -> Int[Tensor, " count"]:
        stream = self.of(name)
        if not stream._looks_ahead(count):
            return _words(stream, count)
        block, row = divmod(cast("int", stream.step), _AHEAD)
        return _words_ahead(stream.seed, stream.path, block, count)[row]

    def _looks_ahead(self, count: int) -> bool:
        """Whether a draw of this size is made for several steps at once."""
        return (
            count <= _SMALL
            and isinstance(self.seed, int)
            and isinstance(self.step, int)
            and abs(self.step) < _LATE
            and self.device.type == "cpu"
            and not torch.compiler.is_compiling()
        )

    def _state(self) -> int | Tensor:
        seeded = _absorbed(0, self.seed)
        return _absorbed(_absorbed(seeded, self.path), self.step)


class HostGenerator(np.random.Generator):
    """A NumPy generator whose uniform numbers, integers and permutations come from a stream.

    Call number k of `random`, `integers` and `permutation` together draws from the stream under
    the name k, counted from 0. All other methods are NumPy's, with Philox as the bit generator.

    Args:
        stream: The stream; its seed and step must be Python numbers.
    """

    def __init__(self, stream: Stream) -> None:
        state = stream._state()
        if not isinstance(state, int):
            raise TypeError("a generator of the host needs a seed and a step that are numbers")
        super().__init__(np.random.Philox(key=state))
        self._stream = stream
        self._calls = 0

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Numbers in [0, 1), multiples of 2⁻⁵³, each from the top 53 bits of a word."""
        if dtype is not np.float64 or out is not None:
            return super().random(size, dtype, out)
        return (self._words(size) >> np.uint64(11)) * 2.0**-53

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Integers between bounds, each the top 63 bits of a word modulo the size of the range."""
        low, high = (0, low) if high is None else (low, high)
        span = np.asarray(high) - low + endpoint
        if np.any(span < 1):
            raise ValueError(f"low {low} must lie below high {high}")
        size = np.broadcast(low, high).shape or None if size is None else size
        values = (self._words(size) >> np.uint64(1)).astype(np.int64) % span + low
        return values.astype(dtype) if np.ndim(values) else dtype(values)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Numbers below x, or the rows of an array, sorted by their words as signed numbers."""
        rows = np.arange(x) if isinstance(x, int | np.integer) else np.asarray(x)
        order = self._words(rows.shape[axis]).view(np.int64).argsort()
        return rows.take(order, axis)

    def _words(self, size: Any) -> npt.NDArray[np.uint64]:
        shape = () if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        state = self._stream.of(str(self._calls))._state()
        self._calls += 1
        assert isinstance(state, int)
        places = np.arange(1, math.prod(shape) + 1)
        return finalise(places * GOLDEN + signed(state)).view(np.uint64).reshape(shape)


def _words(stream: Stream, count: int) -> Int[Tensor, "*steps count"]:
    """The first words of a draw; with several steps in one tensor, a row for each."""
    state = stream._state()
    places = torch.arange(1, count + 1, device=stream.device)
    return finalise(
        places * GOLDEN + (signed(state) if isinstance(state, int) else state[..., None])
    )


def _normals(stream: Stream, count: int) -> Float[Tensor, "*steps count"]:
    """The first normal numbers of a draw; with several steps in one tensor, a row for each."""
    wide = torch.float32 if stream.device.type == "mps" else torch.float64
    words = _words(stream, (count + 1) // 2)
    radius = shifted(words, 32).to(wide).add_(0.5).mul_(2.0**-32).log_().mul_(-2).sqrt_()
    angle = (words & _LOW).to(wide).mul_(2 * math.pi * 2.0**-32)
    pair = angle.cos().mul_(radius), angle.sin_().mul_(radius)
    numbers = torch.stack([half.to(torch.get_default_dtype()) for half in pair], dim=-1)
    return numbers.flatten(-2)[..., :count]


@lru_cache(_KEPT)
def _words_ahead(seed: int, path: int, block: int, count: int) -> Int[Tensor, "step count"]:
    return _words(_some_steps(seed, path, block), count)


@lru_cache(_KEPT)
def _normals_ahead(
    seed: int, path: int, block: int, count: int, dtype: torch.dtype
) -> Float[Tensor, "step count"]:
    assert dtype == torch.get_default_dtype()  # the dtype of the numbers
    return _normals(_some_steps(seed, path, block), count)


def _some_steps(seed: int, path: int, block: int) -> Stream:
    """A stream of all steps of a block at once."""
    steps = torch.arange(block * _AHEAD, (block + 1) * _AHEAD)
    return Stream(seed, steps, path=path)


def _absorbed(state: int | Tensor, part: int | Tensor) -> int | Tensor:
    """`absorb` for a state and a number of which either may be a tensor on a device."""
    if isinstance(state, int) and isinstance(part, int):
        return absorb(state, part)
    first, second = (signed(value) if isinstance(value, int) else value for value in (state, part))
    return finalise(cast("Tensor", first ^ second) + GOLDEN)


def _hash(name: str) -> int:
    """FNV-1a in 64 bits, in Python that torch.compile can follow."""
    digest = 0xCBF29CE484222325
    for byte in name.encode():
        digest = (digest ^ byte) * 0x100000001B3 & MASK
    return digest
