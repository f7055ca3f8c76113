"""Scores of codes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, final

from dislab.study.stages.base import Stage, of_section

CHANCE: Final = "/chance"
"""Suffix that names the chance level of a score."""
LEVELS: Final = {
    "chance": "chance is the score of codes without information",
    "untrained": "untrained is the mean score of models with fresh weights",
}
"""Levels to compare scores with, each `<score>/<level>`, and what they are."""
SUFFIXES: Final = tuple(f"/{level}" for level in LEVELS)
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
        """The scores, and their levels as `<score>/chance` and `<score>/untrained`."""
        return recorded(run, "")


def test_of(config: Mapping[str, Any]) -> str:
    """The command that scores a run: `test`, or `validate` for data without a test split."""
    data = config["data"].get("init_args", {})
    return "validate" if data.get("test") == 0 and not data.get("hold_out") else "test"


def recorded(run: Path, suffix: str) -> dict[str, float | None]:
    """Scores in the record `test<suffix>` or `validate<suffix>` of `scores.json`."""
    return with_levels(_record(run, suffix))


def with_levels(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Scores of a record of `scores.json`, and their levels as `<score>/chance` and the like.

    A FactorVAE score of codes in which no latent varies enough is 0 and has no chance level.
    """
    from dislab.metrics.score_table import is_of_no_latent
    from dislab.runs.records import mapping_in  # imports Lightning, which tables do not need

    scores: dict[str, float | None] = record.get("scores", {})
    spreads = mapping_in(mapping_in(record, "untrained"), "scores")
    untrained = {name: mapping_in(spreads, name).get("mean") for name in spreads}
    levels = {"chance": (mapping_in(record, "chance"), scores), "untrained": (untrained, untrained)}
    return scores | {
        f"{name}/{level}": None if is_of_no_latent(name, of) else values[name]
        for level, (values, of) in levels.items()
        for name in scores
        if name in values
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
