import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from dislab.datasets.files.pictures import open_tree

FILES = {f"set/{n // 10}/{n}.bin": bytes([n]) * (n * 300) for n in range(40)}


def as_folder(path: Path) -> Path:
    for name, content in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def as_linked_folder(path: Path) -> Path:
    as_folder(path.with_name("real"))
    (path / "set").mkdir(parents=True)
    (path / "set/back").symlink_to(path)
    for number in range(4):
        (path / f"set/{number}").symlink_to(path.with_name("real") / f"set/{number}")
    return path


def as_zip(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.mkdir("set")
        for name, content in FILES.items():
            archive.writestr(name, content)
    return path


def as_tar(path: Path, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        folder = tarfile.TarInfo("set")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("set/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        for name, content in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def as_tar_gz(path: Path) -> Path:
    return as_tar(path, "w:gz")


@pytest.mark.parametrize("make", [as_folder, as_linked_folder, as_zip, as_tar, as_tar_gz])
def test_files_are_read_in_any_order(make: object, tmp_path: Path) -> None:
    assert callable(make)
    path = make(tmp_path / "tree")
    with open_tree(path) as tree:
        assert set(tree.names) == set(FILES)
        assert len(tree.names) == len(FILES)
        names = list(FILES)
        random.Random(0).shuffle(names)
        for name in names:
            assert tree.read(name) == FILES[name]


def test_a_folder_is_listed_in_order(tmp_path: Path) -> None:
    with open_tree(as_folder(tmp_path / "tree")) as tree:
        assert list(tree.names) == sorted(FILES)


def test_a_cut_tar_is_noticed(tmp_path: Path) -> None:
    path = as_tar(tmp_path / "tree")
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(tarfile.ReadError, match="unexpected end of data"), open_tree(path):
        pass


def test_something_else_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "tree"
    path.write_bytes(b"hello" * 1000)
    with pytest.raises(tarfile.ReadError), open_tree(path):
        pass


def test_a_cut_zip_is_noticed(tmp_path: Path) -> None:
    path = as_zip(tmp_path / "tree.zip")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(zipfile.BadZipFile, match="not a zip file"), open_tree(path):
        pass
