"""Small runs: the configurations in `conf/`, and finished runs that are trained once a session."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
import yaml

from dislab.cli import main

CONF = Path(__file__).parent / "conf"
RUN = Path("runs/small/version_0")


def small_config(name: str, changes: str = "") -> str:
    """The text of a configuration in `conf/`; settings of `changes` are merged into it."""
    content = yaml.safe_load((CONF / f"{name}.yaml").read_text())
    return yaml.safe_dump(_merged(content, yaml.safe_load(changes) or {}), sort_keys=False)


def _merged(content: Any, changes: Any) -> Any:
    if not (isinstance(content, dict) and isinstance(changes, dict)):
        return changes
    merged = {key: _merged(content.get(key), value) for key, value in changes.items()}
    return {**content, **merged}


@cache
def trained_once(folder: Path, text: str, *options: str) -> Path:
    """A folder with `small.yaml` and its finished run; trained in the first call."""
    workplace = Path(mkdtemp(dir=folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workplace)
        Path("small.yaml").write_text(text)
        assert main(["fit", "--config=small.yaml", *options]) == 0
    return workplace
