import errno
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dislab.errors import InputError
from dislab.storage import atomic, cache_folder, download, locked, remove_leftovers, sha256

CONTENT = bytes(range(256)) * 40
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Server:
    """A web server whose behaviour the tests set."""

    url: str = ""
    content: bytes = CONTENT
    cut_after: int | None = None
    knows_ranges: bool = True
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            state.ranges.append(asked)
            start = int(asked[6:-1]) if asked and state.knows_ranges else 0
            if start >= len(state.content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(state.content) - start))
            self.end_headers()
            self.wfile.write(state.content[start : state.cut_after])

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{http.server_port}/file.bin"
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def test_cache_folder_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "a/b"))
    assert cache_folder() == tmp_path / "a/b"
    assert (tmp_path / "a/b").is_dir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DISLAB_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"


def test_cache_folder_that_cannot_be_had_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "file/cache"))
    with pytest.raises(InputError, match=r"file/cache cannot be made: .*DISLAB_CACHE"):
        cache_folder()


def test_atomic_shows_the_file_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep/file"
    with atomic(path) as temporary:
        temporary.write_bytes(b"new")
        assert temporary.parent == path.parent
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("raised", "expected", "message"),
    [
        (RuntimeError("mine"), RuntimeError, "mine"),
        (OSError(errno.ENOSPC, "No space left on device"), InputError, r"file cannot .*No space"),
        (PermissionError(errno.EACCES, "denied"), InputError, "denied.*DISLAB_CACHE"),
    ],
)
def test_atomic_keeps_the_old_file_when_writing_fails(
    raised: Exception,
    expected: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write() -> None:
        with atomic(path) as temporary:
            temporary.write_bytes(b"half")
            raise raised

    with pytest.raises(expected, match=message):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_atomic_names_the_cache_variable_for_cached_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputError) as caught, atomic(tmp_path / "scores.json"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert "DISLAB_CACHE" not in str(caught.value)


def test_remove_leftovers_of_this_file_only(tmp_path: Path) -> None:
    (tmp_path / ".file.1234.tmp").touch()
    (tmp_path / ".other.1234.tmp").touch()
    remove_leftovers(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == [".other.1234.tmp"]


def test_atomic_names_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"file/new cannot be written: .*; free some space"),
        atomic(tmp_path / "file/new"),
    ):
        pass


def test_a_folder_without_room_for_a_lock_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("dislab.storage.FileLock.acquire", refused)
    with (
        pytest.raises(InputError, match=r"deep/file cannot be made, as .*deep cannot .*DISLAB_CAC"),
        locked(tmp_path / "deep/file"),
    ):
        pass


def test_locked_lets_one_in_at_a_time(tmp_path: Path) -> None:
    inside, worst = 0, 0

    def work() -> None:
        nonlocal inside, worst
        for _ in range(20):
            with locked(tmp_path / "file"):
                inside += 1
                worst = max(worst, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert worst == 1


def test_sha256_of_a_known_text(tmp_path: Path) -> None:
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    # the example of FIPS 180-4
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(("size", "checksum"), [(len(CONTENT), CHECKSUM.upper()), (None, None)])
def test_download_fetches_once(
    size: int | None, checksum: str | None, server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "folder/file.bin"
    for _ in range(2):
        download(server.url, path, size, checksum)
        assert path.read_bytes() == CONTENT
    assert server.ranges == [None]
    assert not path.with_name("file.bin.part").exists()


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_download_goes_on_after_a_cut(knows_ranges: bool, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    server.cut_after, server.knows_ranges = 3000, knows_ranges
    with pytest.raises(InputError, match=r"3000 bytes have arrived; run the same again"):
        download(server.url, path, len(CONTENT), CHECKSUM)
    assert not path.exists()
    server.cut_after = None
    download(server.url, path, len(CONTENT), CHECKSUM)
    assert server.ranges == [None, "bytes=3000-"]
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("size", [len(CONTENT), None])
def test_download_completes_a_part_that_is_whole(
    size: int | None, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    download(server.url, tmp_path / "file.bin", size, CHECKSUM)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\1" + CONTENT[1:], f"SHA-256 .* instead of {CHECKSUM}"),
        (CONTENT + b"more", "10244 bytes instead of 10240"),
        (CONTENT[:-1], "10239 bytes instead of 10240"),
    ],
)
def test_download_refuses_other_bytes(
    content: bytes, message: str, server: Server, tmp_path: Path
) -> None:
    server.content = content
    path = tmp_path / "file.bin"
    with pytest.raises(InputError, match=f"not the published file: {message}"):
        download(server.url, path, len(CONTENT), CHECKSUM)
    assert not path.exists()
    server.content = CONTENT
    download(server.url, path, len(CONTENT), CHECKSUM)
    assert path.read_bytes() == CONTENT


def test_download_knows_an_md5_by_its_length(server: Server, tmp_path: Path) -> None:
    md5 = hashlib.md5(CONTENT).hexdigest()
    download(server.url, tmp_path / "file.bin", checksum=md5)
    server.content = CONTENT[::-1]
    with pytest.raises(InputError, match=f"not the published file: MD5 .* instead of {md5}"):
        download(server.url, tmp_path / "other.bin", checksum=md5)


def test_download_says_what_to_do_without_a_network(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    with pytest.raises(InputError) as caught:
        download("http://127.0.0.1:9/file.bin", path)
    message = str(caught.value)
    for part in ("file.bin cannot be downloaded from http://127.0.0.1:9", f"put it at {path}"):
        assert part in message
