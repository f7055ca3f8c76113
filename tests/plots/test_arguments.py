"""Every function of `dislab.plots` takes lists and tensors, and says which argument is wrong."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab import plots
from dislab.errors import InputError

MATRIX = np.random.default_rng(0).random((3, 2))
IMAGES = np.random.default_rng(0).integers(256, size=(2, 3, 1, 8, 8), dtype=np.uint8)
FRAMES = np.zeros((2, 4, 4, 3), dtype=np.uint8)
NAMES = ["a", "b"]
DRAW: Any = plots
TAKES_OTHERS = {"check_picture", "is_picture"}
"""Functions of names of files."""


@pytest.mark.parametrize("name", sorted(set(plots.__all__) - TAKES_OTHERS))
def test_every_function_checks_its_arguments(name: str) -> None:
    function = getattr(plots, name)
    parameters = inspect.signature(function).parameters.values()
    required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    with pytest.raises(InputError, match=required[0]):
        function(**dict.fromkeys(required, object()))


@pytest.mark.parametrize("form", [np.asarray, torch.from_numpy, np.ndarray.tolist])
def test_arrays_tensors_and_lists_give_equal_figures(form: Callable[..., Any]) -> None:
    draw: Callable[[Any], Any]
    for draw, values in (
        (lambda table: plots.hinton(table, NAMES), MATRIX),
        (lambda table: plots.correlation_matrix(table, NAMES, NAMES), MATRIX[:2]),
        (lambda table: plots.image_grid(table), IMAGES / 255),
        (lambda table: plots.sample_efficiency({"a": table}, [1, 2], "s"), MATRIX),
    ):
        expected = plots.pixels(draw(values))
        np.testing.assert_array_equal(plots.pixels(draw(form(values))), expected)


def test_bytes_of_images_are_drawn_as_their_fractions() -> None:
    expected = plots.pixels(plots.image_grid(IMAGES / 255))
    np.testing.assert_array_equal(plots.pixels(plots.image_grid(IMAGES)), expected)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: DRAW.heat_map(NAMES, MATRIX, "nats"), r"matrix has shape \(2,\), type <U1; give"),
        (lambda: DRAW.hinton(MATRIX, "ab"), "names is 'ab'; it must be a list, each text"),
        (lambda: DRAW.image_grid(IMAGES[0]), "images has shape .* of shape .row, column, channel"),
        (lambda: DRAW.image_grid("a.png"), "images is str; give an array of numbers"),
        (lambda: DRAW.image_grid(IMAGES, title=3), "title is 3; it must be text"),
        (lambda: DRAW.kl_bars(MATRIX), r"kl has shape .* of shape \(latent,\)"),
        (lambda: DRAW.kl_bars([[1.0], [1.0, 2.0]]), "kl: .*inhomogeneous"),
        (lambda: DRAW.scatter([1.0], [1.0], "ab"), "names is 'ab'; it must be a list of 2"),
        (lambda: DRAW.violins([1.0], "s"), r"groups is \[1.0\]; it must be a mapping of names"),
        (
            lambda: DRAW.score_sheet({"mig": None}, {}, NAMES),
            "mig is None; it must be a finite number",
        ),
        (lambda: DRAW.sample_efficiency({"a": [1.0]}, [1], "s"), r"a has shape .*\(run, size\)"),
        (lambda: DRAW.save("a.png", DRAW.kl_bars([1.0])), "figure is 'a.png'; it must be a Figure"),
        (lambda: DRAW.save_animation("a.gif", FRAMES), "frames is str; give an array"),
        (lambda: DRAW.save_animation(FRAMES[:0], Path("a.gif")), "frames are 0 of uint8; give at"),
    ],
)
def test_mistakes_are_explained(draw: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw()
