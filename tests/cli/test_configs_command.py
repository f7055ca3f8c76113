"""`dislab configs`, and configurations by name."""

import os
import subprocess
import sys
import venv
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.test_plugins import package

from dislab.cli import configs, main
from dislab.cli.configs import find_study, resolved
from dislab.cli.messages import warnings_in_one_line
from dislab.datamodules import SingleData
from dislab.datasets import FolderDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.plugins import Configuration
from dislab.study.study_file import read_study_file
from dislab.yaml_files import read_mapping

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("factorvae", "factorvae.yaml"),
        ("factorvae.yaml", "factorvae.yaml"),
        ("configs/factorvae.yaml", "factorvae.yaml"),
        ("studies/quick", "studies/quick.yaml"),
        ("quick", "studies/quick.yaml"),
    ],
)
def test_a_name_finds_a_study_before_a_configuration(name: str, file: str) -> None:
    assert find_study(name) == CONFIGS / file


@pytest.mark.parametrize("name", ["/nowhere/factorvae.yaml", "mine.yaml", "mine"])
def test_a_missing_study_is_refused_with_the_command_that_lists_names(name: str) -> None:
    with pytest.raises(InputError, match=f"no study is named '{name}'.* list studies"):
        find_study(name)


def test_a_file_of_the_user_comes_first() -> None:
    Path("factorvae").write_text("name: mine\n")
    args = ["-c", "factorvae", "--config=vae", "--name", "vae"]
    expected = ["-c", "factorvae", f"--config={CONFIGS / 'vae.yaml'}", "--name", "vae"]
    assert resolved(args) == expected


def test_configurations_are_listed_shown_and_copied(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "list", "all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    names = [line.split()[0] for line in lines if line[:2] == "  " and line[2:3].strip()]
    paths = [path.relative_to(CONFIGS).with_suffix("") for path in CONFIGS.rglob("*.yaml")]
    assert sorted(names) == sorted(path.as_posix() for path in paths)
    assert main(["configs", "show", "factorvae"]) == 0
    text = (CONFIGS / "factorvae.yaml").read_text()
    assert capsys.readouterr().out == text
    assert main(["configs", "copy", "factorvae", "mine"]) == 0
    assert Path("mine/factorvae.yaml").read_text() == text
    assert main(["configs", "copy", "all"]) == 0
    assert Path("configs/studies/parts/quick.yaml").is_file()  # beside the studies that name it
    capsys.readouterr()
    assert main(["configs", "copy", "factorvae", "mine"]) == 2
    assert "mine/factorvae.yaml exists already" in capsys.readouterr().err
    assert main(["configs", "show", "factorvea"]) == 2
    assert "did you mean factorvae?" in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["configs", "mine"]


def test_the_list_has_headings_and_takes_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["configs", "list", "Quick"]) == 0
    blocks = [block.splitlines() for block in capsys.readouterr().out.split("\n\n")]
    names = {heading.partition(":")[0]: names for heading, *names in blocks}
    assert any(name.startswith("  quick ") for name in names["settings to put on top of a method"])
    assert any(name.startswith("  studies/quick ") for name in names["studies"])
    assert all("quick" in " ".join(lines).lower() for lines in names.values())
    assert main(["configs", "list", "factorvea"]) == 2
    assert "has 'factorvea' in its name or first sentence (did you" in capsys.readouterr().err


def test_the_list_without_a_word_fits_two_screens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in ("60", "100"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["configs", "list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 100
        assert max(map(len, lines)) <= 100
    assert any(line.startswith("  factorvae ") for line in lines)
    listed = [line.partition(" files: dislab configs list ") for line in lines if "files: " in line]
    assert len(listed) == 6
    for count, _, word in listed:
        assert main(["configs", "list", word]) == 0
        group = capsys.readouterr().out.splitlines()
        assert sum(line[:2] == "  " and line[2:3] != " " for line in group) == int(count)


def test_a_configuration_without_a_comment_is_listed_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare.yaml").write_text("name: bare\n")
    bare = Configuration(tmp_path / "bare.yaml", "mykit")
    monkeypatch.setattr(configs, "configurations", lambda: {"bare": [bare]})
    assert main(["configs", "list", "all"]) == 0
    listed = capsys.readouterr().out
    assert "  bare  no description: it begins with no comment (mykit)\n" in listed


def test_no_two_configurations_have_the_same_sentence() -> None:
    sentences = [configs._first_sentence(path) for path in CONFIGS.rglob("*.yaml")]
    assert len({*sentences}) == len(sentences)
    assert "4,000 steps" in configs._first_sentence(CONFIGS / "quick.yaml")


def test_without_an_action_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["configs"])
    assert ended.value.code == 0
    assert "list the methods" in capsys.readouterr().out


def test_configurations_of_a_plugin_work_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In each command that takes a name."""
    site = tmp_path / "site"
    folder = package(
        site, "fake-kit", {"sparse.yaml": "# Sparse codes.\na: 1\n", "studies/wide.yaml": "b: 1\n"}
    )
    monkeypatch.syspath_prepend(str(site))
    sparse, wide = folder / "sparse.yaml", folder / "studies/wide.yaml"
    assert resolved(["--config", "sparse", "-c=sparse.yaml"]) == [
        "--config",
        str(sparse),
        f"-c={sparse}",
    ]
    assert find_study("wide") == find_study("studies/wide") == wide
    Path("study.yaml").write_text("base: sparse\n")
    assert read_study_file("study.yaml").base == (sparse,)
    assert main(["configs", "list", "all"]) == 0
    assert "Sparse codes. (fake-kit)" in capsys.readouterr().out
    assert main(["configs", "show", "sparse"]) == 0
    assert capsys.readouterr().out == sparse.read_text()
    assert main(["configs", "copy", "sparse"]) == 0
    assert Path("sparse.yaml").read_text() == sparse.read_text()
    assert main(["configs", "show", "sparce"]) == 2
    assert "did you mean sparse?" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["configs", "show"], ["fit", "--config"], ["study", "plan"]])
def test_a_name_of_two_distributions_is_refused(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    site = tmp_path / "site"
    package(site, "fake-kit", {"factorvae.yaml": "a: 1\n", "studies/quick.yaml": "b: 1\n"})
    monkeypatch.syspath_prepend(str(site))
    name = "quick" if command[0] == "study" else "factorvae"
    assert main([*command, name]) == 2
    error = capsys.readouterr().err
    assert f"{name}.yaml of dislab and " in error
    assert f"{name}.yaml of fake-kit; give the path of one of them" in error


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mine_betavae.yaml", "named 'mine_betavae.yaml';"),
        ("mine_factrvae.yaml", "mean mine_factorvae"),
        ("nofile.yaml", "named 'nofile.yaml';"),
    ],
)
def test_a_file_of_ones_own_is_no_misspelt_name_of_a_configuration(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.yaml").write_text("a: 1\n")
    if "factr" in name:
        Path("mine_factorvae.yaml").write_text("a: 1\n")
    assert main(["fit", "--config", name]) == 2
    assert hint in capsys.readouterr().err
    Path("study.yaml").write_text(f"name: s\nbase: [{name}]\nseeds: 1\n")
    assert main(["study", "plan", "study.yaml"]) == 2
    error = capsys.readouterr().err
    assert "did you mean mine_factorvae.yaml?" in error if "factr" in name else "mean" not in error


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "--config=factorvea"],
        ["fit", "--config", "configs/factorvea.yaml"],
        ["fit", "--config", "factorvae.yml"],
    ],
)
def test_a_misspelt_name_of_a_configuration_is_answered_with_the_right_one(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert (
        f"no file and no configuration is named {command[-1].removeprefix('--config=')!r}" in error
    )
    assert "did you mean factorvae?" in error
    assert not list(tmp_path.iterdir())


@pytest.mark.every(4)
@pytest.mark.parametrize("command", ["fit", "validate", "test", "predict"])
@pytest.mark.parametrize("path", ["mine.yaml", "folder/mine.yml", "/nowhere/mine.yaml"])
def test_a_missing_configuration_is_refused_by_its_path(
    command: str,
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for args in (["--config", path], [f"--config={path}"], ["-c", path]):
        assert main([command, *args]) == 2
        error = capsys.readouterr().err
        assert f"no file and no configuration is named {path!r}; `dislab configs list`" in error


@pytest.mark.slow
def test_a_wheel_brings_its_configurations(tmp_path: Path) -> None:
    """Builds a wheel, installs it beside the packages of this environment, and uses it."""
    root = CONFIGS.parent
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    made = [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(root)]
    subprocess.run(made, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("dislab/configs/")}
    assert len(inside) == len(list(CONFIGS.rglob("*.yaml")))
    venv.create(tmp_path / "clean", with_pip=False)
    (site,) = (tmp_path / "clean" / "lib").glob("python*/site-packages")
    subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", f"--target={site}", str(wheel)], check=True
    )
    import torch

    (site / "others.pth").write_text(f"{Path(torch.__file__).parents[1]}\n")
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONPATH"}
    python = str(tmp_path / "clean/bin/python")
    done = subprocess.run(
        [python, "-m", "dislab", "fit", "--config=factorvae", "--config=quick", "--print_config"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "name: factorvae" in done.stdout
    assert "max_steps: 4000" in done.stdout


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISLAB_CACHE", str(Path.cwd() / "cache"))
    folder = Path("mine")
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (64, 64), (60 * number, 9, 0)).save(folder / f"{number}.png")
    return folder


def test_a_configuration_for_own_images_is_written_once(
    images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "t.csv").write_text("image,x\n0.png,1\n1.png,2\n2.png,3\n3.png,4\n")
    command = ["configs", "new", "--data", "mine", "--method", "adagvae"]
    assert main(command) == 0
    assert "next: dislab fit --config mine_adagvae.yaml --config quick" in capsys.readouterr().out
    config = read_mapping(Path("mine_adagvae.yaml"), "")
    original = read_mapping(CONFIGS / "adagvae.yaml", "")
    settings = {"folder": "mine", "table": "t.csv", "file": "image"}
    assert config.pop("data") == {
        "class_path": "PairedData",
        "init_args": {
            "dataset": {"class_path": "FolderDataset", "init_args": settings},
            "batch_size": 2,  # two images train
            "scheme": "changed",
            "k": 1,
            "validation": 0.25,
            "test": 0.25,
        },
    }
    original.pop("data")
    trainer = {"val_check_interval": 1000, "check_val_every_n_epoch": None}  # not every other step
    trainer |= original.pop("trainer")
    evaluate = {"untrained": 5}  # as chance looks low of few images
    assert config == original | {"name": "mine_adagvae", "trainer": trainer, "evaluate": evaluate}
    before = Path("mine_adagvae.yaml").read_bytes()
    assert main(command) == 0  # it is as this command wrote it
    assert Path("mine_adagvae.yaml").read_bytes() == before
    edited = before.replace(b"k: 1", b"k: 2")
    Path("mine_adagvae.yaml").write_bytes(edited)
    capsys.readouterr()
    assert main(command) == 2
    assert "mine_adagvae.yaml exists already, and is edited" in capsys.readouterr().err
    assert Path("mine_adagvae.yaml").read_bytes() == edited


@pytest.mark.parametrize("data", ["mine", "images.npy"])
def test_factors_that_were_found_are_in_the_next_command_and_in_a_line(
    data: str, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        (images / "ab"[number % 2]).mkdir(exist_ok=True)
        (images / f"{number}.png").rename(images / "ab"[number % 2] / f"{number}.png")
    np.save("images.npy", np.arange(4 * 64 * 64, dtype=np.uint8).reshape(4, 64, 64))
    np.save("size.npy", np.arange(4))
    factors = "--factors " + ("folder" if data == "mine" else "size.npy")
    assert main(["data", "check", data]) == 0
    said = capsys.readouterr().out
    assert f"\nnote: {factors} makes the" in said
    command = said.splitlines()[-1].removeprefix("next: dislab ")
    assert command == f"configs new --data {data} {factors} --method factorvae"
    assert main(["configs", "new", "--data", data, "--out", "c.yaml"]) == 0
    line = f"factors: none, so there are no scores; {factors} would give some"
    assert line in capsys.readouterr().out.splitlines()
    assert main([*command.split(), "--out", "c.yaml"]) == 0
    settings = read_mapping(Path("c.yaml"), "")["data"]["init_args"]["dataset"]["init_args"]
    assert "factors" in settings
    name = "folder" if data == "mine" else "size"
    assert f"\nfactors: {name}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("method", "gaps", "batch"),
    [("betavae", "keep", 4), ("adagvae", "drop", 2), ("gtdecoder", "drop", 2)],
)
def test_images_without_values_are_kept_for_methods_that_take_them(
    method: str, gaps: str, batch: int, images: Path
) -> None:
    for number in range(4, 8):
        Image.new("RGB", (64, 64), (30 * number, 0, 0)).save(images / f"{number}.png")
    (images / "t.csv").write_text("image,x\n0.png,1\n1.png,2\n2.png,3\n3.png,\n4.png,5\n")
    assert main(["configs", "new", "--data", "mine", "--method", method, "--out", "c.yaml"]) == 0
    settings = read_mapping(Path("c.yaml"), "")["data"]["init_args"]
    assert settings["dataset"]["init_args"]["gaps"] == gaps
    assert settings["batch_size"] == batch  # of the images that remain


def test_factors_of_which_no_pairs_can_be_drawn_are_refused_before_a_file_is_written(
    images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{number}.png,{number % 2},{number}\n" for number in range(4))
    Path("t.csv").write_text(f"image,x,y\n{rows}")
    command = ["configs", "new", "--data", "mine", "--method", "adagvae", "--table", "t.csv"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "no two differ in x or y alone" in error
    assert "--factors chooses the factors" in error
    assert not Path("mine_adagvae.yaml").exists()
    assert main([*command, "--factors", "y"]) == 0
    config = read_mapping(Path("mine_adagvae.yaml"), "")
    dataset = config["data"]["init_args"]["dataset"]["init_args"]
    assert dataset == {"folder": "mine", "table": "../t.csv", "file": "image", "factors": ["y"]}
    check = "dislab data check mine --table t.csv --factors y"
    assert check in Path("mine_adagvae.yaml").read_text()


@pytest.mark.parametrize(
    "command", [["list"], ["show", "vae"], ["copy", "vae"], ["new", "--data", "mine"]]
)
def test_an_unknown_option_is_explained_by_the_verb(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["configs", *command, "--foo", "1"]) == 2
    message = f"no option is named --foo; see dislab configs {command[0]} --help"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "new"])
def test_both_commands_take_a_fit(
    command: str, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("RGB", (16, 12)).save(images / "wide.png")
    args = {
        "check": ["data", "check", "mine"],
        "new": ["configs", "new", "--data", "mine", "--method", "betavae"],
    }
    assert main([*args[command], "--fit", "squash"]) == 0
    assert "fit: squash changes the proportions of 1 image that is" in capsys.readouterr().out
    if command == "new":
        assert "fit: squash\n" in Path("mine_betavae.yaml").read_text()


@pytest.mark.parametrize(
    ("size", "settings"),
    [((16, 16), {}), ((16, 12), {"side": 16, "fit": "crop"}), ((40, 40), {"side": 64})],
)
def test_small_images_get_a_network_of_their_size(
    size: tuple[int, int], settings: dict[str, object], images: Path
) -> None:
    for number in range(4):
        Image.new("RGB", size, (60 * number, 0, 0)).save(images / f"{number}.png")
    assert main(["configs", "new", "--data", "mine", "--method", "betavae"]) == 0
    config = read_mapping(Path("mine_betavae.yaml"), "")
    dataset = config["data"]["init_args"]["dataset"]["init_args"]
    assert {name: dataset[name] for name in ("side", "fit") if name in dataset} == settings
    model = config["model"]["init_args"]
    original = read_mapping(CONFIGS / "betavae.yaml", "")["model"]["init_args"]
    if max(size) > 32:
        assert model == original
        return
    hidden = [tuple(model[name]["init_args"]["hidden"]) for name in ("encoder", "decoder")]
    networks = MLPEncoder((3, 16, 16), 20, hidden[0]), MLPDecoder(10, (3, 16, 16), hidden[1])
    assert sum(weight.numel() for part in networks for weight in part.parameters()) < 1_000_000
    same = original.keys() - {"encoder", "decoder"}
    assert {name: model[name] for name in same} == {name: original[name] for name in same}


@pytest.mark.parametrize(
    ("side", "network"), [(16, "MLPEncoder"), (48, "MLPEncoder"), (64, "ConvEncoder64")]
)
def test_arrays_keep_their_size_and_get_a_network_that_takes_it(side: int, network: str) -> None:
    images = np.random.default_rng(0).integers(255, size=(9, side, side), dtype=np.uint8)
    np.savez("mine.npz", images=images, size=np.arange(9) % 3)
    assert main(["configs", "new", "--data", "mine.npz", "--method", "betavae"]) == 0
    config = read_mapping(Path("mine_betavae.yaml"), "")
    dataset = config["data"]["init_args"]["dataset"]
    assert dataset["class_path"] == "NumpyDataset"
    assert dataset["init_args"] == {"file": "mine.npz", "factors": "size"}
    assert config["model"]["init_args"]["encoder"]["class_path"] == network


@pytest.mark.every(8)
@pytest.mark.parametrize("count", range(3, 30))
def test_few_images_get_parts_that_have_images(count: int, images: Path) -> None:
    for number in range(count):
        Image.new("RGB", (64, 64), (8 * number, 0, 0)).save(images / f"{number}.png")
    assert main(["configs", "new", "--data", "mine", "--method", "betavae"]) == 0
    settings = read_mapping(Path("mine_betavae.yaml"), "")["data"]["init_args"]
    dataset = FolderDataset(**settings.pop("dataset")["init_args"])
    data = SingleData(dataset, **settings)
    assert min(len(data.indices(split)) for split in ("validation", "test")) >= 1
    assert settings["batch_size"] <= len(data.indices("train"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--data", "nowhere"], "nowhere does not exist; give a folder of images"),
        (["--data", "./minee"], "minee does not exist (did you mean mine?); give a folder"),
        (["--data", "mine", "--method", "facorvae"], "did you mean factorvae?"),
        (["--data", "mine", "--method", "adagvae"], "adagvae needs factors of images"),
        (["--data", "mine", "--method", "scan"], "scan takes SymbolData"),
        (["--data", "mine", "--table", "no.csv"], "no.csv does not exist"),
        (["--data", "cut"], "cut/0.png"),
        (["--data", "mine", "--out", "mine"], "mine exists already"),
        (["--data", "arrays.npy", "--table", "t.csv"], "--table is for a folder of images"),
        (["--data", "arrays.npy", "--method", "adagvae"], "adagvae needs factors of images"),
        (["--data", "mine", "--images", "x"], "--images is for a file of arrays"),
        (["--data", "two.npz"], "(x, y); name the one of the images by the setting images, on the"),
        (["--data", "nested", "--method", "adagvae"], "none; --factors folder would give it some"),
        (
            ["--data", "few"],
            "2 images are too few: at least one must train, one validate and one test",
        ),
    ],
)
def test_data_and_methods_that_do_not_fit_are_refused_and_nothing_is_written(
    args: list[str], message: str, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("arrays.npy", np.zeros((9, 16, 16), np.uint8))
    np.savez("two.npz", x=np.zeros((9, 16, 16), np.uint8), y=np.zeros((9, 16, 16), np.uint8))
    for name in ("nested/a", "nested/b"):
        Path(name).mkdir(parents=True)
        Path(name, "0.png").write_bytes((images / "0.png").read_bytes())
    Path("few").mkdir()
    for name in ("0.png", "1.png"):
        Path("few", name).write_bytes((images / name).read_bytes())
    Path("cut").mkdir()
    Path("cut/0.png").write_bytes((images / "0.png").read_bytes()[:60])
    before = sorted(Path.cwd().rglob("*"))
    assert main(["configs", "new", *args]) == 2
    assert message in capsys.readouterr().err
    assert sorted(Path.cwd().rglob("*")) == before


def test_a_new_configuration_says_what_it_leaves_out(
    images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4, 44):
        Image.new("RGB", (64, 60), (5 * number, 0, 0)).save(images / f"{number}.png")
    rows = [f"{n}.png,{n % 2},on,{'' if n == 5 else n % 3}" for n in range(44)]
    (images / "t.csv").write_text("\n".join(["file,x,lamp,y", *rows]))
    command = ["configs", "new", "--data", "mine", "--out", "c.yaml", "--method", "adagvae"]
    assert main(command) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert notes[0].startswith("note: lamp (on) has one value and is no factor: left out")
    assert notes[1].startswith("note: gaps: drop leaves out 1 of 44 images")
    assert notes[2].startswith("note: fit: pad adds black borders to the sides of 40 images")
    assert notes[3] == "note: `dislab data check mine` shows 1 more note on these images"
    assert len(notes) == 4


def test_a_new_configuration_says_which_factors_may_be_angles(
    images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A period changes the scores, so that this note is not one of those that are counted."""
    for number in range(4, 44):
        Image.new("RGB", (64, 64), (5 * number, 0, 0)).save(images / f"{number}.png")
    rows = [f"{n}.png,{n % 2},{n % 4 * 90}" for n in range(44)]
    (images / "t.csv").write_text("\n".join(["file,x,angle", *rows]))
    assert main(["configs", "new", "--data", "mine", "--out", "c.yaml"]) == 0
    note = capsys.readouterr().out.splitlines()[0]
    assert note.startswith("note: angle: if this is an angle that returns to its start, give")
    assert note.endswith(
        "--data.dataset.periods.angle 360, or for all runs write periods: {angle: 360} into "
        "init_args of the data set"
    )


@pytest.mark.filterwarnings("default::dislab.factors.FactorWarning")
def test_a_new_configuration_decides_what_the_notes_of_the_check_are_about(
    images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4, 44):
        Image.new("RGB", (64, 64), (5 * number, 0, 0)).save(images / f"{number}.png")
    kinds = ["cup", "None", "plate", "None"]
    rows = [f"{number}.png,{number / 9},{kinds[number % 4]}" for number in range(44)]
    (images / "t.csv").write_text("\n".join(["file,x,kind", *rows]))
    assert main(["configs", "new", "--data", "mine", "--out", "c.yaml"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert main(["data", "check", "mine"]) == 0
    checked = capsys.readouterr().out
    assert checked.count("note: x is continuous: it has 44 different numbers in 44 images") == 1
    assert checked.count("note: t.csv lacks values in line 3 (kind: 'None')") == 1
    assert checked.count("\nnote: ") == 3
    head = printed.out.splitlines()[:3]
    assert head[0] == "note: `dislab data check mine` shows 3 notes on these images"
    assert head[2] == "factors: x, kind"
    settings = read_mapping(Path("c.yaml"), "")["data"]["init_args"]["dataset"]["init_args"]
    assert (settings["gaps"], settings["kinds"]) == ("keep", {"x": "continuous"})
    with warnings.catch_warnings(), warnings_in_one_line():
        assert FolderDataset(**settings).factors.incomplete == ("kind",)
    assert capsys.readouterr().err == ""


def test_a_run_on_own_images_has_the_name_of_its_file(images: Path) -> None:
    assert main(["configs", "new", "--data", str(images), "--out", "my photos é.yaml"]) == 0
    assert read_mapping(Path("my photos é.yaml"), "")["name"] == "my_photos__"


def test_names_of_folders_set_nothing(capsys: pytest.CaptureFixture[str], images: Path) -> None:
    folder = images.rename("a\nname: b")
    assert main(["configs", "new", "--data", str(folder), "--out", "c.yaml"]) == 0
    config = read_mapping(Path("c.yaml"), "")
    assert (config["name"], config["method"]) == ("c", "FactorVAE")
    assert config["data"]["init_args"]["dataset"]["init_args"]["folder"] == "a\nname: b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: x\nmodel: {class_path: VAE}\n", "takes no data"),
        ("data: {class_path: [SingleData]}\n", "takes no data"),
        ("data: {class_path: SingleData}\n", "names no model"),
        ("data: {class_path: SingleData, init_args: 3}\nmodel: 4\n", "names no model"),
    ],
)
def test_a_method_needs_a_model_and_data(
    text: str, message: str, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.yaml").write_text(text)
    assert main(["configs", "new", "--data", str(images), "--method", "other.yaml"]) == 2
    assert f"other.yaml {message}" in capsys.readouterr().err
