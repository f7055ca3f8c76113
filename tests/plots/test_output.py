import time
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots import (
    check_picture,
    image_grid,
    is_picture,
    pixels,
    save,
    save_animation,
)


def test_the_file_holds_what_pixels_returns(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((2, 3, 3, 8, 8))
    path = tmp_path / "new" / "grid.png"
    save(image_grid(images, ["a", "b"], title="title"), path)
    drawn = pixels(image_grid(images, ["a", "b"], title="title"))
    read = np.rint(matplotlib.image.imread(path)[..., :3] * 255).astype(np.uint8)
    np.testing.assert_array_equal(read, drawn)
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 300


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_equal_figures_give_equal_files(tmp_path: Path, suffix: str) -> None:
    for name in "ab":
        save(image_grid(np.zeros((1, 1, 1, 8, 8)), title="t"), tmp_path / f"{name}.{suffix}")
        time.sleep(1.1)  # dates in files count whole seconds
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grid.png"
    save(image_grid(np.zeros((1, 1, 1, 8, 8))), path)
    before = path.read_bytes()

    def fail(self: Figure, file: Path, **settings: object) -> None:
        file.write_bytes(b"half")
        raise RuntimeError("cut short")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(RuntimeError, match="cut short"):
        save(image_grid(np.ones((1, 1, 1, 8, 8))), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["grid.png"]


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.PDF", b"%PDF"), ("a.svg", b"<?xml")]
)
def test_the_suffix_decides_the_format(name: str, start: bytes, tmp_path: Path) -> None:
    save(image_grid(np.zeros((1, 1, 1, 8, 8))), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["a.exe", "a", "a.png.bak", ".png", "a.jpg"])
def test_other_suffixes_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in one of \.png, \.pdf, \.svg"):
        save(image_grid(np.zeros((1, 1, 1, 8, 8))), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_path_may_be_text(tmp_path: Path) -> None:
    still, moving = str(tmp_path / "a.png"), str(tmp_path / "a.gif")
    save(Figure(), still, "draw")
    save_animation(np.zeros((2, 4, 4, 3), dtype=np.uint8), moving, command="draw")
    for path in (still, moving):
        assert is_picture(path, "draw")
        assert not is_picture(path, "score")
    check_picture("--out", still)
