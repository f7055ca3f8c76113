"""What the output options of all commands may replace: earlier outputs of the same command."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from matplotlib import pyplot
from tests.study.conftest import SCORE, TINY
from tests.study.test_summary_folder import TEXT, filled

from dislab.cli import COMMANDS, main
from dislab.cli.study import VERBS
from dislab.study.results import StudyFolder

RUN: Final = "runs/run/version_0"
STUDY: Final = "studies/mine"

SMALL: Final = ("--predictors=Ridge", "--labels=100", "--tested=50")
FILES: Final[dict[str, tuple[list[str], str]]] = {
    "encode --out": (["encode", RUN, "--images=20"], "new.npz"),
    "score --json": (["score", "codes.npz", "--metrics=MIG", "--no_chance"], "new.json"),
    "score --sheet": (["score", "codes.npz", "--metrics=MIG", "--no_chance"], "new.png"),
    "transfer --json": (["transfer", "--codes=codes.npz", "--scenarios=x.yaml", *SMALL], "a.json"),
    "draw --out": (["draw", RUN, "samples"], "new.pdf"),
    "report --out": (["report", RUN, "--explorer_only"], "new.html"),
    "compare --out": (["compare", RUN], "new.csv"),
    "study table --out": (["study", "table", STUDY], "new.md"),
}
"""A command for each option that names a file, and a name for it."""

FOLDERS: Final[dict[str, tuple[list[str], str]]] = {
    "data show --out": (["data", "show", "GaussianBlob", "--images=4"], "GaussianBlob_samples.png"),
    "study summary --out": (["study", "summary", STUDY, "--pictures=none"], "means.csv"),
    "study run --folder": (["study", "run", "tiny.yaml", "--workers=1"], "plan.json"),
    "study plan --folder": ([], ""),  # reads only, like those below
    "study status --folder": ([], ""),
    "study table --folder": ([], ""),
    "study summary --folder": ([], ""),
    "report --folder": ([], ""),
    "export --out": (["export", RUN, "--to=safetensors"], "model.safetensors"),
    "pull --out": (["pull", "somebody/model"], "model.safetensors"),
    "plugins new --folder": (["plugins", "new", "mine"], "dislab-mine"),
    "configs copy": (["configs", "copy", "factorvae"], "factorvae.yaml"),
}
"""A command for each option that names a folder, and a file that the command writes there."""

KEPT: Final[dict[str, str]] = {
    "checkpoint": f"{RUN}/checkpoints/last.ckpt",
    "scores": f"{RUN}/scores.json",
    "configuration": f"{RUN}/config.yaml",
    "curves": f"{RUN}/metrics.csv",
    "picture of a run": f"{RUN}/images/reconstructions.png",
    "plan": f"{STUDY}/plan.json",
    "record of a stage": f"{STUDY}/done.json",
    "codes of another program": "codes.npz",
    "picture of the user": "mine.png",
    "table of the user": "mine.csv",
    "page of the user": "mine.html",
    "record of the user": "mine.json",
    "empty file": ".lock",
}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, a study, and files of a user."""
    folder = tmp_path_factory.mktemp("workplace")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("base.yaml").write_text(TINY)
        settings = [
            "--trainer.max_steps=2",
            f"--evaluate={SCORE}",
            "--report=false",
            "--pictures=true",
        ]
        assert main(["fit", "--config=base.yaml", *settings]) == 0
        study = StudyFolder(folder / STUDY)
        study.path.mkdir(parents=True)
        plan = filled(study, TEXT.format(seeds=3, codes=""))
        shutil.copy(study.run(plan.runs[0].id) / "stages/train/done.json", study.path)
        generator = np.random.default_rng(0)
        factors = np.stack([generator.integers(4, size=300) for _ in range(2)], axis=1)
        codes = factors + 0.1 * generator.normal(size=factors.shape)
        np.savez("codes.npz", codes=codes, factors=factors, names=np.array(["x", "y"]))
        Path("x.yaml").write_text("train: {x: {max: 1}}\ntest: {x: 3}\nshifted: x\n")
        pyplot.imsave("mine.png", codes[:4])
        Path("mine.csv").write_text("run,note\n1,mine\n")
        Path("mine.html").write_text("<!doctype html>\n<title>mine</title>\n")
        Path("mine.json").write_text('{"source": "mine", "scores": [1]}\n')
        Path(".lock").touch()
        Path("tiny.yaml").write_text("name: tiny\nbase: base.yaml\naxes: {model.latent_dim: [2]}\n")
    return folder


@pytest.fixture
def copied(workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(workplace, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def option_of(key: str) -> str:
    return f"--{key.rpartition('--')[2]}"


def refused(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = content(Path.cwd())
    assert main(args) == 2
    said = capsys.readouterr().err
    assert said.startswith("dislab: error: ")
    assert message in said
    assert content(Path.cwd()) == before


@pytest.mark.every(8)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("key", FILES)
def test_no_option_replaces_a_file_that_is_kept(
    key: str, kept: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args, name = FILES[key]
    place = copied / KEPT[kept]
    is_table = name.endswith((".csv", ".tex", ".md"))
    if key not in ("score --sheet", "draw --out"):  # which check the suffix of a picture first
        named = [*args, f"{option_of(key)}={place}", *(["--format=csv"] if is_table else [])]
        refused(named, f"would replace {place}, which this command did not write", capsys)
    # nor under a name that looks like an output of the command
    place = Path(shutil.copy(place, place.with_name(name)))
    if kept != "codes of another program":
        refused([*args, f"{option_of(key)}={place}"], f"would replace {place}, which", capsys)


@pytest.mark.parametrize("key", FILES)
def test_a_file_with_the_name_of_another_kind_is_refused(
    key: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args, name = FILES[key]
    refused([*args, f"{option_of(key)}=new.xyz"], Path(name).suffix, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("key", FILES)
def test_a_command_replaces_its_own_file_alone(
    key: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args, name = FILES[key]
    mine = f"{option_of(key)}={name}"
    assert main([*args, mine]) == 0
    written = Path(name).read_bytes()
    assert main([*args, mine]) == 0
    assert Path(name).read_bytes() == written
    capsys.readouterr()
    tables = ("compare --out", "import --out", "study table --out")
    for other, (more, suffixed) in FILES.items():
        if other != key and not {key, other} <= {*tables}:
            place = Path(name).rename(f"other{Path(suffixed).suffix}")
            refused([*more, f"{option_of(other)}={place}"], "would replace", capsys)
            place.rename(name)
    Path("folder").mkdir()
    folder = Path("folder").rename(f"folder{Path(name).suffix}")
    refused([*args, f"{option_of(key)}={folder}"], "which is a folder; name a file", capsys)


def test_a_table_of_the_user_with_some_columns_of_means_is_kept(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.csv").write_text("score,mean,missing\nmig,0.5,0\n")
    refused(["compare", RUN, "--out=mine.csv"], "would replace mine.csv, which this", capsys)
    refused(["study", "table", STUDY, "--out=mine.csv"], "would replace mine.csv, which", capsys)


FORMS: Final = (
    ("score --sheet", ".svg"),
    ("score --sheet", ".pdf"),
    ("compare --out", ".parquet"),
    ("compare --out", ".md"),
    ("study table --out", ".tex"),
)


@pytest.mark.every(5)
@pytest.mark.parametrize(("key", "suffix"), FORMS)
def test_every_format_of_an_own_file_is_recognised(key: str, suffix: str, copied: Path) -> None:
    args = [*FILES[key][0], f"{option_of(key)}=new{suffix}"]
    assert main(args) == 0
    assert main(args) == 0


@pytest.mark.slow
def test_pages_of_runs_and_studies_replace_each_other(copied: Path) -> None:
    for shown in (RUN, STUDY, RUN):
        assert main(["report", shown, "--out=page.html"]) == 0


WRITING: Final = [key for key, (args, _) in FOLDERS.items() if args]


@pytest.mark.slow
@pytest.mark.parametrize("key", WRITING)
def test_no_folder_loses_a_file_of_the_user(
    key: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args, name = FOLDERS[key]
    Path("out").mkdir()
    Path("out", name).write_bytes(Path("mine.json").read_bytes())
    named = ["out"] if key == "configs copy" else [f"{option_of(key)}=out"]
    refused([*args, *named], "out", capsys)
    named = [
        one.replace("out", "mine.csv") if one != "--out=out" else "--out=mine.csv" for one in named
    ]
    refused([*args, *named], "mine.csv", capsys)


@pytest.mark.parametrize("key", ["data show --out", "study summary --out"])
def test_a_folder_takes_a_second_output_of_the_same_command(key: str, copied: Path) -> None:
    args = [*FOLDERS[key][0], "--out=out"]
    assert main(args) == 0
    Path("out/notes.txt").write_text("mine")
    before = content(Path("out"))
    assert main(args) == 0
    assert content(Path("out")) == before


def test_codes_of_another_run_are_kept(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(RUN, "other")
    assert main(["encode", "other", "--images=20"]) == 0
    refused(["encode", RUN, "--out=other/codes.npz"], "would replace other/codes.npz", capsys)
    assert main(["encode", "other", "--images=30", "--out=other/codes.npz"]) == 0


@pytest.mark.slow
def test_checkpoints_of_another_run_are_kept(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = f"--checkpoint.dirpath={RUN}/checkpoints"
    refused(["fit", "--config=base.yaml", folder], "has checkpoints already, such as", capsys)


def options(words: list[str], capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    """The options of a command that name a file or a folder to write, from its help."""
    with pytest.raises(SystemExit):
        main([*words, "--help"])
    said = capsys.readouterr().out
    for name, value in re.findall(r"^  --([\w-]+) ([A-Z][\w.]*)", said, re.MULTILINE):
        if name in ("out", "folder", "sheet") or (name == "json" and value):
            yield f"{' '.join(words)} --{name}"


def test_the_tables_above_have_every_output_option(capsys: pytest.CaptureFixture[str]) -> None:
    own = [one for one in COMMANDS if one not in ("fit", "validate", "test", "predict")]
    plain = [one for one in own if one not in ("study", "data", "configs")]
    words = [*([one] for one in plain), *(["study", verb] for verb in VERBS), ["plugins", "new"]]
    found = {key for one in words for key in options(one, capsys)}
    assert found == {*FILES, *FOLDERS} - {"data show --out", "configs copy"}
