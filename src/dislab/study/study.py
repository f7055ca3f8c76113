"""A study: tables and state of many runs in one folder."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from dislab.errors import InputError, warn
from dislab.functional.checks import check_count
from dislab.study.claims import Claims
from dislab.study.resolving import changes
from dislab.study.results import Failed, RecordWarning, StudyFolder, is_given_up
from dislab.study.schedule import (
    Schedule,
    ScheduledRun,
    plain,
    read_schedule,
    shared_notice,
    study_file_of,
)
from dislab.study.sources import changed_sources
from dislab.study.status import RunStatus, Status, mixed_versions, state_of
from dislab.study.study_file import read_stages, read_study_file
from dislab.study.trials import expected
from dislab.yaml_files import PLAN, study_hint

if TYPE_CHECKING:
    import pandas as pd

    from dislab.runs.codes import StoredCodes
    from dislab.study.statistics.selection import Best
    from dislab.study.summary import StudySummary

STUDIES: Final = Path("studies")
"""Default parent of study folders."""


class StudyWarning(UserWarning):
    """Warns that scores are not fully comparable, or that a study replaces a file of another."""


def warn_of_replaced(path: Path, before: str, study: str) -> None:
    """Warns if a file of one study will be replaced by that of another.

    Args:
        path: The file.
        before: The name of the study, or the run, whose file it is; empty if there is none.
        study: The name of the study whose file it will be.

    Warns:
        StudyWarning: The studies differ.
    """
    if before not in ("", study):
        warn(
            f"{path} of {before} is replaced by that of the study {study}; to keep one of "
            "each, give --out",
            StudyWarning,
        )


@final
class Study:
    """The runs of a study, read from its folder.

    Args:
        path: The folder of the study, or a study file whose runs lie in `studies/<name>`.
        folder: The folder of the study, if `path` is a study file and the runs lie elsewhere.

    Raises:
        InputError: The folder does not exist, or has no plan of the study.

    Warns:
        StudyWarning: The study file has changed since it was run; the study is as it was run. Or
            the folder holds other studies, too; the study is the one that was last run.

    >>> Study("studies/locatello").table()  # doctest: +SKIP
    """

    def __init__(self, path: str | Path, folder: str | Path | None = None) -> None:
        directory = folder_of(path, folder)
        file = None if directory == Path(path) else read_study_file(path)
        self._read(directory, read_schedule(directory, file.name if file else None))
        if file is None and (notice := shared_notice(directory, self.schedule.name)):
            warn(notice, StudyWarning)
        before = None
        with suppress(InputError):  # no copy, a damaged one, or one with stages of another version
            before = read_stages(study_file_of(directory, self.schedule.name)) if file else None
        if file and (differ := changes(file, self.schedule, before)):
            command = f"dislab study run {path}{f' --folder {folder}' if folder else ''}"
            warn(
                f"{differ}, which is shown; `{command}` takes up the file and keeps all runs",
                StudyWarning,
            )

    @classmethod
    def of(cls, folder: Path, schedule: Schedule) -> "Study":
        """Creates a study from its schedule, in a folder that need not exist."""
        study = cls.__new__(cls)
        study._read(folder, schedule)
        return study

    def _read(self, path: Path, schedule: Schedule) -> None:
        self.path = path
        """The folder."""
        self.schedule = schedule
        """The runs and their settings."""
        self.folder = StudyFolder(path)
        """The records in the folder."""

    def __repr__(self) -> str:
        """The name, the number of planned runs, the axes, and the folder."""
        count, axes = len(self.schedule.runs), ", ".join(self.schedule.axes) or "none"
        runs = f"{count:,} planned run{'s' * (count != 1)}"
        return f"<Study {self.schedule.name}: {runs}; axes {axes}; in {self.path}>"

    def reread(self) -> "Study":
        """The study as its folder has it now; a search adds runs."""
        return Study.of(self.path, read_schedule(self.path, self.schedule.name))

    def status(self) -> Status:
        """State of every run, and remaining time."""
        working = self._working()
        runs = [self._status(run, working) for run in self.schedule.runs]
        added = len(expected(self.schedule).runs) - len(runs)  # by a search, later
        known, untimed, left, total = 0.0, list[str](), dict[str, int](), dict[str, float]()
        for stage in self.schedule.stages:
            total[stage] = sum((run.done[stage].seconds for run in runs if stage in run.done), 0.0)
            waiting = [
                _alike(run)
                for run in runs
                if run.state in ("waiting", "running")
                and stage not in run.done
                and stage not in run.failed
            ] + [[()]] * added
            if not waiting:
                continue
            left[stage] = len(waiting)
            medians = _medians(runs, stage)
            if not medians:
                untimed.append(stage)
                continue
            known += sum(next(medians[key] for key in keys if key in medians) for keys in waiting)
        return Status(runs, total, None if untimed else known, known, tuple(untimed), left)

    def changed_sources(self) -> list[str]:
        """Sentences on stages done with earlier source files of plugins."""
        return changed_sources(self.folder, self.schedule)

    def table(self) -> "pd.DataFrame":
        """Table with one row per run, indexed by the run's name.

        The columns are the axes as the study file names them, `seed`, `state`, and the results of
        each stage, such as `score.mig`, `transfer.finger_ood2_b/mlp` and
        `generalisation.mean_ratio`; missing numbers are NaN. Equal results give equal tables, even
        if runs were interrupted or retried.

        Warns:
            StudyWarning: Numbers come from several versions of dislab or of its dependencies, or
                runs wait as another study of the folder has done a stage with other settings.
        """
        import pandas as pd  # the import takes longer than everything else in reading a study

        runs = [self._status(run, frozenset()) for run in self.schedule.runs]
        if different := mixed_versions(runs):
            warn(different, StudyWarning)
        for line in self.folder.other_settings(self.schedule):
            warn(line, StudyWarning)
        names = dict.fromkeys(
            (stage, name)
            for stage in self.schedule.stages
            for run in runs
            for name in (run.done[stage].scores if stage in run.done else ())
        )
        scores = {
            f"{stage}.{name}": [
                run.done[stage].scores.get(name) if stage in run.done else None for run in runs
            ]
            for stage, name in names
        }
        columns: dict[str, Any] = {
            name: [status.run.group.axes[name] for status in runs] for name in self.schedule.axes
        }
        table = pd.DataFrame(
            {
                **columns,
                "seed": [status.run.seed for status in runs],
                "state": [status.state for status in runs],
            },
            index=pd.Index([status.run.id for status in runs], name="run"),
        )
        numbers = pd.DataFrame(scores, index=table.index, dtype=float)
        return pd.concat([table, numbers], axis=1)

    def titled(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """The table with the values of its axes as commands show them.

        They are names of methods, such as β-VAE, for the names of their configurations, and 1 for
        1.0.
        """
        import pandas as pd

        names = self.schedule.method_names()
        columns = {
            axis: pd.Series(
                [
                    names.get(axis, {}).get(value, value)
                    if isinstance(value, str)
                    else plain(value)
                    for value in table[axis]
                ],
                table.index,
                None if pd.api.types.is_integer_dtype(table[axis]) else object,
            )
            for axis in self.schedule.axes
        }
        return table.assign(**columns)

    def agreement(self) -> "pd.DataFrame":
        """Agreement between the latents of each run and those of other seeds of its setting.

        One row per run, like `table`, with the columns `agreement.udr_lasso_pooled`,
        `agreement.udr_lasso_averaged`, `agreement.udr_spearman_pooled`,
        `agreement.udr_spearman_averaged`, `agreement.alignment` and `agreement.informative`; see
        `dislab.study.statistics.every_agreement`. All are NaN for a run whose stage `codes` is not
        done and for a method without posteriors; UDR needs five runs of a setting. Ten pairs of
        runs with 5,000 images and 10 latents each take about a second.

        Raises:
            InputError: The study has no stage `codes`, a file of codes is damaged or missing, or
                runs of one setting have codes of different images.
        """
        import pandas as pd

        from dislab.study.stages.codes import WORD, read_run_codes
        from dislab.study.statistics import every_agreement
        from dislab.study.statistics._frames import AGREEMENT

        self._need_codes("the agreement of runs")
        groups: dict[str, list[ScheduledRun]] = {}
        for run in self.schedule.runs:
            if self.folder.done(run, WORD) is not None:
                groups.setdefault(run.group.read, []).append(run)
        parts = []
        for members in groups.values():
            stored = {
                run.id: read_run_codes(self.folder.run(run.id), run.group.config) for run in members
            }
            present = {run: codes for run, codes in stored.items() if codes is not None}
            if present:
                _check_images(present, self.folder)
                means = {run: codes.codes for run, codes in present.items()}
                kl = {run: codes.kl for run, codes in present.items()}
                parts.append(every_agreement(means, kl))
        runs = pd.Index([run.id for run in self.schedule.runs], name="run")
        table = pd.concat(parts) if parts else every_agreement({}, {})
        return table.reindex(runs).add_prefix(AGREEMENT)

    def few_labels(self, labels: int = 100) -> "pd.DataFrame":
        """MIG and SAP of each run on a few labelled images, to select models by.

        One row per run, like `table`, with the columns `labelled.mig_<labels>_labels` and
        `labelled.sap_r2_<labels>_labels`. The images are drawn from those of the stage `codes`, the
        same ones for all runs of a setting. Scores are NaN for a run whose stage is not done or
        whose codes are of fewer images or without factors. Ten runs take about a second.

        Locatello et al. (2020), https://arxiv.org/abs/1905.01258, section 3.

        Args:
            labels: Number of labelled images.

        Raises:
            InputError: The number is below 2, the study has no stage `codes`, or a file of codes is
                damaged.
        """
        import pandas as pd

        from dislab.study.stages.codes import WORD, labelled_scores
        from dislab.study.statistics._frames import LABELLED

        check_count("labels", labels, 2)
        self._need_codes("scores on few labels")
        runs = self.schedule.runs
        rows = {
            run.id: labelled_scores(self.folder.run(run.id), labels)
            for run in runs
            if self.folder.done(run, WORD) is not None
        }
        table = pd.DataFrame.from_dict(rows, "index").add_prefix(LABELLED)
        return table.reindex(pd.Index([run.id for run in runs], name="run"))

    def summary(self, target: str | None = None) -> "StudySummary":
        """All tables of the study, with agreement and few labels if it has the stage `codes`.

        Values of axes that name a method's configuration are shown as its name; see `titled`.

        Args:
            target: Column to show in pictures and in excerpts of tables, such as `score.mig`; None
                for DCI disentanglement if available, else the first measure.

        Raises:
            NothingToCompareError: No finished run has a score that varies.
            InputError: The target is no measure, or as for `agreement`.
        """
        from dislab.study.stages.codes import WORD
        from dislab.study.summary import chosen_target, measures_of, summarize

        table = self.titled(self.table())
        if WORD in self.schedule.stages:
            if target is not None:  # codes, which take long to compare, give no further measures
                measures = measures_of(table, self.primary_scores())
                chosen_target(target, self.schedule.name, measures)
            table = table.join(self.agreement()).join(self.few_labels())
        return summarize(
            table,
            self.schedule.name,
            self.schedule.axes,
            self.primary_scores(),
            target,
            trials=self.schedule.search is not None,
            ranges=self.score_ranges(),
        )

    def _need_codes(self, result: str) -> None:
        from dislab.study.stages.codes import WORD

        if WORD not in self.schedule.stages:
            raise InputError(
                f"{self.schedule.name} keeps no codes, which {result} would be computed from; add "
                f"`{WORD}: {{images: 5000}}` to stages in the study file, and run it again"
            )

    def primary_scores(self) -> dict[str, "Best"]:
        """The main column `score.…` of each metric, and whether higher or lower is better.

        They are taken from one run of each setting; scores of sampled codes are left out. Empty
        until a run has been scored.
        """
        return {
            name: "highest" if metric.get("higher_is_better") else "lowest"
            for name, metric in self._metrics().items()
        }

    def score_ranges(self) -> dict[str, tuple[float | None, float | None]]:
        """The least and the largest possible value of each score of `primary_scores`.

        They hold for the score on training images and of sampled codes, too. None is an end that
        the score lacks; scores whose record has no range are left out.
        """
        ends = {name: metric.get("bounds") for name, metric in self._metrics().items()}
        return {
            f"score.{codes}{name.removeprefix('score.')}{images}": (of[0], of[1])
            for name, of in ends.items()
            if of and len(of) == 2
            for codes in ("", "sampled/")
            for images in ("", "_train")
        }

    def _metrics(self) -> dict[str, Mapping[str, Any]]:
        """The record of each metric by the column of its primary score."""
        from dislab.study.stages.score import metrics

        if "score" not in self.schedule.stages:
            return {}
        records: dict[str, Mapping[str, Any]] = {}
        seen: set[str] = set()
        for run in self.schedule.runs:
            if run.group.read in seen or self.folder.done(run, "score") is None:
                continue
            try:
                primary = metrics(self.folder.run(run.id))
            except InputError as error:  # another run of the group may have a whole file
                warn(str(error), RecordWarning)
                continue
            seen.add(run.group.read)
            for name, metric in primary.items():
                if not name.startswith("sampled/"):
                    records.setdefault(f"score.{name}", metric)
        return records

    def _status(self, run: ScheduledRun, working: frozenset[str]) -> RunStatus:
        done = {
            s: record
            for s in self.schedule.stages
            if (record := self.folder.done(run, s)) is not None
        }
        failed: dict[str, Failed] = {}
        retried: dict[str, Failed] = {}
        if len(done) < len(self.schedule.stages):
            retries = self.schedule.failure.retries
            for stage in self.schedule.stages:
                failure = self.folder.failed(run, stage) if stage not in done else None
                if failure is not None:
                    (failed if is_given_up(failure, retries) else retried)[stage] = failure
        state = state_of(self.schedule, run, done, failed, working)
        return RunStatus(run, state, done, failed, retried)

    def _working(self) -> frozenset[str]:
        """Names of the runs claimed by workers."""
        if not self.folder.claims.is_dir():
            return frozenset()
        try:
            claims = Claims(self.folder.claims)
        except InputError:  # the folder is read-only for this user
            return frozenset()
        try:
            return frozenset(claims.current())
        finally:
            claims.close()


def folder_of(path: str | Path, folder: str | Path | None = None) -> Path:
    """Folder of a study, from its path or from a study file; by default `studies/<name>`.

    Raises:
        InputError: Two folders are given, the path does not exist, or the study file is invalid.
    """
    path = Path(path)
    if path.is_dir() or (path / PLAN).is_file():
        if folder is not None:
            raise InputError(f"{path} is a folder itself; give --folder with a study file only")
        return path
    if not path.exists():
        raise InputError(
            f"{path} is no study: it does not exist{study_hint(path)}; give the folder of a study "
            "that has run, or a study file"
        )
    return Path(folder) if folder is not None else STUDIES / read_study_file(path).name


def _check_images(codes: "dict[str, StoredCodes]", folder: StudyFolder) -> None:
    """Rejects a run whose codes belong to other images than most runs of the same setting."""
    from dislab.study.stages.codes import again

    images = {run: tuple(stored.states.tolist()) for run, stored in codes.items()}
    ((usual, _),) = Counter(images.values()).most_common(1)
    others = [run for run, states in images.items() if states != usual]
    if others:
        more = f" (and of {len(others) - 1} more runs)" if len(others) > 1 else ""
        raise InputError(
            f"the codes of {others[0]}{more} are of other images than those of the other runs of "
            f"its setting, so that they cannot be compared; {again(str(folder.run(others[0])))}"
        )


def _alike(run: RunStatus) -> list[tuple[str, ...]]:
    """Keys of the runs that take as long as a run: of its setting, its first axis, and all."""
    axes = tuple(f"{name}: {label!r}" for name, label in run.run.group.axes.items())
    return [axes, axes[:1], ()]


def _medians(runs: Sequence[RunStatus], stage: str) -> dict[tuple[str, ...], float]:
    """The median time of a stage in the finished runs of each key of `_alike`, in seconds."""
    times: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        if stage in run.done:
            for key in dict.fromkeys(_alike(run)):
                times.setdefault(key, []).append(run.done[stage].seconds)
    return {key: statistics.median(seconds) for key, seconds in times.items()}
