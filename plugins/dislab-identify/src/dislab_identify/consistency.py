"""Agreement of codes without true factors: over seeds, methods or scikit-learn transformers."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.functional.checks import check_choice

Map = Literal["permutation", "linear", "affine"]
Array = npt.NDArray[np.float64]

_TEST_FRACTION: Final = 0.3


def agreement(first: npt.ArrayLike, second: npt.ArrayLike, up_to: Map = "permutation") -> float:
    """How well two codes of the same rows agree, from 0 to 1, symmetric in the two.

    `permutation` is the mean absolute correlation of latents that are matched one to one, divided
    by the larger number of latents, so that latents without a partner count 0. `linear` and
    `affine` are R² of the best linear map, without or with an offset, fitted on the first 70 % of
    the rows and tested on the others, over all latents together; the smaller of both directions,
    and 0 if negative. Constant latents are explained by an offset only.

    Args:
        first: Codes, shape (row, latent).
        second: Other codes of the same rows, shape (row, other latent).
        up_to: Kind of the map between them.

    Raises:
        InputError: The codes have other shapes, are not finite, or are too few.
    """
    check_choice("up_to", up_to, get_args(Map))
    codes, others = _checked("first", first), _checked("second", second)
    if len(codes) != len(others):
        raise InputError(
            f"first has {len(codes)} rows and second {len(others)}; encode the same rows by both"
        )
    if up_to == "permutation":
        return _matched(codes, others)
    if (needed := 2 * max(codes.shape[1], others.shape[1]) + 2) > len(codes):
        raise InputError(f"a map of these codes needs at least {needed} rows, not {len(codes)}")
    return max(0.0, min(_explained(codes, others, up_to), _explained(others, codes, up_to)))


def agreements(codes: Sequence[npt.ArrayLike], up_to: Map = "permutation") -> Array:
    """Agreement of each pair of codes, shape (encoder, encoder), with 1 on the diagonal.

    Args:
        codes: Codes of the same rows, one array for each encoder.
        up_to: Kind of the map between them.

    Raises:
        InputError: There are fewer than two, or two cannot be compared.
    """
    if len(codes) < 2:
        raise InputError(f"agreement compares at least two encoders, not {len(codes)}")
    table = np.eye(len(codes))
    for row, column in combinations(range(len(codes)), 2):
        table[row, column] = table[column, row] = agreement(codes[row], codes[column], up_to)
    return table


def chance(first: npt.ArrayLike, second: npt.ArrayLike, up_to: Map = "permutation") -> float:
    """Agreement with the second codes in a random order of rows: that of unrelated codes.

    Args:
        first: Codes, shape (row, latent).
        second: Other codes of the same rows.
        up_to: Kind of the map between them.
    """
    shuffled = np.random.default_rng(0).permutation(_checked("second", second))
    return agreement(first, shuffled, up_to)


def _checked(name: str, codes: npt.ArrayLike) -> Array:
    rows: npt.NDArray[Any] = np.asarray(codes)
    if rows.ndim != 2 or len(rows) < 2 or not rows.shape[1] or rows.dtype.kind not in "biuf":
        raise InputError(
            f"{name} is {rows.dtype} of shape {rows.shape}; give real codes of shape (row, latent) "
            "with at least two rows"
        )
    if not np.isfinite(rows).all():
        raise InputError(f"{name} has codes that are NaN or infinite; leave out these rows")
    return rows.astype(np.float64)


def _matched(first: Array, second: Array) -> float:
    from scipy.optimize import linear_sum_assignment

    strength = np.abs(_unit(first).T @ _unit(second))
    rows, columns = linear_sum_assignment(strength, maximize=True)
    return float(strength[rows, columns].sum() / max(strength.shape))


def _unit(codes: Array) -> Array:
    """Centred columns of length 1; constant ones are 0."""
    centred = codes - codes.mean(axis=0)
    centred[:, (codes == codes[:1]).all(axis=0)] = 0.0
    length = np.linalg.norm(centred, axis=0)
    return np.asarray(centred / np.where(length > 0, length, 1.0))


def _explained(source: Array, target: Array, up_to: Map) -> float:
    """R² of the target's test rows, predicted by least squares."""
    cut = len(source) - round(_TEST_FRACTION * len(source))
    if up_to == "affine":
        source = np.column_stack([source, np.ones(len(source))])
    weights, *_ = np.linalg.lstsq(source[:cut], target[:cut], rcond=None)
    tested = target[cut:]
    error = np.square(tested - source[cut:] @ weights).sum()
    middle = tested.mean(axis=0) if up_to == "affine" else 0.0
    spread = np.square(tested - middle).sum()
    return float(1.0 - error / spread) if spread > 0 else float(error == 0)
