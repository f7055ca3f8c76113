from typing import Any

import numpy as np
import pytest

from dislab import plots


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The images of every grid that a callback asks for."""
    grids: list[np.ndarray] = []
    real = plots.image_grid

    def grid(images: np.ndarray, **labels: Any) -> Any:
        grids.append(images)
        return real(images, **labels)

    monkeypatch.setattr(plots, "image_grid", grid)
    return grids
