import os
import shutil
from pathlib import Path

import pytest
import yaml
from tests.small_runs import small_config

from dislab.cli import main
from dislab.report import EXPLORER, PAGE

SMALL = small_config(
    "blob",
    """
    report: true
    pictures: true
    data: {init_args: {validation: 0.05, resize: 16}}
    trainer: {log_every_n_steps: 1}
    evaluate: {bound_points: 0}
    """,
)
RUN = "runs/small/version_0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


@pytest.mark.slow
def test_a_fit_ends_with_its_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--config", "small.yaml"]) == 0
    closing = capsys.readouterr().out.rpartition("\n\n")[2]
    assert closing.splitlines() == [
        f"run       {RUN}",
        "ended     step 4: trainer.max_steps is reached",
        f"scores    {RUN}/scores.json",
        f"pictures  {RUN}/images",
        f"log       {RUN}/metrics.csv",
        f"page      {RUN}/{PAGE} (open it in a browser)",
        f"curves    tensorboard --logdir {RUN}",
        f"next      dislab encode {RUN}   # its codes as arrays",
        f"          dislab fit --resume {RUN} --trainer.max_steps 1000   # train longer",
    ]
    page = Path(RUN, PAGE).read_bytes()
    assert b'class="explorer"' in page
    assert main(["report", RUN, "--out", "again.html"]) == 0
    assert capsys.readouterr().out == "again.html\n"
    assert Path("again.html").read_bytes() == page
    other = shutil.copytree(RUN, "other")
    assert main(["report", RUN, other, "--out", "both.html"]) == 0
    assert b"Runs side by side" in Path("both.html").read_bytes()
    assert main(["report", RUN, "--explorer_only"]) == 0
    assert capsys.readouterr().out.endswith(f"\n{RUN}/{EXPLORER}\n")
    light = Path(RUN, EXPLORER).read_bytes()
    assert b'class="explorer"' in light
    assert len(light) < len(page) == Path(RUN, PAGE).stat().st_size
    Path(RUN, "checkpoints", "last.ckpt").write_bytes(b"torn")
    for path in (RUN, PAGE):  # a page that has what the new one would lack is kept
        options = [] if path == RUN else ["--out", "again.html"]
        assert main(["report", RUN, *options]) == 2
        error = capsys.readouterr().err
        assert "version_0 gets no explorer: " in error
        assert "html is kept: it has an explorer that the new page would lack, as a " in error
        assert "name another file (--out), or remove that one first" in error
    assert Path(RUN, PAGE).read_bytes() == Path("again.html").read_bytes() == page
    Path(RUN, PAGE).unlink()
    for _ in range(2):
        assert main(["report", RUN]) == 0
        assert b"No explorer: " in Path(RUN, PAGE).read_bytes()
    assert main(["report", RUN, "--explorer_only"]) == 2
    assert Path(RUN, EXPLORER).read_bytes() == light


@pytest.mark.slow
def test_a_page_is_written_when_wanted_and_loses_no_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "--config", "small.yaml", "--report", "false"]) == 0
    assert "page " not in capsys.readouterr().out
    assert not Path(RUN, PAGE).exists()
    assert yaml.safe_load(Path(RUN, "config.yaml").read_text())["report"] is False
    Path(RUN, PAGE).mkdir()  # where the page cannot be written then
    Path(RUN, "scores.json").unlink()
    assert main(["test", "--run", RUN, "--report", "true"]) == 0
    error = capsys.readouterr().err
    assert "dislab: warning: the page of the run was not written: " in error
    assert f"try again with: dislab report {RUN}" in error
    assert Path(RUN, "scores.json").is_file()


@pytest.mark.slow
def test_the_page_of_a_study_lies_in_its_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"):  # which workers set
        monkeypatch.setenv(name, os.environ.get(name, ""))
    Path("plain.yaml").write_text("pictures: false")
    study = {"base": ["small.yaml", "plain.yaml"], "axes": {"model.latent_dim": [2, 3]}}
    Path("mine.yaml").write_text(yaml.safe_dump(study))
    assert main(["study", "run", "mine.yaml", "--launcher", "slurm"]) == 0  # prints a script
    assert main(["study", "work", "studies/mine"]) == 0
    capsys.readouterr()
    assert main(["report", "mine.yaml"]) == 0
    assert capsys.readouterr().out == "studies/mine/report.html\n"
    page = Path("studies/mine/report.html").read_bytes()
    assert page.count(b'class="explorer"') == 2
    assert main(["report", "studies/mine", "--target", "score.migs"]) == 2
    assert "did you mean score.mig" in capsys.readouterr().err
    assert Path("studies/mine/report.html").read_bytes() == page
    for checkpoint in Path("studies/mine/runs").glob("*/checkpoints/last.ckpt"):
        checkpoint.write_bytes(b"torn")
    assert main(["report", "studies/mine"]) == 2
    assert "studies/mine/report.html is kept: it has an explorer" in capsys.readouterr().err
    assert Path("studies/mine/report.html").read_bytes() == page


@pytest.mark.every(4)
@pytest.mark.parametrize("command", ["report", "cite", "study table", "study status"])
@pytest.mark.parametrize("name", ["quick", "studies/quick", "configs/studies/quick.yaml"])
def test_a_study_is_known_by_its_name(
    command: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), name]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dislab: error: studies/quick is no folder of a study: it does not")
    assert "`dislab study run` with its file or name makes it" in error
    Path("studies/quick").mkdir(parents=True)
    Path("studies/quick/plan.json").write_text("{}")
    assert main([*command.split(), name]) == 2
    assert "studies/quick/plan.json" in capsys.readouterr().err  # is read


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "RUN|STUDY must be given; write dislab report RUN|STUDY …; see dislab report --help"),
        (
            ["nowhere"],
            "nowhere is no run and no study: it does not exist; runs are in runs/ and "
            "studies/NAME/runs/; a study is given by its folder, file or name; `dislab",
        ),
        (["studies/nothere"], "studies/nothere is no run and no study: it does not exist; runs"),
        (
            ["small.yaml", "run"],
            "small.yaml is a study, which has a page of its own; give it alone",
        ),
        (
            ["run", "--target", "score.mig"],
            "--target belongs to the page of a study, not to that of runs",
        ),
        (["run", "--folder", "x"], "--folder belongs to the page of a study, not to that of runs"),
        (
            ["small.yaml", "--explorer_only"],
            "--explorer_only belongs to the page of runs, not to that of a study",
        ),
        (["run", "."], "2 runs make one page; name its file by --out"),
        (["run", "--out", "run"], "--out is run, which is a folder; name a file"),
        (["run", "--out", "run/config.yaml"], "--out would replace run/config.yaml"),
    ],
)
def test_mistakes_end_with_one_line(
    args: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("run").mkdir()
    Path("run", "config.yaml").write_text(SMALL)
    assert main(["report", *args]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dislab: error: {message}")
    assert error.count("\n") == 1
    assert not list(Path().rglob("*.html"))
