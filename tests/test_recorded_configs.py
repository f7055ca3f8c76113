"""Every configuration stands for the same complete settings as when it was recorded.

`python -m tests.test_recorded_configs` records them anew. That is right after a file in `configs/`
has been changed on purpose, or a setting has been added; otherwise an old configuration has got a
new meaning, and the change behind it is to be mended.
"""

import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch import Trainer
from tests.test_configs import CONFIGS, DATA_OVERLAYS, FIRST_RUN, HOME, ROOMS

from dislab.cli.study_runs import resolver
from dislab.naming.classes import find_object

RECORDED = Path(__file__).parent / "data" / "configurations.json"
BASES = {"quick": "betavae", FIRST_RUN: "factorvae", HOME: "adagvae", ROOMS: "betavae"}
BASES |= DATA_OVERLAYS | {"labels100": "betavae", "labels1000": "betatcvae"}
"""Files that lie on top of a configuration, with one; splits and correlations lie on betavae,
those of the finger on dittadi_unsupervised."""
AGAIN = "python -m tests.test_recorded_configs"


def files() -> dict[str, list[Path]]:
    """The files of each configuration by its name."""
    found = {}
    for path in sorted(CONFIGS.glob("*.yaml")):
        base = BASES.get(path.stem)
        found[path.stem] = [*([CONFIGS / f"{base}.yaml"] if base else []), path]
    for folder in ("splits", "correlations"):
        for path in sorted((CONFIGS / folder).glob("*.yaml")):
            base = "dittadi_unsupervised" if path.stem.startswith("finger_") else "betavae"
            found[f"{folder}/{path.stem}"] = [CONFIGS / f"{base}.yaml", path]
    return found


def without_defaults(settings: dict[str, Any], cls: Any) -> dict[str, Any]:
    """Settings that differ from the defaults of a class."""
    taken = inspect.signature(cls).parameters
    return {key: one for key, one in settings.items() if key in taken and one != taken[key].default}


def own(value: Any) -> Any:
    """Settings without the defaults of torch's classes, which change with its version."""
    if isinstance(value, list):
        return [own(one) for one in value]
    if not isinstance(value, dict):
        return value
    path = value.get("class_path")
    if isinstance(path, str) and path.startswith("torch."):
        settings = without_defaults(value.get("init_args") or {}, find_object(path))
        return {"class_path": path, "init_args": settings}
    return {key: own(one) for key, one in value.items()}


def digests() -> dict[str, str]:
    """A hash of the complete settings of each configuration, all read by one parser."""
    resolve, found = resolver(), {}
    for name, paths in files().items():
        config = resolve([f"--config={path}" for path in paths]).config
        config["trainer"] = without_defaults(config["trainer"], Trainer)
        text = json.dumps(own(config), sort_keys=True)
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


@pytest.mark.slow
def test_every_configuration_means_what_it_meant() -> None:
    recorded, found = json.loads(RECORDED.read_text()), digests()
    changed = [name for name in found if found[name] != recorded.get(name)]
    gone = sorted(recorded.keys() - found.keys())
    assert not changed + gone, (
        f"other settings than recorded: {changed}; gone: {gone}. If that is meant, run `{AGAIN}`; "
        "it is meant where a file was changed or added, or a class got a new setting"
    )


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(digests(), indent=1) + "\n")
