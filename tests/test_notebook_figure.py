import ast
from base64 import b64decode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from PIL import Image

from dislab import plots
from dislab.factors import Factor, FactorSpace
from dislab.metrics import MIG

SOURCE = Path(plots.__file__).parents[1]
SPACE = FactorSpace((Factor("a", (0.0, 1.0)), Factor("b", (0.0, 1.0))))


def plot_of_a_score() -> Figure:
    figure, _ = MIG(SPACE).plot(torch.tensor(0.5))
    return figure


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.image_grid(np.random.default_rng(0).random((2, 3, 1, 8, 8)), title="t"),
        lambda: plots.kl_bars(np.ones(3)),
        plot_of_a_score,
    ],
)
def test_a_notebook_shows_the_pixels_of_a_figure(draw: Callable[[], Any]) -> None:
    figure = draw()
    shown = figure._repr_mimebundle_(include=None, exclude=None)
    assert list(shown) == ["image/png"]
    with Image.open(BytesIO(b64decode(shown["image/png"]))) as picture:
        np.testing.assert_array_equal(np.asarray(picture)[..., :3], plots.pixels(figure))


@pytest.mark.slow
def test_every_figure_of_the_package_shows_in_notebooks() -> None:
    made = [
        (path.name, node.lineno)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Figure"
    ]
    assert made == []
