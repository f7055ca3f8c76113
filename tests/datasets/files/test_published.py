import zipfile
from pathlib import Path
from typing import Literal

import pytest

from dislab.datasets import Falcor3D, Isaac3D, cars3d, mpi3d
from dislab.datasets.celeb_a import celeb_a
from dislab.datasets.chairs import chairs3d
from dislab.datasets.dsprites import _sprites as dsprites
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.datasets.mnist import mnist
from dislab.datasets.shapes3d import shapes3d
from dislab.datasets.small_norb import small_norb
from dislab.errors import InputError

SOURCES = {
    "Cars3D": [cars3d.SOURCE],
    "Chairs3D": [chairs3d.SOURCE],
    "CelebA": [celeb_a.PICTURES, celeb_a.ATTRIBUTES, celeb_a.PARTITION],
    "Falcor3D": [Falcor3D.files],
    "Isaac3D": [Isaac3D.files],
    "MNIST": [one for part in mnist.SOURCES.values() for one in part],
    "MPI3D": list(mpi3d.SOURCES.values()),
    "Shapes3D": [shapes3d.SOURCE],
    "SmallNORB": [one for part in small_norb.SOURCES for one in part.values()],
}
"""Files that dislab may fetch, and those that only people can."""
BY_CONTENT = {"rendered_chairs.tar", "mpi3d_real.npz"}
"""Files that are fetched and of which no checksum was published."""

PAGE = "https://example.org/set"
ARCHIVE = Published(("set.tar", "set"), PAGE, f"{PAGE}/set.tar", 4, "aa" * 32, "tree")
BY_HAND = Published(("set.zip",), PAGE)
PART = Published(("part.gz", "part"), PAGE, f"{PAGE}/part.gz", kind="part")


@pytest.mark.parametrize("name", ["set.tar", "set"])
def test_found_in_the_cache_folder_in_any_form(name: str, cache: Path) -> None:
    cache.mkdir()
    (cache / name).mkdir()
    assert find(ARCHIVE, None, fetch=False) == cache / name


@pytest.mark.parametrize(
    ("kind", "accepted"),
    [
        ("file", {"mine.tar", "holder"}),
        ("tree", {"mine.tar", "holder", "unpacked"}),
        ("part", {"holder"}),
    ],
)
def test_what_a_path_may_be(
    kind: Literal["file", "tree", "part"], accepted: set[str], tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "mine.tar").touch()
    (tmp_path / "holder").mkdir()
    (tmp_path / "holder/set.tar").touch()
    (tmp_path / "unpacked").mkdir()
    published = ARCHIVE._replace(kind=kind)
    found = {"mine.tar": "mine.tar", "holder": "holder/set.tar", "unpacked": "unpacked"}
    for name, place in found.items():
        if name in accepted:
            assert find(published, str(tmp_path / name), fetch=False) == tmp_path / place
        else:
            with pytest.raises(InputError, match=name + r" is no set\.tar or set"):
                find(published, str(tmp_path / name), fetch=False)


def test_path_is_not_replaced_by_a_download(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError) as caught:
        find(ARCHIVE, str(tmp_path / "nowhere"), fetch=True)
    for part in ("nowhere", "give the path of", PAGE, f"look in {cache}"):
        assert part in str(caught.value)


def test_the_user_folder_is_expanded(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "part").touch()
    assert find(PART, "~", fetch=False) == tmp_path / "part"


def test_download_goes_to_the_cache_folder_with_all_that_is_known(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        "dislab.datasets.files.published.download", lambda *given: calls.append(given)
    )
    assert find(ARCHIVE, None, fetch=True) == cache / "set.tar"
    assert calls == [(f"{PAGE}/set.tar", cache / "set.tar", 4, "aa" * 32)]


@pytest.mark.parametrize(
    ("published", "fetch", "present", "absent"),
    [
        (ARCHIVE, False, ("set.tar or set is not in", PAGE, "or set download to true"), "cannot"),
        (BY_HAND, False, ("set.zip is not in", PAGE, "give its path"), "download"),
        (BY_HAND, True, ("it cannot be downloaded from here", PAGE), "set download"),
    ],
)
def test_missing_says_where_and_how(
    published: Published, fetch: bool, present: tuple[str, ...], absent: str, cache: Path
) -> None:
    with pytest.raises(InputError) as caught:
        find(published, None, fetch)
    for part in (*present, str(cache)):
        assert part in str(caught.value)
    assert absent not in str(caught.value)


def test_reading_names_the_broken_file(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=rf"b\.zip cannot be read: .*altered; .* from {PAGE}"),
        reading(tmp_path / "b.zip", PAGE),
    ):
        raise zipfile.BadZipFile("Bad CRC-32")
    with pytest.raises(KeyError), reading(tmp_path / "b.zip", PAGE):
        raise KeyError("a mistake of ours stays one")


def test_refusal_names_what_is_wrong() -> None:
    message = str(refusal(Path("a.npz"), "it holds 3 images", PAGE))
    assert message == (
        f"a.npz is not the published file: it holds 3 images; fetch it again from {PAGE}"
    )


def test_what_is_fetched_is_encrypted_and_verified() -> None:
    fetched = [one for published in SOURCES.values() for one in published if one.url]
    assert len(fetched) == 16
    addresses = [str(one.url) for one in fetched] + [dsprites.URL]
    assert [url for url in addresses if not url.startswith("https://")] == []
    assert {one.names[0] for one in fetched if one.checksum is None} == BY_CONTENT
    assert {len(one.checksum) for one in fetched if one.checksum} == {32, 64}


def test_the_page_says_how_each_file_is_verified() -> None:
    page = (Path(__file__).parents[3] / "docs/datasets.md").read_text(encoding="utf-8")
    rows = page.partition("### Checks")[2].partition("###")[0]
    checked = {line.split("`")[1]: line for line in rows.splitlines() if line.startswith("| `")}
    for published in (one for files in SOURCES.values() for one in files if one.url):
        row = checked[published.names[0]]
        assert (published.checksum or "content") in row
        assert ("checksum" in row) == (published.checksum is not None)
    assert "content" in checked[dsprites.FILE_NAME]
