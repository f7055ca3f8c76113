"""Transfer scores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, final

from dislab.errors import InputError
from dislab.study.stages.base import Stage, of_section
from dislab.study.stages.score import recorded, test_of


@final
class TransferStage(Stage):
    """Scores how predictors of the codes carry over to shifted images."""

    section: ClassVar[str] = "transfer"

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of `transfer`, with scenarios."""
        if not settings.get("scenarios"):
            raise InputError(
                "transfer needs scenarios, such as transfer: {scenarios: [finger_ood2_b]}"
            )
        return dict(settings)

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """`dislab test`, or `validate` for data without a test split."""
        return of_section(run, self.section, settings, test_of(config))

    def scores(self, run: Path) -> dict[str, float | None]:
        """The errors, by scenario and predictor."""
        return recorded(run, "_transfer")
