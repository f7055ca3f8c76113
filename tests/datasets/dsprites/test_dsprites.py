import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from dislab.datasets import DSprites
from dislab.datasets.dsprites._render import render
from dislab.datasets.dsprites._sprites import FILE_NAME, WHITE_PIXELS, unpacked
from dislab.errors import InputError


def test_factors_are_the_published_ones() -> None:
    space = DSprites().factors
    assert space.names == ("shape", "scale", "orientation", "posX", "posY")
    assert space.sizes == (3, 6, 40, 32, 32)
    assert len(space) == 737_280
    assert [factor.kind for factor in space.factors] == [
        "categorical",
        "ordinal",
        "circular",
        "ordinal",
        "ordinal",
    ]
    # the first and the last line of latents_values in the published file, without the colour
    assert space.values(space.positions([0, 737_279])).tolist() == [
        [0, 0.5, 0, 0, 0],
        [2, 1, 2 * np.pi, 1, 1],
    ]
    # 120 degrees is the value number 13
    assert space["orientation"].numbers[13] == pytest.approx(2 * np.pi / 3)


def test_images_are_those_of_the_renderer(dsprites: DSprites) -> None:
    index = torch.from_numpy(np.random.default_rng(0).integers(737_280, size=200))
    images = dsprites.images(index)
    assert images.shape == (200, 1, 64, 64)
    drawn = torch.from_numpy(render(dsprites.factors.positions(index.numpy())))
    assert torch.equal(images[:, 0], drawn * torch.tensor(255, dtype=torch.uint8))


def test_unpacking_by_shifts_equals_numpy() -> None:
    rows = torch.arange(256, dtype=torch.uint8).view(2, 128)
    expected = np.unpackbits(rows.numpy(), axis=1)
    assert torch.equal(unpacked(rows).view(2, 1024), torch.from_numpy(expected))


@pytest.mark.gpu
def test_gathering_on_a_device_equals_the_host(dsprites: DSprites) -> None:
    index = torch.from_numpy(np.random.default_rng(0).integers(737_280, size=100))
    tables = {name: table.cuda() for name, table in dsprites.tables().items()}
    images = dsprites.images(index)
    assert torch.equal(dsprites.gather(tables, index.cuda()).cpu(), images)
    assert torch.equal(dsprites.scaled(tables, index.cuda()).cpu(), images / 255)


def test_whole_turns_have_one_canonical_state(dsprites: DSprites) -> None:
    states = np.arange(737_280)
    canonical = dsprites.canonical(states)
    moved = canonical != states
    assert moved.sum() == 3 * 6 * 32 * 32 == 18_432
    assert np.array_equal(dsprites.canonical(canonical), canonical)
    assert (canonical <= states).all()
    assert set(dsprites.factors.positions(states[moved])[:, 2]) == {39}
    bits = dsprites.tables()["bits"]
    assert torch.equal(bits[torch.from_numpy(canonical[moved])], bits[torch.from_numpy(moved)])


def test_whole_set_has_the_published_brightness(dsprites: DSprites) -> None:
    words = dsprites.tables()["bits"].numpy().view(np.uint64)
    pixels = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    assert pixels.reshape(3, -1).sum(axis=1).tolist() == [53_612_886, 42_070_950, 32_645_028]
    # two more than published
    assert pixels.sum() == WHITE_PIXELS + 2 == 128_328_864
    assert dsprites.provenance()["white_pixels"] == "128328864"
    # the published mean over all images of the deviation within an image
    deviation = np.sqrt(pixels * (4096 - pixels) / (4096 * 4095)).mean()
    assert deviation == pytest.approx(0.19516645880626, abs=5e-9)


@pytest.mark.slow
def test_images_that_occur_twice(dsprites: DSprites) -> None:
    rows = dsprites.tables()["bits"].numpy().view("V512").reshape(3, 6, 40, 1024)
    assert np.array_equal(rows[:, :, 0], rows[:, :, 39])
    others = [shape[:, :39].size - len(np.unique(shape[:, :39])) for shape in rows]
    assert others == [2620, 522, 0]


def test_provenance_names_source_and_version(dsprites: DSprites) -> None:
    record = dsprites.provenance()
    assert record["source"] == "rendered"
    assert record["renderer"] == "2"
    assert len(record["sha256"]) == 64


def test_constructing_touches_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    sources: list[Literal["rendered", "official", "auto"]] = ["rendered", "official", "auto"]
    for source in sources:
        dataset = DSprites(source)
        assert dataset.image_shape == (1, 64, 64)
        assert len(dataset.factors) == 737_280
    assert not (tmp_path / "cache").exists()
    with pytest.raises(InputError, match="does not exist; prepare the data set first"):
        dataset.tables()
    with pytest.raises(InputError, match="prepare the data set first"):
        dataset.provenance()


def test_missing_official_file_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    with pytest.raises(InputError) as caught:
        DSprites("official").prepare()
    for part in (str(tmp_path / FILE_NAME), "github.com", "download", "source to rendered"):
        assert part in str(caught.value)
    missing = DSprites("official", path=str(tmp_path / "mine.npz"))
    with pytest.raises(InputError, match=r"the file .*mine\.npz does not exist"):
        missing.prepare()


@pytest.mark.parametrize("source", ["official", "auto"])
def test_official_file_is_found_and_checked(
    source: Literal["official", "auto"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    with zipfile.ZipFile(tmp_path / FILE_NAME, "w") as archive:
        archive.writestr("imgs.npy", b"")
    with pytest.raises(InputError, match="not the published dSprites archive"):
        DSprites(source).prepare()
