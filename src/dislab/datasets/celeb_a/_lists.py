"""Readers of the lists published with CelebA: attributes and partition."""

import re
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from dislab.datasets.files.published import reading, refusal

PAGE: Final = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
IMAGES: Final = 202_599

NAMES: Final = (
    "5_o_Clock_Shadow",
    "Arched_Eyebrows",
    "Attractive",
    "Bags_Under_Eyes",
    "Bald",
    "Bangs",
    "Big_Lips",
    "Big_Nose",
    "Black_Hair",
    "Blond_Hair",
    "Blurry",
    "Brown_Hair",
    "Bushy_Eyebrows",
    "Chubby",
    "Double_Chin",
    "Eyeglasses",
    "Goatee",
    "Gray_Hair",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Male",
    "Mouth_Slightly_Open",
    "Mustache",
    "Narrow_Eyes",
    "No_Beard",
    "Oval_Face",
    "Pale_Skin",
    "Pointy_Nose",
    "Receding_Hairline",
    "Rosy_Cheeks",
    "Sideburns",
    "Smiling",
    "Straight_Hair",
    "Wavy_Hair",
    "Wearing_Earrings",
    "Wearing_Hat",
    "Wearing_Lipstick",
    "Wearing_Necklace",
    "Wearing_Necktie",
    "Young",
)


def read_lists(attributes: Path, partition: Path) -> npt.NDArray[np.uint8]:
    """40 binary attributes of each image, and its part: 0 training, 1 validation, 2 test."""
    parts = _table(partition, 0, ("0", "1", "2"), 1)
    return np.column_stack([_attributes(attributes), parts])


def _attributes(path: Path) -> npt.NDArray[np.uint8]:
    with reading(path, PAGE), path.open(encoding="utf-8", errors="replace") as stream:
        count, names = stream.readline().strip(), stream.readline().split()
    if path.suffix == ".csv":
        names = count.split(",")[1:]
    elif count != str(IMAGES):
        raise refusal(path, f"its first line is {count[:20]!r} instead of {IMAGES}", PAGE)
    if tuple(names) != NAMES:
        line = "first" if path.suffix == ".csv" else "second"
        raise refusal(path, f"its {line} line does not name the 40 attributes in order", PAGE)
    return _table(path, 2, ("-1", "1"), len(NAMES))


def _table(path: Path, skip: int, words: tuple[str, ...], columns: int) -> npt.NDArray[np.uint8]:
    """Index in `words` of each entry after the file name, one row per image.

    The copies on Kaggle are tables of comma-separated values, with one line of column names.
    """
    with reading(path, PAGE):
        text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".csv":
        text, skip = text.replace(",", " "), 1
    lines = text.splitlines()[skip:]
    if len(lines) != IMAGES:
        raise refusal(path, f"it has lines for {len(lines)} images instead of {IMAGES}", PAGE)
    alternatives = "|".join(map(re.escape, words))
    form = re.compile(rf"(\d+)\.jpg((?:\s+(?:{alternatives})){{{columns}}})\s*")
    number_of = {word: index for index, word in enumerate(words)}
    rows = np.empty((IMAGES, columns), dtype=np.uint8)
    for index, line in enumerate(lines):
        match = form.fullmatch(line)
        if match is None or int(match[1]) != index + 1:
            what = f"line {index + skip + 1} is {line[:40]!r}, not image {index + 1:06d}.jpg with "
            what += f"{columns} of {', '.join(words)}"
            raise refusal(path, what, PAGE)
        rows[index] = [number_of[word] for word in match[2].split()]
    return rows
