"""The training commands as a user types them, on a small part of dSprites."""

import csv
import json
import resource
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from tests.processes import Started, obey
from tests.small_runs import small_config

from dislab.cli import main
from dislab.cli.run_settings import SECTIONS
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.plugins import available, commands
from dislab.regularizers import KL
from dislab.runs import has_diverged, load_run, record_divergence
from dislab.study import compare

SMALL = small_config(
    "dsprites",
    """
    model: {init_args: {regularizers: {
      tc: {class_path: TotalCorrelation, init_args: {width: 8, depth: 1}}}}}
    trainer:
      {max_steps: 6, val_check_interval: 3, check_val_every_n_epoch: null, log_every_n_steps: 2}
    """,
)

Dislab = Callable[..., int]
SmallRun = Callable[..., Path]


@pytest.mark.parametrize("command", ["validate", "test"])
def test_the_help_of_a_command_says_which_states_are_scored(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the words of `dislab --help`, which `test_main.py` compares with the default."""
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code in (0, None)
    assert commands()[command].summary in " ".join(capsys.readouterr().out.split())


@pytest.fixture
def dislab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dislab:
    """Runs a command in an empty folder that holds small.yaml, as a new process would."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "run.yaml").write_text("resume: runs/small/version_0")

    def run(*args: str) -> int:
        try:
            return main(args)
        except SystemExit as ended:
            if ended.code == 130:  # a signal to the tests, as of a time limit, which a run takes
                pytest.exit("the tests were interrupted", returncode=130)
            return int(ended.code or 0)

    return run


def schedule(name: str) -> list[str]:
    return [f"--model.scheduler=torch.optim.lr_scheduler.{name}"]


def weights(run: str) -> dict[str, Any]:
    return load_run(run).state_dict()


def test_fit_leaves_a_complete_run_folder(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--pictures=true", "--evaluate.untrained=2", "--evaluate.sheet=true"
    assert dislab("fit", "--config=small.yaml", *options) == 0
    run = tmp_path / "runs/small/version_0"
    names = {path.name for path in run.iterdir()}
    assert {"config.yaml", "checkpoints", "scores.json", "metrics.csv", "images"} <= names
    assert any(name.startswith("events.out.tfevents") for name in names)
    assert {path.name for path in (run / "checkpoints").iterdir()} == {"last.ckpt"}
    assert {"reconstructions.png", "traversals.png", "scores.png"} <= {
        path.name for path in (run / "images").iterdir()
    }

    record = json.loads((run / "scores.json").read_text())["test"]
    assert 0 <= record["scores"]["mig"] <= 1
    assert len(record["untrained"]["scores"]["mig"]["values"]) == 2
    assert record["losses"]["test/loss"] > 0
    assert record["data"]["provenance"]["source"] == "rendered"
    assert record["checkpoint"]["steps"] == 6
    assert record["seed"] == 3

    with (run / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"train/loss", "train/reconstruction", "train/kl/kl", "train/tc/tc"} <= set(rows[0])
    assert {"validation/loss", "test/loss", "scores/mig"} <= set(rows[0])
    assert [row["step"] for row in rows if row["train/loss"]] == ["1", "3", "5"]
    assert "runs/small/version_0" in capsys.readouterr().out


@pytest.mark.slow
def test_a_second_run_leaves_the_first_alone(
    dislab: Dislab, small_run: SmallRun, tmp_path: Path
) -> None:
    small_run(SMALL)
    first = tmp_path / "runs/small/version_0"
    before = {path: path.stat().st_mtime_ns for path in first.rglob("*")}
    assert dislab("fit", "--config=small.yaml", "--seed_everything=4") == 0
    assert {path: path.stat().st_mtime_ns for path in first.rglob("*")} == before
    assert sorted(path.name for path in first.parent.iterdir()) == ["version_0", "version_1"]


@pytest.mark.slow
def test_the_saved_configuration_repeats_the_run_to_the_bit(
    dislab: Dislab, small_run: SmallRun
) -> None:
    small_run(SMALL)
    assert dislab("fit", "--config=runs/small/version_0/config.yaml") == 0
    first, second = weights("runs/small/version_0"), weights("runs/small/version_1")
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_held_out_states_are_compared_by_fit_and_by_test(dislab: Dislab, tmp_path: Path) -> None:
    hold_out = "--data.hold_out={shape: square, posX: {min: 0.1}}"
    assert dislab("fit", "--config=small.yaml", hold_out) == 0
    path = tmp_path / "runs/small/version_0/scores.json"
    first = json.loads(path.read_text())["test_generalisation"]
    # 1 shape, 2 scales, 7 turns, 3 of 7 columns and 7 rows
    assert first["draw"]["available"]["test"] == 1 * 2 * 7 * 3 * 7
    scores = first["scores"]
    for decoded in ("mean", "sample"):
        ratio = scores[f"{decoded}_test"] / scores[f"{decoded}_train"]
        assert scores[f"{decoded}_ratio"] == ratio
    assert scores["mean_train"] < scores["sample_train"]  # noise costs something
    assert dislab("test", f"--run={path.parent}", "--generalisation.examples=50") == 0
    second = json.loads(path.read_text())["test_generalisation"]
    assert second["draw"]["examples"] == 50
    assert second["scores"]["sample_test"] == pytest.approx(scores["sample_test"], rel=0.1)
    with path.with_name("metrics.csv").open(newline="") as file:
        logged = [row["generalisation/mean_ratio"] for row in csv.DictReader(file)]
    assert [float(value) for value in logged if value] == pytest.approx([scores["mean_ratio"]])


@pytest.mark.slow
def test_a_finished_run_is_scored_and_encoded_in_its_own_folder(
    dislab: Dislab, small_run: SmallRun, tmp_path: Path
) -> None:
    small_run(SMALL)
    run = tmp_path / "runs/small/version_0"
    scores = json.loads((run / "scores.json").read_text())["test"]["scores"]
    curves = (run / "metrics.csv").read_text()
    for command in ("test", "validate", "predict"):
        assert dislab(command, f"--run={run}") == 0
    records = json.loads((run / "scores.json").read_text())
    assert records["test"]["scores"] == scores
    assert records["validate"]["scores"] == scores
    assert (run / "metrics.csv").read_text() == curves
    assert [path.name for path in run.parent.iterdir()] == ["version_0"]

    with np.load(run / "representations.npz", allow_pickle=False) as stored:
        codes, factors = stored["codes"], stored["factors"]
    assert codes.shape == (len(factors), 3)
    assert len(factors) > 0
    assert set(factors[:, 1]) == {0, 5}


def test_overrides_and_several_files(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more.yaml").write_text("trainer: {max_steps: 9}\nname: other\n")
    args = ["fit", "--config=small.yaml", "--config=more.yaml", "--model.regularizers.tc.gamma=7"]
    assert dislab(*args, "--model.encoder=ConvEncoder64", "--print_config") == 0
    printed = capsys.readouterr().out
    assert "max_steps: 9" in printed
    assert "name: other" in printed
    assert "gamma: 7.0" in printed
    assert "class_path: dislab.encoders.ConvEncoder64" in printed
    assert not (tmp_path / "runs").exists()


def test_null_unsets_a_setting_of_a_part(
    dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--data.dataset=DSprites", "--data.dataset.path=null", "--data.resize=null")
    assert dislab("fit", "--config=small.yaml", *options, "--print_config") == 0
    data = yaml.safe_load(capsys.readouterr().out)["data"]["init_args"]
    assert data["dataset"]["init_args"]["path"] is None
    assert data["resize"] is None


@pytest.mark.slow
def test_the_last_checkpoint_is_the_model_that_was_scored(dislab: Dislab) -> None:
    assert dislab("fit", "--config=small.yaml", "--checkpoint.every_n_train_steps=4") == 0
    stored = torch.load("runs/small/version_0/checkpoints/last.ckpt", weights_only=True)
    assert stored["global_step"] == 6


@pytest.mark.slow
def test_a_run_that_goes_on_equals_one_that_was_longer(dislab: Dislab, tmp_path: Path) -> None:
    fit, longer_by = ["fit", "--config=small.yaml", "--then_test=false"], "--trainer.max_steps=9"
    assert dislab(*fit, "--name=parts") == 0
    run = "runs/parts/version_0"
    assert dislab("fit", f"--resume={run}", longer_by) == 0
    assert dislab(*fit, "--name=whole", longer_by) == 0
    parts, longer = weights(run), weights("runs/whole/version_0")
    assert all(torch.equal(parts[name], longer[name]) for name in longer)
    renewed = yaml.safe_load((tmp_path / run / "config.yaml").read_text())
    assert renewed["trainer"]["max_steps"] == 9
    assert renewed["resume"] is None
    old = yaml.safe_load((tmp_path / run / "config_until_step_6.yaml").read_text())
    assert old["trainer"]["max_steps"] == 6


@pytest.mark.slow
def test_scores_of_a_run_that_trains_on_are_no_longer_its_scores(
    dislab: Dislab, caplog: pytest.LogCaptureFixture
) -> None:
    assert dislab("fit", "--config=small.yaml") == 0
    run = Path("runs/small/version_0")
    scores = (run / "scores.json").read_bytes()
    assert dislab("fit", f"--resume={run}") == 0  # all its steps are done
    assert not list(run.glob("*_until_step_*"))
    other = run / "other_data" / "blob"
    other.mkdir(parents=True)
    (other / "scores.json").write_bytes(scores)
    caplog.clear()
    longer = ("--trainer.max_steps=9", "--then_test=false")
    assert dislab("fit", f"--resume={run}", *longer) == 0
    told = caplog.text
    assert "trainer.max_steps 6 → 9" in told
    assert "config_until_step_6.yaml has the old ones" in told
    assert "Scores up to step 6 were moved to scores_until_step_6.json" in told
    assert json.loads((run / "scores_until_step_6.json").read_text()) == json.loads(scores)
    assert [path.name for path in other.glob("*.json")] == ["scores_until_step_6.json"]
    assert not (run / "scores.json").exists()
    assert compare([run])["state"].tolist() == ["not scored"]


@pytest.mark.slow
def test_a_data_module_without_test_split_is_scored_all_the_same(
    dislab: Dislab, tmp_path: Path
) -> None:
    assert dislab("fit", "--config=small.yaml", "--data.test=0") == 0
    assert "validate" in json.loads((tmp_path / "runs/small/version_0/scores.json").read_text())


@pytest.mark.slow
def test_rows_are_logged_at_optimiser_steps_under_accumulation(
    dislab: Dislab, tmp_path: Path
) -> None:
    args = ["--trainer.accumulate_grad_batches=4", "--data.steps_per_epoch=10"]
    args += ["--trainer.max_steps=10", "--trainer.log_every_n_steps=5", "--then_test=false"]
    assert dislab("fit", "--config=small.yaml", *args) == 0
    with (tmp_path / "runs/small/version_0/metrics.csv").open(newline="") as file:
        steps = [row["step"] for row in csv.DictReader(file) if row["train/loss"]]
    assert steps == ["4", "9"]


@pytest.mark.slow
def test_logging_can_be_switched_off(dislab: Dislab) -> None:
    assert dislab("fit", "--config=small.yaml", "--trainer.log_every_n_steps=0") == 0


@pytest.mark.slow
def test_mixed_precision_trains_alike_with_losses_in_float32(
    dislab: Dislab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: set[torch.dtype] = set()
    losses = VAE.losses

    def noted(self: VAE, *args: Any) -> Any:
        terms = losses(self, *args)
        kinds.update(value.dtype for value in (terms.loss, *terms.log.values()))
        return terms

    monkeypatch.setattr(VAE, "losses", noted)
    reached, plain = [], ["--trainer.limit_val_batches=0"]
    for precision in ("32-true", "bf16-mixed"):
        args = [f"--name={precision}", f"--trainer.precision={precision}", "--trainer.max_steps=20"]
        assert dislab("fit", "--config=small.yaml", *args, *plain) == 0
        record = json.loads((tmp_path / f"runs/{precision}/version_0/scores.json").read_text())
        reached.append(record["test"]["losses"]["test/loss"])
    assert kinds == {torch.float32}
    assert reached[1] == pytest.approx(reached[0], rel=2e-3)
    assert reached[1] != reached[0]


@pytest.mark.slow
def test_other_triggers_replace_the_default_one(dislab: Dislab, tmp_path: Path) -> None:
    args = ["--checkpoint.every_n_epochs=1", "--data.steps_per_epoch=3"]
    assert dislab("fit", "--config=small.yaml", *args) == 0
    assert (tmp_path / "runs/small/version_0/checkpoints/last.ckpt").is_file()


@pytest.mark.every(8)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--model.encoder=MLPEncodr"],
            "model.encoder: no part is named MLPEncodr (did you mean MLPEncoder?); "
            "available encoders: " + ", ".join(plugin.name for plugin in available("encoders")),
        ),
        (
            ["--model.regularizers.tc.gama=7"],
            "model.regularizers.tc: TotalCorrelation has no setting 'gama' (did you mean gamma?); "
            "it has gamma, width, depth, lr, betas, batches",
        ),
        (
            ["--model.regularizers.tcc.gamma=7"],
            "model.regularizers.tcc: no class is named (did you mean tc?); give its class_path too",
        ),
        (
            ["--model.regularizers.kl.gama=7"],
            "KL has no setting 'gama' (did you mean --model.regularizers.tc.gamma?); it has beta",
        ),
        (
            ["--model.regularizers.tc.gamma=many"],
            "model.regularizers.tc.gamma: expected a number, got 'many'",
        ),
        (["--model.regularizers.tc.gamma=-1"], "gamma is -1.0; it must be a finite number"),
        (["--model=dislab.base.Objective"], "model: Objective is a base class; name a class that"),
        (
            ["--model.optimizer.lr=0.1"],
            "model.optimizer: no class is named; give its class_path too, such as torch.optim.Adam",
        ),
        (
            ["--model.optimizer=torch.optim.Adam", "--model.optimizer.lr=abc"],
            "model.optimizer.lr: expected a number; got 'abc'",
        ),
        (["--data=[3]"], "data: expected the name of a class, or its class_path and init_args"),
        (["--model.latent_dim=0"], "latent_dim is 0; it must be a whole number of at least 1"),
        (["--model.latent_dim=1"], "one latent has no total correlation"),
        (
            ["--model=QLAE"],
            "model: no part is named QLAE without the plugin dislab-qlae; in a clone of dislab: "
            "pip install ./plugins/dislab-qlae; available objectives: AdaGVAE",
        ),
        (
            ["--model=dislab_qlae.QLAE"],
            "model: dislab_qlae.QLAE is named, and no package dislab_qlae is installed here; "
            "install the plugin that has it, in a clone of dislab: pip install ./plugins/dislab-q",
        ),
        (
            ["--data.dataset=DSprite"],
            "data.dataset: no part is named DSprite (did you mean DSprites?)",
        ),
        (["--data.batch_size=100000"], "batch_size"),
        (["--data.include.shape=hart"], "factor shape has no value 'hart' (did you mean heart?)"),
        (["--data.include.shap=heart"], "no factor is named 'shap' (did you mean shape?)"),
        (["--trainer.max_stps=3"], "trainer has no setting 'max_stps' (did you mean max_steps?)"),
        (["--trainer.max_steps=three"], "trainer.max_steps: expected a whole number, got 'three'"),
        (["--beta=4"], "named 'beta'; use --model.regularizers.kl.beta"),
        (
            ["--model.regularizers.kl=CapacityKL", "--model.regularizers.kl.beta=4"],
            "regularizers.kl: CapacityKL has no setting 'beta'; it has gamma, capacity, steps",
        ),
        (
            ["--model.regularizers.kl=CapacityKL", "--model.regularizers.kl.betta=4"],
            "regularizers.kl: CapacityKL has no setting 'betta'; it has gamma, capacity, steps",
        ),
        (["--gamma=4"], "named 'gamma'; use --model.regularizers.tc.gamma"),
        (["--epochs=4"], "named 'epochs'; use --trainer.max_epochs"),
        (["--steps=4"], "named 'steps'; use --trainer.max_steps"),
        (["--lr=0.1"], "named 'lr'; use --model.optimizer.lr"),
        (["--optimizer.lr=0.1"], "named 'optimizer'; use --model.optimizer.lr"),
        (["--batch_size=4"], "named 'batch_size'; use --data.batch_size"),
        (["--latents=4"], "named 'latents'; use --model.latent_dim"),
        (["--latent_dim=4"], "named 'latent_dim'; use --model.latent_dim"),
        (["--points=4"], "named 'points'; use --score_curves.points or --evaluate.points"),
        (["--seed=4"], "named 'seed'; use --seed_everything"),
        (["--trainer.max_st=4"], "trainer has no setting 'max_st' (did you mean max_steps?)"),
        (["--seed_everything=-3"], "seed_everything is -3; it must be a whole number"),
        (["--betta=4"], "'betta' (did you mean --model.regularizers.kl.beta?)"),
        (["--sed=4"], "'sed' (did you mean --seed_everything?)"),
        (["--model.objective.gamma=4"], "VAE has no setting 'objective.gamma'; use --model.regul"),
        (["--model.optimiser.lr=4"], "VAE has no setting 'optimiser.lr'; use --model.optimizer.lr"),
        (["--model.encodr.hidden=4"], "'encodr.hidden' (did you mean encoder?)"),
        (["--data.dataset.foo.bar=4"], "DSprites has no setting 'foo.bar'; it has "),
        (
            ["--model.encoder=ConvEncoder64", "--model.encoder.hidden=[3]"],
            "model.encoder.hidden: expected a whole number; got '[3]'",
        ),
        (["--model=FactorVEA"], "no part is named FactorVEA (did you mean --config factorvae?)"),
        (["--modle.beta=4"], "'modle' (did you mean model?)"),
        (["--trainer.epoch=4"], "'epoch' (did you mean --trainer.max_epochs?)"),
        (["--model.latnets=4"], "'latnets' (did you mean --model.latent_dim?)"),
        (["--conifg=x"], "no setting at the top level is named 'conifg' (did you mean config?)"),
        (["quick"], "quick has no option before it; write --config quick"),
        (["--config=."], "--config is ., which is a folder; name a file, or a run"),
        (["--trainer.accelerator=tpu"], "only cpu ("),
        (["--trainer.strategy=dpp"], "the trainer does not take accelerator 'cpu', strategy 'dpp'"),
        (["--nam=x"], "no setting at the top level is named 'nam' (did you mean name?)"),
        (["--nme=x"], "no setting at the top level is named 'nme' (did you mean name?)"),
        (["--name=a/b"], "'a/b' cannot name a run"),
        (["--run=nowhere"], "nowhere is no run"),
        (["--config=run.yaml"], "resume is set in a configuration file; give --resume instead"),
        pytest.param(
            ["--trainer.accelerator=gpu"],
            "trainer.accelerator is 'gpu', and this machine has none that can be used, only cpu (",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
        (["--trainer.precision=bf16-true"], "use bf16-mixed or 16-mixed"),
        (["--trainer.gradient_clip_algorithm=no"], "gradient_clip_algorithm"),
        (["--trainer.limit_val_batches=1.5"], "limit_val_batches"),
        (["--config=nowhere.yaml"], "nowhere.yaml"),
        (["--ckpt_path=nowhere.ckpt"], "nowhere.ckpt"),
    ],
)
def test_mistakes_end_with_one_line_and_status_two(
    args: list[str], message: str, dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab("fit", "--config=small.yaml", *args) == 2
    lines = capsys.readouterr().err.splitlines()
    errors = [line for line in lines if line.startswith("dislab: error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert not any("Traceback" in line or "usage:" in line for line in lines)
    assert not Path("runs").exists()


@pytest.mark.every(8)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trainer: [a]", "trainer is a list; it must hold settings, which `dislab fit --help tr"),
        ("trainer: null", "trainer is null; it must hold settings"),
        ("checkpoint: 3", "checkpoint is 3; it must hold settings"),
        ("evaluate: null", "evaluate is null; it must hold settings"),
        ("traversals: 3", "traversals is 3; it must hold settings"),
        ("inner_steps: [1]", "inner_steps is a list; it must hold settings"),
        ("model: {init_args: 3}", "model.init_args is 3; it must hold settings by name"),
        ("data: {init_args: null}", "data.init_args is null; it must hold settings by name"),
        (
            "model: {init_args: {encoder: {class_path: MLPEncoder, init_args: [1]}}}",
            "model.encoder.init_args is a list; it must hold settings by name",
        ),
        (
            "modle: {}",
            "section.yaml: no setting at the top level is named 'modle' (did you mean model?)",
        ),
        (
            "init_args: {latent_dim: 3}",
            "section.yaml: no setting at the top level is named 'init_args'",
        ),
        ("trainer: {max_stepz: {}}", "trainer has no setting 'max_stepz' (did you mean max_steps"),
        ("data: {batch_sise: {}}", "SingleData has no setting 'batch_sise' (did you mean batch_s"),
        (
            "model: {encoder: {class_path: MLPEncoder, init_args: {hiden: {}}}}",
            "model.encoder: MLPEncoder has no setting 'hiden' (did you mean hidden?)",
        ),
        ("model: {regularizers: {tc: {gama: {}}}}", "has no setting 'gama' (did you mean gamma?)"),
        ("model: {dict_kwargs: {latent: 3}}", "VAE has no setting 'latent'"),
        ("1: {}", "section.yaml: the key 1 is no text, and settings have names"),
        ("data: {1: 2}", "section.yaml: the key 1 of data is no text"),
        ("help: {}", "section.yaml: help is an option of the command line; leave it out"),
        ("config: {}", "section.yaml: config is an option of the command line; leave it out"),
        (
            "evaluate: {metrics: {mig: {class_path: MIG, bins: 20}}}",
            "evaluate.metrics.mig.bins is beside a class_path; settings of a class are below its",
        ),
        (
            "model: {init_args: {regularizers: {tc: {class_path: KL, init_arg: {}}}}}",
            "section.yaml: model.regularizers.tc.init_arg is beside a class_path (did you mean ini",
        ),
        (
            "model: {init_args: {regularizers: {tc: {clas_path: KL, init_args: {}}}}}",
            "model.regularizers.tc.clas_path is beside init_args (did you mean class_path?)",
        ),
        (
            "model: {init_args: {regularisers: {tc: {class_path: KL, init_args: {beta: 3}}}}}",
            "section.yaml: model: VAE has no setting 'regularisers' (did you mean regularizers?)",
        ),
        (
            "trainer: {callbacks: [{class_path: lightning.pytorch.callbacks.EarlyStopping, "
            "init_args: {monitor: train/loss, patienc: 3}}]}",
            "section.yaml: trainer.callbacks: EarlyStopping has no setting 'patienc' (did you mean",
        ),
        (
            "trainer: {callbacks: [EarlyStoping]}",
            "no part is named lightning.pytorch.callbacks.EarlyStoping (did you mean lightning.",
        ),
        (
            "trainer: {callbacks: [{class_path: lightning.pytorch.callbacks.EarlyStoping}]}",
            "no part is named lightning.pytorch.callbacks.EarlyStoping (did you mean lightning.",
        ),
        ("trainer: {callbacks: [{init_args: {monitor: loss}}]}", "callbacks: no class is named"),
    ],
)
def test_a_wrong_section_is_one_line(
    text: str, message: str, dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("section.yaml").write_text(text)
    assert dislab("fit", "--config=small.yaml", "--config=section.yaml") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dislab: error: ")
    assert message in line
    assert not Path("runs").exists()


@pytest.mark.slow
def test_an_option_before_a_file_that_sets_it_is_a_warning(
    dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("more.yaml").write_text("model: {regularizers: {kl: {beta: 3}}}\n")
    beta = "--model.regularizers.kl.beta"
    for option in (f"{beta}=4", "--model.init_args.regularizers.kl.init_args.beta=4"):
        command = ["fit", "--config=small.yaml", option, "--config=more.yaml", "--print_config"]
        assert dislab(*command) == 0
        said = capsys.readouterr()
        assert "beta: 3.0" in said.out
        assert said.err.startswith(f"dislab: warning: {option[:-2]} stands before --config more.")
        assert len(said.err.splitlines()) == 1
    order = ["--config=small.yaml", "--trainer.max_steps=2", "--config=more.yaml", f"{beta}=4"]
    assert dislab("fit", *order, "--print_config") == 0
    assert capsys.readouterr().err == ""


def test_every_section_is_checked(dislab: Dislab, capsys: pytest.CaptureFixture[str]) -> None:
    assert dislab("fit", "--config=small.yaml", "--print_config") == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    sections = {name for name, value in printed.items() if isinstance(value, dict)}
    assert sections - {"model", "data"} == set(SECTIONS)


@pytest.mark.parametrize("option", ["--model.help=VAE", "--data.help=SingleData"])
def test_the_help_of_a_class_shows_its_settings(
    option: str, dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab("fit", option) == 0
    section, _, name = option.removeprefix("--").partition(".help=")
    text = capsys.readouterr().out
    assert text.startswith(f"{name}: --{section} {name}\n")
    assert {"model": "--model.latent_dim", "data": "--data.batch_size"}[section] in text


@pytest.mark.slow
def test_a_run_is_not_resumed_to_fewer_steps_than_it_has(
    dislab: Dislab, small_run: SmallRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_run(SMALL)
    run = Path("runs/small/version_0")
    before = (run / "config.yaml").read_text()
    capsys.readouterr()
    assert dislab("fit", f"--resume={run}", "--trainer.max_steps=1") == 2
    assert "trainer.max_steps is 1, and the run has" in capsys.readouterr().err
    assert (run / "config.yaml").read_text() == before
    assert not list(run.glob("config_until_*"))


def test_a_file_of_changes_alone_asks_for_the_file_that_it_changes(
    dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab("fit", "--config=first_run") == 2
    error = capsys.readouterr().err
    assert error.endswith(
        "first_run.yaml: model: no class is named; begin with the configuration of a method and "
        "put others behind it: dislab fit --config factorvae --config first_run, in a study file "
        "config: [factorvae, first_run]\n"
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("dcign_heads", "DCIGN needs group_names from the data, which SingleData does not offer"),
        ("composition", "which SingleData does not offer; choose CompositionData\n"),
        ("jmvae", "JMVAE needs symbol_names from the data, which SingleData does not offer"),
    ],
)
def test_data_without_names_that_a_method_needs_are_refused(
    config: str, message: str, dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab("fit", f"--config={config}", "--data=SingleData") == 2
    assert message in capsys.readouterr().err


def test_intervals_that_do_not_fit_the_data_end_with_one_line(
    dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    intervals = ["--trainer.val_check_interval=9", "--trainer.check_val_every_n_epoch=1"]
    assert dislab("fit", "--config=small.yaml", *intervals, "--data.steps_per_epoch=3") == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("dislab: error: trainer.val_check_interval is 9, and an epoch has 3")
    assert not Path("runs").exists()


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--model.optimizer=Adam", "--model.optimizer.lr=-1"],
            "the optimizer refuses its settings: Invalid learning rate: -1.0",
        ),
        (["--model.optimizer=torch.optim.SGD"], "SGD has no betas"),
        (
            [*schedule("OneCycleLR"), "--model.scheduler.max_lr=1"],
            "the scheduler refuses its settings: You must define either total_steps",
        ),
        (
            [*schedule("StepLR"), "--model.scheduler.step_size=0"],
            "the scheduler fails at its first step: integer modulo by zero; change its settings",
        ),
        (
            [
                "--model.scheduler=lightning.pytorch.cli.ReduceLROnPlateau",
                "--model.scheduler.monitor=validation/loss",
            ],
            "ReduceLROnPlateau waits for a score",
        ),
    ],
)
def test_an_optimiser_without_sense_leaves_no_run_folder(
    args: list[str], message: str, dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab("fit", "--config=small.yaml", *args) == 2
    assert f"dislab: error: {message}" in capsys.readouterr().err
    assert not Path("runs").exists()


@pytest.mark.slow
def test_settings_that_a_checkpoint_would_override_are_refused(
    dislab: Dislab, small_run: SmallRun, capsys: pytest.CaptureFixture[str]
) -> None:
    small_run(SMALL)
    run = "runs/small/version_0"
    for args, message in (
        (["fit", f"--resume={run}", "--model.latent_dim=4"], "latent_dim is 4 here and 3 in"),
        (
            ["test", f"--run={run}", "--model.regularizers.tc.gamma=3"],
            "tc.gamma is 3.0 here and 35",
        ),
        (
            ["test", f"--run={run}", "--model.encoder=ConvEncoder64"],
            "'ConvEncoder64' here and 'MLPE",
        ),
    ):
        assert dislab(*args) == 2
        assert message in capsys.readouterr().err
    checkpoint = f"--ckpt_path={run}/checkpoints/last.ckpt"
    assert dislab("test", "--config=small.yaml", checkpoint) == 0


def test_checkpoints_of_another_origin_are_refused(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"state_dict": Fraction(1, 2)}, tmp_path / "foreign.ckpt")
    (tmp_path / "broken.ckpt").write_bytes(b"no checkpoint")
    for name in ("foreign.ckpt", "broken.ckpt"):
        assert dislab("test", "--config=small.yaml", f"--ckpt_path={name}") == 2
        assert name in capsys.readouterr().err


@pytest.mark.slow
def test_a_checkpoint_of_images_of_another_shape_is_refused(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = VAE((3, 8, 8), 9, 3, MLPEncoder, MLPDecoder, {"kl": KL})
    path = tmp_path / "colour.ckpt"
    stored = {"state_dict": model.state_dict(), "hyper_parameters": {}, "global_step": 1}
    torch.save(stored, path)
    assert dislab("test", "--config=small.yaml", f"--ckpt_path={path}") == 2
    assert "it lacks pytorch-lightning_version" in capsys.readouterr().err
    torch.save({**stored, "pytorch-lightning_version": version("lightning")}, path)
    assert dislab("test", "--config=small.yaml", f"--ckpt_path={path}") == 2
    assert "the checkpoint does not fit the model" in capsys.readouterr().err


@pytest.mark.slow
def test_an_older_configuration_says_which_version_wrote_it(
    dislab: Dislab, small_run: SmallRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_run(SMALL)
    path = tmp_path / "runs/small/version_0/config.yaml"
    text = path.read_text()
    assert text.startswith(f"# dislab=={version('dislab')}\n")
    older = text.replace(f"dislab=={version('dislab')}", "dislab==0.0.3")
    path.write_text(older)
    assert dislab("test", "--run=runs/small/version_0") == 0
    path.write_text(older.replace("warmup_steps", "warm_up"))
    capsys.readouterr()
    assert dislab("test", "--run=runs/small/version_0") == 2
    message = capsys.readouterr().err
    assert "KL has no setting 'warm_up' (did you mean warmup_steps?)" in message
    assert "config.yaml was written by dislab 0.0.3" in message


@pytest.mark.slow
def test_a_divergence_that_a_checkpoint_finds_is_no_mistake_in_the_checkpoint(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # one step makes the loss infinite, and the checkpoint after it looks
    args = ["--model.optimizer=Adam", "--model.optimizer.lr=1e30"]
    more = ["--checkpoint.every_n_train_steps=2", "--trainer.log_every_n_steps=50"]
    assert dislab("fit", "--config=small.yaml", *args, *more) == 1
    message = capsys.readouterr().err
    assert "became NaN or infinite" in message
    assert "does not fit" not in message
    run = tmp_path / "runs/small/version_0"
    reason = (run / "diverged.txt").read_text().strip()
    assert reason in message
    assert dislab("compare", str(run)) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("  diverged")


@pytest.mark.slow
def test_a_run_that_goes_on_has_not_diverged(
    dislab: Dislab, small_run: SmallRun, tmp_path: Path
) -> None:
    small_run(SMALL)
    run = tmp_path / "runs/small/version_0"
    record_divergence(run, "kl became NaN")
    assert dislab("fit", f"--resume={run}", "--then_test=false", "--trainer.max_steps=8") == 0
    assert not has_diverged(run)


@pytest.mark.slow
def test_pictures_can_be_left_out(dislab: Dislab, tmp_path: Path) -> None:
    assert dislab("fit", "--config=small.yaml", "--then_test=false", "--pictures=false") == 0
    run = tmp_path / "runs/small/version_0"
    assert not (run / "images").exists()
    assert dislab("test", f"--run={run}", "--evaluate.sheet=false") == 0
    assert not (run / "images").exists()  # the run keeps its setting
    assert dislab("test", f"--run={run}", "--evaluate.sheet=false", "--pictures=true") == 0
    pictures = {path.name for path in (run / "images").iterdir()}
    assert pictures == {
        f"{name}.png" for name in ("reconstructions", "traversals", "samples", "interpolations")
    }


@pytest.mark.slow
def test_pictures_of_the_end_alone(dislab: Dislab, tmp_path: Path) -> None:
    args = ["--config=small.yaml", "--then_test=false", "--trainer.val_check_interval=1"]
    assert dislab("fit", *args, "--trainer.check_val_every_n_epoch=null", "--pictures=end") == 0
    pictures = {path.name for path in (tmp_path / "runs/small/version_0/images").iterdir()}
    assert pictures == {
        f"{name}.png" for name in ("reconstructions", "traversals", "samples", "interpolations")
    }


@pytest.mark.slow
def test_training_alone_scores_nothing(dislab: Dislab, tmp_path: Path) -> None:
    assert dislab("fit", "--config=small.yaml", "--then_test=false") == 0
    run = tmp_path / "runs/small/version_0"
    assert (run / "checkpoints/last.ckpt").is_file()
    assert not (run / "scores.json").exists()
    assert dislab("test", "--run=runs/small/version_0") == 0
    assert (run / "scores.json").is_file()


def obey_with_small_files(args: list[str]) -> int:
    """Runs the command as on a full disk: files grow to 64 KB, and a checkpoint has 1.6 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
    return obey(args)


@pytest.mark.slow
def test_a_full_disk_ends_with_a_message_and_keeps_the_last_checkpoint(
    dislab: Dislab, small_run: SmallRun, tmp_path: Path
) -> None:
    small_run(SMALL)
    last = tmp_path / "runs/small/version_0/checkpoints/last.ckpt"
    before = last.read_bytes()
    args = ["fit", "--resume=runs/small/version_0", "--trainer.max_steps=9"]
    process = Started(tmp_path, obey_with_small_files, args, apart=True)
    printed, errors = process.communicate()
    assert process.returncode == 2, printed + errors
    (message,) = [line for line in errors.splitlines() if line.startswith("dislab: error: ")]
    assert "cannot write" in message or "cannot be written" in message
    assert "Traceback" not in errors
    assert last.read_bytes() == before


@pytest.mark.slow
def test_the_layout_of_memory_changes_rounding_alone(dislab: Dislab, tmp_path: Path) -> None:
    networks = "--model.encoder=ConvEncoder64", "--model.decoder=ConvDecoder64"
    stored = []
    for index, option in enumerate(("true", "false")):
        settings = f"--channels_last={option}", "--then_test=false", "--trainer.limit_val_batches=0"
        assert dislab("fit", "--config=small.yaml", *networks, *settings) == 0
        path = tmp_path / f"runs/small/version_{index}/checkpoints/last.ckpt"
        stored.append(torch.load(path, weights_only=True)["state_dict"])
    last, first = stored
    assert last.keys() == first.keys()
    kernel = "encoder.network.2.weight"
    assert last[kernel].is_contiguous(memory_format=torch.channels_last)
    assert first[kernel].is_contiguous()
    for name, value in first.items():
        torch.testing.assert_close(last[name].contiguous(), value, rtol=1e-3, atol=1e-5)
    loaded = weights("runs/small/version_0")
    assert torch.equal(loaded[kernel], last[kernel])
    assert loaded[kernel].is_contiguous()
