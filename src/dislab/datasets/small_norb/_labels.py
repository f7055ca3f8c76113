"""The published files of SmallNORB, its states, and the reader of its labels."""

from pathlib import Path
from typing import Final

import numpy as np

from dislab.datasets.files.norb_file import read_all
from dislab.datasets.files.published import Published, refusal
from dislab.factors import Factor, FactorSpace, Indices

PAGE: Final = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
SIDE: Final = 96
PAIRS: Final = 24_300
CAMERAS: Final = ("left", "right")
TRAINING: Final = "smallnorb-5x46789x9x18x6x2x96x96-training"
_TESTING: Final = "smallnorb-5x01235x9x18x6x2x96x96-testing"


def _published(stem: str, size: int, checksum: str) -> Published:
    name = f"{stem}.mat.gz"
    names = (name, name.removesuffix(".gz"))
    return Published(names, PAGE, f"{PAGE}{name}", size, checksum, kind="part")


SOURCES: Final = (
    {
        "dat": _published(
            f"{TRAINING}-dat",
            131_896_188,
            "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
        ),
        "cat": _published(
            f"{TRAINING}-cat",
            348,
            "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
        ),
        "info": _published(
            f"{TRAINING}-info",
            71_052,
            "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
        ),
    },
    {
        "dat": _published(
            f"{_TESTING}-dat",
            130_799_817,
            "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
        ),
        "cat": _published(
            f"{_TESTING}-cat",
            347,
            "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
        ),
        "info": _published(
            f"{_TESTING}-info",
            10_428,
            "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
        ),
    },
)

STATES: Final = FactorSpace(
    (
        Factor("category", ("animal", "human", "airplane", "truck", "car"), "categorical"),
        Factor("instance", tuple(map(float, range(10))), "categorical"),
        Factor("elevation", tuple(30.0 + 5 * step for step in range(9)), unit="deg"),
        Factor("azimuth", tuple(20.0 * step for step in range(18)), "circular", "deg", 360.0),
        Factor("lighting", tuple(map(float, range(6))), "categorical"),
    )
)
STEREO: Final = FactorSpace((*STATES.factors, Factor("camera", CAMERAS, "categorical")))


def read_states(half: dict[str, Path]) -> Indices:
    """State numbers of the image pairs of a half, in order."""
    integers = np.dtype("<i4")
    category = read_all(half["cat"], integers, (PAIRS,), PAGE)
    info = read_all(half["info"], integers, (PAIRS, 4), PAGE)
    # azimuths are published as 0, 2, … 34
    labels = np.column_stack([category, info]).astype(np.int64)
    odd = (labels[:, 3] % 2).any()
    labels[:, 3] //= 2
    if odd or (labels < 0).any() or (labels >= STATES.sizes).any():
        raise refusal(half["info"], "it holds a label out of range", PAGE)
    return STATES.index(labels)


def check_once(states: Indices, path: Path) -> None:
    """Checks that the two halves contain each combination of labels exactly once."""
    counts = np.bincount(states, minlength=len(STATES))
    if len(states) != len(STATES) or (counts != 1).any():
        twice = int((counts > 1).sum())
        what = f"{twice} combinations of labels occur more than once in the two halves"
        raise refusal(path, what, PAGE)
