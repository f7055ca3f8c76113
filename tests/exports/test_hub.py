"""`dislab push` and `dislab pull` against a small server that answers as the Hub does."""

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

from dislab.cli import main
from dislab.runs import load_run

RUN = Path(__file__).parents[1] / "data" / "old_run"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "of-a-test"


class Hub(ThreadingHTTPServer):
    """Keeps repositories in memory; a repository is a dictionary of files."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.address = f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    """The answers of the Hub's API that uploading and downloading of small files need."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "Invalid username or password."})
        elif self.path == "/api/repos/create":
            wanted = json.loads(content)
            name = f"{wanted.get('organization') or 'somebody'}/{wanted['name']}"
            found = self.server.repositories.setdefault(name, {})
            self.server.private.setdefault(
                name, wanted.get("visibility") == "private" or bool(wanted.get("private"))
            )
            self.answer(
                409 if found else 200, {"url": f"{self.server.address}/{name}", "name": name}
            )
        elif self.path == "/api/validate-yaml":  # of the header of README.md
            self.answer(200, {"errors": [], "warnings": []})
        elif matched := re.fullmatch(r"/api/models/(.+)/preupload/main", self.path):
            files = [
                {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
                for one in json.loads(content)["files"]
            ]
            self.answer(200, {"files": files})
        elif matched := re.fullmatch(r"/api/models/(.+)/commit/main", self.path):
            for line in content.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    file = entry["value"]
                    repository = self.server.repositories[matched[1]]
                    repository[file["path"]] = base64.b64decode(file["content"])
            url = f"{self.server.address}/{matched[1]}/commit/{COMMIT}"
            self.answer(200, {"commitUrl": url, "commitOid": COMMIT, "success": True})
        else:
            self.answer(404, {"error": self.path})

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        for name, files in self.server.repositories.items():
            if path in (f"/api/models/{name}", f"/api/models/{name}/revision/main"):
                siblings = [{"rfilename": file} for file in files]
                found = {
                    "id": name,
                    "sha": COMMIT,
                    "siblings": siblings,
                    "private": False,
                    "tags": [],
                    "downloads": 0,
                }
                return self.answer(200, found)
            if path.startswith(f"/api/models/{name}/tree/"):
                rows = [
                    {
                        "type": "file",
                        "path": file,
                        "size": len(one),
                        "oid": hashlib.sha1(one).hexdigest(),
                    }
                    for file, one in files.items()
                ]
                return self.answer(200, rows)
            if matched := re.fullmatch(rf"/{re.escape(name)}/resolve/[^/]+/(.+)", path):
                if matched[1] in files:
                    return self.send(200, files[matched[1]])
                return self.answer(404, {"error": "Entry not found"}, "EntryNotFound")
        return self.answer(404, {"error": "Repository not found"}, "RepoNotFound")

    do_HEAD = do_GET  # noqa: N815  # the name that the base class looks for

    def answer(self, status: int, record: Any, code: str = "") -> None:
        self.send(status, json.dumps(record).encode(), code)

    def send(self, status: int, content: bytes, code: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        if code:
            self.send_header("X-Error-Code", code)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *words: Any) -> None:
        if os.environ.get("SHOW_REQUESTS"):
            super().log_message(format, *words)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    constants = pytest.importorskip("huggingface_hub.constants")
    pytest.importorskip("safetensors")
    server = Hub()
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # as the environment may have it
    files = server.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", files)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_a_model_is_pushed_and_pulled(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["push", str(RUN), "somebody/tiny-vae", "--private"]) == 0
    assert capsys.readouterr().out == f"{hub.address}/somebody/tiny-vae\n"
    files = hub.repositories["somebody/tiny-vae"]
    assert sorted(files) == ["README.md", "config.yaml", "model.safetensors", "model.yaml"]
    assert hub.private == {"somebody/tiny-vae": True}
    files["code.py"] = b"raise SystemExit"  # is never fetched

    assert main(["pull", "somebody/tiny-vae"]) == 0
    assert capsys.readouterr().out == "tiny-vae\n"
    assert sorted(one.name for one in Path("tiny-vae").iterdir()) == sorted(
        set(files) - {"code.py"}
    )
    image = torch.rand(2, 1, 8, 8)
    assert torch.equal(load_run("tiny-vae").codes(image), load_run(RUN).codes(image))

    assert main(["push", "tiny-vae", "somebody/copy"]) == 0  # an export as it is
    assert hub.repositories["somebody/copy"].keys() == files.keys() - {"code.py"}
    assert main(["push", "tiny-vae", "somebody/copy", "--half"]) == 0
    assert b"F16" in hub.repositories["somebody/copy"]["model.safetensors"]


def test_a_repository_cannot_make_a_user_run_code(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", str(RUN), "somebody/evil"]) == 0
    files = hub.repositories["somebody/evil"]
    files["model.yaml"] = files["model.yaml"].replace(
        b"dislab.encoders.mlp_encoder.MLPEncoder", b"os.system"
    )
    assert main(["pull", "somebody/evil"]) == 2
    assert "somebody/evil: encoder names os.system" in capsys.readouterr().err
    assert not any(Path().iterdir())


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pull", "somebody/absent"], "pulling somebody/absent failed: "),
        (["pull", "somebody/other"], "somebody/other holds no model of dislab"),
        (["pull", "a/b/c"], "'a/b/c' is no name of a repository; write user/name"),
        (["pull", "../x"], "'../x' is no name of a repository; write user/name"),
        (["pull", "x"], "'x' is no name of a repository; write user/name"),
        (["push", "RUN", "notaname"], "'notaname' is no name of a repository; write user/name"),
        (
            ["push", "nowhere", "somebody/new"],
            "nowhere is no run: it does not exist; runs are in runs",
        ),
    ],
)
def test_mistakes_get_one_message(
    words: list[str], message: str, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.repositories["somebody/other"] = {"README.md": b"pictures of cats"}
    assert main([str(RUN) if word == "RUN" else word for word in words]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert ".;" not in said
    assert said.count("\n") == 1
    assert not any(Path().iterdir())


def test_a_push_without_login_says_how_to_log_in(
    hub: Hub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert main(["push", str(RUN), "somebody/new"]) == 2
    assert "log in by `hf auth login`" in capsys.readouterr().err
