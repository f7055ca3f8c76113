import errno
import hashlib
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from filelock import FileLock, Timeout

from dislab.datasets.bank.bank import BankSpec, prepare_bank
from dislab.errors import InputError
from dislab.runs import trained_alone, write_scores
from dislab.storage import (
    atomic,
    cache_file,
    cache_folder,
    check_output,
    created,
    download,
    locked,
    read_json,
    record_of,
    remove_leftovers,
    reopened,
    sha256,
    text_table,
)
from dislab.storage.downloads import _SafeRedirects

CONTENT = bytes(range(256)) * 40
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Server:
    """A web server whose behaviour the tests set."""

    url: str = ""
    content: bytes = CONTENT
    cut_after: int | None = None
    knows_ranges: bool = True
    redirect: str | None = None
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if state.redirect and self.path == "/file.bin":
                self.send_response(302)
                self.send_header("Location", state.redirect)
                self.end_headers()
                return
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


WRITE = """
import sys, time
from pathlib import Path
from dislab.storage import atomic
with atomic(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


@contextmanager
def writer(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process within a write, which is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_next_write_removes_the_files_of_killed_writers(tmp_path: Path) -> None:
    for name in ("a [1].png", "a [1].png.json", "other.png"):
        with writer(tmp_path / name):
            pass
    assert len(list(tmp_path.iterdir())) == 3
    with atomic(tmp_path / "a [1].png") as temporary:
        temporary.write_text("whole")
    # those of other files stay, even where their names begin alike
    assert sorted(path.name.partition(".png")[0] for path in tmp_path.iterdir()) == [
        ".a [1]",
        ".other",
        "a [1]",
    ]


def test_a_write_that_is_under_way_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with writer(path):
        (under_way,) = tmp_path.iterdir()
        with atomic(path) as outer:
            outer.write_text("outer")
            with atomic(path) as inner:
                inner.write_text("inner")
            assert outer.exists()
        assert path.read_text() == "outer"
        assert under_way.read_text() == "half"


@pytest.mark.parametrize(("days", "stays"), [(0.9, True), (1.1, False)])
def test_a_file_from_another_machine_is_removed_by_age(
    days: float, stays: bool, tmp_path: Path
) -> None:
    leftover = tmp_path / ".a.png.0123abcd-1-01234567.tmp"
    leftover.touch()
    before = time.time() - days * 86_400
    os.utime(leftover, (before, before))
    with atomic(tmp_path / "a.png") as temporary:
        temporary.touch()
    assert leftover.exists() == stays


def test_remove_leftovers_of_this_file_only(tmp_path: Path) -> None:
    with writer(tmp_path / "file"), writer(tmp_path / "file.npy"):
        remove_leftovers(tmp_path / "file")
        assert [path.name.partition("-")[0][:6] for path in tmp_path.iterdir()] == [".file."]
        assert next(tmp_path.iterdir()).name.startswith(".file.npy.")


def test_an_output_that_can_be_written_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("old")
    (tmp_path / "link").symlink_to("old.json")
    for name in ("new.json", "old.json", "link", "deep/er/new.json"):
        check_output("--json", tmp_path / name, lambda path: path.read_text() == "old")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("input.npz", "--json would replace FOLDER/input.npz, which this command did not write"),
        ("folder/../input.npz", "which this command did not write; name another file, or remove"),
        ("missing/../input.npz", "would replace FOLDER/input.npz"),
        ("link", "--json would replace FOLDER/link"),
        ("broken", "--json would replace FOLDER/broken"),
        ("hard", "--json would replace FOLDER/hard"),
        ("folder", "--json is FOLDER/folder, which is a folder; name a file"),
        ("pipe", "--json is FOLDER/pipe, which is no regular file; name another one"),
        ("input.npz/a.json", "--json: FOLDER/input.npz/a.json cannot be written: Not a directory"),
        ("x" * 300, "cannot be written: File name too long"),
        ("nul\0", "cannot be written: embedded null"),
        ("", "which is a folder; name a file"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(
    name: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "input.npz").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("input.npz")
    (tmp_path / "broken").symlink_to("nothing")
    (tmp_path / "hard").hardlink_to(tmp_path / "input.npz")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError) as caught:
        check_output("--json", tmp_path / name, lambda path: bool(path.read_bytes()))
    assert message.replace("FOLDER", str(tmp_path)) in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


def test_an_output_without_permission_is_refused() -> None:
    with pytest.raises(InputError, match=r"/proc/none/a.json cannot be written: .*choose a folder"):
        check_output("--json", Path("/proc/none/a.json"))


def test_atomic_names_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"file/new cannot be written: .*; free some space"),
        atomic(tmp_path / "file/new"),
    ):
        pass


@pytest.mark.parametrize(
    ("cache", "advice"),
    [
        ("deep", "name another cache folder in the environment variable DISLAB_CACHE"),
        ("other", "choose a folder that you may write to"),
    ],
)
def test_a_folder_without_room_for_a_lock_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str, advice: str
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("dislab.storage.cache.FileLock.acquire", refused)
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / cache))
    with (
        pytest.raises(InputError, match=rf"deep/file cannot be made, as .*deep cannot .*{advice}"),
        locked(tmp_path / "deep/file"),
    ):
        pass


@pytest.mark.parametrize(
    "refusal", [OSError(errno.ENOLCK, "No locks available"), NotImplementedError("flock")]
)
def test_a_file_system_without_locks_is_said_and_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    refusal: Exception,
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise refusal

    monkeypatch.setattr("dislab.storage.cache.FileLock.acquire", refused)
    with locked(tmp_path / "scores.json"), trained_alone(tmp_path):
        pass
    said = capsys.readouterr().err.splitlines()
    assert [line.rpartition("; ")[2] for line in said] == [
        f"take care that no second process writes {tmp_path / 'scores.json'}",
        "take care that no second process trains this run",
    ]
    assert all(f"{tmp_path} is on a file system without locks" in line for line in said)


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


def test_a_file_that_processes_share_is_written_under_its_lock(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No second process can write between reading and replacing, or into the same part."""
    held: dict[str, bool] = {}
    replace = os.replace

    def is_held(path: Path) -> bool:
        lock = FileLock(path.with_name(f"{path.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        return False

    def record(source: Path, target: Path) -> None:
        held[Path(target).name] = is_held(Path(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", record)
    download(server.url, tmp_path / "file.bin", len(CONTENT), CHECKSUM)
    write_scores(tmp_path, "test", {"scores": {"mig": 0.5}})
    rows = np.zeros((2, 4), dtype=np.uint8)
    prepare_bank(BankSpec(tmp_path / "bank.npy", rows.shape, {}, lambda: [rows]))
    expected = {"file.bin", "scores.json", "bank.npy"}
    assert {name for name, is_locked in held.items() if is_locked} == expected
    assert not any(map(is_held, (tmp_path / name for name in expected)))


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


def test_download_notices_a_second_cut_without_a_published_size(
    server: Server, tmp_path: Path
) -> None:
    for server.cut_after in (6000, 9000):  # the second part is shorter than the first
        with pytest.raises(InputError, match=f"{server.cut_after} bytes have arrived"):
            download(server.url, tmp_path / "file.bin")
    server.cut_after = None
    download(server.url, tmp_path / "file.bin")
    assert server.ranges == [None, "bytes=6000-", "bytes=9000-"]
    assert (tmp_path / "file.bin").read_bytes() == CONTENT


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


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a.npz",
        "HTTP://example.org/a.npz",
        "http://127.0.0.1.example.org/a.npz",
        "http://localhost@example.org/a.npz",
        "ftp://example.org/a.npz",
        "file:///etc/passwd",
        "example.org/a.npz",
    ],
)
def test_an_address_without_encryption_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        download(url, tmp_path / "new/a.npz")
    assert f"{url}, which is no https address; " in str(caught.value)
    assert "fetch it by hand" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "leaves"),
    [
        ("http://example.org/other.bin", True),
        ("http://169.254.169.254/latest", True),
        ("ftp://example.org/other.bin", True),
        ("/other.bin", False),
    ],
)
def test_a_redirect_must_not_leave_encryption(
    place: str, leaves: bool, server: Server, tmp_path: Path
) -> None:
    server.redirect = place
    if not leaves:
        download(server.url, tmp_path / "file.bin", checksum=CHECKSUM)
        assert (tmp_path / "file.bin").read_bytes() == CONTENT
        return
    with pytest.raises(InputError, match=f"{server.url} leads to {place}, which is no https addr"):
        download(server.url, tmp_path / "file.bin")
    assert not (tmp_path / "file.bin").exists()


def test_from_https_a_redirect_leads_to_https_only() -> None:
    handler, headers = _SafeRedirects(), HTTPMessage()
    request = urllib.request.Request("https://example.org/a")
    for place in ("http://127.0.0.1/a", "http://example.org/a"):
        with pytest.raises(InputError, match=r"https://example.org/a leads to http://"):
            handler.redirect_request(request, BytesIO(), 302, "Found", headers, place)
    followed = handler.redirect_request(
        request, BytesIO(), 302, "Found", headers, "https://other.org/b"
    )
    assert followed is not None
    assert followed.full_url == "https://other.org/b"


LINKS = {"link": Path.symlink_to, "second name": Path.hardlink_to}


@pytest.fixture(params=LINKS)
def trap(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Path]:
    """Puts a link with a name into the cache folder, and returns the file that it leads to."""
    victim = tmp_path / "victim"
    victim.write_bytes(CONTENT[:100])
    (tmp_path / "cache").mkdir()

    def put(name: str) -> Path:
        LINKS[request.param](tmp_path / "cache" / name, victim)
        return victim

    return put


def test_a_file_is_created_in_place_of_a_link(trap: Callable[[str], Path], tmp_path: Path) -> None:
    victim, path = trap("file"), tmp_path / "cache/file"
    assert reopened(path) is None
    with created(path) as stream:
        stream.write(b"new")
    assert (victim.read_bytes(), path.read_bytes()) == (CONTENT[:100], b"new")
    assert not path.is_symlink()


def test_an_own_file_is_reopened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert reopened(path) is None
    path.write_bytes(b"begun")
    stream = reopened(path)
    assert stream is not None
    with stream:
        stream.seek(0, os.SEEK_END)
        stream.write(b", ended")
    assert path.read_bytes() == b"begun, ended"
    os.mkfifo(tmp_path / "pipe")
    assert reopened(tmp_path / "pipe") is None
    assert reopened(tmp_path) is None


def test_an_atomic_write_follows_no_link(
    trap: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even one with the name of the temporary file, which cannot be foreseen."""
    monkeypatch.setattr("dislab.storage.writing._temporary", lambda path: path.with_name("guess"))
    victim = trap("guess")
    with atomic(tmp_path / "cache/file") as temporary:
        temporary.write_bytes(b"new")
    assert (tmp_path / "cache/file").read_bytes() == b"new"
    assert victim.read_bytes() == CONTENT[:100]


def test_an_atomic_write_refuses_a_file_that_became_a_link(tmp_path: Path) -> None:
    def replace_it() -> None:
        with atomic(tmp_path / "x") as temporary:
            temporary.unlink()
            temporary.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InputError, match="cannot be written"):
        replace_it()
    assert not os.path.lexists(tmp_path / "x")


def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(CONTENT)
    (tmp_path / "file.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match="cannot be made"), locked(tmp_path / "file"):
        pass
    assert (tmp_path / "victim").read_bytes() == CONTENT


def test_a_download_does_not_continue_a_link(
    trap: Callable[[str], Path], server: Server, tmp_path: Path
) -> None:
    victim, path = trap("file.bin.part"), tmp_path / "cache/file.bin"
    download(f"{server.url}/file.bin", path, len(CONTENT), CHECKSUM)
    assert path.read_bytes() == CONTENT
    assert not path.is_symlink()
    assert victim.read_bytes() == CONTENT[:100]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("folder", [".", "set"])
def test_a_cache_that_may_not_be_read_is_named(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache/set").mkdir(parents=True)
    (tmp_path / "cache" / folder).chmod(0)
    try:
        with pytest.raises(InputError, match=r"x\.npy cannot be read: Perm.* DISLAB_CACHE"):
            cache_file("set/x.npy")
    finally:
        (tmp_path / "cache" / folder).chmod(0o700)


def test_missing_permission_to_read_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path))

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    assert cache_file("set/x.npy") == tmp_path / "set/x.npy"
    monkeypatch.setattr(Path, "stat", denied)
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
    with pytest.raises(InputError, match=r"x\.npy cannot be read: Perm.* DISLAB_CACHE"):
        cache_file("set/x.npy")


def test_a_last_column_of_text_ends_at_100_letters() -> None:
    words = " ".join(["word"] * 40)
    first, second = text_table([("a", "b", words), ("longer", "b", "short")])
    assert first.startswith("a       b  word")
    assert max(map(len, first.splitlines())) <= 100
    assert first.split() == ["a", "b", *["word"] * 40]
    assert {line[:11].strip() for line in first.splitlines()[1:]} == {""}
    assert second == "longer  b  short"


def test_text_tables_align_columns() -> None:
    assert text_table([]) == []
    assert text_table([("a", "long", "x"), ("bcd", "b", "")]) == ["a    long  x", "bcd  b"]
    assert text_table(
        [("name", "first", "second"), ("a", "0.5", ""), ("longer", "", "12")],
        numbers=True,
        above=("", "a run of a long name", ""),
    ) == [
        "        a run of a long name",
        "name    first  second",
        "a         0.5",
        "longer             12",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"score": NaN}',
        '{"score": -Infinity}',
        '{"score": 1e999}',
        '{"scores": [[0.5, {"mig": NaN}]]}',
        f'{{"steps": 1{"0" * 400}}}',
    ],
)
def test_numbers_that_are_not_finite_are_read_on_demand_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"record.json is damaged: .*; make it again$"):
        read_json(path, "make it again")
    assert read_json(path, "make it again", finite=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "holds no JSON object"),
        ('{"a": ', "is no JSON"),
        ('{"a": "\\ud800"}', "is damaged"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "is damaged: more than 100 lists"),
    ],
)
def test_records_of_another_form_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"record.json {message}"):
        read_json(path, "make it again")


class Stored(NamedTuple):
    images: int
    share: float
    names: tuple[str, ...] = ()
    state: Literal["done", "failed"] = "done"
    note: str | None = None


def test_a_record_has_the_types_of_its_class() -> None:
    content = {"images": 3, "share": 1, "names": ["a"], "note": None, "later": 5}
    stored = record_of(Stored, content, "x.json")
    assert stored == Stored(3, 1.0, ("a",))
    assert isinstance(stored.share, float)


@pytest.mark.parametrize(
    ("field_name", "value"),
    [
        ("images", True),
        ("images", 3.0),
        ("images", "3"),
        ("images", None),
        ("share", False),
        ("share", float("nan")),
        ("share", 10**400),
        ("names", "ab"),
        ("names", [1]),
        ("state", "lost"),
        ("note", 4),
    ],
)
def test_a_field_of_another_type_is_refused(field_name: str, value: object) -> None:
    content = {"images": 3, "share": 0.5, field_name: value}
    with pytest.raises(InputError, match=f"x.json is damaged: {field_name} is "):
        record_of(Stored, content, "x.json")


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(InputError, match=r"x.json is damaged: .*'share'"):
        record_of(Stored, {"images": 3}, "x.json")
    with pytest.raises(InputError, match="it holds \\[3\\] instead of a record"):
        record_of(Stored, [3], "x.json")
