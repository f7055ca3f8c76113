import numpy as np
import pytest
from matplotlib.figure import Figure

from dislab.plots.image_grid import ImageGrid


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The images of every grid that a callback draws."""
    grids: list[np.ndarray] = []
    real = ImageGrid.figure

    def figure(grid: ImageGrid) -> Figure:
        grids.append(grid.images)
        return real(grid)

    monkeypatch.setattr(ImageGrid, "figure", figure)
    return grids
