import inspect
import re
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from dislab import plots
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.metrics import ConstantFactorWarning
from dislab.objectives import VAE, DenoisingAutoencoder, GroundTruthDecoder
from dislab.plots import _traversals
from dislab.regularizers import KL

BYTES = np.random.default_rng(0).integers(256, size=(30, 1, 8, 8), dtype=np.uint8)
FACTORS = np.random.default_rng(0).integers(3, size=(600, 2))
ENCODER, DECODER = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))


def vae() -> VAE:
    torch.manual_seed(0)
    return VAE((1, 8, 8), 30, 4, ENCODER, DECODER, {"kl": KL})


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The arguments of every grid that is drawn."""
    grids: list[tuple[Any, ...]] = []
    real = plots.image_grid

    def grid(*args: Any, **settings: Any) -> Any:
        grids.append(args)
        return real(*args, **settings)

    monkeypatch.setattr(_traversals, "image_grid", grid)
    return grids


@pytest.mark.parametrize("images", [BYTES, BYTES / 255, torch.from_numpy(BYTES)])
def test_rows_are_latents_moved_from_the_code_of_the_first_image(
    images: Any, drawn: list[tuple[Any, ...]]
) -> None:
    model = vae()
    plots.traversals(model, images, steps=5, latents=3, batch_size=7)
    [(grid, labels, heads, _)] = drawn
    assert grid.shape == (3, 5, 1, 8, 8)
    assert heads == ["−2σ", "−1σ", "0", "+1σ", "+2σ"]
    with torch.no_grad():
        posterior = model.encode(BYTES)  # type: ignore[arg-type]
        kl = 0.5 * (posterior.mean**2 + posterior.log_var.exp() - posterior.log_var - 1).mean(0)
        order = kl.argsort(descending=True).tolist()
        z = posterior.mean[:1].repeat(5, 1)
        z[:, order[0]] += torch.linspace(-2, 2, 5)
        expected = model.decode(z)
    assert [label.split()[0] for label in labels] == [f"z{latent}" for latent in order[:3]]
    np.testing.assert_allclose(grid[0], expected, atol=1e-5)


def test_a_factor_is_named_for_the_latent_that_carries_it(drawn: list[tuple[Any, ...]]) -> None:
    model, images = vae(), np.repeat(BYTES, 20, axis=0)
    with torch.no_grad():
        first = model.codes(images)[:, 0]  # type: ignore[arg-type]
    big = (first > first.median()).long().numpy()[:, None]
    with torch.no_grad():  # so that the KL is above the bound for names
        model.encoder.network[-1].weight[0] *= 30  # type: ignore[union-attr, index]
    plots.traversals(model, images, big, ["size"], blocks=2, positions="absolute")
    assert any(label.startswith("z0") and "size" in label for label in drawn[0][1])
    assert drawn[0][2][:2] == ["−3", "−2.25"]
    assert drawn[0][0].shape[:2] == (4, 18)


def test_all_factors_are_named_that_share_a_latent(drawn: list[tuple[Any, ...]]) -> None:
    model, images = vae(), np.repeat(BYTES, 20, axis=0)
    with torch.no_grad():
        first = model.codes(images)[:, 0]  # type: ignore[arg-type]
        model.encoder.network[-1].weight[0] *= 30  # type: ignore[union-attr, index]
    big = (first > first.median()).long().numpy()[:, None]
    plots.traversals(model, images, np.repeat(big, 2, axis=1), ["size", "weight"])
    (label,) = (label for label in drawn[0][1] if label.startswith("z0"))
    assert re.search(r"  partly size, partly weight 0\.\d\d, 0\.\d\d nats in the mean$", label)


def test_codes_without_posteriors_are_moved_in_their_spread(drawn: list[tuple[Any, ...]]) -> None:
    plots.traversals(DenoisingAutoencoder((1, 8, 8), ENCODER, DECODER, bottleneck=3), BYTES)
    assert all("std" in label for label in drawn[0][1])


@pytest.mark.slow
def test_one_block_fits_a_column_of_the_docs_and_every_format(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = VAE((3, 64, 64), 30, 10, ENCODER, DECODER, {"kl": KL})
    images = np.random.default_rng(0).random((12, 3, 64, 64))
    figure = plots.traversals(model, images, title="Latents")
    assert figure.get_size_inches()[0] * figure.dpi <= 900
    for suffix in ("png", "pdf", "svg"):
        plots.save(figure, tmp_path / f"a.{suffix}")
        assert (tmp_path / f"a.{suffix}").stat().st_size > 1000


def test_an_animation_goes_there_and_back(tmp_path: Path) -> None:
    frames = plots.traversal_frames(vae(), BYTES, blocks=2, steps=5)
    assert len(frames) == 8
    assert frames.shape[1:] == ((2 * 10 - 2) * 8, (4 * 10 - 2) * 8, 3)
    assert np.array_equal(frames[1], frames[-1])
    assert not np.array_equal(frames[0], frames[4])
    plots.save_animation(frames, tmp_path / "a.gif", seconds=0.2)
    with Image.open(tmp_path / "a.gif") as found:
        assert (getattr(found, "n_frames", 0), found.info["duration"], found.info["loop"]) == (
            8,
            200,
            0,
        )
    with pytest.raises(InputError, match=r"a\.png; its name must end in \.gif"):
        plots.save_animation(frames, tmp_path / "a.png")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 1}, "steps is 1; it must be a whole number of at least 2"),
        ({"span": (1.0, 1.0)}, "span is .*; it must rise"),
        ({"blocks": 31}, "blocks is 31; it must be at most 30"),
        ({"factors": np.zeros((5, 2), int)}, r"shape \(5, 2\); give .* one row for each of 30"),
        ({"factors": np.zeros(30, int)}, r"shape \(30,\); give .* one column for each factor"),
        ({"factors": [[1], [1, 2]]}, r"^factors: .* give an array of shape \(image, factor\)"),
        ({"factors": {"a": [1, 2]}}, r"factor a is int64 of shape \(2,\); give value numbers"),
        ({"factors": FACTORS[:30], "names": ["a"]}, "1 name for 2 factors: a; give one"),
        ({"factors": np.zeros((30, 1))}, "factor_0 is float64 .* not its values"),
        ({"images": BYTES[:, :, :4]}, r"images have shape \(30, 1, 4, 8\); VAE was made for"),
    ],
)
def test_refuses_what_cannot_be_drawn(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plots.traversals(vae(), **{"images": BYTES, **settings})


def carrying() -> tuple[VAE, Any]:
    """A model whose first latent is in use, and its sign for each of 600 images."""
    model, images = vae(), np.repeat(BYTES, 20, axis=0)
    with torch.no_grad():
        model.encoder.network[-1].weight[0] *= 30  # type: ignore[union-attr, index]
        first = model.codes(images)[:, 0]  # type: ignore[arg-type]
    return model, (first > first.median()).long().numpy()


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (lambda size: size[:, None], "factor_0"),
        (lambda size: torch.from_numpy(size)[:, None], "factor_0"),
        (lambda size: {"size": size}, "size"),
        (lambda size: {"size": np.where(size, "small", "big")}, "size"),
        (lambda size: pd.DataFrame({"size": size}), "size"),
        (lambda size: Codes(size[:, None], ("size",)), "size"),
    ],
)
def test_factors_have_the_names_that_they_come_with(
    form: Any, name: str, drawn: list[tuple[Any, ...]]
) -> None:
    model, size = carrying()
    plots.traversals(model, np.repeat(BYTES, 20, axis=0), form(size))
    assert any(label.startswith("z0") and name in label for label in drawn[0][1])


class Codes(NamedTuple):
    """What `run.encode()` returns, as far as it is read."""

    factors: Any
    names: tuple[str, ...]


def test_a_factor_that_does_not_vary_is_named_in_a_warning() -> None:
    with pytest.warns(ConstantFactorWarning, match="^shape took one value only in 600 images"):
        plots.traversals(
            vae(), np.repeat(BYTES, 20, axis=0), {"shape": [1] * 600, "size": [0, 1] * 300}
        )


@pytest.mark.parametrize("draw", [plots.traversals, plots.traversal_frames, plots.reconstructions])
def test_mistakes_in_the_order_of_arguments_are_named(draw: Any) -> None:
    model = vae()
    with pytest.raises(InputError, match="model is an object of ndarray; it must be an Obj"):
        draw(BYTES, model)
    for wrong in (model, "a.png", None):
        with pytest.raises(InputError, match=f"^images are {type(wrong).__name__}; give an array"):
            inspect.unwrap(draw)(model, wrong)  # without the checks of the tests' import hook
    if draw is not plots.reconstructions:
        with pytest.raises(InputError, match="positions is 'abs'; choose one of shifted, absolute"):
            draw(model, BYTES, positions="abs")


def test_a_method_without_codes_has_no_traversals() -> None:
    model = GroundTruthDecoder((1, 8, 8), ("x",), (3,), DECODER)
    with pytest.raises(InputError, match="GroundTruthDecoder has no codes or no decoder"):
        plots.traversals(model, BYTES)
