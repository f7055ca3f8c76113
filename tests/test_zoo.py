"""The files of plugins/dislab-zoo, its page, and the committed configurations behind its models."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from dislab.cli.study_runs import resolver

ROOT = Path(__file__).parents[1]
ZOO = ROOT / "plugins" / "dislab-zoo" / "src" / "dislab_zoo" / "files"
NAMES = sorted(one.name for one in ZOO.iterdir() if one.is_dir())


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark that makes the models."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return import_module("zoo")


def test_every_model_is_of_the_committed_list(maker: Any) -> None:
    assert sorted(maker.MODELS) == NAMES
    for name in NAMES:
        record = json.loads((ZOO / name / "zoo.json").read_text(encoding="utf-8"))
        model = maker.MODELS[name]
        assert record["command"] == model.command(name)
        assert (record["seed"], record["chosen"]) == (model.seed, model.chosen)


@pytest.mark.slow
def test_the_committed_configurations_made_the_models(maker: Any, tmp_path: Path) -> None:
    resolve = resolver()
    for name in NAMES:
        maker.check(ZOO / name, name, resolve)
    settings = yaml.safe_load((ZOO / NAMES[0] / "config.yaml").read_text(encoding="utf-8"))
    settings["trainer"]["max_steps"] += 1
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings))
    with pytest.raises(maker.InputError, match=r"trainer\.max_steps is "):
        maker.check(tmp_path, NAMES[0], resolve)


def test_the_page_has_every_model_with_its_scores() -> None:
    page = (ROOT / "docs/zoo.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for name in NAMES:
        record = json.loads((ZOO / name / "zoo.json").read_text(encoding="utf-8"))
        assert f"| {record['rescored']['half']['mig']:.2f} |" in rows[name]
        assert rows[name].count("|") == 12
    scores = [json.loads(path.read_text(encoding="utf-8")) for path in ZOO.glob("*/scores.json")]
    chance = max(one["test"]["chance"].get("factor_vae_score", 0.0) for one in scores)
    (row,) = [line for line in page.splitlines() if line.startswith("| chance")]
    assert row.split(" | ")[7] == f"{chance:.2f}"
    megabytes = sum(one.stat().st_size for one in ZOO.glob("*/*")) / 1e6
    for text in (page, (ROOT / "plugins/dislab-zoo/README.md").read_text(encoding="utf-8")):
        assert f"{megabytes:.0f} MB" in text
        assert ("fourteen" in text.lower()) == (len(NAMES) == 14)


def test_no_file_names_a_place_of_the_machine_that_trained() -> None:
    for path in ZOO.glob("*/*.*"):
        if path.suffix in (".json", ".yaml", ".md"):
            text = path.read_text(encoding="utf-8")
            assert not any(place in text for place in ("/home/", "/tmp/", "/root", ": /")), path
