"""Tables of run folders that belong to no study."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dislab.errors import InputError, warn
from dislab.naming.classes import method_of
from dislab.naming.settings import checks_arguments
from dislab.plugins import STAGES, declared
from dislab.study.results import RUNS, RecordWarning
from dislab.study.schedule import spelt
from dislab.study.stages import load_stage
from dislab.study.stages.score import with_levels
from dislab.study.study import Study
from dislab.yaml_files import read_config

if TYPE_CHECKING:
    import pandas as pd

_SCORES: Final = "scores.json"
_COUNTED: Final = ("model", "data", "trainer")
"""Sections whose differing settings become columns of a table."""
_RECORDS: Final = {
    "score": ("test", "validate"),
    "transfer": ("test_transfer", "validate_transfer"),
    "generalisation": ("test_generalisation",),
}
"""Records of `scores.json` by the column prefix in a table; the first existing record is used."""


@checks_arguments
def compare(runs: Sequence[str | Path]) -> "pd.DataFrame":
    """Table with one row per run: method and settings that differ, `seed`, `state` and scores.

    It has the form of `Study.table`, indexed by the run folder. Scores of a plug-in's stage are
    included if it is installed and its record, such as `fairness.json`, has its name. The state is
    `diverged` if training stopped because a loss became NaN or infinite, `finished` if there are
    scores, `unfinished` before `trainer.max_steps` steps, and otherwise `not scored`.

    Args:
        runs: Run folders.

    Raises:
        InputError: No folder is given, one is given twice, or one is no run.
    """
    import pandas as pd

    from dislab.runs import has_diverged

    folders = [Path(run) for run in runs]
    if not folders:
        raise InputError("give the folders of runs to compare")
    seen: dict[str, Path] = {}
    for folder in folders:
        real = os.path.realpath(folder)
        if real in seen:
            raise InputError(f"{folder} and {seen[real]} are the same run; leave one out")
        seen[real] = folder
    configs = [read_config(folder) for folder in folders]
    settings = [
        {"method": method_of(config)} | flat_settings({name: config.get(name) for name in _COUNTED})
        for config in configs
    ]
    names = dict.fromkeys(name for row in settings for name in row)
    axes = [name for name in names if len({repr(row.get(name)) for row in settings}) > 1]
    table = pd.DataFrame(
        {
            **{name: [_cell(row.get(name)) for row in settings] for name in axes},
            "seed": [config.get("seed_everything") for config in configs],
        },
        index=pd.Index(list(map(str, folders)), name="run"),
    )
    scores = [_scores(_records(folder)) | _stage_scores(folder) for folder in folders]
    table["state"] = [
        "diverged" if has_diverged(folder) else "finished" if row else _unscored(folder, config)
        for folder, config, row in zip(folders, configs, scores, strict=True)
    ]
    columns = dict.fromkeys(name for row in scores for name in row)
    numbers = {name: [row.get(name) for row in scores] for name in columns}
    return pd.concat([table, pd.DataFrame(numbers, index=table.index, dtype=float)], axis=1)


def axes_of(runs: Sequence[str | Path]) -> "pd.DataFrame":
    """Values of the axes of the studies that the runs belong to, a row each, indexed as `compare`.

    It has no column if a run belongs to no study. An axis that is a setting has the name of its
    column in `compare`, and the value of a run whose plan lacks it is that of the run's
    configuration. Other axes lack a value for a run of a study without them, or in no plan. Axes
    with one value in each study come last.

    Args:
        runs: Run folders.
    """
    import pandas as pd

    index = pd.Index(list(map(str, runs)), name="run")
    folders = [Path(os.path.abspath(run)) for run in runs]
    above = [folder.parent.parent for folder in folders]
    try:
        studies = {path: Study(path) for path in dict.fromkeys(above)}
    except InputError:  # no plan, or a damaged one
        return pd.DataFrame(index=index)
    values = {
        path / RUNS / run.id: run.group.axes
        for path, study in studies.items()
        for run in study.schedule.runs
    }
    titles = pd.concat(
        study.titled(
            pd.DataFrame(
                {
                    axis: [values.get(folder, {}).get(axis) for folder in members]
                    for axis in study.schedule.axes
                },
                index=list(map(str, members)),
                dtype=object,
            )
        )
        for path, study in studies.items()
        for members in [[f for f in dict.fromkeys(folders) if f.parent.parent == path]]
    ).reindex(list(map(str, folders)))
    titles = titles.astype(object).where(titles.notna(), None)
    settings = [flat_settings(read_config(folder)) for folder in folders]
    columns: dict[str, Any] = {}
    varying = {
        axis for s in studies.values() for axis in s.schedule.axes if s.schedule.varies(axis)
    }
    for axis in sorted(titles, key=lambda axis: axis not in varying):
        name = str(axis).replace(".init_args", "")
        planned = [
            (values[folder][axis], row.get(name))
            for folder, row in zip(folders, settings, strict=True)
            if axis in values.get(folder, {})
        ]
        is_setting = any(name in row for row in settings) and planned
        if is_setting and all(spelt(value) == spelt(setting) for value, setting in planned):
            columns[name] = [row.get(name) for row in settings]
        else:
            columns[str(axis)] = titles[axis].to_numpy()
    return pd.DataFrame(columns, index=index)


def published_values(run: Path) -> list[str]:
    """Published values beside those of a run, a sentence each; see `literature`."""
    from dislab.report.literature import literature

    scored: Mapping[str, Any] = _records(run).get("test", {})
    return [value.sentences for value in literature(run, read_config(run), scored)]


def scored_images(runs: Sequence[Path]) -> list[str]:
    """Which images each run is scored on, as `report.run_record.images_of` says it."""
    from dislab.report.run_record import images_of, scored_record

    return [images_of(scored_record(_records(run))) for run in runs]


def _unscored(folder: Path, config: Mapping[str, Any]) -> str:
    """The state of a run without scores, by the steps of its last checkpoint."""
    from dislab.runs import checkpoint_of, read_checkpoint
    from dislab.runs.records import mapping_in

    most: Any = mapping_in(config, "trainer").get("max_steps")
    steps: Any = 0
    with suppress(InputError):
        steps = read_checkpoint(checkpoint_of(folder, "last")).get("global_step", 0)
    is_short = isinstance(most, int) and isinstance(steps, int) and steps < most
    return "unfinished" if is_short else "not scored"


def _records(folder: Path) -> dict[str, Any]:
    """The records of scores of a run; none, with a warning, if they are damaged."""
    from dislab.runs import read_scores  # imports Lightning, which tables do not need

    try:
        return read_scores(folder) if (folder / _SCORES).is_file() else {}
    except InputError as error:
        warn(str(error), RecordWarning)
        return {}


def _scores(records: Mapping[str, Any]) -> dict[str, float | None]:
    scores: dict[str, float | None] = {}
    for prefix, names in _RECORDS.items():
        record: Mapping[str, Any] = next((records[name] for name in names if name in records), {})
        scores |= {f"{prefix}.{name}": value for name, value in with_levels(record).items()}
    return scores


def _stage_scores(folder: Path) -> dict[str, float | None]:
    """Scores of the stages with a record of their own; a damaged record causes a warning."""
    scores: dict[str, float | None] = {}
    for stage in declared(STAGES):
        if not (folder / f"{stage}.json").is_file():
            continue
        try:
            stage_scores = load_stage(stage).scores(folder)
        except InputError as error:
            warn(str(error), RecordWarning)
            continue
        scores |= {f"{stage}.{name}": value for name, value in stage_scores.items()}
    return scores


def flat_settings(value: Any, name: str = "") -> dict[str, Any]:
    """Flat settings under their command-line names; the key of a part itself holds its class."""
    if not isinstance(value, Mapping):
        return {name: value}
    settings: dict[str, Any] = {}
    for key, setting in value.items():
        if key == "class_path":
            settings[name] = str(setting).rpartition(".")[2]
        else:
            settings |= flat_settings(
                setting, name if key == "init_args" else f"{name}.{key}".lstrip(".")
            )
    return settings


def _cell(value: Any) -> Any:
    return str(value) if isinstance(value, list | dict) else value
