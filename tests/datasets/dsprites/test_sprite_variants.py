"""The variants of dSprites, against the shapes themselves, and what all four classes share."""

import colorsys
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dislab.base import Dataset
from dislab.datasets import ColorDSprites, DSprites, NoisyDSprites, ScreamDSprites
from dislab.errors import InputError

COUNT = 737_280
CLASSES = (DSprites, ColorDSprites, NoisyDSprites, ScreamDSprites)
BUILDS: list[Callable[..., Dataset]] = [*CLASSES, lambda: ColorDSprites(hues=5)]


def numbers(count: int, states: int = COUNT) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(states, size=count))


def inside(dsprites: DSprites, index: torch.Tensor) -> torch.Tensor:
    return dsprites.images(index % COUNT)[:, 0] == 255


@pytest.mark.parametrize("build", BUILDS)
def test_images_do_not_depend_on_their_neighbours(
    dsprites: DSprites, build: Callable[..., Dataset]
) -> None:
    dataset = build()
    index = numbers(20)
    together = dataset.images(index)
    assert together.shape == (20, *dataset.image_shape)
    alone = torch.cat([dataset.images(one[None]) for one in index])
    assert torch.equal(together, alone)
    assert torch.equal(dataset.images(index.flip(0)), together.flip(0))


@pytest.mark.parametrize("build", BUILDS)
def test_a_whole_turn_shows_the_same_image(
    dsprites: DSprites, build: Callable[..., Dataset]
) -> None:
    dataset = build()
    space = dataset.factors
    positions = space.positions(numbers(50, len(space)).numpy())
    positions[:, space.column("orientation")] = 39
    turned = space.index(positions)
    canonical = dataset.canonical(turned)
    positions[:, space.column("orientation")] = 0
    assert np.array_equal(canonical, space.index(positions))
    first = dataset.images(torch.from_numpy(canonical))
    assert torch.equal(dataset.images(torch.from_numpy(turned)), first)


@pytest.mark.parametrize("build", CLASSES[1:])
def test_the_seed_decides_what_is_random(dsprites: DSprites, build: Callable[..., Dataset]) -> None:
    index = numbers(5)
    first, again, other = (build(seed=seed).images(index) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_random_colours_fill_the_shapes(dsprites: DSprites) -> None:
    index = numbers(2_000)
    images = ColorDSprites().images(index)
    shape = inside(dsprites, index)
    colours = images.amax(dim=(2, 3))
    assert torch.equal(images, shape[:, None] * colours[:, :, None, None])
    assert int(colours.min()) == 128
    assert int(colours.max()) == 255
    # uniform over 128, …, 255 has the mean 191.5; 2,000 draws miss it by 0.8 on average
    assert colours.double().mean(0).tolist() == pytest.approx([191.5] * 3, abs=4)
    assert float(torch.corrcoef(colours.double().T).triu(1).abs().max()) < 0.1


def test_the_hue_is_a_factor(dsprites: DSprites) -> None:
    dataset = ColorDSprites(hues=12)
    space = dataset.factors
    assert len(space) == 12 * COUNT
    assert space.names == ("hue", "shape", "scale", "orientation", "posX", "posY")
    assert space["hue"].numbers.tolist() == [30 * number for number in range(12)]
    index = numbers(100, len(space))
    images, shape = dataset.images(index), inside(dsprites, index)
    degrees = space.values(space.positions(index.numpy()))[:, 0]
    for image, mask, hue in zip(images, shape, degrees, strict=True):
        colour = torch.tensor([round(255 * part) for part in colorsys.hsv_to_rgb(hue / 360, 1, 1)])
        assert torch.equal(image, (mask * colour[:, None, None]).to(torch.uint8))
    assert len(ColorDSprites(hues=2).factors.where({"hue": 180})) == COUNT


def test_noise_is_everywhere_but_in_the_shape(dsprites: DSprites) -> None:
    index = numbers(30)
    images, shape = NoisyDSprites().images(index), inside(dsprites, index)
    masks = shape[:, None].expand_as(images)
    assert bool((images[masks] == 255).all())
    noise = images[~masks].double()
    # uniform over 0, …, 255: mean 127.5, standard deviation 73.9
    assert float(noise.mean()) == pytest.approx(127.5, abs=0.5)
    assert float(noise.std()) == pytest.approx(73.9, abs=0.5)
    channels = images[:, :, :20, :20].transpose(0, 1).flatten(1).double()
    assert float(torch.corrcoef(channels).triu(1).abs().max()) < 0.15


def test_the_background_is_a_tinted_piece_and_is_inverted_inside(
    dsprites: DSprites, tmp_path: Path
) -> None:
    """Each pixel of the picture says where it is, so that pieces can be recognised."""
    y, x = np.mgrid[:100, :120]
    picture = np.stack((y, x, np.full_like(x, 9)), axis=-1).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "scream.png")
    dataset = ScreamDSprites(str(tmp_path / "scream.png"))
    index = numbers(200)
    images = dataset.images(index)
    shape = inside(dsprites, index)
    images = torch.where(shape[:, None], 255 - images, images).int()
    # the blue of the picture is the same everywhere: what is left is the tint
    blue = images[:, 2]
    assert bool((blue == blue[:, :1, :1]).all())
    steps = images[:, 0].diff(dim=1)
    assert set(steps.flatten().tolist()) == {0, 1}  # half a step of 1 a row, rounded
    down, across = images[:, 0, -1] - images[:, 0, 0], images[:, 1, :, -1] - images[:, 1, :, 0]
    for rise in (down, across):
        assert set(rise.flatten().tolist()) <= {31, 32}  # 63 steps of one half
    assert len(set(images[:, 0, 0, 0].tolist())) > 50


def test_pieces_come_from_all_over_the_painting(dsprites: DSprites) -> None:
    painting = ScreamDSprites().tables()["painting"]
    assert painting.shape == (3, 274, 350)
    assert painting.double().std() > 20
    record = ScreamDSprites().provenance()
    assert record["background"] == "drawn"
    assert record["background_sha256"] == ScreamDSprites(seed=3).provenance()["background_sha256"]


def test_a_large_picture_is_made_smaller(dsprites: DSprites, tmp_path: Path) -> None:
    Image.new("RGB", (1000, 800), (200, 10, 10)).save(tmp_path / "large.jpg")
    dataset = ScreamDSprites(str(tmp_path / "large.jpg"))
    assert dataset.tables()["painting"].shape == (3, 274, 342)


def test_backgrounds_that_cannot_be_used(tmp_path: Path) -> None:
    # a header that says more pixels than any picture has
    (tmp_path / "vast.ppm").write_text("P6 60000 60000 255\n")
    with pytest.raises(InputError, match=r"vast\.ppm cannot be read as an image: Image size"):
        ScreamDSprites(str(tmp_path / "vast.ppm")).prepare()
    with pytest.raises(InputError, match=r"background .*none\.jpg cannot be read as an image"):
        ScreamDSprites(str(tmp_path / "none.jpg")).prepare()
    (tmp_path / "text.jpg").write_text("no image")
    with pytest.raises(InputError, match=r"text\.jpg cannot be read as an image"):
        ScreamDSprites(str(tmp_path / "text.jpg")).prepare()
    Image.new("RGB", (60, 200)).save(tmp_path / "small.png")
    with pytest.raises(InputError, match=r"has 60×200 pixels .* at least 64×64"):
        ScreamDSprites(str(tmp_path / "small.png")).prepare()


@pytest.mark.parametrize("build", BUILDS)
def test_pickled_without_its_images(dsprites: DSprites, build: Callable[..., Dataset]) -> None:
    dataset = build()
    if not isinstance(dataset, ScreamDSprites):
        dataset.tables()
    content = pickle.dumps(dataset)
    assert len(content) < 3000
    assert torch.equal(pickle.loads(content).images(numbers(3)), dataset.images(numbers(3)))


@pytest.mark.parametrize("build", CLASSES)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": "x.npz"}, "path 'x.npz' is not read with source rendered"),
        ({"download": True}, "download needs source official, not rendered"),
        ({"source": "auto", "download": True}, "download needs source official, not auto"),
    ],
)
def test_refuses_contradictions(
    build: Callable[..., Dataset], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        build(**settings)


@pytest.mark.parametrize("build", CLASSES)
def test_variants_have_the_factors_of_dsprites_and_three_channels(
    build: Callable[..., Dataset],
) -> None:
    dataset = build()
    assert dataset.image_shape == (1 if build is DSprites else 3, 64, 64)
    assert dataset.factors is DSprites().factors


def test_there_is_at_least_one_hue() -> None:
    with pytest.raises(InputError, match="hues is 0"):
        ColorDSprites(hues=0)


@pytest.mark.gpu
@pytest.mark.parametrize("build", BUILDS)
def test_a_device_makes_the_same_images(dsprites: DSprites, build: Callable[..., Dataset]) -> None:
    dataset = build()
    index = numbers(100)
    tables = {name: table.cuda() for name, table in dataset.tables().items()}
    assert torch.equal(dataset.gather(tables, index.cuda()).cpu(), dataset.images(index))
