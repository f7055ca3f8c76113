"""Who owns a run folder: one process at a time, whichever loggers the trainer has."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from jsonargparse import dict_to_namespace
from PIL import Image
from tests.processes import obey, start, start_several
from tests.small_runs import small_config

from dislab.cli import dispatch, main
from dislab.cli.run_settings import with_absolute_paths
from dislab.cli.study_runs import resolver
from dislab.errors import InputError
from dislab.runs import open_run, trained_alone

SMALL = small_config("blob", "trainer: {val_check_interval: 2, check_val_every_n_epoch: null}")
RUN = "runs/small/version_0"
BEYOND_AN_EPOCH = (
    "--trainer.val_check_interval=1000000",
    "--trainer.check_val_every_n_epoch=1",
    "--trainer.max_steps=8",
)

Dislab = Callable[..., int]
SmallRun = Callable[..., Path]


@pytest.fixture
def dislab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dislab:
    """Runs a command in an empty folder that holds small.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)

    def run(*args: str) -> int:
        try:
            return main(args)
        except SystemExit as ended:
            return int(ended.code or 0)

    return run


def rows(run: str) -> list[dict[str, str]]:
    with Path(run, "metrics.csv").open(newline="") as file:
        return [{name: cell for name, cell in row.items() if cell} for row in csv.DictReader(file)]


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


LOGGERS = {
    "none": "false",
    "two": "[{class_path: TensorBoardLogger, init_args: {save_dir: elsewhere}}, "
    "{class_path: CSVLogger, init_args: {save_dir: elsewhere}}]",
}


@pytest.mark.slow
@pytest.mark.parametrize("loggers", LOGGERS)
def test_loggers_are_added_to_the_run_folder(
    loggers: str,
    dislab: Dislab,
    small_run: SmallRun,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small_run(SMALL, "--name=plain", "--trainer.max_steps=6")
    plain = rows("runs/plain/version_0")
    (tmp_path / "logger.yaml").write_text(f"trainer: {{logger: {LOGGERS[loggers]}}}")
    assert dislab("fit", "--config=small.yaml", "--config=logger.yaml") == 0
    assert f"{RUN}/scores.json" in capsys.readouterr().out
    assert {"config.yaml", "metrics.csv", "scores.json", "checkpoints"} <= {
        path.name for path in Path(RUN).iterdir()
    }
    assert {path.name for path in tmp_path.iterdir()} <= {
        "small.yaml",
        "logger.yaml",
        "runs",
        "elsewhere",
    }
    again = "--config=logger.yaml"
    assert dislab("fit", f"--resume={RUN}", again, "--trainer.max_steps=6") == 0
    assert rows(RUN) == plain
    assert dislab("test", f"--run={RUN}", f"--trainer.logger={LOGGERS[loggers]}") == 0
    assert dislab("fit", "--config=small.yaml", "--config=logger.yaml") == 0
    assert sorted(path.name for path in Path("runs/small").iterdir()) == ["version_0", "version_1"]


OUTSIDE = {
    "checkpoint.dirpath": "elsewhere",
    "checkpoint.filename": "../../elsewhere/last",
    "trainer.default_root_dir": "elsewhere",
    "trainer.logger.0.init_args.save_dir": "elsewhere",
    "trainer.profiler.init_args.dirpath": "elsewhere",
    "trainer.callbacks.0.init_args.dirpath": "{here}/elsewhere",
}
HOSTILE = {
    "trainer.logger": [{"class_path": "CSVLogger", "init_args": {"save_dir": "elsewhere"}}],
    "trainer.profiler": {
        "class_path": "lightning.pytorch.profilers.SimpleProfiler",
        "init_args": {"dirpath": "elsewhere"},
    },
    "trainer.callbacks": [
        {"class_path": "ModelCheckpoint", "init_args": {"dirpath": "{here}/elsewhere"}}
    ],
}
"""Values of the settings above that are no texts."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("door", "name"),
    [
        *(("study", name) for name in OUTSIDE),
        *(("worker", name) for name in OUTSIDE),  # which resume and test share
        *(("resume", name) for name in list(OUTSIDE)[::5]),
        *(("test", name) for name in list(OUTSIDE)[::5]),
    ],
)
def test_a_foreign_configuration_writes_nothing_outside_its_folder(
    door: str,
    name: str,
    dislab: Dislab,
    small_run: SmallRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small_run(SMALL)
    config = yaml.safe_load(Path(RUN, "config.yaml").read_text())
    section, key = name.split(".")[:2]
    value = json.dumps(HOSTILE.get(f"{section}.{key}", OUTSIDE[name]))
    config[section][key] = json.loads(value.replace("{here}", str(tmp_path)))
    Path(RUN, "config.yaml").write_text(yaml.safe_dump(config))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    setting = f"{name} is '{OUTSIDE[name].replace('{here}', str(tmp_path))}'"
    if door == "study":
        with pytest.raises(
            InputError, match=re.escape(f"{setting}; the runs of a study write into their")
        ):
            resolver()([f"--config={RUN}/config.yaml"])
    else:
        args = {"resume": ["fit", f"--resume={RUN}"], "test": ["test", f"--run={RUN}"]}
        if door == "worker":
            with pytest.raises(InputError, match=re.escape(f"{setting} in the configuration of")):
                dispatch("fit", [f"--config={RUN}/config.yaml"], Path(RUN))
        else:
            assert dislab(*args[door]) == 2
            assert f"error: {setting} in the configuration of {RUN}" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


KEPT = ("metrics.csv", "config.yaml", "checkpoints/last.ckpt")


@pytest.mark.slow
def test_a_finished_run_that_goes_on_changes_nothing(dislab: Dislab, small_run: SmallRun) -> None:
    small_run(SMALL)
    before = {name: Path(RUN, name).read_bytes() for name in KEPT}
    scores = json.loads(Path(RUN, "scores.json").read_text())["test"]["scores"]
    assert dislab("fit", f"--resume={RUN}") == 0
    assert {name: Path(RUN, name).read_bytes() for name in before} == before
    assert json.loads(Path(RUN, "scores.json").read_text())["test"]["scores"] == scores


@pytest.mark.slow
def test_pictures_go_to_every_logger_that_takes_them(
    dislab: Dislab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lightning.pytorch.loggers import CSVLogger

    pictures: list[tuple[str, int, Any]] = []

    def log_image(self: CSVLogger, key: str, images: list[Any], step: int) -> None:
        pictures.append((key, step, images[0].shape[-1]))

    monkeypatch.setattr(CSVLogger, "log_image", log_image, raising=False)
    (tmp_path / "logger.yaml").write_text(f"trainer: {{logger: {LOGGERS['two']}}}")
    assert dislab("fit", "--config=small.yaml", "--config=logger.yaml", "--pictures=true") == 0
    assert {("images/traversals", 2, 3), ("images/reconstructions", 4, 3)} <= set(pictures)
    assert Path(RUN, "images/reconstructions.png").is_file()


@pytest.mark.slow
def test_only_one_process_trains_a_run(
    dislab: Dislab, small_run: SmallRun, capsys: pytest.CaptureFixture[str]
) -> None:
    small_run(SMALL)
    before = Path(RUN, "metrics.csv").read_bytes()
    capsys.readouterr()
    with trained_alone(Path(RUN)):
        assert dislab("fit", f"--resume={RUN}", "--trainer.max_steps=8") == 2
        message = capsys.readouterr().err
        assert f"{RUN} is being trained by another process" in message
        assert dislab("test", f"--run={RUN}") == 0
    assert Path(RUN, "metrics.csv").read_bytes() == before
    assert dislab("fit", f"--resume={RUN}", "--trainer.max_steps=6") == 0


@pytest.mark.slow
def test_of_two_processes_that_resume_a_run_one_is_refused(
    dislab: Dislab, small_run: SmallRun, tmp_path: Path
) -> None:
    small_run(SMALL)
    command = ["fit", f"--resume={RUN}", "--trainer.max_steps=60"]
    started = [start(Path.cwd(), *command) for _ in range(2)]
    outputs = [process.communicate()[0] for process in started]
    assert sorted(process.wait() for process in started) == [0, 2]
    assert sum("is being trained by another process" in text for text in outputs) == 1
    steps = [int(row["step"]) for row in rows(RUN) if "train/loss" in row]
    assert steps == list(range(1, 60, 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("--seed_everything=99", "seed_everything is 99 here and 3 in the run"),
        ("--name=other", "name is 'other' here and 'small' in the run"),
        ("--runs=other", "runs is 'other' here and 'runs' in the run"),
        ("--data.batch_size=4", "data.init_args.batch_size is 4 here and 8 in the run"),
        ("--model.latent_dim=4", "model.init_args.latent_dim is 4 here and 3 in the run"),
    ],
)
def test_what_a_resumed_run_cannot_change_is_refused(
    setting: str,
    message: str,
    dislab: Dislab,
    small_run: SmallRun,
    capsys: pytest.CaptureFixture[str],
) -> None:
    small_run(SMALL)
    capsys.readouterr()
    before = names(Path(RUN))
    assert dislab("fit", f"--resume={RUN}", setting) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert "A run can change its trainer, progress, checkpoint" in errors
    assert names(Path(RUN)) == before


@pytest.mark.slow
def test_own_images_of_another_folder_are_said_when_a_run_goes_on(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, shade in (("first", 50), ("second", 200)):
        (tmp_path / folder).mkdir()
        for index in range(24):
            pixels = np.full((16, 16), shade + index, np.uint8)
            Image.fromarray(pixels).save(tmp_path / folder / f"{index}.png")
    options = ["--data.dataset=FolderDataset", "--data.dataset.folder=first"]
    options += ["--data.dataset.table=null", "--data.dataset.side=16", "--data.batch_size=8"]
    assert dislab("fit", "--config=small.yaml", *options, "--evaluate.metrics=null") == 0
    resume = ["fit", "--resume=runs/small/version_0", "--trainer.max_steps=6"]
    capsys.readouterr()
    assert dislab(*resume) == 0
    assert "they must be the same" not in capsys.readouterr().err
    assert dislab(*resume[:2], "--trainer.max_steps=8", "--data.dataset.folder=second") == 0
    here, before = (str(tmp_path / folder) for folder in ("second", "first"))
    message = f"folder is {here!r} here and {before!r} in the run, which goes on with the images th"
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_the_configuration_of_a_run_of_own_data_repeats_it_from_any_folder(
    dislab: Dislab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "images").mkdir()
    np.save(tmp_path / "shades.npy", np.random.default_rng(0).integers(0, 255, (24, 16, 16), "u1"))
    for index in range(24):
        pixels = np.full((16, 16), 50 + index, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{index}.png")
    rows = "".join(f"{index}.png,{index % 4}\n" for index in range(24))
    (tmp_path / "images" / "factors.csv").write_text(f"file,shade\n{rows}")
    for name in ("file", "factors.csv"):  # no files of the data set
        (tmp_path / name).write_text("")
    common = ["--config=small.yaml", "--evaluate.metrics=null", "--data.batch_size=8"]
    folder = ["--data.dataset=FolderDataset", "--data.dataset.folder=images"]
    file = ["--data.dataset=NumpyDataset", "--data.dataset.file=shades.npy"]
    paths = {"folder": (folder, tmp_path / "images"), "file": (file, tmp_path / "shades.npy")}
    for number, (name, (options, path)) in enumerate(paths.items()):
        assert dislab("fit", *common, *options) == 0
        run = tmp_path / f"runs/small/version_{number}"
        stored = yaml.safe_load((run / "config.yaml").read_text())["data"]["init_args"]["dataset"]
        assert stored["init_args"][name] == str(path)
        assert stored["init_args"].get("table", "factors.csv") == "factors.csv"
        assert stored["init_args"]["file"] == (str(path) if name == "file" else "file")
        # the same data, however spelt, are neither other data nor a change
        assert dislab("test", *common, *options, f"--run={run}") == 0
        assert not (run / "other_data").exists()
        assert dislab("fit", f"--resume={run}", *options, "--trainer.max_steps=6") == 0
        assert "they must be the same" not in capsys.readouterr().err
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for number in range(2):
        run = tmp_path / f"runs/small/version_{number}"
        assert dislab("fit", f"--config={run}/config.yaml") == 0
        assert dislab("test", f"--run={run}") == 0


def test_a_stored_configuration_has_absolute_paths_of_what_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("vision", "no_run", "file", "set"):
        (tmp_path / folder).mkdir()
    (tmp_path / "vision/config.yaml").write_text(SMALL)
    (tmp_path / "last.ckpt").touch()
    dataset = {"folder": "set", "file": "file", "path": "of/the_hub", "table": "file"}
    model = {"vision": "vision", "backbone": "no_run", "latent_dim": 3}
    data = {"class_path": "X", "init_args": {"dataset": {"class_path": "Y", "init_args": dataset}}}
    settings = {"model": {"class_path": "Z", "init_args": model}, "data": data}
    config = dict_to_namespace({**settings, "ckpt_path": "last.ckpt", "runs": "runs"})
    stored = with_absolute_paths(config).as_dict()
    assert config.as_dict() == {**settings, "ckpt_path": "last.ckpt", "runs": "runs"}
    assert stored["model"]["init_args"] == {**model, "vision": str(tmp_path / "vision")}
    inner = stored["data"]["init_args"]["dataset"]["init_args"]
    assert inner == {**dataset, "folder": str(tmp_path / "set")}
    assert (stored["ckpt_path"], stored["runs"]) == (str(tmp_path / "last.ckpt"), "runs")


@pytest.mark.slow
def test_a_resume_with_unchanged_settings_leaves_config_yaml_alone(
    dislab: Dislab, small_run: SmallRun
) -> None:
    small_run(SMALL)
    config = Path(RUN, "config.yaml")
    # a class may be spelt by its name or by its path
    config.write_text(config.read_text().replace("dislab.objectives.VAE", "VAE"))
    before = config.read_bytes()
    assert dislab("fit", f"--resume={RUN}") == 0
    assert config.read_bytes() == before
    assert not list(Path(RUN).glob("config_until_step_*"))
    assert dislab("fit", f"--resume={RUN}", "--trainer.max_steps=6", "--data.num_workers=0") == 0
    assert yaml.safe_load(config.read_text())["trainer"]["max_steps"] == 6
    assert Path(RUN, "config_until_step_4.yaml").read_bytes() == before


def test_a_refused_run_leaves_no_folder(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--evaluate.metrics={dci: {class_path: DCI, init_args: {bins: -1}}}"]
    assert dislab("fit", "--config=small.yaml", *args) == 2
    assert "bins" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists() or not names(tmp_path / "runs")


@pytest.mark.slow
def test_a_refused_resume_leaves_the_run_as_it_was(dislab: Dislab, small_run: SmallRun) -> None:
    small_run(SMALL)
    before = {name: Path(RUN, name).stat() for name in names(Path(RUN))}
    assert dislab("fit", f"--resume={RUN}", *BEYOND_AN_EPOCH) == 2
    events = {name for name in names(Path(RUN)) if name.startswith("events.out.tfevents.")}
    assert names(Path(RUN)) - events == before.keys() - events  # TensorBoard opens one more file
    for name, was in before.items():
        assert Path(RUN, name).stat().st_mtime_ns == was.st_mtime_ns or Path(RUN, name).is_dir()


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "optimizer_states": lambda stored: stored.update(optimizer_states=[]),
    "loops": lambda stored: stored.update(loops=None),
    "lr_schedulers": lambda stored: stored.pop("lr_schedulers"),
    "loops.fit_loop.epoch_loop.batch_progress": lambda stored: stored["loops"]["fit_loop"].update(
        {"epoch_loop.batch_progress": 3}
    ),
    "state_dict": lambda stored: stored.update(state_dict=5),
    "does not fit the model": lambda stored: stored["state_dict"].popitem(),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", DAMAGES)
def test_a_checkpoint_with_missing_parts_is_refused_by_name(
    part: str, dislab: Dislab, small_run: SmallRun, capsys: pytest.CaptureFixture[str]
) -> None:
    small_run(SMALL)
    path = Path(RUN, "checkpoints/last.ckpt")
    stored = torch.load(path, weights_only=True)
    DAMAGES[part](stored)
    torch.save(stored, path)
    capsys.readouterr()
    assert dislab("fit", f"--resume={RUN}", "--trainer.max_steps=6") == 2
    message = capsys.readouterr().err
    assert part in message
    assert "Traceback" not in message


def test_a_flipped_bit_is_refused_by_test_and_resume(
    dislab: Dislab, small_run: SmallRun, capsys: pytest.CaptureFixture[str]
) -> None:
    small_run(SMALL)
    path = Path(RUN, "checkpoints/last.ckpt")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    for args in (["test", f"--run={RUN}"], ["fit", f"--resume={RUN}"], ["predict", f"--run={RUN}"]):
        assert dislab(*args) == 2
        assert "its content does not match its checksum" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_goes_on_with_as_many_processes_as_one_likes(dislab: Dislab, tmp_path: Path) -> None:
    """From two processes to one and back; the campaign of kills goes on with as many as before."""

    def fit_in_two(*args: str) -> None:
        settings = ["--trainer.devices=2", "--trainer.strategy=ddp"]
        for process in start_several(tmp_path, 2, obey, ["fit", *args, *settings]):
            output, _ = process.communicate()
            assert process.returncode == 0, output

    single = ["--trainer.devices=1", "--trainer.strategy=auto"]
    longer = "--trainer.max_steps=8"
    assert dislab("fit", "--config=small.yaml", "--name=whole", longer) == 0
    fit_in_two("--config=small.yaml", "--name=two")
    assert dislab("fit", "--resume=runs/two/version_0", longer, *single) == 0
    assert dislab("fit", "--config=small.yaml", "--name=one") == 0
    fit_in_two("--resume=runs/one/version_0", longer)
    uninterrupted = tmp_path / "runs/whole/version_0"
    for parts in (tmp_path / "runs/two/version_0", tmp_path / "runs/one/version_0"):
        weights = [
            torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
            for run in (uninterrupted, parts)
        ]
        for name, expected in weights[0].items():
            torch.testing.assert_close(weights[1][name], expected, atol=1e-6, rtol=0, msg=name)
        expected_rows, resumed_rows = rows(str(uninterrupted)), rows(str(parts))
        assert [row.keys() for row in resumed_rows] == [row.keys() for row in expected_rows]
        for resumed_row, row in zip(resumed_rows, expected_rows, strict=True):
            for name in row.keys() & {"step", "validation/loss", "test/loss"}:
                assert float(resumed_row[name]) == pytest.approx(float(row[name]), rel=1e-5)
        scores = [
            json.loads((run / "scores.json").read_text())["test"] for run in (uninterrupted, parts)
        ]
        assert scores[1]["scores"]["mig"] == pytest.approx(scores[0]["scores"]["mig"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "file", "origin"),
    [
        ("test", "scores.json", "option"),
        ("validate", "scores.json", "file"),
        ("predict", "representations.npz", "file"),
    ],
)
def test_results_on_other_data_lie_beside_those_of_the_run(
    command: str,
    file: str,
    origin: str,
    dislab: Dislab,
    small_run: SmallRun,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    small_run(SMALL)
    assert dislab(command, f"--run={RUN}", "--report=true") == 0
    before = {path: path.read_bytes() for path in Path(RUN).rglob("*") if path.is_file()}
    images = np.random.default_rng(0).integers(0, 255, (90, 64, 64), "uint8")
    np.savez("other.npz", images=images, size=np.arange(90) % 9, colour=np.arange(90) // 9)
    dataset = "{class_path: NumpyDataset, init_args: {file: other.npz, factors: [size, colour]}}"
    (tmp_path / "o.yaml").write_text(f"data: {{init_args: {{dataset: {dataset}}}}}")
    option = f"--data.dataset={dataset}" if origin == "option" else "--config=o.yaml"
    assert dislab(command, f"--run={RUN}", option) == 0
    assert "data.dataset is 'NumpyDataset' instead of 'GaussianBlob'" in caplog.text
    assert {path: path.read_bytes() for path in before} == before
    (folder,) = Path(RUN, "other_data").iterdir()
    assert folder.name.startswith("NumpyDataset-other-")
    assert (folder / file).is_file()
    assert dislab(command, f"--run={RUN}", option, "--data.num_workers=0") == 0
    assert list(Path(RUN, "other_data").iterdir()) == [folder]
    capsys.readouterr()
    assert dislab("compare", RUN, str(folder)) == 0
    assert "NumpyDataset" in capsys.readouterr().out
    assert dislab("fit", f"--config={folder}/config.yaml") == 2


AVERAGING = (
    "--trainer.callbacks={class_path: StochasticWeightAveraging, init_args: {swa_lrs: 0.01}}"
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Checkpoint directory", "ignore:SWA is currently only")
def test_a_default_that_no_file_holds_is_left_out_and_the_run_goes_on(
    dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["fit", "--config=small.yaml", AVERAGING, "--trainer.max_epochs=9", "--then_test=false"]
    with pytest.raises(SystemExit, match="0"):
        main([*args, "--trainer.callbacks+=BackboneFinetuning", "--print_config"])
    printed = capsys.readouterr().out
    assert "swa_lrs: 0.01" in printed
    assert "Unable to serialize" not in printed
    assert dislab(*args) == 0
    text = Path(RUN, "config.yaml").read_text()
    assert "swa_lrs: 0.01" in text
    assert "device: Unable" not in text
    assert dislab("fit", f"--resume={RUN}", "--trainer.max_steps=6", "--then_test=false") == 0


NO_RUNS = {
    "study": "study is no run: it is a study, whose runs are in study/runs",
    "runs": "runs is no run: it is a folder of runs; name one of them, such as runs/one/version_3",
    "runs/one": "runs/one is no run: it has no config.yaml; name one of its runs: version_3",
    "runs/one/version_3/config.yaml": "it is a file in a run; give runs/one/version_3",
    "runs/one/version_3/pictures": "it is a folder in a run; give runs/one/version_3",
    "codes.npz": "codes.npz is no run: it is a file; give the folder of a run",
    "noe": "it does not exist (did you mean runs/one?)",
    "shaeps": "it does not exist (did you mean shapes?)",
    "studies": "studies is no run: it is a folder of studies; `dislab report studies/shapes`",
    "shapes": "shapes is no run: it is a study, whose runs are in studies/shapes/runs",
}


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "args",
    [
        ("encode", "PATH"),
        ("score", "PATH"),
        ("draw", "PATH", "scores", "--out=a.png"),
        ("test", "--run=PATH"),
        ("fit", "--resume=PATH"),
        ("export", "PATH", "--to=safetensors", "--out=model"),
        ("transfer", "PATH"),
        ("compare", "PATH"),
        ("report", "PATH"),
        ("cite", "PATH"),
    ],
    ids=lambda args: args[0],
)
def test_every_command_says_what_stands_in_place_of_a_run(
    args: tuple[str, ...], dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study").mkdir()
    Path("study/plan.json").touch()
    Path("studies/shapes").mkdir(parents=True)
    Path("studies/shapes/plan.json").touch()
    Path("runs/one/version_3/pictures").mkdir(parents=True)
    Path("runs/one/version_3/config.yaml").write_text(SMALL)
    np.savez("codes.npz", codes=np.zeros((1, 1)))
    for path, message in NO_RUNS.items():
        several = args[0] in ("compare", "report", "cite")
        if several and path in ("study", "shapes", "runs", "runs/one"):
            continue
        if args[0] == "score" and Path(path).is_file():
            continue
        assert dislab(*(arg.replace("PATH", path) for arg in args)) == 2
        assert message in capsys.readouterr().err
        with pytest.raises(InputError, match=re.escape(message)):
            open_run(path)
