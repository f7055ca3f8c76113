"""Renderer of the dSprites images from their factors, in pure NumPy.

Every image is a filled polygon whose corners are integer multiples of 1/256 pixel. The rule was
derived from images published with the data set: it reproduces these pixel by pixel, and gives
128,328,864 white pixels over all images instead of the published 128,328,862
(https://github.com/google-deepmind/dsprites-dataset).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError

VERSION: Final = 2
"""Version of the renderer; cached renderings of other versions are not used."""

SIZES: Final = (3, 6, 40, 32, 32)
"""Numbers of shapes, scales, orientations, horizontal and vertical positions."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

BLOCK: Final = SIZES[3] * SIZES[4]
"""Number of images of one shape, scale and orientation, which are consecutive."""

Form = tuple[int, int, int]
Mask = npt.NDArray[np.bool_]
Packed = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
_Reals = npt.NDArray[np.float64]

_RADIUS: Final = 0.15 * SIDE
"""Half the side of the largest square, in pixels."""

_WIDENING: Final = 1.33
"""Factor by which the ellipse is wider, and lower, than a circle of that radius."""

_FINE: Final = 256
"""Subdivisions of a pixel in which corners are given."""

_CENTRE: Final = _FINE // 2


def render(positions: npt.ArrayLike) -> Mask:
    """Images of states, shape (state, 64, 64), true for white pixels.

    Positions are value numbers of shape, scale, orientation, posX and posY, shape (state, 5);
    others are rejected.
    """
    states = np.asarray(positions, dtype=np.int64)
    if states.ndim != 2 or states.shape[1] != len(SIZES):
        raise InputError(f"positions have shape (states, {len(SIZES)}), not {states.shape}")
    if (states < 0).any() or (states >= SIZES).any():
        raise InputError(f"value numbers of dSprites lie below {SIZES}")
    rows = np.empty((len(states), SIDE * SIDE // 8), dtype=np.uint8)
    forms, members = np.unique(states[:, :3], axis=0, return_inverse=True)
    for group, (shape, scale, orientation) in enumerate(forms.tolist()):
        chosen = np.flatnonzero(members.reshape(-1) == group)
        right, down = _outline((shape, scale, orientation))
        x, y = _corners(states[chosen, 3], right), _corners(states[chosen, 4], down)
        rows[chosen] = filled(x, y)
    return np.unpackbits(rows, axis=1).reshape(-1, SIDE, SIDE).astype(np.bool_)


def packed_block(form: Form) -> Packed:
    """Images of one shape, scale and orientation (value numbers) at all positions, posY fastest.

    Each row of 512 bytes is an image with one bit per pixel: shape (1024, 512).
    """
    right, down = _outline(form)
    x, y = (_corners(np.arange(SIZES[3]), offsets) for offsets in (right, down))
    return filled(np.repeat(x, SIZES[4], axis=0), np.tile(y, (SIZES[3], 1)))


def form(index: int) -> Form:
    """Value numbers of shape, scale and orientation of a state."""
    shape, scale, orientation = np.unravel_index(index // BLOCK, SIZES[:3])
    return int(shape), int(scale), int(orientation)


def _outline(form: Form) -> tuple[_Reals, _Reals]:
    """Corners relative to the centre, in pixels to the right and downwards."""
    shape, scale, orientation = form
    u, v = (0.5 + 0.1 * scale) * _polygon(shape)
    # the last orientation equals the first one, after a full turn
    angle = 2 * np.pi * (orientation % (SIZES[2] - 1)) / (SIZES[2] - 1)
    cosine, sine = np.cos(angle), np.sin(angle)
    return cosine * u - sine * v, -(sine * u + cosine * v)


def _polygon(shape: int) -> _Reals:
    """Corners at full size before rotation, in pixels to the right and upwards."""
    if shape == 0:
        return _RADIUS * np.array([[-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]])
    count = 100 if shape == 1 else 150
    t = 2 * np.pi * np.arange(count) / count
    if shape == 1:
        return _RADIUS * np.stack([_WIDENING * np.cos(t), np.sin(t) / _WIDENING])
    x = 16 * np.sin(t) ** 3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return _RADIUS * np.stack([x / 16, y / 14.5 + 0.15])


def _corners(position: Whole, offsets: _Reals) -> Whole:
    """Coordinates of the corners in 1/256 pixel, shape (position, corner)."""
    middle = SIDE / 4 + SIDE / 2 * position / (SIZES[3] - 1)
    return np.floor(_FINE * (middle[:, None] + offsets) + 0.5).astype(np.int64)


def filled(x: Whole, y: Whole) -> Packed:
    """Images of polygons, one bit per pixel, shape (image, 512): set if the centre lies inside.

    Corners are in 1/256 pixel from the left and from the top, shape (image, corner). A pixel is
    inside if an odd number of edges lies to its left. A centre on an edge is inside if it is a left
    edge, or the lower one of two horizontal edges.
    """
    image, row, column = _crossings(x, y)
    # each crossing inverts all pixels from there to the right
    right_of = np.append(np.uint64(2**SIDE - 1) >> np.arange(SIDE, dtype=np.uint64), np.uint64(0))
    lines = np.zeros(len(x) * SIDE, dtype=np.uint64)
    np.bitwise_xor.at(lines, image * SIDE + row, right_of[column])
    return lines.astype(">u8").view(np.uint8).reshape(len(x), -1)


def _crossings(x: Whole, y: Whole) -> tuple[Whole, Whole, Whole]:
    """Image, row and column of each crossing of an edge with a row's centres.

    The column is the first one whose centre lies at or to the right of the crossing.
    """
    ends = x, y, np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)
    # the rows with top < centre <= bottom
    first = (np.minimum(y, ends[3]) - _CENTRE) // _FINE + 1
    count = (np.maximum(y, ends[3]) - _CENTRE) // _FINE + 1 - first
    edge = np.repeat(np.arange(count.size), count.reshape(-1))
    starts = np.cumsum(count) - count.reshape(-1)
    row = np.arange(len(edge)) + (first.reshape(-1) - starts)[edge]
    x0, y0, x1, y1 = (end.reshape(-1)[edge] for end in ends)
    height = y1 - y0
    # the crossing lies rise / (256 height) columns right of the first column of centres
    rise = (x0 - _CENTRE) * height + (x1 - x0) * (_FINE * row + _CENTRE - y0)
    return edge // x.shape[1], row, -(-rise // (_FINE * height))
