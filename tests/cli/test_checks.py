"""Mistakes in the settings of the trainer and of its checkpoints, as a user types them."""

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from tests.small_runs import small_config

from dislab.cli import main
from dislab.cli.checks import arose_in, check_trainer_settings
from dislab.errors import InputError

CONFIG = small_config(
    "dsprites",
    """
    data: {init_args: {steps_per_epoch: 4}}
    trainer: {max_steps: 8, log_every_n_steps: 2}
    evaluate: {metrics: null}
    """,
)

Dislab = Callable[..., int]


@pytest.fixture
def dislab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dislab:
    """Runs `dislab fit` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(CONFIG)
    (tmp_path / "file").write_text("no folder")

    def run(*args: str) -> int:
        try:
            return main(["fit", "--config=small.yaml", *args])
        except SystemExit as ended:
            return int(ended.code or 0)

    return run


COUNT = "it must be a whole number from"
FOLDER = "no files can be written there"
DEVICES = "it must be auto, how many"
MISTAKES = [
    *(("trainer.accumulate_grad_batches", value, COUNT) for value in (0, -1, 10**12)),
    *(("trainer.check_val_every_n_epoch", value, COUNT) for value in (0, -1, 10**23)),
    *(("trainer.log_every_n_steps", value, COUNT) for value in (-1, 10**23)),
    *(("trainer.max_steps", value, COUNT) for value in (-2, 10**23)),
    *(("trainer.max_epochs", value, COUNT) for value in (-2, 10**23)),
    ("trainer.min_steps", -1, COUNT),
    ("trainer.min_epochs", -1, COUNT),
    ("trainer.num_nodes", 0, COUNT),
    ("trainer.num_sanity_val_steps", -2, COUNT),
    ("trainer.fast_dev_run", -1, COUNT),
    ("trainer.reload_dataloaders_every_n_epochs", -1, COUNT),
    *(("trainer.val_check_interval", value, COUNT) for value in (0, -1)),
    *(("trainer.val_check_interval", value, "must be a share") for value in (0.0, -0.5, 1.5)),
    ("trainer.val_check_interval", ".nan", "must be a share"),
    ("trainer.val_check_interval", 5, "an epoch has 4 batches"),
    *(("trainer.limit_train_batches", value, COUNT) for value in (-1, 10**23)),
    *(("trainer.limit_val_batches", value, "must be a share") for value in (-0.5, 1.5, ".nan")),
    ("trainer.overfit_batches", 1.5, "must be a share"),
    ("trainer.val_check_interval", "{shape: 3}", "val_check_interval is"),
    ("trainer.max_time", "nonsense", "max_time is 'nonsense'; it must be days"),
    ("trainer.devices", "[1]", "a CPU has no devices with numbers"),
    *(("trainer.gradient_clip_val", value, "finite number") for value in (-1, ".nan", ".inf")),
    *(("trainer.devices", value, DEVICES) for value in (-3, 0, "x", 10**9, "[]", "''", "[x]")),
    ("trainer.devices", -1, "which a CPU has no number of"),
    ("trainer.accelerator", "tpu", "this machine has none"),
    ("trainer.accelerator", "cpi", "(did you mean cpu?)"),
    ("trainer.precision", "16", "choose 32-true, bf16-mixed or"),
    ("trainer.precision", "bf16", "trainer.precision is bf16; choose 32-true, bf16-mixed or"),
    *(("checkpoint.dirpath", value, FOLDER) for value in ("file", "file/below", "/proc/x")),
    ("checkpoint.dirpath", "a" * 999, FOLDER),
    ("trainer.default_root_dir", "file", FOLDER),
    ("checkpoint.monitor", "nonsense", "such as train/loss and validation/loss"),
    ("checkpoint.monitor", "val/loss", "(did you mean validation/loss?)"),
    ("checkpoint.monitor", "scores/mig", "such as curves/mig, with score_curves.steps"),
    ("checkpoint.save_top_k", -2, COUNT),
    ("checkpoint.every_n_train_steps", -1, COUNT),
    ("checkpoint.every_n_epochs", -1, COUNT),
    ("checkpoint.mode", "least", "mode"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value", "message"), MISTAKES)
def test_mistakes_end_with_one_line_and_leave_no_run_folder(
    name: str, value: object, message: str, dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab(f"--{name}={value}") == 2
    lines = capsys.readouterr().err.splitlines()
    errors = [line for line in lines if line.startswith("dislab: error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert name.partition(".")[2] in errors[0]
    assert not any("Traceback" in line for line in lines)
    assert not Path("runs").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(
    dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert dislab("--checkpoint.dirpath=closed/below") == 2
    assert FOLDER in capsys.readouterr().err
    assert not Path("runs").exists()


@pytest.mark.slow
def test_a_name_that_nothing_logs_is_refused_before_the_first_step(
    dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab("--checkpoint.monitor=validation/kl", "--checkpoint.save_top_k=1") == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "checkpoint.monitor is 'validation/kl', which nothing logs" in error
    assert "(did you mean validation/kl/kl?)" in error
    assert not list(Path("runs").rglob("*.ckpt"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Checkpoint directory", "ignore:Be aware that when using")
def test_without_a_rehearsal_the_first_validation_tells_and_training_is_kept(
    dislab: Dislab, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--checkpoint.monitor=validation/kl", "--checkpoint.save_top_k=1"]
    assert dislab(*args, "--trainer.num_sanity_val_steps=0") == 2
    assert "(did you mean validation/kl/kl?)" in capsys.readouterr().err
    last = Path("runs/small/version_0/checkpoints/last.ckpt")
    assert torch.load(last, weights_only=True)["global_step"] == 4
    again = "--checkpoint.monitor=validation/loss"
    assert main(["fit", "--resume=runs/small/version_0", again]) == 0
    assert torch.load(last, weights_only=True)["global_step"] == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [
        ["--checkpoint.monitor=validation/loss", "--checkpoint.save_top_k=1"],
        ["--checkpoint.monitor=train/kl/kl", "--checkpoint.save_top_k=1"],
        ["--checkpoint.monitor=step", "--checkpoint.mode=max", "--checkpoint.save_top_k=1"],
        ["--checkpoint.dirpath=kept/here"],
        ["--trainer.val_check_interval=4", "--trainer.gradient_clip_val=0"],
        ["--trainer.val_check_interval=6", "--trainer.check_val_every_n_epoch=null"],
        ["--trainer.val_check_interval=0.5", "--trainer.limit_val_batches=0"],
        ["--trainer.devices=0,", "--trainer.accelerator=auto"]
        if torch.cuda.is_available()
        else ["--trainer.devices=auto", "--trainer.limit_train_batches=0.5"],
    ],
)
def test_settings_that_make_sense_train(args: list[str], dislab: Dislab) -> None:
    assert dislab(*args) == 0
    assert "test/loss" in Path("runs/small/version_0/metrics.csv").read_text()


@pytest.mark.parametrize("name", ["accumulate_grad_batches", "detect_anomaly"])
def test_null_in_a_file_is_refused_where_it_is_no_value(
    name: str, dislab: Dislab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "null.yaml").write_text(f"trainer: {{{name}: null}}")
    assert dislab("--config=null.yaml") == 2
    assert f"trainer.{name} is null, which is no value of it" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_fault_of_another_package_is_not_taken_for_a_wrong_setting() -> None:
    other = ModuleType("other_package")
    exec("class Logger:\n    def fail(self):\n        raise RuntimeError('bug')\n", vars(other))
    logger = other.Logger()
    with pytest.raises(RuntimeError, match="bug") as caught:
        logger.fail()
    assert arose_in(caught.value, [logger])
    assert not arose_in(caught.value, [torch.nn.ReLU(), "ddp"])


EARLY_STOPPING = (
    "{class_path: lightning.pytorch.callbacks.EarlyStopping, "
    "init_args: {monitor: train/loss, mode: down}}"
)


@pytest.mark.slow
@pytest.mark.parametrize("callbacks", [EARLY_STOPPING, f"[{EARLY_STOPPING}]"])
def test_a_callback_that_refuses_its_settings_is_named_with_its_reason(
    callbacks: str, dislab: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert dislab(f"--trainer.callbacks={callbacks}") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "dislab: error: EarlyStopping cannot be made with monitor='train/loss', mode='down': "
        "MisconfigurationException: `mode` can be min, max, got down"
    )


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["16", "bf16", "16-mixed"])
@pytest.mark.filterwarnings("ignore:.*precision=")
def test_a_run_of_before_or_of_a_card_keeps_its_precision(
    precision: str, small_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = small_run(CONFIG)
    config = run / "config.yaml"
    text = config.read_text()
    assert text.count("precision: null") == 1
    config.write_text(text.replace("precision: null", f"precision: {precision!r}"))
    assert main(["validate", "--run", str(run)]) == 0
    resumed = ["--trainer.max_steps=10", "--then_test=false"]
    assert main(["fit", "--resume", str(run), *resumed]) == 0
    capsys.readouterr()
    assert main(["fit", "--config", str(config)]) == 2
    assert f"trainer.precision is {precision}" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="auto takes a card, which has a number")
def test_a_list_of_devices_is_refused_where_auto_takes_the_cpu() -> None:
    with pytest.raises(InputError, match="a CPU has no devices with numbers"):
        check_trainer_settings({"devices": [7], "accelerator": "auto"}, {}, True)
