import math
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab.datasets import MPI3D, mpi3d
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.testing import check_dataset

TINY = FactorSpace(
    (Factor("object_color", ("white", "red"), "categorical"), Factor("x", (0.0, 1.0, 2.0)))
)
IMAGES = np.random.default_rng(0).integers(256, size=(6, 64, 64, 3), dtype=np.uint8)


@pytest.fixture
def tiny(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, for a set of six images."""
    monkeypatch.setattr(mpi3d, "SIMPLE", TINY)
    cache.mkdir()
    return cache


@pytest.mark.parametrize(
    ("variant", "sizes", "count"),
    [
        ("toy", (6, 6, 2, 3, 3, 40, 40), 1_036_800),
        ("realistic", (6, 6, 2, 3, 3, 40, 40), 1_036_800),
        ("real", (6, 6, 2, 3, 3, 40, 40), 1_036_800),
        ("real_complex", (4, 4, 2, 3, 3, 40, 40), 460_800),
    ],
)
def test_states_are_those_of_the_public_files(
    variant: mpi3d.Variant, sizes: tuple[int, ...], count: int, cache: Path
) -> None:
    dataset = MPI3D(variant)
    assert dataset.factors.sizes == sizes
    assert len(dataset.factors) == count == math.prod(sizes)
    assert not cache.exists()


def test_the_published_index_of_a_state() -> None:
    # of the publishers' formula: one step of colour, shape, size, height, background, horizontal
    steps = [172_800, 28_800, 14_400, 4_800, 1_600, 40, 1]
    positions = np.eye(7, dtype=int)
    assert MPI3D().factors.index(positions).tolist() == steps
    assert MPI3D().factors.positions([sum(steps)]).tolist() == [[1] * 7]


def test_images_are_in_the_published_order(tiny: Path) -> None:
    np.savez(tiny / "mpi3d_toy.npz", images=IMAGES)
    dataset = MPI3D()
    check_dataset(dataset)
    index = torch.tensor([5, 0, 3])
    expected = torch.from_numpy(IMAGES).permute(0, 3, 1, 2)[index]
    assert torch.equal(dataset.images(index), expected)
    record = dataset.provenance()
    assert record["file"] == "mpi3d_toy.npz"
    assert len(record["sha256"]) == 64
    (tiny / "mpi3d_toy.npz").unlink()
    dataset.prepare()
    content = pickle.dumps(dataset)
    assert len(content) < 2000
    assert torch.equal(pickle.loads(content).images(index), expected)


def test_variants_do_not_share_a_bank(tiny: Path) -> None:
    np.savez(tiny / "mpi3d_toy.npz", images=IMAGES)
    np.savez(tiny / "mpi3d_real.npz", images=IMAGES[::-1])
    toy, real = MPI3D("toy"), MPI3D("real")
    toy.prepare()
    real.prepare()
    index = torch.arange(6)
    assert torch.equal(toy.images(index), real.images(5 - index))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pictures": IMAGES}, "it has no array images, only pictures.npy"),
        ({"images": IMAGES[:5]}, r"images is uint8 of shape \(5, 64, 64, 3\) instead of"),
        ({"images": IMAGES.astype(np.float32)}, "images is float32"),
        ({"images": IMAGES.astype(object)}, "images is pickled objects"),
    ],
)
def test_another_structure_is_refused(
    arrays: dict[str, Any], message: str, tiny: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    dataset = MPI3D(path=str(path))
    with pytest.raises(InputError, match=rf"mine\.npz is not the published file: {message}"):
        dataset.prepare()
    with pytest.raises(InputError, match="prepare the data set first"):
        dataset.tables()


def test_a_cut_or_altered_file_is_refused(tiny: Path) -> None:
    path = tiny / "mpi3d_toy.npz"
    np.savez(path, images=IMAGES)
    content = path.read_bytes()
    path.write_bytes(content[:-5000])
    with pytest.raises(InputError, match=r"mpi3d_toy\.npz cannot be read: .*cut or altered"):
        MPI3D().prepare()
    altered = bytearray(content)
    altered[30_000] ^= 1
    path.write_bytes(altered)
    with pytest.raises(InputError, match=r"cannot be read: Bad CRC-32"):
        MPI3D().prepare()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images.npy", b"\x93NUMPY")
    with pytest.raises(InputError, match="images has no valid header"):
        MPI3D().prepare()


@pytest.mark.parametrize(
    ("variant", "download", "parts"),
    [
        ("toy", False, ("mpi3d_toy.npz is not in", "or set download to true")),
        ("real_complex", True, ("real3d_complicated_shapes_ordered.npz", "cannot be downloaded")),
    ],
)
def test_a_missing_file_is_explained(
    variant: mpi3d.Variant, download: bool, parts: tuple[str, ...], cache: Path
) -> None:
    with pytest.raises(InputError) as caught:
        MPI3D(variant, download=download).prepare()
    for part in (*parts, str(cache), "github.com/rr-learning"):
        assert part in str(caught.value)
