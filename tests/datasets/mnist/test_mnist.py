import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from dislab.datasets import MNIST
from dislab.datasets.files import published
from dislab.datasets.mnist import mnist
from dislab.errors import InputError
from dislab.testing import check_dataset

RANDOM = np.random.default_rng(0)
DIGITS: dict[mnist.Part, np.ndarray] = {
    "training": np.array([5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 6, 7, 8], dtype=np.uint8),
    "test": np.array([7, 2, 1, 0, 4, 1, 4, 9, 5, 9, 3, 6, 8], dtype=np.uint8),
}
IMAGES = {
    part: RANDOM.integers(256, size=(len(digits), 28, 28), dtype=np.uint8)
    for part, digits in DIGITS.items()
}


def idx(array: np.ndarray) -> bytes:
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim)
    return head + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write(folder: Path, packed: bool = True, **changed: bytes) -> None:
    """The four files; `changed` replaces the content of those named by part and kind."""
    folder.mkdir(exist_ok=True)
    for part, sources in mnist.SOURCES.items():
        for kind, source, array in zip(
            ("images", "labels"), sources, (IMAGES[part], DIGITS[part]), strict=True
        ):
            content = changed.get(f"{part}_{kind}", idx(array))
            name = source.names[not packed]
            (folder / name).write_bytes(gzip.compress(content) if packed else content)


@pytest.fixture
def tiny(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache folder, for a set of 13 images in each part."""
    for part, digits in DIGITS.items():
        counts = tuple(np.bincount(digits, minlength=10).tolist())
        monkeypatch.setitem(mnist.COUNTS, part, counts)
    mnist._states.cache_clear()
    yield cache
    mnist._states.cache_clear()


def test_states_are_known_without_a_file(cache: Path) -> None:
    space = MNIST().factors
    assert space.names == ("digit", "part", "instance")
    assert len(space) == 70_000
    assert [factor.nuisance for factor in space.factors] == [False, True, True]
    assert len(space.where({"part": "test"})) == 10_000
    assert len(space.where({"digit": 5, "part": "training"})) == 5421
    training = MNIST("training").factors
    assert training.names == ("digit", "instance")
    assert training.sizes == (10, 6742)
    assert len(training) == 60_000
    assert training.positions([0, 5922, 5923]).tolist() == [[0, 0], [0, 5922], [1, 0]]
    assert not cache.exists()


@pytest.mark.parametrize("packed", [True, False])
def test_images_are_sorted_by_digit_part_and_place_in_the_file(packed: bool, tiny: Path) -> None:
    write(tiny, packed)
    dataset = MNIST()
    check_dataset(dataset)
    seen: dict[tuple[int, int], int] = {}
    for part_number, part in enumerate(DIGITS):
        for digit, image in zip(DIGITS[part].tolist(), IMAGES[part], strict=True):
            instance = seen.get((digit, part_number), 0)
            seen[digit, part_number] = instance + 1
            state = dataset.factors.index([digit, part_number, instance])
            found = dataset.images(torch.tensor([int(state)]))
            assert torch.equal(found[0, 0], torch.from_numpy(image))


def test_a_part_alone_needs_its_files_only(tiny: Path, tmp_path: Path) -> None:
    write(tmp_path / "mine")
    for source in mnist.SOURCES["training"]:
        (tmp_path / "mine" / source.names[0]).unlink()
    dataset = MNIST("test", side=32, path=str(tmp_path / "mine"))
    check_dataset(dataset)
    images = dataset.images(torch.arange(13))
    order = np.argsort(DIGITS["test"], kind="stable")
    assert torch.equal(images[:, 0, 2:30, 2:30], torch.from_numpy(IMAGES["test"][order]))
    assert images.sum() == images[:, 0, 2:30, 2:30].sum()
    with pytest.raises(InputError, match=r"is no train-images-idx3-ubyte\.gz or "):
        MNIST(path=str(tmp_path / "mine")).prepare()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"test_images": idx(IMAGES["test"])[:-1]}, r"t10k-images.*it has 10191 elements instead"),
        ({"test_images": idx(IMAGES["test"][:5])}, "t10k-images.*it is no idx file of 13×28×28"),
        ({"test_labels": idx(IMAGES["test"])}, "t10k-labels.*it is no idx file of 13 bytes"),
        ({"test_labels": b""}, "t10k-labels.*it is no idx file"),
        (
            {"test_labels": idx(DIGITS["training"])},
            r"t10k-labels.*the digits 0, 1, … occur \[1, 3, .* times instead of \[1, 2, ",
        ),
    ],
)
def test_other_content_is_refused(changed: dict[str, bytes], message: str, tiny: Path) -> None:
    write(tiny, packed=True, **changed)
    with pytest.raises(InputError, match=message):
        MNIST().prepare()


def test_a_cut_packing_is_refused(tiny: Path) -> None:
    write(tiny)
    path = tiny / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"t10k-images-idx3-ubyte\.gz cannot be read"):
        MNIST().prepare()


def test_files_are_fetched_when_that_is_asked_for(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "server")
    fetched = []

    def fetch(url: str, path: Path, size: int, checksum: str) -> None:
        fetched.append((url, size, len(checksum)))
        path.write_bytes((tmp_path / "server" / url.rpartition("/")[2]).read_bytes())

    monkeypatch.setattr(published, "download", fetch)
    MNIST("test", download=True).prepare()
    MNIST("test", download=True).prepare()
    server = "https://ossci-datasets.s3.amazonaws.com/mnist"
    assert fetched == [
        (f"{server}/t10k-images-idx3-ubyte.gz", 1_648_877, 64),
        (f"{server}/t10k-labels-idx1-ubyte.gz", 4_542, 64),
    ]


def test_missing_files_are_explained(cache: Path) -> None:
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte.* is not in .*set download"):
        MNIST().prepare()
