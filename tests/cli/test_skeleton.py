import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.test_plugin_distribution import dislab

from dislab.cli import main
from dislab.cli.skeleton import add_part, write_package
from dislab.errors import InputError
from dislab.plugins import GROUPS

WRITTEN = (
    "datamodules",
    "datasets",
    "decoders",
    "encoders",
    "metrics",
    "objectives",
    "predictors",
    "regularizers",
)
UNCONFIGURED = {"datamodules", "predictors"}
COMPILED = {"objectives", "regularizers"}


def install(package: Path, site: Path) -> None:
    """Puts the package where Python finds it, with the metadata that an installer writes."""
    site.mkdir()
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    (source,) = (package / "src").iterdir()
    (site / source.name).symlink_to(source)
    info = site / f"{source.name}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, parts in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in parts.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


TESTED = """
import os, sys
import pytest
import lightning.pytorch, sklearn.ensemble, torchmetrics
import dislab.cli.training, torch.utils.tensorboard

for folder in sys.argv[1:]:
    print(folder, flush=True)
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    os.chdir(f"{folder}/dislab-my-part")
    sys.path.insert(0, f"{folder}/site")
    status = pytest.main(["-q", "-p", "no:cacheprovider", "-W", "error::UserWarning"])
    sys.stdout.flush()
    os._exit(status)
"""
"""The tests of packages, each in a process of its own that has imported the most already."""


@pytest.mark.slow
def test_new_packages_pass_their_own_tests(tmp_path: Path) -> None:
    for group in WRITTEN:
        (tmp_path / group).mkdir()
        install(write_package("my-part", group, None, tmp_path / group), tmp_path / group / "site")
    done = subprocess.run(
        [sys.executable, "-c", TESTED, *(str(tmp_path / group) for group in WRITTEN)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.split(f"{tmp_path}/")[1:]
    assert len(said) == len(WRITTEN), done.stdout + done.stderr
    for group, text in zip(WRITTEN, said, strict=True):
        tests = 4 - (group in UNCONFIGURED) + (group in COMPILED)
        assert f"{tests} passed" in text, (group, text, done.stderr)


def test_the_next_steps_are_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plugins", "new", "sparse"]) == 0
    page = (Path(__file__).parents[2] / "docs" / "own_method.md").read_text()
    _, _, steps = capsys.readouterr().out.partition("Next:\n")
    for step in map(str.strip, steps.splitlines()):
        assert step in page
    formula = page.partition("It ends with")[2].split("```")[1].removeprefix("text\n")
    assert Path("dislab-sparse/src/dislab_sparse/sparse.py").read_text().endswith(formula)


@pytest.mark.parametrize("name", ["my thing", "My-Thing", "my_thing", "dislab-my thing"])
def test_a_changed_name_is_said(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "new", name, "--folder", str(tmp_path)]) == 0
    assert f"The name {name!r} became my-thing: lower-case words" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["dislab-my-thing"]


def test_its_files_and_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "new", "my-sparse", "--folder", str(tmp_path)]) == 0
    package = tmp_path / "dislab-my-sparse"
    said = capsys.readouterr().out
    source = package / "src" / "dislab_my_sparse" / "my_sparse.py"
    listed, _, made = said.partition("Made ")
    written = sorted(path for path in package.rglob("*") if path.is_file())
    assert listed.splitlines() == list(map(str, written))
    assert made.startswith(f"MySparsePenalty, one of the regularizers, in {source}.\nNext:")
    assert said.endswith("\n  dislab fit --config my_sparse\n")
    files = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    assert files == {
        "README.md",
        "pyproject.toml",
        "src/dislab_my_sparse/__init__.py",
        "src/dislab_my_sparse/configs/my_sparse.yaml",
        "src/dislab_my_sparse/my_sparse.py",
        "src/dislab_my_sparse/py.typed",
        "tests/test_my_sparse.py",
    }
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {
        "dislab.regularizers": {"MySparsePenalty": "dislab_my_sparse.my_sparse:MySparsePenalty"},
        "dislab.configurations": {"dislab_my_sparse": "dislab_my_sparse.configs"},
    }
    assert [path.name for path in tmp_path.iterdir()] == ["dislab-my-sparse"]


@pytest.mark.parametrize("group", WRITTEN)
def test_nothing_is_left_to_fill_in(group: str, tmp_path: Path) -> None:
    package = write_package("x", group, "Own", tmp_path)
    for path in package.rglob("*.*"):
        text = path.read_text() if path.is_file() else ""
        assert "$" not in text
        if path.parent.name == "dislab_x":
            imports = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
            assert imports - sys.stdlib_module_names <= required(package), path
        assert all(len(line) <= 100 for line in text.splitlines() if path.suffix == ".py"), path


def required(package: Path) -> set[str]:
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    return {text.partition(">")[0] for text in project["dependencies"]}


@pytest.mark.slow
@pytest.mark.parametrize("group", sorted(set(WRITTEN) - UNCONFIGURED))
def test_its_configuration_learns_the_factors(group: str, tmp_path: Path) -> None:
    install(write_package("mine", group, None, tmp_path), tmp_path / "site")
    quick = ["--trainer.accelerator=cpu", "--pictures=false"]
    done = dislab(tmp_path / "site", "fit", "--config=mine", *quick)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "runs/mine/version_0/scores.json").read_text())
    scores = results["test"]["scores"]
    assert scores["mig"] > 0.1, scores  # chance is below 0.02
    assert group == "objectives" or scores["active_units"] >= 2, scores


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "setting"),
    [
        ("datasets", "data.dataset.levels=1"),
        ("encoders", "model.encoder.width=0"),
        ("decoders", "model.decoder.width=0"),
    ],
)
def test_a_written_part_refuses_settings_out_of_range(
    group: str, setting: str, tmp_path: Path
) -> None:
    """Runs in a process of its own: no later test shall find the class among those of dislab."""
    install(write_package("mine", group, None, tmp_path), tmp_path / "site")
    done = dislab(tmp_path / "site", "fit", "--config=mine", f"--{setting}")
    assert done.returncode == 2, done.stdout + done.stderr
    name, _, value = setting.rpartition(".")[2].partition("=")
    assert f"{name} is {value}; it must be" in done.stderr


def test_the_groups_it_writes_exist() -> None:
    assert set(WRITTEN) <= set(GROUPS)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["1st"], "'1st' cannot name a package"),
        (["class"], "'class' cannot name a package"),
        (["dislab-"], "cannot name a package"),
        *(
            ([name], f"{name!r} cannot name a package; use letters, digits and -, the first a l")
            for name in ("", "_", "-", "a/b", "..", "a.b", "my--part", "__init__", "__main__")
        ),
        *(([name], "cannot name a package; ") for name in ("ä", "part-", "x\n", "1", "a b ")),
        *(
            ([name], f"{name!r} cannot name a package; use letters, digits and -, the first a lett")
            for name in ("None", "none", "TRUE", "import", "match", "async", "dislab-class")
        ),
        (["x" * 41], "the name of a package has at most 40 characters, not 41, as in my-part"),
        (["x" * 300], "the name of a package has at most 40 characters, not 300, as in my-part"),
        (["own", "--class", "my part"], "'my part' cannot name a class"),
        *(
            (["own", "--class", name], f"{name!r} cannot name a class; use letters and digits")
            for name in ("None", "int", "print", "__A", "Ä", "a", "self", "A_", "1A", "ValueError")
        ),
        (["own", "--class", "X" * 300], "the name of a class has at most 60 characters, not 300"),
        (["factorvae"], "there is a configuration factorvae in dislab already ("),
        (["own", "--class", "KL"], "KL is one of the regularizers already; choose another"),
        (["own", "--class", "Tensor"], "'Tensor' is a name that the package imports; choose anot"),
        (["own", "--class", "Posterior"], "'Posterior' is a name that the package imports"),
        (
            ["kl"],
            "KL is one of the regularizers already; choose another name, such as my-kl",
        ),
        (["MIG", "--group", "metrics"], "MIG is one of the metrics already; choose another"),
        (["conv-decoder64", "--group", "decoders"], "ConvDecoder64 is one of the decoders"),
        (["own", "--class", "Kl"], "KL is one of the regularizers already; choose another"),
        (["own", "--group", "encodre"], "--group is 'encodre' (did you mean encoders?)"),
        ([], "NAME must be given; write dislab plugins new NAME"),
    ],
)
def test_mistakes_end_with_one_line(
    args: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "new", *args, *(["--folder", str(tmp_path)] if args else [])]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("group", ["regularizers", "metrics"])
def test_a_part_is_added_to_a_package(
    group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = write_package("own", "regularizers", None, tmp_path)
    before = {path: path.read_text() for path in package.rglob("*.*") if path.is_file()}
    command = ["plugins", "new", "tidy", "--group", group, "--into", str(package)]
    assert main(command) == 0
    said = capsys.readouterr().out
    new = [package / "src/dislab_own/tidy.py", package / "tests/test_tidy.py"]
    config = package / "src/dislab_own/configs/tidy.yaml"
    assert all(str(path) in said for path in (*new, config))
    assert said.endswith("\n  dislab fit --config tidy\n")
    again = "  # again, as entry points are read at installation"
    assert f"\n  pip install -e '{package}[test]'{again}\n  python -m pytest {package}\n" in said
    assert tomllib.loads((package / "pyproject.toml").read_text())["project"]["description"] == (
        f"Parts for dislab: OwnPenalty, Tidy{'Penalty' if group == 'regularizers' else 'Score'}"
    )
    for path in new:
        compile(path.read_text(), str(path), "exec")
    assert "from dislab_own.tidy import" in new[1].read_text()
    after = {path: path.read_text() for path in package.rglob("*.*") if path.is_file()}
    project, readme = package / "pyproject.toml", package / "README.md"
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {*new, config, project, readme}
    assert {path for path in changed if f"{path} (changed)\n" in said} == {project, readme}
    assert after[readme].startswith(before[readme])
    assert f"`dislab plugins {group}` lists" in after[readme].removeprefix(before[readme])
    points = tomllib.loads(after[project])["project"]["entry-points"]
    assert points.pop("dislab.configurations") == {"dislab_own": "dislab_own.configs"}
    declared = [name for parts in points.values() for name in parts.values()]
    assert sorted(declared) == [
        "dislab_own.own:OwnPenalty",
        f"dislab_own.tidy:Tidy{'Penalty' if group == 'regularizers' else 'Score'}",
    ]
    assert main(command) == 2
    assert "exist already; choose another name" in capsys.readouterr().err
    assert {path: path.read_text() for path in after} == after


def test_requirements_of_an_added_part_are_added(tmp_path: Path) -> None:
    package = write_package("own", "metrics", None, tmp_path)
    assert not {"jaxtyping", "lightning"} & required(package)
    add_part("tidy", "objectives", None, package)
    assert {"dislab", "jaxtyping", "lightning", "torch"} == required(package)
    project = (package / "pyproject.toml").read_text()
    assert project.count('own = "dislab_own.configs"') == 1


@pytest.mark.slow
def test_a_package_with_an_added_part_passes_its_tests(tmp_path: Path) -> None:
    package = write_package("my-part", "regularizers", None, tmp_path)
    add_part("tidy", "metrics", None, package)
    install(package, tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", TESTED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "9 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("content", [None, "[project", "[project]\nentry-points = 3\n"])
def test_a_folder_that_is_no_package_gets_no_part(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src/mine").mkdir(parents=True)
    (tmp_path / "src/mine/__init__.py").touch()
    if content is not None:
        (tmp_path / "pyproject.toml").write_text(content)
    before = sorted(tmp_path.rglob("*"))
    assert main(["plugins", "new", "tidy", "--into", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["src/mykit/l1.py"], "holds no pyproject.toml; --into takes"),
        (
            ["pyproject.toml"],
            "holds no package in src, such as src/tidy, with Python files; --into",
        ),
        ([], "holds no pyproject.toml and no package in src"),
        (
            ["pyproject.toml", "src/a/one.py", "src/b/__init__.py"],
            "holds no single package in src, which has 2; --into",
        ),
    ],
)
def test_what_a_folder_lacks_to_be_a_package_is_named(
    files: list[str], message: str, tmp_path: Path
) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    with pytest.raises(InputError, match=re.escape(f"{tmp_path} {message}")):
        add_part("tidy", "metrics", None, tmp_path)


def test_the_smallest_package_of_the_guide_gets_a_part(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs/plugins.md"
    for text in re.findall(r"```(?:python|toml)\n(# .+?)```", guide.read_text(), re.DOTALL)[:2]:
        file = tmp_path / text.split()[1]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    module, *_ = add_part("foo3", "metrics", "Foo3", tmp_path)
    assert module == tmp_path / "src/mykit/foo3.py"
    points = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["entry-points"]
    assert points["dislab.regularizers"] == {"L1": "mykit.l1:L1"}
    assert points["dislab.metrics"] == {"Foo3": "mykit.foo3:Foo3"}


def test_a_missing_folder_gets_no_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "mine"
    command = ["plugins", "new", "tidy", "--group", "encoders", "--into", str(missing)]
    assert main(command) == 2
    message = f"{missing} does not exist; make it first: dislab plugins new NAME"
    assert message in " ".join(capsys.readouterr().err.split())
    assert not missing.exists()


@pytest.mark.parametrize(
    ("name", "group", "cls"),
    [
        ("bad-encoder", "encoders", "BadEncoder"),
        ("sizepenalty", "regularizers", "Sizepenalty"),
        ("slow-auto-encoder", "objectives", "SlowAutoEncoder"),
        ("encoder", "encoders", "EncoderEncoder"),  # Encoder is the base class
        ("encoder-size", "encoders", "EncoderSizeEncoder"),
    ],
)
def test_the_name_of_a_class_has_the_suffix_of_its_group_once(
    name: str, group: str, cls: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "new", name, "--group", group, "--folder", str(tmp_path)]) == 0
    assert f"Made {cls}, one of the {group}, in" in capsys.readouterr().out


def test_a_part_goes_into_a_new_package_or_an_existing_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = write_package("own", "encoders", None, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    both = ["--into", str(package), "--folder", str(tmp_path)]
    assert main(["plugins", "new", "tidy", *both]) == 2
    message = "--folder is where a new package goes, and --into names an existing one; leave out"
    assert message in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("word", ["score", "Metric", "scores"])
def test_a_group_is_also_meant_by_other_words(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "new", "tidy", "--group", word, "--folder", str(tmp_path)]) == 0
    assert "Made TidyScore, one of the metrics, in" in capsys.readouterr().out


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    package = write_package("own", "encoders", None, tmp_path)
    (package / "README.md").write_text("mine")
    with pytest.raises(InputError, match="dislab-own exists already"):
        write_package("own", "encoders", None, tmp_path)
    assert (package / "README.md").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file is no folder; choose another --folder"):
        write_package("own", "encoders", None, tmp_path / "file")
    with pytest.raises(InputError, match="cannot be written"):
        write_package("own", "encoders", None, tmp_path / "file/inside")


@pytest.mark.parametrize("name", ["x" * 40, "A", "a_b c-d2", "dislab-own", "dislab", "test"])
def test_other_names_are_taken(name: str, tmp_path: Path) -> None:
    package = write_package(name, "metrics", None, tmp_path)
    for path in package.rglob("*.py"):
        compile(path.read_text(), str(path), "exec")


@pytest.mark.parametrize("group", WRITTEN)
def test_the_class_of_the_part_is_named(
    group: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["plugins", "new", "x", "--group", group, "--class", "Own", "--folder", str(tmp_path)]
    assert main(command) == 0
    assert f"\nMade Own, one of the {group}, in " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True])
def test_parts_and_configurations_of_a_package_that_is_not_installed_name_its_folder(
    inside: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_package("mine", "datasets", None, Path())
    add_part("tidy", "metrics", None, Path("dislab-mine"))
    folder = "." if inside else "./dislab-mine"
    monkeypatch.chdir("dislab-mine" if inside else ".")
    install = f"install it: pip install -e {folder})"
    for args in (
        ["fit", "--config", "mine"],
        ["configs", "show", "mine"],
        ["help", "TidyScore"],
        ["fit", "--config", "vae", "--data.dataset", "MineImages"],
    ):
        assert main(args) == 2
        assert f" (the package dislab-mine declares it; {install}" in capsys.readouterr().err, args
    assert main(["fit", "--config", "vae", "--data.dataset", "dislab_mine.mine.MineImages"]) == 2
    assert f"plugin that has it, pip install -e {folder}\n" in capsys.readouterr().err
    for text in ("[project\n", "project = 1\n", "[project]\nname = 1\nentry-points = 1\n"):
        (tmp_path / "dislab-mine/pyproject.toml").write_text(text)
        assert main(["fit", "--config", "mine"]) == 2
        assert "declares it" not in capsys.readouterr().err
