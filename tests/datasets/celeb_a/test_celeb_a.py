import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dislab.datasets import CelebA
from dislab.datasets.celeb_a import celeb_a
from dislab.datasets.celeb_a._lists import NAMES
from dislab.errors import InputError
from dislab.testing import check_dataset

COUNT = 6
RANDOM = np.random.default_rng(0)
# smooth pictures survive JPEG
SMALL = RANDOM.integers(256, size=(COUNT, 4, 3, 3), dtype=np.uint8)
PICTURES = [
    np.asarray(Image.fromarray(one).resize((178, 218), Image.Resampling.BICUBIC)) for one in SMALL
]
ATTRIBUTES = RANDOM.integers(2, size=(COUNT, 40))
# the first, third and fifth agree in all attributes, the fifth is in another part
ATTRIBUTES[[2, 4]] = ATTRIBUTES[0]
PART = [0, 0, 0, 1, 2, 2]


def jpg(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "jpeg", quality=95)
    return stream.getvalue()


def attribute_list(names: tuple[str, ...] = NAMES) -> str:
    lines = [str(COUNT), " ".join(names) + " "]
    for number, row in enumerate(ATTRIBUTES, start=1):
        # the published list is padded to two characters
        lines.append(f"{number:06d}.jpg " + " ".join(f"{2 * value - 1:2d}" for value in row))
    return "\n".join(lines) + "\n"


PARTITION = "".join(f"{number:06d}.jpg {part}\n" for number, part in enumerate(PART, start=1))


def as_csv(text: str, header: str) -> str:
    """A list as Kaggle ships it."""
    return "\n".join([header, *(",".join(line.split()) for line in text.splitlines())]) + "\n"


def write_as_kaggle(folder: Path, packed: bool = False, **changed: Any) -> None:
    write(folder, packed)
    attributes = "\n".join(attribute_list().splitlines()[2:])
    names = changed.get("names", NAMES)
    for name, text, header in (
        ("list_attr_celeba", attributes, ",".join(("image_id", *names))),
        ("list_eval_partition", PARTITION, "image_id,partition"),
    ):
        (folder / f"{name}.txt").unlink()
        (folder / f"{name}.csv").write_text(as_csv(text, header))
    if "csv" in changed:
        (folder / "list_attr_celeba.csv").write_text(changed["csv"])
    if not packed:
        (folder / "img_align_celeba").rename(folder / "img")
        (folder / "img_align_celeba").mkdir()
        (folder / "img").rename(folder / "img_align_celeba/img_align_celeba")


def write(folder: Path, packed: bool = False, **changed: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "list_attr_celeba.txt").write_text(str(changed.get("attr", attribute_list())))
    (folder / "list_eval_partition.txt").write_text(str(changed.get("partition", PARTITION)))
    files = {f"{number:06d}.jpg": jpg(one) for number, one in enumerate(PICTURES, start=1)}
    third = changed.get("third", b"")
    if third is None:
        del files["000003.jpg"]
    elif third:
        files["000003.jpg"] = third
    if packed:
        with zipfile.ZipFile(folder / "img_align_celeba.zip", "w") as archive:
            for name in reversed(files):
                archive.writestr(f"img_align_celeba/{name}", files[name])
    else:
        (folder / "img_align_celeba").mkdir()
        for name, content in files.items():
            (folder / "img_align_celeba" / name).write_bytes(content)


@pytest.fixture
def tiny(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, for a set of six images."""
    monkeypatch.setattr(celeb_a, "IMAGES", COUNT)
    return cache


def test_factors_are_attributes_part_and_instance(tiny: Path) -> None:
    write(tiny)
    space = CelebA().factors
    assert space.names == (*NAMES, "part", "instance")
    assert [factor.name for factor in space.factors if factor.nuisance] == ["part", "instance"]
    positions = space.positions(np.arange(COUNT))
    assert np.array_equal(positions[:, :40], ATTRIBUTES)
    assert positions[:, 40].tolist() == PART
    assert positions[:, 41].tolist() == [0, 0, 1, 0, 0, 0]
    assert space.where({"part": "test"}).tolist() == [4, 5]
    smiling = NAMES.index("Smiling")
    assert np.array_equal(space.where({"Smiling": 1}), np.flatnonzero(ATTRIBUTES[:, smiling]))


@pytest.mark.parametrize("packed", [True, False])
def test_as_kaggle_ships_it(packed: bool, tiny: Path, tmp_path: Path) -> None:
    write(tmp_path / "faces")
    write_as_kaggle(tmp_path / "kaggle", packed)
    dataset, ours = (CelebA(path=str(tmp_path / name)) for name in ("kaggle", "faces"))
    assert np.array_equal(dataset.factors.positions([0, 4]), ours.factors.positions([0, 4]))
    check_dataset(dataset)
    ours.prepare()
    assert torch.equal(dataset.images(torch.arange(COUNT)), ours.images(torch.arange(COUNT)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"names": NAMES[::-1]}, "its first line does not name the 40 attributes in order"),
        ({"csv": ""}, "its first line does not name the 40 attributes"),
        ({"csv": ",".join(("image_id", *NAMES))}, "it has lines for 0 images instead of 6"),
    ],
)
def test_another_csv_is_refused(changed: dict[str, Any], message: str, tiny: Path) -> None:
    write_as_kaggle(tiny, **changed)
    with pytest.raises(InputError, match=rf"list_attr_celeba\.csv is not the .*: {message}"):
        CelebA().prepare()


@pytest.mark.parametrize("packed", [True, False])
def test_the_centre_is_kept_and_brought_to_the_side(
    packed: bool, tiny: Path, tmp_path: Path
) -> None:
    write(tmp_path / "faces", packed)
    whole = CelebA(crop=148, side=148, path=str(tmp_path / "faces"))
    check_dataset(whole)
    images = whole.images(torch.arange(COUNT))
    cut = np.stack([one[35:183, 15:163] for one in PICTURES]).transpose(0, 3, 1, 2)
    assert np.abs(images.numpy().astype(int) - cut).mean() < 2
    small = CelebA(path=str(tmp_path / "faces"))
    small.prepare()
    assert small.image_shape == (3, 64, 64)
    means = small.images(torch.arange(COUNT)).float().mean((2, 3))
    assert (means - images.float().mean((2, 3))).abs().max() < 2


def test_after_preparing_the_files_are_not_needed(tiny: Path, tmp_path: Path) -> None:
    write(tmp_path / "faces")
    dataset = CelebA(path=str(tmp_path / "faces"))
    dataset.prepare()
    for path in (tmp_path / "faces").glob("*.txt"):
        path.unlink()
    again = CelebA()
    again.prepare()
    assert np.array_equal(again.factors.positions([4]), dataset.factors.positions([4]))
    content = pickle.dumps(again)
    assert len(content) < 2000
    index = torch.tensor([1, 5])
    assert torch.equal(pickle.loads(content).images(index), dataset.images(index))
    # a damaged copy of the labels is read anew, from the files
    (tiny / "celeba/labels.npz").write_bytes(b"cut")
    with pytest.raises(InputError, match=r"list_attr_celeba\.csv is not in"):
        _ = CelebA().factors
    write(tiny)
    CelebA().prepare()
    assert (tiny / "celeba/labels.npz").stat().st_size > 100


LINES = attribute_list().splitlines()


@pytest.mark.parametrize(
    ("attr", "message"),
    [
        ("\n".join(["7", *LINES[1:]]), "its first line is '7' instead of 6"),
        (attribute_list(NAMES[::-1]), "its second line does not name the 40 attributes"),
        ("\n".join(LINES[:-1]), "it has lines for 5 images instead of 6"),
        ("\n".join([*LINES[:3], LINES[4], LINES[3], *LINES[5:]]), r"line 4 is '000003\.jpg .*'"),
        ("\n".join([*LINES[:-1], LINES[-1] + " 1"]), r"line 8 is '000006\.jpg"),
        ("\n".join([*LINES[:-1], LINES[-1][:-2] + " 0"]), r"line 8 is '000006\.jpg .*of -1, 1"),
        ("", "its first line is '' instead of 6"),
    ],
)
def test_another_attribute_list_is_refused(attr: str, message: str, tiny: Path) -> None:
    write(tiny, attr=attr)
    with pytest.raises(InputError, match=rf"list_attr_celeba\.txt is not the .*: {message}"):
        CelebA().prepare()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"partition": PARTITION.replace("0\n", "3\n")}, r"partition.txt .* line 1 is '000001.jpg"),
        ({"third": None}, "1 of its 6 images are missing, 000003.jpg first"),
        ({"third": jpg(PICTURES[2])[:-500]}, "000003.jpg in .* cannot be decoded"),
        ({"third": jpg(PICTURES[2][:100])}, "000003.jpg in .* has 178×100 pixels instead of"),
    ],
)
def test_other_content_is_refused(changed: dict[str, Any], message: str, tiny: Path) -> None:
    write(tiny, **changed)
    with pytest.raises(InputError, match=message):
        CelebA().prepare()


def test_missing_files_are_explained(cache: Path) -> None:
    dataset = CelebA()
    assert dataset.image_shape == (3, 64, 64)
    assert not cache.exists()
    with pytest.raises(
        InputError, match=r"_celeba\.txt or list_attr_celeba\.csv is not in .*mmlab"
    ):
        _ = dataset.factors
    with pytest.raises(InputError, match=r"list_attr_celeba\.csv is not in"):
        dataset.prepare()


@pytest.mark.parametrize(
    ("crop", "side", "message"),
    [
        (179, 64, "crop 179 is not possible; .* 178 pixels wide"),
        (4, 4, "crop 4 is not possible"),
        (100, 101, "side 101 is not possible"),
    ],
)
def test_impossible_sizes_are_refused(crop: int, side: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CelebA(crop, side)
