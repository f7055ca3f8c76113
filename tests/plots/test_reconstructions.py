from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dislab import plots
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE, DenoisingAutoencoder, GroundTruthDecoder
from dislab.plots import _reconstructions
from dislab.regularizers import KL

BYTES = np.random.default_rng(0).integers(256, size=(5, 1, 8, 8), dtype=np.uint8)
ENCODER, DECODER = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))


@pytest.mark.parametrize("images", [BYTES, BYTES / 255, torch.from_numpy(BYTES)])
def test_images_are_above_their_reconstructions(
    images: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grids: list[Any] = []
    real = plots.image_grid

    def grid(pixels: Any, *args: Any, **settings: Any) -> Any:
        grids.append(pixels)
        return real(pixels, *args, **settings)

    monkeypatch.setattr(_reconstructions, "image_grid", grid)
    model = VAE((1, 8, 8), 30, 4, ENCODER, DECODER, {"kl": KL})
    plots.reconstructions(model, images)
    [drawn] = grids
    np.testing.assert_allclose(drawn[0], BYTES / np.float32(255), atol=1e-7)
    expected = model.reconstruct(BYTES / np.float32(255))
    np.testing.assert_allclose(drawn[1], expected, atol=1e-6)
    assert model.training


@pytest.mark.parametrize("images", [BYTES[:0], np.repeat(BYTES, 21, axis=0)])
def test_no_images_and_too_many_are_refused(images: Any) -> None:
    model = VAE((1, 8, 8), 30, 4, ENCODER, DECODER, {"kl": KL})
    with pytest.raises(InputError, match="images is"):
        plots.reconstructions(model, images)


def test_a_method_without_posterior_is_refused() -> None:
    model = GroundTruthDecoder((1, 8, 8), ("x",), (3,), DECODER)
    with pytest.raises(InputError, match="GroundTruthDecoder"):
        plots.reconstructions(model, BYTES)


def test_a_method_that_reconstructs_without_a_posterior_is_drawn(tmp_path: Path) -> None:
    model = DenoisingAutoencoder((1, 8, 8), ENCODER, DECODER, bottleneck=3)
    plots.save(plots.reconstructions(model, BYTES), tmp_path / "rows.png")
    with Image.open(tmp_path / "rows.png") as picture:
        width, height = picture.size
    assert width > 2 * height
