"""Which runs of a study can train as one pack."""

import json
from typing import Any, Final

from dislab.study.plan import PlannedGroup
from dislab.study.study_file import SEED

_NEVER: Final = ("optimizer", "scheduler")
"""Settings of the model that all runs of a pack share, numbers included."""


def form(group: PlannedGroup) -> str:
    """A text that is equal for runs that can train as one pack.

    They have equal settings, apart from the seed and from real numbers of the model, such as the
    weight of a penalty. Whole numbers, such as the width of a network, may change shapes.
    """
    config = {name: value for name, value in group.config.items() if name != SEED}
    if isinstance(model := config.get("model"), dict):
        config["model"] = _blanked(model)
    return json.dumps(config, sort_keys=True, default=str)


def _blanked(value: Any) -> Any:
    """A setting with an empty text in place of each real number."""
    if isinstance(value, dict):
        return {name: one if name in _NEVER else _blanked(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_blanked(one) for one in value]
    return "" if isinstance(value, float) else value
