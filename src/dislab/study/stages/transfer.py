"""Stage that computes transfer scores."""

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, final

from dislab.errors import InputError
from dislab.functional.checks import check_choice
from dislab.study.stages.base import Stage, option
from dislab.study.stages.score import recorded


@final
class TransferStage(Stage):
    """Scores how well predictors fitted to codes transfer to shifted images, without a trainer."""

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
        """`dislab transfer`, with every setting."""
        from dislab.callbacks import TransferScores

        command, names = ["transfer", str(run)], tuple(signature(TransferScores).parameters)
        for name, value in settings.items():  # the plan may come from somebody else
            check_choice("the name of a setting of transfer", name, names)
            if isinstance(value, list) and any(str(text).startswith("-") for text in value):
                raise InputError(f"transfer.{name} is {value!r:.80}, in which - begins a value")
            if isinstance(value, list):  # an empty one is the command's default
                command += [f"--{name}", *map(str, value)] if value else []
            elif value is not None:
                command.append(option(name, value))
        return command

    def scores(self, run: Path) -> dict[str, float | None]:
        """The errors, by scenario and predictor."""
        return recorded(run, "_transfer")
