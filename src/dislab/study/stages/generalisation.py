"""Stage that evaluates losses on held-out states."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, final

from dislab.study.stages.base import Stage, of_section
from dislab.study.stages.score import recorded


@final
class GeneralisationStage(Stage):
    """Compares the losses of training states with those of held-out ones."""

    section: ClassVar[str] = "generalisation"

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """`dislab test`."""
        return of_section(run, self.section, settings, "test")

    def scores(self, run: Path) -> dict[str, float | None]:
        """The losses, their ratio and difference."""
        return recorded(run, "_generalisation")
