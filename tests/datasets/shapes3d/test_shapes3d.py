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
from dislab.datasets.bank.bank import Blocks
from dislab.datasets.shapes3d import _render as renderer
from dislab.datasets.shapes3d import shapes3d as published
from dislab.datasets.shapes3d.shapes3d import FACTORS
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
    with np.load(Path(__file__).parents[2] / "data/shapes3d_gif_25.npz") as archive:
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


@pytest.fixture(scope="module")
def frames_drawn(frames: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Drawn images of the states of the published ones."""
    return drawn(Shapes3D(), frames[1]).astype(int)


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


@pytest.mark.slow
def test_resembles_published_frames(
    frames: tuple[np.ndarray, np.ndarray], frames_drawn: np.ndarray
) -> None:
    published, positions = frames
    errors = np.abs(frames_drawn - published.astype(int)).mean(axis=(1, 2, 3))
    assert errors.mean() < 3.1
    assert errors.max() < 4.3
    # with the wrong hue of the object alone, they resemble them less
    other = positions.copy()
    other[:, 2] = (other[:, 2] + 1) % 10
    changed = np.abs(drawn(Shapes3D(), other).astype(int) - published.astype(int))
    assert (changed.mean(axis=(1, 2, 3)) > errors).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "rows", "columns", "most"),
    [
        pytest.param(slice(19, 25), slice(53, 56), slice(31, 42), 4, id="shadow of the capsule"),
        pytest.param(slice(0, 25), slice(15, 20), slice(1, 63), 7, id="top edge of the walls"),
        pytest.param(slice(1, 6), slice(22, 38), slice(44, 63), 6, id="side wall and its corner"),
        pytest.param(slice(0, 25), slice(22, 36), slice(1, 63), 3.5, id="wall"),
        pytest.param(slice(0, 25), slice(44, 63), slice(1, 63), 3, id="floor"),
        pytest.param(slice(15, 16), slice(38, 53), slice(24, 40), 7, id="cylinder"),
        pytest.param(slice(17, 25), slice(30, 45), slice(24, 44), 5, id="capsule"),
    ],
)
def test_parts_resemble_those_of_published_frames(
    chosen: slice,
    rows: slice,
    columns: slice,
    most: float,
    frames: tuple[np.ndarray, np.ndarray],
    frames_drawn: np.ndarray,
) -> None:
    difference = np.abs(frames_drawn - frames[0].astype(int))
    assert difference[chosen, :, rows, columns].mean() < most


@pytest.mark.parametrize(
    "look", [renderer.PUBLISHED, renderer.EVENING], ids=["published", "evening"]
)
def test_layers_never_add_up_beyond_white(look: renderer.Look) -> None:
    for geometry in (0, 133, 479):
        layers = renderer.render(geometry, look=look).int()
        groups = layers[1:].view(3, renderer.HUES, 3, 64, 64).amax(1).sum(0)
        assert (layers[0] + groups).max() <= 255


def test_materials_share_pixels_at_their_edges_only() -> None:
    layers = renderer.render(200)
    present = torch.stack([layers[0], *layers[1:].view(3, 10, 3, 64, 64).amax(1)]).amax(1) > 0
    assert (present.sum(0) >= 1).all()
    assert (present.sum(0) > 1).float().mean() < 0.1
    assert all(part.any() for part in present)


@pytest.mark.parametrize("orientation", [0, 7, 14])
def test_the_shadow_falls_to_the_right(orientation: int) -> None:
    largest_capsule = 7 * 60 + 3 * 15
    red = renderer.render(largest_capsule + orientation).int()[1, 0]
    # the floor is nowhere as dark as in the shadow
    columns = ((red > 80) & (red < 100)).nonzero()[:, 1].float()
    assert len(columns) > 50
    assert columns.mean() > 36


def test_the_lamp_turns_with_the_room_and_the_headlight_does_not() -> None:
    first, straight, last = (renderer.render(15 * 2 + turn).int() for turn in (0, 7, 14))
    # the lamp hangs on the left, and before the sphere for the first camera only
    left = [layers[21][0, 40:52, 26:30].float().mean() for layers in (first, straight, last)]
    assert left[0] > left[1] > left[2]
    # the wall that faces the camera is brightest, and each wall is even
    assert straight[11][0, 30, 32] > first[11][0, 30, 20] > first[11][0, 30, 55]
    assert first[11][0, 30, 50:60].float().std() < 4


def test_the_evening_has_the_same_states_in_another_light() -> None:
    largest_capsule = 7 * 60 + 3 * 15 + 7
    day, evening = (
        renderer.render(largest_capsule, look=look).int()
        for look in (renderer.PUBLISHED, renderer.EVENING)
    )
    # every material covers the same pixels
    covered = [layers.view(renderer.LAYERS, -1).bool() for layers in (day, evening)]
    assert (covered[0] != covered[1]).float().mean() < 1e-3
    assert (day - evening)[covered[0].view_as(day)].float().mean() > 20
    # white light becomes warm: the same colour has less green, and still less blue
    red_green_blue = [0, 3, 7], [0, 1, 2]
    by_day, by_evening = (layers[1:11][red_green_blue].sum((1, 2)) for layers in (day, evening))
    assert by_day[0] == by_day[1] == by_day[2]
    assert by_evening[0] > by_evening[1] > by_evening[2]
    # the shadow, the darkest part of a red floor, falls to the other side
    columns = []
    for floor in (day[1, 0, 44:60], evening[1, 0, 44:60]):
        lit = floor[floor > 0].float().median()
        columns.append(((floor > 0) & (floor < 0.7 * lit)).nonzero()[:, 1].float().mean())
    assert columns[1] < 32 < columns[0]


def test_the_evening_is_another_bank_of_the_cache(cache: Path) -> None:
    day, evening = Shapes3D()._spec(), Shapes3D(look="evening")._spec()
    assert day.path.name == "rendered-2.npy"
    assert evening.path.name == "rendered-2-evening.npy"
    assert set(day.origin) == {"source", "renderer"}
    assert evening.origin == {**day.origin, "look": "evening"}
    assert isinstance(evening.blocks, Blocks)
    rows = evening.blocks.make(0, renderer.LAYERS)
    assert np.array_equal(rows, renderer.render_rows(0, renderer.LAYERS, renderer.EVENING))


@pytest.mark.parametrize("source", ["official", "auto"])
def test_published_images_have_no_evening(source: Any) -> None:
    with pytest.raises(InputError, match=f"needs source rendered, not {source}"):
        Shapes3D(source=source, look="evening")
    with pytest.raises(InputError, match="look is 'night'; choose one of published, evening"):
        Shapes3D(look="night")  # type: ignore[arg-type]


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


@pytest.mark.slow
def test_whole_set_has_the_published_brightness(shapes3d: Shapes3D) -> None:
    layers = shapes3d.tables()["layers"].view(480, renderer.LAYERS, 3, -1)
    levels = layers.sum(-1).double().mean(0) / (255 * layers.shape[-1])
    # every image is the sky and one hue each of floor, wall and object
    means = levels[0] + levels[1:].view(3, renderer.HUES, 3).mean(1).sum(0)
    assert means.tolist() == pytest.approx([0.5026, 0.5788, 0.6034], abs=0.004)
    index = torch.from_numpy(np.random.default_rng(0).integers(480_000, size=2000))
    deviation = (shapes3d.images(index).double() / 255).flatten(2).std(2).mean(0)
    assert deviation.tolist() == pytest.approx([0.2941, 0.3444, 0.3662], abs=0.008)


@pytest.mark.slow
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
    monkeypatch.setattr("dislab.datasets.shapes3d.shapes3d.FACTORS", space)
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
    with pytest.raises(InputError, match=r"other is no 3dshapes\.h5"):
        Shapes3D(source="auto", path=str(tmp_path / "other")).prepare()
    with pytest.raises(InputError, match=r"path 'a\.h5' is not read with source rendered"):
        Shapes3D(path="a.h5")
    with pytest.raises(InputError, match="download needs source official, not auto"):
        Shapes3D(source="auto", download=True)
    # neither found nor asked for: drawn
    assert Shapes3D(source="auto")._spec() == Shapes3D()._spec()


@pytest.mark.gpu
def test_gathering_on_a_device_equals_the_host(shapes3d: Shapes3D) -> None:
    index = torch.from_numpy(np.random.default_rng(0).integers(480_000, size=100))
    tables = {name: table.cuda() for name, table in shapes3d.tables().items()}
    assert torch.equal(shapes3d.gather(tables, index.cuda()).cpu(), shapes3d.images(index))
