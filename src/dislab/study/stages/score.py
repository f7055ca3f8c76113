"""Scores of codes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, final

from dislab.study.stages.base import Stage, of_section

CHANCE: Final = "/chance"
"""Suffix that names the chance level of a score."""
_CODES: Final = {"mean": "mean", "sample": "sample", "sampled": "sample"}


@final
class ScoreStage(Stage):
    """Computes the scores of the codes that `evaluate` in a configuration names.

    In a study file, `codes` may also be a list: `[mean, sampled]` means `both`.
    """

    section: ClassVar[str] = "evaluate"

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of `evaluate`."""
        checked = dict(settings)
        codes = checked.get("codes")
        if isinstance(codes, list) and codes and all(kind in _CODES for kind in codes):
            kinds = {_CODES[kind] for kind in codes}
            checked["codes"] = "both" if len(kinds) == 2 else kinds.pop()
        return checked

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """`dislab test`, or `validate` for data without a test split."""
        return of_section(run, self.section, settings, test_of(config))

    def scores(self, run: Path) -> dict[str, float | None]:
        """The scores, and their chance levels as `<score>/chance`."""
        return recorded(run, "")


def test_of(config: Mapping[str, Any]) -> str:
    """The command that scores a run: `test`, or `validate` for data without a test split."""
    data = config["data"].get("init_args", {})
    return "validate" if data.get("test") == 0 and not data.get("hold_out") else "test"


def recorded(run: Path, suffix: str) -> dict[str, float | None]:
    """Scores in the record `test<suffix>` or `validate<suffix>` of `scores.json`."""
    return with_chance(_record(run, suffix))


def with_chance(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Scores of a record of `scores.json`, and their chance levels as `<score>/chance`.

    A FactorVAE score of codes in which no latent varies enough is 0 and has no chance level.
    """
    from dislab.metrics.score_table import is_of_no_latent

    scores: dict[str, float | None] = record.get("scores", {})
    levels: dict[str, float | None] = record.get("chance") or {}
    return scores | {
        f"{name}{CHANCE}": None if is_of_no_latent(name, scores) else levels[name]
        for name in scores
        if name in levels
    }


def metrics(run: Path) -> dict[str, Mapping[str, Any]]:
    """The record of each metric of a run, by the name of its primary score."""
    return {
        str(metric["primary"]): metric
        for metric in _record(run, "").get("metrics", {}).values()
        if "primary" in metric
    }


def _record(run: Path, suffix: str) -> dict[str, Any]:
    from dislab.runs import read_scores  # imports Lightning, which tables do not need

    records = read_scores(run)
    names = [f"{command}{suffix}" for command in ("test", "validate")]
    return next((records[name] for name in names if name in records), {})
