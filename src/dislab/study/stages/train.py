"""Stage that trains the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from dislab.errors import InputError
from dislab.study.stages.base import Stage

SETTINGS = "settings.yaml"
"""Configuration of a run as its study makes it, next to the record of the finished training."""


def has_checkpoint(run: Path) -> bool:
    """Whether a run folder has a checkpoint."""
    return any(run.glob("checkpoints/*.ckpt"))


@final
class TrainStage(Stage):
    """Trains the model, or continues from its last checkpoint."""

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Rejects any setting: training uses the settings of the run itself."""
        if settings:
            raise InputError(
                f"train has no settings, and got {', '.join(settings)}; settings of training go "
                "into base or axes"
            )
        return {}

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """Resumes from a checkpoint if there is one, and starts training otherwise."""
        if has_checkpoint(run):
            return ["fit", f"--resume={run}"]
        return ["fit", f"--config={run / 'stages' / 'train' / SETTINGS}"]

    def scores(self, run: Path) -> dict[str, float | None]:
        """Returns no scores."""
        return {}
