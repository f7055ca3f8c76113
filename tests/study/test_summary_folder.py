"""The folder with every table and picture of a study, as `dislab study summary` writes it."""

import errno
import json
import os
import re
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from tests.study.conftest import planned

from dislab.cli import main
from dislab.storage import writing
from dislab.study import Study
from dislab.study.results import Done, StudyFolder
from dislab.study.schedule import Schedule
from dislab.study.summary import StudySummary, summarize
from dislab.study.summary_folder import write_summary

TEXT = """
name: mine
base: [base.yaml]
axes: {{method: {{good: {{}}, bad: {{model.a: 3}}}}, model.b: [1, 2]}}
seeds: {seeds}
stages: {{train: {{}}, score: {{}}{codes}}}
"""
CODES = ", codes: {images: 300}"
PRIMARY = {"mig": {"primary": "mig", "higher_is_better": True}}


def filled(folder: StudyFolder, text: str) -> Schedule:
    """A study in which all runs but the last have been done."""
    plan = planned(folder.path.parents[1], text)
    plan.write(folder.path)
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(300, 2))
    for number, run in enumerate(plan.runs[:-1]):
        good = run.group.axes["method"] == "good"
        mig = 0.3 * good + 0.05 * rng.normal()
        found = {"mig": mig, "elbo_sample_test": -50 + 9 * mig, "num_active": float(number)}
        turn = np.eye(2) if good else np.linalg.qr(rng.normal(size=(2, 2)))[0]
        for stage in plan.stages:
            scores = found if stage == "score" else {}
            done = Done(run.group.stages[stage].digest, "done", scores, 60.0, {"dislab": "1"})
            folder.write_done(run, stage, done)
        place = folder.run(run.id)
        record = {"scores": found, "metrics": PRIMARY}
        (place / "scores.json").write_text(json.dumps({"test": record}))
        np.savez(place / "codes.npz", codes=factors @ turn, kl=[1.0, 1.0], states=range(300))
    return plan


@pytest.mark.slow
def test_all_tables_and_pictures(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(folder, TEXT.format(seeds=5, codes=CODES))
    out = tmp_path / "found"
    assert main(["study", "summary", str(folder.path), "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    names = {path.name for path in out.iterdir()}
    verdict, *lines = said.out.splitlines()
    assert verdict.startswith(
        "20 runs: 19 finished, 1 waiting. No difference in MIG, averaged over "
    )
    assert f"{out}/summary.md and {len(names) - 1} other files" in lines
    assert names == {
        "summary.md",
        "runs.csv",
        "means.csv",
        "comparisons_method.csv",
        "comparisons_model_b.csv",
        "rank_correlations.csv",
        "variance_shares.csv",
        "model_selection.csv",
        "violins_mig.svg",
        "violins_elbo_sample_test.svg",
        "rank_correlations.svg",
        "scatter_elbo_sample_test.svg",
        "scatter_udr_lasso_pooled.svg",
    }
    text = (out / "summary.md").read_text()
    assert "20 runs (19 finished, 1 waiting)" in text
    assert "train 19 min, score 19 min, codes 19 min" in text
    assert "Versions: dislab 1." in text
    for name in names - {"summary.md", "runs.csv"}:
        assert f"]({name})" in text
    assert "MIG by method, model.b; every point is a run" in text
    assert "<!--" not in text
    compared = text.count("## Comparisons of")
    assert compared >= 2
    assert text.count("p is by permutation, uncorrected and corrected") == 1
    runs = pd.read_csv(out / "runs.csv", index_col="run")
    udr = runs.groupby("method")["agreement.udr_lasso_pooled"].mean()
    assert udr["good"] > 0.8 > 0.7 > udr["bad"]
    selection = pd.read_csv(out / "model_selection.csv")
    overall = selection[(selection["target"] == "score.mig") & (selection["group"] == "all")]
    assert overall.set_index("selector")["rho"]["agreement.udr_lasso_pooled"] > 0.4

    # the same runs give the same bytes
    again = tmp_path / "again"
    assert main(["study", "summary", str(folder.path), "--out", str(again)]) == 0
    for path in out.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "advice"),
    [
        (1, ""),
        (
            3,
            "without alignment, as the study keeps no codes; add `codes: .* UDR would need 5 seeds",
        ),
        (5, "without UDR and alignment, as the study keeps no codes; .* run it again\n"),
    ],
)
def test_a_study_without_codes(
    folder: StudyFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    seeds: int,
    advice: str,
) -> None:
    filled(folder, TEXT.format(seeds=seeds, codes=""))
    args = ["study", "summary", str(folder.path), "--out", str(tmp_path / "o"), "--pictures=none"]
    assert main(args) == 0
    said = capsys.readouterr()
    assert re.search(advice, said.err)
    assert ("codes" in said.err) == (seeds > 1)
    assert {path.suffix for path in (tmp_path / "o").iterdir()} == {".csv", ".md"}


def test_a_table_with_agreement(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(folder, TEXT.format(seeds=2, codes=CODES))
    assert main(["study", "table", str(folder.path), "--agreement"]) == 0
    printed = capsys.readouterr()
    assert "UDR needs 5 seeds of a setting, and the most is 2" in printed.err
    lines = [line.split() for line in printed.out.splitlines()]
    assert ["Alignment", "Informative"] in [line[-2:] for line in lines if line[:1] == ["run"]]
    assert main(["study", "table", str(folder.path), "--agreement", "--format=csv"]) == 0
    header = capsys.readouterr().out.splitlines()[0].split(",")
    assert header[-2:] == ["agreement.alignment", "agreement.informative"]


@pytest.mark.slow
def test_pictures_fit_a_column_and_their_labels_can_be_read(
    folder: StudyFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(folder, TEXT.format(seeds=2, codes=""))
    figures: list[Figure] = []
    save = Figure.savefig

    def recorded(self: Figure, *args: Any, **settings: Any) -> None:
        figures.append(self)
        save(self, *args, **settings)

    monkeypatch.setattr(Figure, "savefig", recorded)
    out = tmp_path / "out"
    assert main(["study", "summary", str(folder.path), "--out", str(out), "--pictures=pdf"]) == 0
    pictures = [path.read_bytes() for path in out.glob("*.pdf")]
    assert len(pictures) == len(figures) == 4
    assert all(picture.startswith(b"%PDF") for picture in pictures)
    assert not any(b"/Subtype /Image" in picture for picture in pictures)
    assert max(figure.get_figwidth() for figure in figures) <= 3.5
    texts = [text for figure in figures for text in figure.findobj(Text)]
    assert min(float(text.get_fontsize()) for text in texts) >= 7


@pytest.mark.slow
def test_pictures_of_another_format_replace_the_earlier_ones(
    folder: StudyFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(folder, TEXT.format(seeds=2, codes=""))
    out = tmp_path / "out"
    summary = ["study", "summary", str(folder.path), "--out", str(out)]
    assert main([*summary, "--pictures=svg"]) == 0
    names = {path.stem for path in out.glob("*.svg")}
    mine = [out / "mine.svg", out / f"{min(names)}.png"]
    for path in mine:
        path.write_text("mine")
    assert "removed" not in capsys.readouterr().out
    assert "8<--" not in (out / "summary.md").read_text()
    assert main([*summary, "--pictures=pdf"]) == 0
    removed = f"removed {len(names)} pictures of an earlier summary in another format: "
    assert f"{removed}{sorted(names)[0]}.svg" in capsys.readouterr().out
    assert {path.stem for path in out.glob("*.pdf")} == names
    assert list(out.glob("*.svg")) == [out / "mine.svg"]
    assert [path.read_text() for path in mine] == ["mine", "mine"]


HOSTILE = [
    "# heading\n# two\n\n```",
    "</style><script>alert(1)</script><img src=x onerror=alert(1)>",
    "![x](https://evil.example/a.png) | [x]: https://evil.example",
    "<!-- --8<-- [end:means] -->",
    '\n--8<-- "/etc/passwd"\n\n---\n* * *',
    "a`b",
    "../../b",
]


def hostile_summary() -> StudySummary:
    """A study whose axes, values and scores have hostile names."""
    rng = np.random.default_rng(0)
    rows: dict[str, list[object]] = {"seed": [n % 3 for n in range(36)], "state": ["finished"] * 36}
    for n, name in enumerate(HOSTILE):
        rows[name] = [name if k // (3 * (1 + n % 4)) % 2 else HOSTILE[n - 1] for k in range(36)]
        rows[f"score.{name}"] = list(rng.normal(size=36))
    return summarize(pd.DataFrame(rows), "mine", HOSTILE)


@pytest.mark.slow
def test_texts_of_a_foreign_study_file_stay_texts(tmp_path: Path) -> None:
    """Names and values of axes appear in headings, notes, captions and tables."""
    out, found = tmp_path / "out", hostile_summary()
    write_summary(found, out, "svg", [f"Versions: {name}" for name in HOSTILE])
    text = (out / "summary.md").read_text()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == 1 + len(found.tables) + len({"Tables left out", "Pictures"})
    assert "<" not in text
    links = re.findall(r"\]\((.*?)\)", text)
    assert set(links) == {path.name for path in out.iterdir()} - {"summary.md", "runs.csv"}
    assert not re.search(r"^(---|```|~~~|>|--8)", text, re.MULTILINE)
    listed = [line for line in text.splitlines() if line.startswith("* ")]
    assert len(listed) == len(found.absent)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    ("owner", "function"), [(writing, "_sync"), (Figure, "savefig"), (Path, "write_text")]
)
def test_a_full_disk_leaves_the_folder_as_it_was(
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    owner: object,
    function: str,
    again: bool,
) -> None:
    """The disk fills while a table, a picture or the page is written."""
    filled(folder, TEXT.format(seeds=2, codes=""))
    args = ["study", "summary", str(folder.path), "--out", str(tmp_path / "out")]
    if again:
        assert main([*args, "--pictures=none"]) == 0
    capsys.readouterr()
    before = files_in(tmp_path)

    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(owner, function, full)
    assert main(args) == 2
    message = capsys.readouterr().err
    assert re.fullmatch(r"dislab: error: .*No space left on device.*\n", message), message
    assert files_in(tmp_path) == before


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--out", "there", "--target", "score.mgi"],
            r"no measure of mine \(did you mean score.mig",
        ),
        (["--out", "base.yaml"], "--out is base.yaml, which is a file; name a folder"),
    ],
)
def test_mistakes_write_nothing(
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    filled(folder, TEXT.format(seeds=2, codes=""))
    try:
        status = main(["study", "summary", str(folder.path), *args])
    except SystemExit as ended:
        status = int(str(ended.code))
    assert status == 2
    assert re.search(message, capsys.readouterr().err)
    assert not Path("there").exists()


def test_a_mistyped_target_is_refused_before_codes_are_compared(
    folder: StudyFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def compares(study: Study) -> None:
        raise AssertionError("codes are compared")

    filled(folder, TEXT.format(seeds=2, codes=CODES))
    monkeypatch.setattr(Study, "agreement", compares)
    out = str(tmp_path / "there")
    assert main(["study", "summary", str(folder.path), "--out", out, "--target", "migs"]) == 2
    assert "'migs' is no measure of mine (did you mean mig?)" in capsys.readouterr().err
    with pytest.raises(AssertionError, match="codes are compared"):
        main(["study", "summary", str(folder.path), "--out", out, "--target", "mig"])
