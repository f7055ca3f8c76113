"""Finds runs of a study that can train as one pack."""

import json
from typing import Any, Final

from dislab.study.plan import PlannedGroup
from dislab.study.study_file import SEED

_NEVER: Final = ("optimizer", "scheduler")
"""Settings of the model that must be equal in all runs of a pack, even if real numbers."""


def form(group: PlannedGroup) -> str:
    """Key that is equal for runs that can train as one pack.

    Such runs have equal settings except for the seed and real-valued settings of the model, such as
    the weight of a penalty. Integer settings must agree, as they may change tensor shapes.
    """
    config = {name: value for name, value in group.config.items() if name != SEED}
    if isinstance(model := config.get("model"), dict):
        config["model"] = _blanked(model)
    return json.dumps(config, sort_keys=True, default=str)


def _blanked(value: Any) -> Any:
    """A setting with each real number replaced by an empty string."""
    if isinstance(value, dict):
        return {name: one if name in _NEVER else _blanked(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_blanked(one) for one in value]
    return "" if isinstance(value, float) else value
