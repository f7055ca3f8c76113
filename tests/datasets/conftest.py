from pathlib import Path

import numpy as np
import pytest

from dislab.datasets import DSprites


@pytest.fixture(scope="session")
def dsprites() -> DSprites:
    """The whole rendered set, from the user's cache folder: rendered at most once a machine."""
    dataset = DSprites()
    dataset.prepare()
    return dataset


@pytest.fixture(scope="session")
def frames() -> tuple[np.ndarray, np.ndarray]:
    """320 published images, true where white, and their positions."""
    with np.load(Path(__file__).parents[1] / "data/dsprites_gif_320.npz") as archive:
        return archive["imgs"] > 0, archive["latents_classes"][:, 1:]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("DISLAB_CACHE", str(folder))
    return folder
