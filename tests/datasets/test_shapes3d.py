import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from dislab.datasets import Shapes3D
from dislab.datasets import _shapes3d_file as published
from dislab.datasets import _shapes3d_render as renderer
from dislab.datasets.shapes3d import FACTORS
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.storage import sha256


@pytest.fixture(scope="session")
def shapes3d() -> Shapes3D:
    """The whole set, from the user's cache folder: its layers are drawn at most once a machine."""
    dataset = Shapes3D()
    dataset.prepare()
    return dataset


@pytest.fixture(scope="module")
def frames() -> tuple[np.ndarray, np.ndarray]:
    """25 published images and their positions."""
    with np.load(Path(__file__).parents[1] / "data/shapes3d_gif_25.npz") as archive:
        return archive["images"].transpose(0, 3, 1, 2), archive["labels_index"]


def drawn(dataset: Shapes3D, positions: np.ndarray) -> np.ndarray:
    """Images from layers of few geometries, without preparing the set."""
    geometry = positions[:, 3:]
    numbers = np.ravel_multi_index(tuple(geometry.T), renderer.GEOMETRIES)
    images = []
    for number, hues in zip(numbers, positions[:, :3], strict=True):
        start = int(number) * renderer.LAYERS
        rows = renderer.render_rows(start, start + renderer.LAYERS)
        # the first geometry in the place of this one
        index = torch.from_numpy(FACTORS.index([[*hues, 0, 0, 0]]))
        images.append(dataset.gather({"layers": torch.from_numpy(rows)}, index)[0].numpy())
    return np.stack(images)


def test_factors_are_the_published_ones() -> None:
    space = Shapes3D().factors
    assert space.names == (
        "floor_hue",
        "wall_hue",
        "object_hue",
        "scale",
        "shape",
        "orientation",
    )
    assert space.sizes == (10, 10, 10, 8, 4, 15)
    assert len(space) == 480_000
    # the last line of labels in the published file
    assert space.values(space.positions([479_999]))[0].tolist() == pytest.approx(
        [0.9, 0.9, 0.9, 1.25, 3, 30]
    )


def test_resembles_published_frames(frames: tuple[np.ndarray, np.ndarray]) -> None:
    published, positions = frames
    difference = np.abs(drawn(Shapes3D(), positions).astype(int) - published.astype(int))
    errors = difference.mean(axis=(1, 2, 3))
    assert errors.mean() < 5.6
    assert errors.max() < 6.9
    # with the wrong hue of the object alone, they resemble them less
    other = positions.copy()
    other[:, 2] = (other[:, 2] + 1) % 10
    changed = np.abs(drawn(Shapes3D(), other).astype(int) - published.astype(int))
    assert (changed.mean(axis=(1, 2, 3)) > errors).all()


def test_layers_never_add_up_beyond_white() -> None:
    for geometry in (0, 133, 479):
        layers = renderer.render(geometry).int()
        groups = layers[1:].view(3, renderer.HUES, 3, 64, 64).amax(1).sum(0)
        assert (layers[0] + groups).max() <= 255


def test_materials_share_pixels_at_their_edges_only() -> None:
    layers = renderer.render(200)
    present = torch.stack([layers[0], *layers[1:].view(3, 10, 3, 64, 64).amax(1)]).amax(1) > 0
    assert (present.sum(0) >= 1).all()
    assert (present.sum(0) > 1).float().mean() < 0.1
    assert all(part.any() for part in present)


def test_the_room_turns_and_the_light_does_not() -> None:
    # without a turn the walls and the floor are symmetric, but the shadow falls to the right
    layers = renderer.render(2 * 15 + 7).int()
    wall = layers[11]
    assert (wall - wall.flip(-1)).abs().float().mean() < 1
    floor = layers[1].sum(0)
    right, left = floor[40:50, 40:46].float().mean(), floor[40:50, 18:24].float().mean()
    assert right < 0.9 * left


def test_rows_do_not_depend_on_the_block() -> None:
    size = renderer.LAYERS
    both = renderer.render_rows(3 * size, 5 * size)
    assert both.shape == (2 * size, 64 * 64 * 3)
    assert np.array_equal(both[size:], renderer.render_rows(4 * size, 5 * size))


def test_constructing_touches_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    dataset = Shapes3D()
    assert dataset.image_shape == (3, 64, 64)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(InputError, match="does not exist; prepare the data set first"):
        dataset.tables()


def test_cache_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    (tmp_path / "shapes3d").touch()
    with pytest.raises(
        InputError, match=r"shapes3d cannot be written to: .*; name another cache.*DISLAB_CACHE"
    ):
        Shapes3D().prepare()


def test_whole_set_has_the_published_brightness(shapes3d: Shapes3D) -> None:
    index = torch.from_numpy(np.random.default_rng(0).integers(480_000, size=2000))
    images = shapes3d.images(index).double() / 255
    # published means of the three channels, and means of the deviations within an image
    assert images.mean((0, 2, 3)).tolist() == pytest.approx([0.5026, 0.5788, 0.6034], abs=0.02)
    deviation = images.flatten(2).std(2).mean(0)
    assert deviation.tolist() == pytest.approx([0.2941, 0.3444, 0.3662], abs=0.02)


def test_images_are_those_of_the_renderer(shapes3d: Shapes3D) -> None:
    index = torch.tensor([0, 5, 4_799, 123_456, 400_123, 479_999])
    expected = drawn(shapes3d, FACTORS.positions(index.numpy()))
    assert np.array_equal(shapes3d.images(index).numpy(), expected)


def test_provenance_and_pickle(shapes3d: Shapes3D) -> None:
    record = shapes3d.provenance()
    assert record["source"] == "rendered look-alike"
    assert set(record) == {"source", "renderer", "sha256"}
    assert json.dumps(record)
    shapes3d.tables()
    assert len(pickle.dumps(shapes3d)) < 1000


IMAGES = np.random.default_rng(0).integers(256, size=(120, 64, 64, 3), dtype=np.uint8)


@pytest.fixture
def official(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file like the published one, of 120 states that differ in the last three factors."""
    small = (2, 1, 1, 1, 4, 15)
    space = FactorSpace(
        tuple(
            replace(factor, values=factor.values[:size])
            for factor, size in zip(FACTORS.factors, small, strict=True)
        )
    )
    values = tuple(one[:size] for one, size in zip(published.VALUES, small, strict=True))
    path = tmp_path / "3dshapes.h5"
    with h5py.File(path, "w") as file:
        file["images"] = IMAGES
        file["labels"] = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(120, 6)
    monkeypatch.setattr(published, "VALUES", values)
    source = published.SOURCE._replace(checksum=sha256(path))
    monkeypatch.setattr(published, "SOURCE", source)
    monkeypatch.setattr("dislab.datasets.shapes3d.FACTORS", space)
    return path


@pytest.mark.parametrize("source", ["official", "auto"])
def test_published_images_from_a_path(source: Any, official: Path, cache: Path) -> None:
    dataset = Shapes3D(source=source, path=str(official))
    dataset.prepare()
    index = torch.tensor([119, 0, 61])
    expected = torch.from_numpy(IMAGES[index.numpy()].transpose(0, 3, 1, 2))
    assert torch.equal(dataset.images(index), expected)
    assert dataset.provenance()["source"] == "official"
    assert dataset.provenance()["file"] == "3dshapes.h5"
    # afterwards neither the file nor its place is needed
    official.unlink()
    assert torch.equal(Shapes3D(source="auto").images(index), expected)
    assert not list(cache.glob("shapes3d/rendered*"))


def test_published_file_in_the_cache_folder(official: Path, cache: Path) -> None:
    cache.mkdir()
    official.rename(cache / "3dshapes.h5")
    dataset = Shapes3D(source="auto")
    dataset.prepare()
    assert dataset.tables().keys() == {"images"}


def test_published_file_that_is_missing_or_not_wanted(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match=r"3dshapes\.h5 is not in .*or set download to true"):
        Shapes3D(source="official").prepare()
    with pytest.raises(InputError, match=r"there is no 3dshapes\.h5 at .*other"):
        Shapes3D(source="auto", path=str(tmp_path / "other")).prepare()
    with pytest.raises(InputError, match=r"path 'a\.h5' is not read with source rendered"):
        Shapes3D(path="a.h5")
    with pytest.raises(InputError, match="download needs source official, not auto"):
        Shapes3D(source="auto", download=True)
    # neither found nor asked for: drawn
    assert Shapes3D(source="auto")._plan() == Shapes3D()._plan()


@pytest.mark.gpu
def test_gathering_on_a_device_equals_the_host(shapes3d: Shapes3D) -> None:
    index = torch.from_numpy(np.random.default_rng(0).integers(480_000, size=100))
    tables = {name: table.cuda() for name, table in shapes3d.tables().items()}
    assert torch.equal(shapes3d.gather(tables, index.cuda()).cpu(), shapes3d.images(index))
