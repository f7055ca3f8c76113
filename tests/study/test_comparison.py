"""Tables of loose run folders."""

from pathlib import Path

import pytest
import torch
import yaml
from tests.study.conftest import planned, scored

from dislab.cli import main
from dislab.runs import record_divergence, write_scores
from dislab.study.comparison import axes_of, compare
from dislab.study.results import StudyFolder


@pytest.mark.parametrize(
    ("is_scored", "diverged", "state"),
    [
        (False, False, "not scored"),
        (True, False, "finished"),
        (False, True, "diverged"),
        (True, True, "diverged"),
    ],
)
def test_the_state_of_a_run(tmp_path: Path, is_scored: bool, diverged: bool, state: str) -> None:
    (tmp_path / "config.yaml").write_text("model: {class_path: VAE}\nseed_everything: 3\n")
    if is_scored:
        record = {"scores": {"mig": 0.5, "kl": 7.0}, "chance": {"mig": 0.1}}
        write_scores(tmp_path, "test", record)
    if diverged:
        record_divergence(tmp_path, "kl became NaN")
    table = compare([tmp_path])
    found = {"score.mig": [0.5], "score.kl": [7.0], "score.mig/chance": [0.1]}
    scores = found if is_scored else {}
    assert table.to_dict("list") == {"seed": [3], "state": [state], **scores}


@pytest.mark.parametrize(
    ("steps", "state"), [(None, "unfinished"), (7, "unfinished"), (8, "not scored")]
)
def test_a_run_without_scores_is_unfinished_until_its_last_step(
    tmp_path: Path, steps: int | None, state: str
) -> None:
    (tmp_path / "config.yaml").write_text("model: {class_path: VAE}\ntrainer: {max_steps: 8}\n")
    if steps is not None:
        (tmp_path / "checkpoints").mkdir()
        stored = {"global_step": steps, "state_dict": {}, "pytorch-lightning_version": "2.6.0"}
        torch.save(stored, tmp_path / "checkpoints/last.ckpt")
    assert compare([tmp_path])["state"].tolist() == [state]


def test_runs_are_named_by_their_methods(tmp_path: Path) -> None:
    for name in ("FactorVAE", "β-VAE"):
        (tmp_path / name).mkdir()
        text = f"model: {{class_path: VAE}}\nseed_everything: 3\nmethod: {name}\n"
        (tmp_path / name / "config.yaml").write_text(text)
    table = compare([tmp_path / "FactorVAE", tmp_path / "β-VAE"])
    assert table["method"].tolist() == ["FactorVAE", "β-VAE"]


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["a/version_0", "a/version_1"], ["version_0", "version_1"]),
        (["a/version_0", "b/version_0"], ["a/version_0", "b/version_0"]),
        (["a", "a/other_data/b"], ["a", "a/other_data/b"]),
        (["a"], ["a"]),
    ],
)
def test_paths_are_printed_without_the_folders_that_all_share(
    folders: list[str], names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    above = tmp_path / ("long_" * 20)
    for folder in folders:
        (above / folder).mkdir(parents=True, exist_ok=True)
        settings = {f"setting_{number}": f"{number}_of_{folder}" for number in range(9)}
        config = {"model": {"class_path": "VAE", "init_args": settings}, "seed_everything": 3}
        (above / folder / "config.yaml").write_text(yaml.safe_dump(config))
        write_scores(above / folder, "test", {"scores": {"dci_hgbt_disentanglement": 0.5}})
    assert main(["compare", *(str(above / folder) for folder in folders)]) == 0
    head, *lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == names
    assert max(map(len, [head, *lines])) <= 100
    assert "DCI disentanglement" in head


def test_a_folder_of_runs_stands_for_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [*(f"runs/b/version_{number}" for number in (2, 10)), "runs/a/version_0", "other"]
    for folder in map(Path, folders):
        folder.mkdir(parents=True)
        data = "data: {class_path: SingleData, init_args: {dataset: DSprites}}"
        (folder / "config.yaml").write_text(f"model: {{class_path: VAE}}\n{data}\n")
    expected = ["runs/a/version_0", "runs/b/version_2", "runs/b/version_10"]
    for paths, runs in {("runs",): expected, ("other", "runs/b"): ["other", *expected[1:]]}.items():
        assert main(["compare", *paths, "--format=csv"]) == 0
        assert [row.split(",")[0] for row in capsys.readouterr().out.splitlines()[1:]] == runs
        assert main(["cite", *paths]) == 0
        assert "dSprites" in capsys.readouterr().out
    assert main(["report", "runs/b"]) == 2
    assert "2 runs make one page; name its file by --out" in capsys.readouterr().err
    assert main(["compare", "runs", "runs/a/version_0"]) == 2
    assert "are the same run; leave one out" in capsys.readouterr().err


@pytest.mark.slow
def test_runs_of_a_study_have_its_axes_and_its_order_under_each_of_its_names(
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    strength = "{low: {model.b: 1}, high: {model.b: 2}, most: {model.b: 3}}"
    plan = planned(tmp_path, f"base: [base.yaml]\naxes: {{strength: {strength}}}\nseeds: 2\n")
    scored(folder, plan, {"mig": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]})
    for number, run in enumerate(plan.runs):
        config = {"seed_everything": run.seed, "model": {"init_args": {"b": number // 2}}}
        (folder.run(run.id) / "config.yaml").write_text(yaml.safe_dump(config))
    for name in ("mine", "mine.yaml", "studies/mine", "studies/mine/runs"):
        assert main(["compare", name]) == 0
        printed = capsys.readouterr().out
        rows = [line.split() for line in printed.partition("\n\n")[0].splitlines()]
        assert rows[0] == ["run", "strength", "seed", "MIG"]
        assert [row[:2] for row in rows[1:]] == [
            [run.id, run.group.axes["strength"]] for run in plan.runs
        ]
        assert "\nalso differ: model.b (0, 1, 2)\n" in printed
        assert printed.count("--format csv") == 1
    for command in (["cite"], ["report", "--target", "score.mig", "--out", "a.html"]):
        assert main([*command, "mine"]) == 0
    assert main(["study", "status", "mine"]) == 0
    first, *_, last = (str(folder.run(run.id)) for run in plan.runs)
    capsys.readouterr()
    assert main(["compare", last, first, "--format", "markdown"]) == 0
    said = capsys.readouterr()
    assert [line.split(" | ")[1] for line in said.out.splitlines()[2:]] == ["most", "low"]
    assert said.err == "also differ: model.b (2, 0); --format csv has all\n"
    (folder.path / "plan.json").write_text("{")  # a damaged plan leaves the runs as they are
    assert main(["compare", "studies/mine"]) == 0


def test_runs_of_two_studies_have_the_axes_of_both(tmp_path: Path) -> None:
    strength = "{low: {model.b: 1}, high: {model.b: 2}}"
    axes = {
        "first": f"strength: {strength}, way: {{one: {{}}}}, model.a: [4, 5]",
        "second": f"strength: {strength}, model.c: [7]",
    }
    (tmp_path / "base.yaml").write_text("")
    runs = []
    for name, text in axes.items():
        plan = planned(tmp_path, f"base: [base.yaml]\naxes: {{{text}}}\nseeds: 1\n", name)
        folder = StudyFolder(tmp_path / "studies" / name)
        scored(folder, plan, {"mig": [0.1] * len(plan.runs)})
        for run in plan.runs:
            values = {"a": run.group.axes.get("model.a", 3), "c": run.group.axes.get("model.c", 8)}
            config = {"seed_everything": run.seed, "model": {"init_args": values}}
            (folder.run(run.id) / "config.yaml").write_text(yaml.safe_dump(config))
            runs.append(folder.run(run.id))
    table = axes_of(runs)
    assert list(table) == ["strength", "model.a", "way", "model.c"]  # those with one value last
    assert table["way"].isna().tolist() == [False] * 4 + [True] * 2
    assert list(table["strength"]) == ["low", "low", "high", "high", "low", "high"]
    assert list(table["model.a"]) == [4, 5, 4, 5, 3, 3]
    assert list(table["model.c"]) == [8, 8, 8, 8, 7, 7]
    assert list(axes_of([runs[0], runs[0]])["strength"]) == ["low", "low"]


def test_a_table_of_two_studies_has_the_score_of_both_and_tells_their_runs_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "first": "trainer.max_steps: [300], strength: {low: {model.b: 1}, high: {model.b: 2}}",
        "second": "trainer.max_steps: [60], way: {one: {model.b: 3}, two: {model.b: 4}}",
    }
    scores = {"first": {"dci_hgbt_disentanglement": [0.3, 0.4]}, "second": {}}
    (tmp_path / "base.yaml").write_text("")
    for name, text in texts.items():
        plan = planned(tmp_path, f"base: [base.yaml]\naxes: {{{text}}}\nseeds: 1\n", name)
        folder = StudyFolder(tmp_path / "studies" / name)
        values = {"mig": [0.1, 0.2][: len(plan.runs)], **scores[name]}
        scored(folder, plan, values)
        for number, run in enumerate(plan.runs):
            steps = run.group.axes["trainer.max_steps"]
            config = {"seed_everything": run.seed, "trainer": {"max_steps": steps}}
            (folder.run(run.id) / "config.yaml").write_text(yaml.safe_dump(config))
            record = {"scores": {score: of[number] for score, of in values.items()}}
            write_scores(folder.run(run.id), "test", record)
    names = [str(tmp_path / "studies" / name) for name in texts]
    assert main(["compare", *names]) == 0
    head, *rows = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    settings = ["strength", "way", "trainer.max_steps", "seed"]
    assert head.split() == ["run", *settings, "MIG", "DCI", "disentanglement"]
    assert [row.split()[1:4] for row in rows] == [
        ["low", "–", "300"],
        ["high", "–", "300"],
        ["–", "one", "60"],
        ["–", "two", "60"],
    ]


def test_a_run_that_the_plan_lacks_has_its_own_value_of_an_axis(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axis, runs = "model.init_args.optimizer.init_args.lr", []
    for rates in ("[0.5, 0.25]", "[0.125]"):
        plan = planned(tmp_path, f"base: [base.yaml]\naxes: {{{axis}: {rates}}}\nseeds: 1\n")
        scored(folder, plan, {"mig": [0.1, 0.2][: len(plan.runs)]})
        for run in plan.runs:
            optimizer = {"class_path": "Adam", "init_args": {"lr": run.group.axes[axis]}}
            config = {"seed_everything": run.seed, "model": {"init_args": {"optimizer": optimizer}}}
            (folder.run(run.id) / "config.yaml").write_text(yaml.safe_dump(config))
            runs.append(str(folder.run(run.id)))
    assert main(["compare", *runs]) == 0
    rows = [line.split() for line in capsys.readouterr().out.partition("\n\n")[0].splitlines()]
    assert rows[0] == ["run", "optimizer.lr", "seed", "MIG"]
    assert [row[1] for row in rows[1:]] == ["0.5", "0.25", "0.125"]


def test_long_paths_get_numbers_which_are_explained_below(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [f"a_method_of_a_long_name_{letter}/version_0" for letter in "xy"]
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config.yaml").write_text("model: {class_path: VAE}\n")
        write_scores(tmp_path / folder, "test", {"scores": {"mig": 0.5}})
    assert main(["compare", *(str(tmp_path / folder) for folder in folders)]) == 0
    table, _, below = capsys.readouterr().out.partition("\n\n")
    assert [line.split()[0] for line in table.splitlines()] == ["run", "1", "2"]
    assert below.splitlines()[-2:] == [f"{n}: {path}" for n, path in enumerate(folders, start=1)]


@pytest.mark.parametrize("suffix", [".tex", ".md"])
def test_tables_for_documents_have_what_differs_and_main_scores(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scores = {"mig": 0.5, "dci_hgbt_informativeness_train": 0.9, "kl_sample_test": 7.0}
    for seed in (1, 2):
        Path(f"run_{seed}").mkdir()
        text = f"model: {{class_path: VAE}}\nseed_everything: {seed}\n"
        Path(f"run_{seed}/config.yaml").write_text(text)
        write_scores(Path(f"run_{seed}"), "test", {"scores": scores | {"mig": seed / 4}})
    for _ in range(2):  # the second table replaces the first
        assert main(["compare", "run_1", "run_2", "--out", f"table{suffix}"]) == 0
    for mine in ("| run | note |\n", "\\begin{tabular}{ll}\nrun & note \\\\\n"):
        Path(f"mine{suffix}").write_text(mine)
        assert main(["compare", "run_1", "run_2", "--out", f"mine{suffix}"]) == 2
        assert Path(f"mine{suffix}").read_text() == mine
    if suffix == ".tex":  # an older mark
        Path("table.tex").write_text("% dislab\n")
        assert main(["compare", "run_1", "run_2", "--out", "table.tex"]) == 0
    lines = Path(f"table{suffix}").read_text().splitlines()
    assert sum("MIG" in line for line in lines) == 1
    assert not any("KL" in line or "train" in line for line in lines)
    last = r"run\_2 & 2 & 0.500 \\" if suffix == ".tex" else "| run_2 | 2 | 0.500 |"
    assert last in lines


@pytest.mark.parametrize(
    ("second", "differ"),
    [
        ("{dataset: Shapes3D, batch_size: 8}", False),
        ("{dataset: DSprites}", True),
        ("{dataset: Shapes3D, resize: 32}", True),
        ("{dataset: Shapes3D, include: {shape: [cube]}}", True),
    ],
)
def test_scores_of_different_data_are_not_to_be_compared(
    second: str, differ: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data, score in (("a", "{dataset: Shapes3D}", 0.4), ("b", second, 0.6)):
        (tmp_path / name).mkdir()
        text = f"model: {{class_path: VAE}}\ndata: {{class_path: SingleData, init_args: {data}}}\n"
        (tmp_path / name / "config.yaml").write_text(text)
        write_scores(tmp_path / name, "test", {"scores": {"mig": score}})
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    printed = capsys.readouterr().out
    assert "*" not in printed  # a single run is no evidence
    assert ("single runs: another seed may change their order" in printed) != differ
    caution = "the runs have different data, and their scores cannot be compared:\n"
    assert printed.startswith(caution) == differ
    for suffix in ("csv", "md"):
        out = str(tmp_path / f"runs.{suffix}")
        assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", out]) == 0
        assert ("the runs have different data" in capsys.readouterr().err) == differ


def test_runs_directly_below_the_root_belong_to_no_study() -> None:
    assert axes_of(["/run"]).empty


@pytest.mark.parametrize("points", [300, 900])
def test_scores_of_different_images_are_named(
    points: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, count in (("a", 900), ("b", points)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text("model: {class_path: VAE}\n")
        draw = {"points": count, "available": 1000, "split": "test"}
        write_scores(tmp_path / name, "test", {"scores": {"mig": 0.5}, "draw": draw})
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    note = (
        "the runs are scored on different images (900 of 1,000 images of the test split; 300 of "
        "1,000 images of the test split), so that scores may differ for this: run"
    )
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith(note) == (points == 300)


def test_a_factor_vae_score_of_no_latent_has_no_chance_level(tmp_path: Path) -> None:
    """Its 0 is none by chance, and would lower the level of a study at one door or another."""
    for name, still in (("a", 2.0), ("b", 0.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text("model: {class_path: VAE}\n")
        scores = {"factor_vae_score": 0.6, "num_active": still, "mig": 0.1}
        scores |= {f"sampled/{score}": value for score, value in scores.items()}
        levels = {"factor_vae_score": still / 10, "mig": 0.0, "sampled/factor_vae_score": still}
        write_scores(tmp_path / name, "test", {"scores": scores, "chance": levels})
    table = compare([tmp_path / "a", tmp_path / "b"])
    for column in ("score.factor_vae_score/chance", "score.sampled/factor_vae_score/chance"):
        assert table[column].notna().tolist() == [True, False], column
    assert table["score.mig/chance"].tolist() == [0.0, 0.0]


def test_runs_whose_latents_carry_nothing_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their FactorVAE score of 0 is no measurement."""
    for name, active, still in (("a", 2.0, 2.0), ("b", 0.0, 0.0), ("c", 0.0, 1.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text("model: {class_path: VAE}\n")
        scores = {"factor_vae_score": still / 4, "num_active": still, "active_units": active}
        write_scores(tmp_path / name, "test", {"scores": scores})
    assert main(["compare", *(str(tmp_path / name) for name in "abc")]) == 0
    assert (
        "In 2 runs (b, c) no latent is active: the KL of each is at most 0.01 nats. In 1 run "
        "(b) no latent varies enough, so that the FactorVAE score is 0 there, without a chance "
        "level."
    ) in " ".join(capsys.readouterr().out.split())
    assert main(["compare", str(tmp_path / "a")]) == 0
    assert "no latent" not in capsys.readouterr().out
