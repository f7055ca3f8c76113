"""Searches: ranges in a study file, proposals, and trials as runs of the study."""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightning.pytorch import Trainer
from tests.study.conftest import SCORE, TINY, Units

from dislab.cli import main
from dislab.errors import InputError
from dislab.study import resolving
from dislab.study import search as search_module
from dislab.study.claims import Claims
from dislab.study.identity import training_of
from dislab.study.resolving import Resolved, make_schedule
from dislab.study.results import Done, StudyFolder
from dislab.study.samplers import Number, Range, Sampler, Trial, load_sampler
from dislab.study.schedule import Schedule, read_schedule
from dislab.study.search import Searcher, search_lines, write_schedule
from dislab.study.status import ended_line, lines
from dislab.study.study import Study, StudyWarning
from dislab.study.study_file import read_study_file
from dislab.study.trials import expected
from dislab.study.worker import Outcome, Settings, Worker

BETA = "model.regularizers.kl.beta"
AXES = f"axes: {{{BETA}: {{low: 0.1, high: 100, log: true}}}}\n"
SEARCH = "search: {sampler: random, trials: 4, maximize: mig}\n"
BASE = "base: [base.yaml]\nstages: {train: {}, score: {}}\n"


def nested(args: Sequence[str]) -> Resolved:
    """A parser's result for options that are settings of a class."""
    config: dict[str, Any] = {"data": {}, "evaluate": {}, "model": {"init_args": {}}}
    for arg in args:
        name, _, value = arg.removeprefix("--").partition("=")
        if name in ("config", "report"):
            continue
        *path, last = name.split(".")
        section = config
        for key in path:
            section = section.setdefault(key, {"init_args": {}})
            section = section.get("init_args", section)
        section[last] = yaml.safe_load(value)
    sections: dict[str, dict[str, Any]] = {"evaluate": dict(config["evaluate"])}
    return Resolved(config, training_of(config, Trainer), sections)


def plan(folder: StudyFolder, text: str = BASE + AXES + SEARCH, version: str = "1") -> Schedule:
    """Plans a study file as `study run` does, with the trials that the folder has."""
    path = folder.path.parent.parent / "mine.yaml"
    path.write_text(text)
    try:
        last = read_schedule(folder.path, "mine")
        earlier = [run.group for run in last.runs] + list(last.search.spaces if last.search else ())
    except InputError:
        earlier = []
    return make_schedule(read_study_file(path), lambda: nested, {"dislab": version}, earlier)


def work(
    folder: StudyFolder, text: str = BASE + AXES + SEARCH, units: Units | None = None
) -> Schedule:
    """Plans a study, does its work, and returns its last plan."""
    plan(folder, text).write(folder.path)
    schedule = read_schedule(folder.path)
    Worker(folder, schedule, units or Units()).work()
    return read_schedule(folder.path)


class Bisecting(Sampler):
    """Proposes points halfway between a random one and the best so far: it depends on results."""

    def propose(
        self, ranges: Mapping[str, Range], trials: Sequence[Trial], maximize: bool, seed: int
    ) -> dict[str, Number]:
        point = load_sampler("random").propose(ranges, trials, maximize, seed)
        valued = [trial for trial in trials if trial.value is not None]
        if not valued:
            return point
        best = max(valued, key=lambda trial: (trial.value or 0.0) * (1 if maximize else -1))
        return {name: (value + best.point[name]) / 2 for name, value in point.items()}


@pytest.fixture(autouse=True)
def bisecting(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(word: str) -> Sampler:
        return Bisecting() if word == "bisecting" else load_sampler(word)

    for module in (resolving, search_module):
        monkeypatch.setattr(module, "load_sampler", load)


def points(schedule: Schedule) -> list[Any]:
    return [run.group.axes[BETA] for run in schedule.runs]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["random", "bisecting"])
def test_a_search_makes_its_trials_once_and_the_same_ones_again(
    folder: StudyFolder, sampler: str
) -> None:
    text = BASE + AXES + SEARCH.replace("random", sampler).replace("4", "13")
    units = Units()
    schedule = work(folder, text, units)
    assert len(schedule.runs) == len(set(points(schedule))) == 13
    assert all(0.1 <= value <= 100 for value in points(schedule))
    assert sorted(units.started) == sorted(
        (run.id, stage) for run in schedule.runs for stage in ("train", "score")
    )
    again = Units()
    assert work(folder, text, again) == schedule
    assert again.started == []
    other = StudyFolder(folder.path.parent / "other")
    other.path.mkdir()
    assert points(work(other, text)) == points(schedule)


@pytest.mark.slow
def test_the_seed_of_a_search_chooses_its_points(folder: StudyFolder) -> None:
    found = []
    for number, seed in enumerate((3, 3, 4)):
        path = folder.path.parent / str(number)
        path.mkdir()
        text = BASE + AXES + SEARCH.replace("mig", f"mig, seed: {seed}")
        found.append(points(work(StudyFolder(path), text)))
    assert found[0] == found[1]
    assert not set(found[0]) & set(found[2])


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["random", "bisecting"])
@pytest.mark.parametrize("ended", [1, 5])
def test_a_search_that_was_killed_goes_on_with_the_same_points(
    folder: StudyFolder, sampler: str, ended: int
) -> None:
    text = BASE + AXES + SEARCH.replace("random", sampler).replace("4", "12")
    other = StudyFolder(folder.path.parent / "other")
    other.path.mkdir()
    whole = work(other, text)

    class Killed(Units):
        def wait(self, seconds: float) -> bool:
            if len(self.started) > 2 * ended:
                raise SystemExit
            return True

    with pytest.raises(SystemExit):
        work(folder, text, Killed())
    present = points(read_schedule(folder.path))
    assert len(present) == ended + 1
    assert present == points(whole)[: ended + 1]

    class Counting(Units):
        """Numbers processes on, so that scores are those of the whole search."""

        def __init__(self) -> None:
            super().__init__()
            self.started = [("", "")] * (2 * ended)

    assert points(work(folder, text, Counting())) == points(whole)


def test_two_workers_do_no_trial_twice(folder: StudyFolder) -> None:
    plan(folder).write(folder.path)
    other = Units()

    def second() -> None:
        Worker(folder, read_schedule(folder.path), other, Settings(leave=True)).work()

    first = Units(during=second)
    Worker(folder, read_schedule(folder.path), first).work()
    schedule = read_schedule(folder.path)
    assert len(schedule.runs) == 4
    assert len(other.started) == 6  # while the first worker had the first trial
    assert sorted([*first.started, *other.started]) == sorted(
        (run.id, stage) for run in schedule.runs for stage in ("train", "score")
    )


def test_a_repeated_plan_keeps_trials_that_were_added_meanwhile(folder: StudyFolder) -> None:
    first = plan(folder)
    first.write(folder.path)
    longer = Searcher(folder).extended(first)
    assert longer is not None
    longer.write(folder.path)  # by a worker, after the second command has read the plan
    assert write_schedule(folder, first) == longer
    assert read_schedule(folder.path).runs == longer.runs
    assert not Claims(folder.claims).current()


def test_failed_and_diverged_trials_have_no_value(folder: StudyFolder) -> None:
    units = Units({"train": ["done", "diverged", "exception", "done"]})
    schedule = work(folder, units=units)
    assert schedule.search is not None
    trials = Searcher(folder).trials(schedule, schedule.search.spaces[0])
    assert [trial.has_ended for trial in trials] == [True] * 4
    assert [trial.value is None for trial in trials] == [False, True, True, False]
    line, page, hint = search_lines(Study(folder.path))
    assert hint.startswith("the best of many trials looks better than it is")
    assert line.startswith("search: 4 of 4 trials, 2 without result; best mig ")
    best = max((trial for trial in trials if trial.value is not None), key=lambda t: t.value or 0)
    assert line.endswith(f"{best.value:.4g}: {BETA} {best.point[BETA]:g}")
    (run,) = (run for run in schedule.runs if run.group.axes[BETA] == best.point[BETA])
    assert page == f"  dislab report {folder.run(run.id)}  # its page"


def test_an_axis_of_a_single_value_is_left_out_of_the_lines_of_a_search(
    folder: StudyFolder,
) -> None:
    text = BASE + AXES.rstrip().removesuffix("}") + ", trainer.max_steps: [20]}\n" + SEARCH
    schedule = work(folder, text)
    line, *_ = search_lines(Study(folder.path))
    assert line.startswith("search: 4 of 4 trials; best mig "), line
    ended = Study(folder.path).status().runs[0]
    assert "max_steps" not in ended_line(ended, schedule)
    assert "beta" in ended_line(ended, schedule)


def test_the_best_trial_stands_beside_chance_and_the_work_left_counts_trials_to_come(
    folder: StudyFolder,
) -> None:
    schedule = Searcher(folder).extended(plan(folder))
    assert schedule is not None
    schedule.write(folder.path)
    (run,) = schedule.runs
    assert "4 runs: 4 waiting" in lines(Study(folder.path))  # as `study run` counts them
    assert "work left: train, score unknown as yet" in lines(Study(folder.path))
    digests = {stage: settings.digest for stage, settings in run.group.stages.items()}
    folder.write_done(run, "train", Done(digests["train"], "done", {}, 10.0, {}))
    assert "work left: 30 s of one worker; score unknown as yet" in lines(Study(folder.path))
    scores: dict[str, float | None] = {"mig": 0.5, "mig/chance": 0.02}
    folder.write_done(run, "score", Done(digests["score"], "done", scores, 1.0, {}))
    assert "work left: 33 s of one worker" in lines(Study(folder.path))
    line, page = search_lines(Study(folder.path))  # one trial is no choice
    assert line.startswith("search: 1 of 4 trials; best mig 0.5 (chance 0.02): ")
    assert page == f"  dislab report {folder.run(run.id)}  # its page"


def test_a_trial_that_lacks_the_score_of_a_seed_has_no_value(folder: StudyFolder) -> None:
    class Lacking(Units):
        def _end(self, run: Path, stage: str) -> Outcome:
            outcome = super()._end(run, stage)
            if [started for _, started in self.started].count("score") == 2 and stage == "score":
                (run / "scores.json").write_text(json.dumps({"test": {"scores": {"mig": None}}}))
            return outcome

    schedule = work(folder, BASE + AXES + "seeds: 2\n" + SEARCH.replace("4", "2"), Lacking())
    assert schedule.search is not None
    trials = Searcher(folder).trials(schedule, schedule.search.spaces[0])
    assert [trial.has_ended for trial in trials] == [True, True]
    assert [trial.value is None for trial in trials] == [True, False]


def test_each_combination_of_other_axes_has_a_search_of_its_own(folder: StudyFolder) -> None:
    """Also with ranges of different names, and a combination without a range."""
    text = (
        BASE
        + f"""
axes:
  method:
    beta: {{axes: {{{BETA}: {{low: 1, high: 10}}}}}}
    tc: {{model.tc: true, axes: {{model.size: {{low: 2, high: 4, whole: true}}}}}}
    plain: {{model.plain: true}}
seeds: 2
search: {{trials: 3, minimize: mig, seed: 7}}
"""
    )
    schedule = work(folder, text)
    assert schedule.fixed_axes == ("method",)
    rows = [(run.group.axes["method"], run.seed) for run in schedule.runs]
    assert {row: rows.count(row) for row in rows} == {
        **{(name, seed): 3 for name in ("beta", "tc") for seed in (0, 1)},
        ("plain", 0): 1,
        ("plain", 1): 1,
    }
    sizes = {run.group.axes["model.size"] for run in schedule.runs} - {None}
    assert sizes == {2, 3, 4}  # three trials of three values: none is tried twice
    assert len(expected(plan(folder, text)).runs) == 14
    lines = [s for s in search_lines(Study(folder.path)) if "dislab report" not in s]
    assert [line.partition(":")[0] for line in lines] == [
        "search of method beta",
        "search of method tc",
        "the best of many trials looks better than it is",
    ]


def test_a_range_without_further_values_ends_its_search(folder: StudyFolder) -> None:
    text = BASE + "axes: {model.size: {low: 2, high: 3, whole: true}}\n" + SEARCH
    assert [run.group.axes["model.size"] for run in work(folder, text).runs] in ([2, 3], [3, 2])


@pytest.mark.parametrize(
    ("text", "version", "kept"),
    [
        (BASE + AXES + SEARCH.replace("4", "6"), "1", 4),
        (BASE + AXES + SEARCH, "2", 4),
        (BASE + AXES.replace("100", "1000") + SEARCH, "1", 4),
        (BASE + AXES.replace("low: 0.1, high: 100", "low: 200, high: 300") + SEARCH, "1", 0),
        (BASE + AXES.replace("}\n", ", model.size: [3]}\n") + SEARCH, "1", 0),
    ],
)
def test_which_trials_stay_after_an_edit(
    folder: StudyFolder, text: str, version: str, kept: int
) -> None:
    before = work(folder)
    after = plan(folder, text, version)
    assert [run.id for run in after.runs] == [run.id for run in before.runs][:kept]


def test_a_plan_with_a_search_is_read_as_it_was_written(folder: StudyFolder) -> None:
    schedule = work(folder)
    (space,) = schedule.search.spaces if schedule.search else ()
    assert space.axes == {BETA: Range(0.1, 100.0, log=True)}
    schedule.write(folder.path)
    assert read_schedule(folder.path) == schedule
    record = json.loads((folder.path / "plan.json").read_text())
    record["search"]["settings"]["trials"] = "many"
    (folder.path / "plan.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="trials is 'many', and must be int"):
        read_schedule(folder.path)


def test_a_target_that_no_run_has_is_refused_with_those_it_has(folder: StudyFolder) -> None:
    units = Units()
    with pytest.raises(
        InputError, match="no result 'mgi' \\(did you mean mig\\?\\); its results are"
    ):
        work(folder, BASE + AXES + SEARCH.replace("mig", "mgi"), units)
    assert len(units.started) == 2


@pytest.mark.slow
def test_a_target_that_no_run_will_have_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("base.yaml").write_text(TINY)
    text = f"base: base.yaml\n{AXES}stages: {{train: {{}}, score: {SCORE}}}\n"
    for verb in ("plan", "run"):
        search = "{sampler: optuna, trials: 2, maximize: mgi}"  # without its plug-in
        Path("mine.yaml").write_text(f"{text}search: {search}\n")
        assert main(["study", verb, "mine.yaml"]) == 2
        said = capsys.readouterr().err
        assert "no result 'mgi' (did you mean mig?); its results are mig, " in said
        assert "active_units" in said
        assert "reconstruction_mean_test" in said
        assert not Path("studies").exists()
    for target in ("score.mig", "elbo"):
        Path("mine.yaml").write_text(f"{text}search: {{trials: 2, maximize: {target}}}\n")
        assert main(["study", "plan", "mine.yaml"]) == 0, capsys.readouterr().err


def test_udr_is_that_of_the_seeds_of_a_trial(
    folder: StudyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd

    def agreement(study: Study) -> pd.DataFrame:
        index = pd.Index([run.id for run in study.schedule.runs], name="run")
        assert [run.seed for run in study.schedule.runs] == [0, 1, 2, 3, 4]
        return pd.DataFrame({"agreement.udr_lasso_pooled": [0, 0, 0.5, 1, 1]}, index)

    monkeypatch.setattr(Study, "agreement", agreement)
    text = BASE.replace("score", "codes") + AXES + "seeds: 5\nsearch: {trials: 2, maximize: udr}\n"
    units = Units()
    monkeypatch.setattr("dislab.study.stages.codes.CodesStage.scores", lambda self, run: {})
    schedule = work(folder, text, units)
    assert schedule.search is not None
    trials = Searcher(folder).trials(schedule, schedule.search.spaces[0])
    assert [trial.value for trial in trials] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("evaluate.points", "evaluate.points cannot be a range"),
        ("seeds.x", "seeds.x cannot be a range"),
    ],
)
def test_only_numbers_of_training_can_be_ranges(
    folder: StudyFolder, name: str, message: str
) -> None:
    def both(args: Sequence[str]) -> Resolved:
        return nested([arg for arg in args if not arg.startswith("--seeds")])

    path = folder.path / "mine.yaml"
    (folder.path / "base.yaml").write_text("a: 1\n")
    path.write_text(f"{BASE}axes: {{{name}: {{low: 1, high: 2}}}}\n{SEARCH}")
    with pytest.raises(InputError, match=message):
        make_schedule(read_study_file(path), lambda: both, {"dislab": "1"})


MISTAKES = [
    (AXES, "axes.model.regularizers.kl.beta is a range, which needs a search; add search:"),
    (f"axes: {{{BETA}: [1, 2]}}\n{SEARCH}", "search needs a range, and no axis is one"),
    (SEARCH, "search needs a range"),
    ("axes: {a: {low: 3, high: 3}}\n" + SEARCH, "a.low is 3; it must be less than high, which is"),
    ("axes: {a: {low: 4, high: 3}}\n" + SEARCH, "a.low is 4; it must be less than high, which is"),
    ("axes: {a: {low: 0, high: 3, log: true}}\n" + SEARCH, "a.low is 0; it must be greater than"),
    ("axes: {a: {low: 1}}\n" + SEARCH, "a.high is null; it must be a number"),
    ("axes: {a: {low: x, high: 3}}\n" + SEARCH, 'a.low is "x"; it must be a number'),
    ("axes: {a: {low: true, high: 3}}\n" + SEARCH, "a.low is true; it must be a number"),
    ("axes: {a: {low: .nan, high: 3}}\n" + SEARCH, "a.low is NaN; it must be a number"),
    ("axes: {a: {low: 1, high: .inf}}\n" + SEARCH, "a.high is Infinity; it must be a number"),
    ("axes: {a: {low: 1.5, high: 3, whole: true}}\n" + SEARCH, "a.low is 1.5; it must be a whole"),
    ("axes: {a: {low: 1, high: 3, log: 1}}\n" + SEARCH, "a.log is 1; it must be true or false"),
    ("axes: {a: {low: 1, high: 3, logg: 1}}\n" + SEARCH, "a has no 'logg' (did you mean log?)"),
    (AXES + "search: 5\n", "search is 5; it must be a mapping"),
    (AXES + "search: {}\n", "search.trials is null; it must be a whole number from 1 on"),
    (AXES + SEARCH.replace("4", "0"), "search.trials is 0; it must be a whole number from 1 on"),
    (AXES + SEARCH.replace("4", "2.5"), "search.trials is 2.5; it must be a whole number"),
    (AXES + SEARCH.replace("4", "9999999"), "more than 1,000,000 combinations"),
    (AXES + SEARCH.replace("random", "[1]"), "search.sampler is [1]; it must be the name"),
    (AXES + SEARCH.replace("mig", "mig, seed: -1"), "search.seed is -1; it must be a whole"),
    (AXES + SEARCH.replace("mig", "mig, minimize: mig"), "search has either maximize or minimize"),
    (AXES + "search: {trials: 4}\n", "search has either maximize or minimize"),
    (AXES + SEARCH.replace("mig", "3"), "search.maximize is 3; it must be udr, elbo, or a column"),
    (
        AXES + SEARCH.replace("mig", "udr"),
        "which compares 5 seeds of each setting; the study has 1",
    ),
    (AXES + "seeds: 5\n" + SEARCH.replace("mig", "udr"), "add codes to stages"),
    (
        AXES + SEARCH.replace("mig", "transfer.a/mlp"),
        "add transfer to stages, which has train, sco",
    ),
    (AXES + SEARCH.replace("trials", "trails"), "search has no 'trails' (did you mean trials?)"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[text for text, _ in MISTAKES])
def test_a_mistake_in_a_search_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("a: 1\n")
    (tmp_path / "mine.yaml").write_text(BASE + text)
    with pytest.raises(InputError) as caught:
        read_study_file(tmp_path / "mine.yaml")
    assert message in str(caught.value)


def test_values_that_are_called_low_and_high_are_no_range(tmp_path: Path) -> None:
    text = "base: betavae\naxes: {noise: {low: {model.noise: 1}, high: {model.noise: 2}}}\n"
    (tmp_path / "mine.yaml").write_text(text)
    labels = [group.axes["noise"] for group in read_study_file(tmp_path / "mine.yaml").groups()]
    assert labels == ["low", "high"]


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        ("randon", "no sampler is named 'randon' (did you mean random?)"),
        ("optuna", "no sampler is named 'optuna' without the plugin dislab-optuna; in a clone of"),
        ("randon", "; installed samplers: random"),
    ],
)
def test_a_sampler_that_is_not_there_is_named(
    folder: StudyFolder, sampler: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        plan(folder, BASE + AXES + SEARCH.replace("random", sampler))
    assert message in str(caught.value)


def drawn(sampler: Sampler, limits: Range, count: int) -> list[float]:
    return [limits.nearest(sampler.propose({"a": limits}, [], True, n)["a"]) for n in range(count)]


def test_ranges_are_searched_evenly() -> None:
    """The median of many first proposals is the middle; whole numbers are equally frequent."""
    proposer = load_sampler("random")
    logarithmic = drawn(proposer, Range(0.01, 100.0, log=True), 300)
    assert abs(math.log10(statistics.median(logarithmic))) < 0.4
    assert min(logarithmic) < 0.03
    assert max(logarithmic) > 30
    assert abs(statistics.median(drawn(proposer, Range(-1.0, 3.0), 300)) - 1) < 0.4
    whole = drawn(proposer, Range(1.0, 3.0, whole=True), 300)
    assert all(isinstance(value, int) for value in whole)
    assert all(70 < whole.count(value) < 130 for value in (1, 2, 3))


@pytest.mark.slow
def test_a_search_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("base.yaml").write_text(TINY)
    Path("mine.yaml").write_text(
        f"base: base.yaml\n{AXES}stages: {{train: {{}}, score: {SCORE}}}\n"
        "search: {sampler: random, trials: 2, maximize: elbo}\n"
    )
    assert main(["study", "plan", "mine.yaml"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("mine: 2 runs in studies/mine, stages train, score\n")
    assert f"  {BETA}: 0.1 to 100 (log)\n" in out
    assert "search: 0 of 2 trials\n" in out
    assert "training: 40 steps, 20 a run\n" in out
    assert "  at the low ends of the ranges: " in out
    assert "all runs" not in out
    assert main(["study", "run", "mine.yaml", "--workers", "2"]) == 0
    out = capsys.readouterr().out
    assert "search: 2 of 2 trials; best elbo -" in out
    assert out.count("the best of many trials looks better than it is") == 1
    assert main(["study", "summary", "studies/mine"]) == 0
    assert Path("studies/mine/summary/summary.md").is_file()
    assert main(["report", "studies/mine"]) == 0
    page = Path("studies/mine/report.html").read_text()
    assert "standard deviation over all runs; the best run" in page, "no row for each trial"
    capsys.readouterr()
    assert main(["study", "table", "mine", "--means"]) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows[:2] == [["setting", "runs"], ["all", "2"]]
    table = Study("mine.yaml").table()
    assert list(table["state"]) == ["finished"] * 2
    assert table[BETA].between(0.1, 100).all()


def test_a_search_or_a_base_that_has_changed_since_it_was_run_is_told(folder: StudyFolder) -> None:
    plan(folder).write(folder.path)
    path = folder.path.parent.parent / "mine.yaml"
    Study(path, folder.path)
    told = r"from the study that was run, which is shown; .* --folder \S+mine` takes up the file "
    text = path.read_text()
    path.write_text(text.replace("trials: 4", "trials: 5"))
    with pytest.warns(StudyWarning, match=told):
        Study(path, folder.path)
    path.write_text(text)
    (path.parent / "base.yaml").write_text("model: {class_path: VAE, init_args: {latent_dim: 3}}\n")
    with pytest.warns(StudyWarning, match=told):
        Study(path, folder.path)
