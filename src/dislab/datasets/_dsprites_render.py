"""Renderer of the dSprites images from their factors; numpy only.

Pixels are 1 exactly where their centre lies inside the outline. The constants were fitted to the
frames that are published with the data set (https://github.com/google-deepmind/dsprites-dataset).
"""

import itertools
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError

VERSION: Final = 1
"""Counts the changes of what is rendered; a cached rendering of another version is not used."""

SIZES: Final = (3, 6, 40, 32, 32)
"""Number of shapes, scales, orientations, horizontal and vertical places."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

BLOCK: Final = SIZES[3] * SIZES[4]
"""Number of images of one shape, scale and orientation, which follow each other."""

Mask = npt.NDArray[np.bool_]
_Reals = npt.NDArray[np.float32]

_SQUARE: Final = 9.5984
_ELLIPSE: Final = (12.776, 7.22)
_CORNERS: Final = 70
_HEART: Final = (0.59966, 0.66215, 1.4367)
_REACH: Final = 13.58
"""No outline leaves this radius, in pixels at scale 1."""


def render(positions: npt.ArrayLike) -> Mask:
    """Images of states, shape (state, 64, 64), true where a pixel is white.

    Args:
        positions: Value numbers of shape, scale, orientation, posX and posY, shape (state, 5).

    Raises:
        InputError: Another shape, or a value number out of range.
    """
    states = np.asarray(positions, dtype=np.int64)
    if states.ndim != 2 or states.shape[1] != len(SIZES):
        raise InputError(f"positions have shape (states, {len(SIZES)}), not {states.shape}")
    if (states < 0).any() or (states >= SIZES).any():
        raise InputError(f"value numbers of dSprites lie below {SIZES}")
    images = np.zeros((len(states), SIDE, SIDE), dtype=np.bool_)
    forms, members = np.unique(states[:, :3], axis=0, return_inverse=True)
    for number, form in enumerate(forms.tolist()):
        chosen = np.flatnonzero(members.reshape(-1) == number)
        column, dx = _offsets(states[chosen, 3], form[1])
        row, dy = _offsets(states[chosen, 4], form[1])
        patches = _patches(form, dx[:, None, :], dy[:, :, None])
        size = patches.shape[-1]
        for place, x, y, patch in zip(chosen, column, row, patches, strict=True):
            images[place, y : y + size, x : x + size] = patch
    return images


def render_block(form: tuple[int, int, int]) -> Mask:
    """Images of one shape, scale and orientation at every place, shape (1024, 64, 64), y fastest.

    Args:
        form: Value numbers of shape, scale and orientation.
    """
    places = np.arange(SIZES[3])
    start, offset = _offsets(places, form[1])
    # the last place shows the pixels of the first one, moved by half the image
    distinct = offset[:-1]
    patches = _patches(form, distinct[:, None, None, :], distinct[None, :, :, None])
    images = np.zeros((*SIZES[3:], SIDE, SIDE), dtype=np.bool_)
    size = patches.shape[-1]
    begin = start.tolist()
    for (i, x), (j, y) in itertools.product(enumerate(begin), repeat=2):
        patch = patches[i % len(distinct), j % len(distinct)]
        images[i, j, y : y + size, x : x + size] = patch
    return images.reshape(-1, SIDE, SIDE)


def form(index: int) -> tuple[int, int, int]:
    """Value numbers of shape, scale and orientation of a state.

    Args:
        index: The number of the state in the published order.
    """
    shape, scale, orientation = np.unravel_index(index // BLOCK, SIZES[:3])
    return int(shape), int(scale), int(orientation)


def _offsets(place: npt.NDArray[Any], scale: int) -> tuple[npt.NDArray[np.int64], _Reals]:
    """Where the patch of each place begins, and its pixel centres from the object's centre."""
    steps = SIZES[3] - 1
    whole, rest = np.divmod(np.asarray(place, dtype=np.int64) * (steps + 1), steps)
    reach = int(np.ceil(_REACH * _scale(scale))) + 1
    pixels = np.arange(-reach, reach + 1) + 0.5
    offsets = (pixels[None, :] - rest[:, None] / steps).astype(np.float32)
    return SIDE // 4 + whole - reach, offsets


def _scale(number: int) -> float:
    return 0.5 + 0.1 * number


def _patches(form: tuple[int, int, int] | list[int], dx: _Reals, dy: _Reals) -> Mask:
    """Which pixels lie inside, for offsets in pixels, x to the right and y down."""
    shape, scale, orientation = form
    # the last orientation is the first one again, after a whole turn
    angle = 2 * np.pi * (orientation % (SIZES[2] - 1)) / (SIZES[2] - 1)
    cosine = np.float32(np.cos(angle) / _scale(scale))
    sine = np.float32(np.sin(angle) / _scale(scale))
    u, v = dx * cosine - dy * sine, dx * sine + dy * cosine
    if shape == 0:
        return _in_square(u, v)
    return _in_ellipse(u, v) if shape == 1 else _in_heart(u, v)


def _in_square(u: _Reals, v: _Reals) -> Mask:
    return np.asarray(np.maximum(np.abs(u), np.abs(v)) < np.float32(_SQUARE))


def _in_ellipse(u: _Reals, v: _Reals) -> Mask:
    """Inside a polygon with its corners on an ellipse, the first one on the u axis."""
    p, q = u / np.float32(_ELLIPSE[0]), v / np.float32(_ELLIPSE[1])
    radius = p * p + q * q
    half = np.pi / _CORNERS
    inside: Mask = radius < np.cos(half) ** 2
    # only between the inscribed and the circumscribed ellipse do the edges matter
    unsure = np.flatnonzero((radius < 1) & ~inside)
    angle = np.arctan2(q.flat[unsure].astype(np.float64), p.flat[unsure].astype(np.float64))
    from_edge = np.cos(np.mod(angle, 2 * half) - half)
    inside.flat[unsure] = np.sqrt(radius.flat[unsure]) * from_edge < np.cos(half)
    return inside


def _in_heart(u: _Reals, v: _Reals) -> Mask:
    """Inside x = 16 sin³t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t, drawn with the tip down.

    For each x there are two parameters, t and π - t; with the signs of their cosines, the terms
    of y split into an even part and an odd one, and the inside lies between even ± odd.
    """
    width, height, lift = (np.float32(number) for number in _HEART)
    across = np.minimum(np.abs(u) / (16 * width), np.float32(1))
    sine = np.cbrt(across)
    squared = 1 - sine * sine
    even = 4 + squared * (-2 - 8 * squared)
    odd = np.sqrt(squared) * (19 - 8 * squared)
    y = -(v + lift) / height
    return np.asarray((across < 1) & (np.abs(y - even) < odd))
