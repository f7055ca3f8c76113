import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.io import savemat

from dislab.datasets import Cars3D, cars3d
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.testing import check_dataset

TINY = FactorSpace(
    (
        Factor("elevation", (0.0, 1.0)),
        Factor("azimuth", (0.0, 120.0, 240.0), "circular", "deg", 360.0),
        Factor("object", (0.0, 1.0, 2.0), "categorical"),
    )
)
# height, width, channel, azimuth, elevation; as published
MESHES = np.random.default_rng(0).integers(256, size=(3, 128, 128, 3, 3, 2), dtype=np.uint8)
NUMBERS = (2, 10, 9)


def mat(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    savemat(stream, arrays, do_compression=True)
    return stream.getvalue()


def files() -> dict[str, bytes]:
    masks = np.zeros((128, 128, 3, 2))
    cars = {
        f"data/cars/car_{number:03d}_mesh.mat": mat(im=mesh, mask=masks)
        for number, mesh in zip(NUMBERS, MESHES, strict=True)
    }
    return {"data/cars/list.txt": b"car_002_mesh\n", **cars, "data/shapes48.mat": mat(x=[1.0])}


def folder(path: Path, contents: dict[str, bytes]) -> None:
    for name, content in contents.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)


def archive(path: Path, contents: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as packed:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))


@pytest.fixture
def tiny(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, for a set of three cars."""
    monkeypatch.setattr(cars3d, "FACTORS", TINY)
    cache.mkdir()
    return cache


def test_states_are_the_published_ones(cache: Path) -> None:
    space = Cars3D().factors
    assert space.names == ("elevation", "azimuth", "object")
    assert space.sizes == (4, 24, 183)
    assert len(space) == 17_568
    assert space["azimuth"].values[23] == 345
    assert not cache.exists()


@pytest.mark.parametrize("write", [archive, folder])
def test_cars_are_sorted_by_number_and_views_by_angle(
    write: Callable[[Path, dict[str, bytes]], None], tiny: Path
) -> None:
    write(tiny / cars3d.SOURCE.names[write is folder], files())
    dataset = Cars3D(side=128)
    check_dataset(dataset)
    images = dataset.images(torch.arange(18))
    for state, (elevation, azimuth, car) in enumerate(TINY.positions(np.arange(18))):
        mesh = MESHES[[0, 2, 1][car]]
        expected = torch.from_numpy(mesh[..., azimuth, elevation]).permute(2, 0, 1)
        assert torch.equal(images[state], expected)


def test_images_are_brought_to_the_side(tiny: Path) -> None:
    folder(tiny / "nips2015-analogy-data", files())
    small, whole = Cars3D(), Cars3D(side=128)
    for dataset in (small, whole):
        dataset.prepare()
    image, large = small.images(torch.tensor([7])), whole.images(torch.tensor([7]))
    assert small.image_shape == image.shape[1:] == (3, 64, 64)
    # away from the edge, a triangle of 1/8, 3/8, 3/8, 1/8 in each direction
    weights = torch.tensor([1, 3, 3, 1]) / 8
    patch = large[0, :, 19:23, 39:43].float()
    assert (
        image[0, :, 10, 20] - torch.einsum("cyx,y,x->c", patch, weights, weights)
    ).abs().max() < 1.01


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data/cars/car_009_mesh.mat": None}, "it holds 2 files car_.*_mesh.mat instead of 3"),
        ({"data/cars/car_009_mesh.mat": b"MATLAB 5.0"}, "car_009_mesh.mat cannot be read"),
        ({"data/cars/car_009_mesh.mat": mat(mask=[1.0])}, "car_009_mesh.mat cannot be read: KeyEr"),
        (
            {"data/cars/car_009_mesh.mat": mat(im=MESHES[0, :100])},
            r"im in .*car_009_mesh.mat is uint8 of shape \(100, ",
        ),
        ({"data/cars/car_009_mesh.mat": mat(im=MESHES[0].astype(float))}, "is float64 of shape"),
    ],
)
def test_other_content_is_refused(
    change: dict[str, bytes | None], message: str, tiny: Path
) -> None:
    contents = {name: one for name, one in {**files(), **change}.items() if one is not None}
    archive(tiny / cars3d.SOURCE.names[0], contents)
    with pytest.raises(InputError, match=rf"tar\.gz is not the published file: .*{message}"):
        Cars3D().prepare()


def test_a_cut_archive_is_refused(tiny: Path) -> None:
    path = tiny / cars3d.SOURCE.names[0]
    archive(path, files())
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InputError, match=r"tar\.gz cannot be read: .*cut or altered"):
        Cars3D().prepare()


def test_a_missing_archive_and_an_impossible_side_are_explained(cache: Path) -> None:
    with pytest.raises(
        InputError, match=r"nips2015-analogy-data\.tar\.gz or .* is not in .*scottreed"
    ):
        Cars3D().prepare()
    with pytest.raises(InputError, match="side 129 is not possible"):
        Cars3D(side=129)
