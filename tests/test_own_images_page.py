"""The page on own images, followed literally."""

import json
import re
import shlex
from pathlib import Path

import pytest

from dislab.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "own_images.md"


@pytest.mark.slow
def test_every_command_of_the_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    text = PAGE.read_text(encoding="utf-8")
    for script in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(script, str(PAGE), "exec"), {})
    said = {}
    for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
        for command in block.replace("\\\n", "").splitlines():
            program, *args = shlex.split(command)
            assert program == "dislab"
            assert main(args) == 0, capsys.readouterr().err
            said[command] = capsys.readouterr().out
    (report,) = re.findall(r"```text\n(images.*?)```", text, re.DOTALL)
    assert report == said["dislab data check my_images"]
    run = tmp_path / "runs/my_images_factorvae/version_0"
    assert {"report.html", "scores.json", "codes.npz"} <= {path.name for path in run.iterdir()}
    assert "ordinal, 3 values from 0 to 2" in said["dislab data check squares.npz"]
    assert (tmp_path / "runs/squares_betavae/version_0/scores.json").is_file()
    unlabelled = tmp_path / "runs/kitchen_betavae/version_0"
    assert "report.html" in {path.name for path in unlabelled.iterdir()}
    (note,) = re.findall(r"```text\n(note: subfolders.*?)\n```", text)
    assert note in said["dislab data check pets"]
    config = (tmp_path / "pets_betavae.yaml").read_text(encoding="utf-8")
    assert "    hold_out:\n      folder_1: test\n" in config
    scores = json.loads((tmp_path / "runs/pets_betavae/version_0/scores.json").read_text())
    assert "folder_1" not in json.dumps(scores["test"]["sample"])

    (tmp_path / "my_images").rename(tmp_path / "moved")
    assert main(["encode", str(run), "--images", "100"]) == 2
    assert "give the folder of the images as folder in the conf" in capsys.readouterr().err
    config_file = run / "config.yaml"
    moved = config_file.read_text().replace(f"{tmp_path}/my_images", f"{tmp_path}/moved")
    config_file.write_text(moved)
    assert main(["encode", str(run), "--images", "100"]) == 0
