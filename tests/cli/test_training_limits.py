"""The limit that ended a run is the one that `fit --resume` has to raise."""

import re
from pathlib import Path

import pytest
from tests.small_runs import small_config

from dislab.cli import main
from dislab.runs import read_checkpoint

CONFIG = small_config("blob", "{evaluate: {metrics: {}}, trainer: {max_steps: -1}}")
RUN = "runs/small/version_0"
ENDLESS = ["--trainer.max_steps=-1"]
GO_ON = re.compile(rf"dislab (fit --resume {RUN} \S+ \S+)")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("max_epochs", "1", "trainer.max_epochs is reached"),
        ("max_time", "00:00:00:01", "trainer.max_time is over"),
        ("max_steps", "2", "trainer.max_steps is reached"),
    ],
)
def test_a_run_goes_on_by_the_command_that_its_end_shows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    limit: str,
    value: str,
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(CONFIG)
    assert main(["fit", "--config=small.yaml", f"--trainer.{limit}={value}"]) == 0
    output = capfd.readouterr().out
    assert reason in output
    longer = GO_ON.search(output)
    assert longer is not None
    assert f"--trainer.{limit}" in longer[1]

    def steps() -> int:
        trained: int = read_checkpoint(f"{RUN}/checkpoints/last.ckpt")["global_step"]
        return trained

    before = steps()
    for another in ([], ["--trainer.log_every_n_steps=1"]):
        caplog.clear()
        assert main(["fit", "--resume", RUN, *another]) == 0
        assert f"{RUN} ended at step {before}" in caplog.text
        assert "no training is left to do. Its scores and pictures are made again" in caplog.text
        assert re.search(rf"To train on\D+--trainer\.{limit}", caplog.text)
        assert steps() == before
    assert main(["fit", "--resume", RUN, "--trainer.max_time=soon", *ENDLESS]) == 2
    assert "trainer.max_time is 'soon'; it must be days, hours" in capfd.readouterr().err

    if limit != "max_steps":  # another limit does not help
        assert main(["fit", "--resume", RUN, "--trainer.max_steps=100000"]) == 2
        assert f"give more by --trainer.{limit}" in capfd.readouterr().err
        assert steps() == before

    assert main(longer[1].split()) == 0
    assert steps() > before


@pytest.mark.slow
def test_a_run_that_is_resumed_at_its_end_draws_its_pictures_without_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(CONFIG)
    ended = ["--trainer.max_steps=2", "--then_test=false", "--pictures=true"]
    assert main(["fit", "--config=small.yaml", *ended]) == 0
    pictures = sorted(Path(RUN, "images").iterdir())
    for picture in pictures:
        picture.unlink()

    assert main(["fit", "--resume", RUN]) == 0
    assert pictures
    assert sorted(Path(RUN, "images").iterdir()) == pictures
