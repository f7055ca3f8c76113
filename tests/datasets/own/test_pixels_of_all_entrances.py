"""Every data set of one's own × images that would be read wrongly."""

import importlib.util
import io
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, TiffImagePlugin
from torch.utils.data import TensorDataset

from dislab.base import Dataset
from dislab.base.pixels import PixelWarning
from dislab.datasets import (
    ArrayDataset,
    FolderDataset,
    HuggingFaceDataset,
    NumpyDataset,
    ScreamDSprites,
    TorchDataset,
)
from dislab.errors import InputError

needs_datasets = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="needs the extra huggingface"
)
SIDE = 12
RAMP = np.linspace(0, 1, 10 * SIDE * SIDE).reshape(10, SIDE, SIDE)
MASK = np.random.default_rng(0).random((10, SIDE, SIDE)) > 0.5


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    if importlib.util.find_spec("datasets") is not None:
        import datasets

        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
        datasets.disable_progress_bars()


class Items(torch.utils.data.Dataset[Any]):
    """The items of a list."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, number: int) -> Any:
        return self.items[number]


def array(images: np.ndarray, folder: Path) -> Dataset:
    return ArrayDataset(images)


def mapped(images: np.ndarray, folder: Path) -> Dataset:
    np.save(folder / "a.npy", images)
    return ArrayDataset(np.load(folder / "a.npy", mmap_mode="r"))


def npy(images: np.ndarray, folder: Path) -> Dataset:
    np.save(folder / "a.npy", images)
    return NumpyDataset(str(folder / "a.npy"))


def npz(images: np.ndarray, folder: Path) -> Dataset:
    np.savez(folder / "a.npz", images=images)
    return NumpyDataset(str(folder / "a.npz"))


def compressed(images: np.ndarray, folder: Path) -> Dataset:
    np.savez_compressed(folder / "a.npz", images=images)
    return NumpyDataset(str(folder / "a.npz"))


def tensors(images: np.ndarray, folder: Path) -> Dataset:
    return TorchDataset(TensorDataset(torch.from_numpy(images[:, None])))


def pictures(images: np.ndarray, folder: Path) -> Dataset:
    return TorchDataset(Items([Image.fromarray(one) for one in images]))


def files(images: np.ndarray, folder: Path) -> Dataset:
    (folder / "images").mkdir()
    for number, one in enumerate(images):
        Image.fromarray(one).save(folder / f"images/{number}.png")
    return FolderDataset(str(folder / "images"), table=None)


def hugging_face(images: np.ndarray, folder: Path) -> Dataset:
    import datasets

    features = datasets.Features(image=datasets.Image())
    rows = {"image": [Image.fromarray(one) for one in images]}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(folder / "saved")
    return HuggingFaceDataset(str(folder / "saved"))


ARRAYS = [array, mapped, npy, npz, compressed, tensors]
PICTURES = [pictures, files, pytest.param(hugging_face, marks=needs_datasets)]


def brightest(dataset: Dataset) -> int:
    dataset.prepare()
    return int(dataset.images(torch.arange(len(dataset.factors))).max())


@pytest.mark.parametrize("entrance", ARRAYS + PICTURES)
def test_bytes_0_and_1_are_no_black_images(entrance: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"images .* are uint8 from 0 to 1: make|images are uint8"):
        brightest(entrance(MASK.astype(np.uint8), tmp_path))
    assert not list(tmp_path.glob("cache/numpy_dataset/*.npy"))


@pytest.mark.parametrize("entrance", ARRAYS)
def test_booleans_are_black_and_white(entrance: Any, tmp_path: Path) -> None:
    assert brightest(entrance(MASK, tmp_path)) == 255


@pytest.mark.parametrize("entrance", ARRAYS + PICTURES)
def test_images_that_are_all_equal_are_named(entrance: Any, tmp_path: Path) -> None:
    equal = np.full((10, SIDE, SIDE), 200, np.uint8)
    with pytest.warns(PixelWarning, match="all 10 images.* are equal"):
        assert brightest(entrance(equal, tmp_path)) == 200


@pytest.mark.parametrize("entrance", ARRAYS + PICTURES)
def test_images_of_four_bits_are_named(entrance: Any, tmp_path: Path) -> None:
    dark = (RAMP * 15).round().astype(np.uint8)
    with pytest.warns(PixelWarning, match="almost black, with pixels from 0 to 15 of 255"):
        assert brightest(entrance(dark, tmp_path)) == 15


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ((RAMP * 4095).astype(np.uint16), "uint16 from 0 to .*: divide them by the largest poss"),
        ((RAMP * 4095 - 1024).astype(np.int16), r"int16 from -\d+ to .*\(images - low\)"),
        ((RAMP * 255 - 128).astype(np.int8), r"int8 from -\d+ to .*\(images - low\)"),
        ((RAMP * 255).astype(np.int64), r"int64 from 0 to .*: .*images\.astype\('uint8'\)"),
        (RAMP * 255, "float64 from 0 to .*: divide them by the largest possible value"),
        (RAMP * 2 - 1, r"float64 from -.* to .*: map .*\(images \+ 1\) / 2"),
        (RAMP * np.nan, "hold NaN or infinity; leave out such images"),
    ],
)
@pytest.mark.parametrize("entrance", ARRAYS)
def test_pixels_out_of_range_get_a_remedy_that_does_not_wrap(
    images: np.ndarray, message: str, entrance: Any, tmp_path: Path
) -> None:
    if entrance is tensors:  # looks at one item at a time
        message = message.replace(r"images\.astype\('uint8'\)", "divide them by the largest poss")
    with pytest.raises(InputError, match=message) as caught:
        brightest(entrance(images, tmp_path))
    assert ("astype('uint8')" in str(caught.value)) is (
        images.dtype == np.int64 and entrance is not tensors
    )


def deep_png(path: Path, channels: int) -> None:
    """A PNG file with 16 bits a channel, which Pillow writes for grey images only."""
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    row = b"\0" + np.full(SIDE * channels, 40_000, ">u2").tobytes()

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", SIDE, SIDE, 16, kind, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * SIDE))
    )


def deep_ppm(path: Path) -> None:
    pixels = np.full(3 * SIDE * SIDE, 40_000, ">u2").tobytes()
    path.write_bytes(f"P6\n{SIDE} {SIDE}\n65535\n".encode() + pixels)


def deep_tiff(path: Path) -> None:
    """A colour TIFF file with 16 bits a channel, which Pillow cannot write."""
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    pixels = np.full((SIDE, SIDE, 3), 40_000, "<u2").tobytes()
    entries = {256: SIDE, 257: SIDE, 258: (16, 16, 16), 259: 1, 262: 2, 277: 3, 278: SIDE}
    for tag, value in {**entries, 273: 8, 279: len(pixels)}.items():
        tags[tag] = value
    start = 8 + len(pixels)
    path.write_bytes(b"II*\0" + struct.pack("<I", start) + pixels + tags.tobytes(start))


def pages(path: Path) -> None:
    first, second = (Image.new("RGB", (SIDE, SIDE), (shade, 0, 0)) for shade in (0, 200))
    first.save(path, save_all=True, append_images=[second, first])


def glyph(path: Path, mode: str = "RGBA") -> None:
    """A black square on a transparent ground."""
    image = Image.new("RGBA", (SIDE, SIDE), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (2, 2, 6, 6))
    image.convert(mode).save(path)


def colour_key(path: Path) -> None:
    image = Image.new("RGB", (SIDE, SIDE), (9, 9, 9))
    image.paste((200, 0, 0), (2, 2, 6, 6))
    image.save(path, transparency=(9, 9, 9))


def palette(path: Path) -> None:
    image = Image.new("P", (SIDE, SIDE), 0)
    image.putpalette([0, 0, 0, 0, 0, 0])
    image.paste(1, (2, 2, 6, 6))
    image.save(path, transparency=0)


def invisible(path: Path) -> None:
    Image.new("RGBA", (SIDE, SIDE), (200, 0, 0, 0)).save(path)


def mode(name: str, value: Any = 0) -> Callable[[Path], None]:
    return lambda path: Image.new(name, (SIDE, SIDE), value).save(path)


DEEP = "more than 8 bits a channel .*; divide its pixels by the largest possible value"
PAGES = r"has [23] pages or frames, and one is read of each file; save each as a file of its own"
ALPHA = r"is transparent in places, .*Image\.alpha_composite"

REFUSED: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "grey of 16 bits": ("a.png", lambda path: deep_png(path, 1), DEEP),
    "grey and alpha of 16 bits": ("a.png", lambda path: deep_png(path, 2), DEEP),
    "RGB of 16 bits": ("a.png", lambda path: deep_png(path, 3), DEEP),
    "RGBA of 16 bits": ("a.png", lambda path: deep_png(path, 4), DEEP),
    "PPM of 16 bits": ("a.ppm", deep_ppm, DEEP),
    "TIFF of 16 bits": ("a.tif", deep_tiff, DEEP),
    "grey TIFF of 16 bits": ("a.tif", mode("I;16"), DEEP),
    "TIFF of 32 bits": ("a.tif", mode("I"), DEEP),
    "TIFF of floats": ("a.tif", mode("F"), DEEP),
    "TIFF in LAB": ("a.tif", mode("LAB"), "has the mode LAB, which is not read; save it as RGB"),
    "TIFF of pages": ("a.tif", pages, PAGES),
    "GIF of frames": ("a.gif", pages, PAGES),
    "PNG of frames": ("a.png", pages, PAGES),
    "WebP of frames": ("a.webp", pages, PAGES),
    "RGBA": ("a.png", glyph, ALPHA),
    "grey and alpha": ("a.png", lambda path: glyph(path, "LA"), ALPHA),
    "WebP with alpha": ("a.webp", glyph, ALPHA),
    "transparent colour": ("a.png", colour_key, ALPHA),
    "transparent palette": ("a.png", palette, ALPHA),
    "transparent palette of GIF": ("a.gif", palette, ALPHA),
    "invisible": ("a.png", invisible, ALPHA),
}
READ: dict[str, tuple[str, Callable[[Path], None], list[int]]] = {
    "1 bit": ("a.png", mode("1", 1), [255, 255, 255]),
    "grey": ("a.png", mode("L", 200), [200, 200, 200]),
    "palette": (
        "a.gif",
        lambda path: Image.new("RGB", (SIDE, SIDE), "red").save(path),
        [255, 0, 0],
    ),
    "RGB": ("a.bmp", mode("RGB", (200, 0, 9)), [200, 0, 9]),
    "equal alpha": ("a.png", mode("RGBA", (200, 0, 9, 7)), [200, 0, 9]),
    "CMYK": ("a.tif", mode("CMYK", (0, 255, 255, 0)), [255, 0, 0]),
}

Opener = Callable[[Path, Any], Dataset]


def folder_of(path: Path, colour: Any) -> Dataset:
    return FolderDataset(str(path.parent), table=None, colour=colour)


def opened(path: Path, colour: Any) -> Dataset:
    stream = io.BytesIO(path.read_bytes())
    return TorchDataset(Items([Image.open(stream)] * 2), colour=colour)


def row_of(path: Path, colour: Any) -> Dataset:
    import datasets

    features = datasets.Features(image=datasets.Image())
    table = datasets.Dataset.from_dict({"image": [str(path)] * 2}, features=features)
    table.save_to_disk(path.parent / "saved")
    return HuggingFaceDataset(str(path.parent / "saved"), colour=colour)


FILES = [folder_of, opened, pytest.param(row_of, marks=needs_datasets)]


@pytest.mark.every(4)
@pytest.mark.parametrize("colour", ["keep", "grey", "rgb"])
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("entrance", FILES)
def test_no_part_of_a_picture_is_dropped_without_a_word(
    entrance: Any, case: str, colour: str, tmp_path: Path
) -> None:
    name, write, message = REFUSED[case]
    (tmp_path / "images").mkdir()
    write(tmp_path / "images" / name)
    with pytest.raises(InputError, match=message) as caught:
        entrance(tmp_path / "images" / name, colour).prepare()
    assert "set colour to" not in str(caught.value)  # which would not help


@pytest.mark.parametrize("case", READ)
@pytest.mark.parametrize("entrance", FILES)
def test_pictures_of_other_modes_are_converted(entrance: Any, case: str, tmp_path: Path) -> None:
    name, write, pixel = READ[case]
    (tmp_path / "images").mkdir()
    write(tmp_path / "images" / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PixelWarning)
        dataset = entrance(tmp_path / "images" / name, "rgb")
        dataset.prepare()
    assert dataset.images(torch.tensor([0]))[0, :, 0, 0].tolist() == pixel


def test_the_first_picture_of_a_photograph_with_a_preview_is_read(tmp_path: Path) -> None:
    first, second = (Image.new("RGB", (SIDE, SIDE), (shade, 0, 0)) for shade in (0, 200))
    first.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[second])
    assert brightest(FolderDataset(str(tmp_path), table=None, gaps="drop")) == 0


@pytest.mark.parametrize("case", ["RGBA of 16 bits", "GIF of frames", "RGBA"])
def test_a_background_is_looked_at_as_well(case: str, tmp_path: Path) -> None:
    name, write, message = REFUSED[case]
    write(tmp_path / name)
    with pytest.raises(InputError, match=f"the background .*{message}"):
        ScreamDSprites(background=str(tmp_path / name)).prepare()
