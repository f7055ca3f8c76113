"""Broken YAML of every kind in every place where a training command reads it."""

import os
import resource
from pathlib import Path

import jsonargparse
import pytest
import yaml
from tests.processes import Started

from dislab.cli import main
from dislab.cli.yaml_input import check_configurations
from dislab.errors import InputError
from dislab.yaml_files import parse_yaml, read_values_strictly, yaml_text

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{outer}: &{outer} [{','.join([f'*{inner}'] * 10)}]\n"
    for inner, outer in zip("abcdefgh", "bcdefghi", strict=True)
)
BROKEN = {
    "duplicate": (b"name: a\nseed_everything: 1\nname: b\n", "line 3: name was set in line 1"),
    "latin": ("name: é\n".encode("latin-1"), "line 1: byte 0xe9 is not UTF-8"),
    "utf16": ("name: a\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
    "open": (b"model:\n  init_args: {a: 1\n", "line 3, column 1: not valid YAML: "),
    "tab": (b"model:\n\tinit_args: 1\n", "line 2, column 1: not valid YAML: "),
    "empty": (b"", "is empty; it must hold settings, such as model: "),
    "comment": (b"# later\n", "is empty; it must hold settings"),
    "list": (b"- model\n- data\n", "holds a list; it must hold settings"),
    "word": (b"betavae", "holds 'betavae' only; it must hold settings"),
    "braces": (b"a: " + b"{a: " * 3000, "line 1: more than 64 lists and mappings"),
    "bomb": (BOMB.encode(), "add more than 10,000 values"),
    "number": (b"name: " + b"9" * 5000, "holds a value that cannot be read: "),
    "null": (b"name: a\0b", "is not valid YAML: unacceptable character"),
    "object": (b"name: !!python/name:os.system", "could not determine a constructor"),
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("place", ["--config", "-c", "--run", "--resume"])
def test_a_broken_configuration_is_named(place: str, kind: str, tmp_path: Path) -> None:
    content, message = BROKEN[kind]
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    named = tmp_path if place in ("--run", "--resume") else path
    for args in ([place, str(named)], [f"{place}={named}"]):
        with pytest.raises(InputError) as caught:
            check_configurations(["--name", "x", *args])
        assert str(caught.value).startswith(str(path))
        assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["duplicate", "latin", "open", "braces", "bomb"])
@pytest.mark.parametrize(
    ("inner", "args"),
    [
        ("part.yaml", ["--data", "FOLDER/part.yaml"]),
        ("part", ["--model", "FOLDER/part"]),
        ("part.yml", ["--model.encoder=FOLDER/part.yml"]),
        ("deep/part.yaml", ["--config", "FOLDER/outer.yaml"]),
    ],
)
def test_files_that_are_named_inside_are_checked(
    inner: str, args: list[str], kind: str, tmp_path: Path
) -> None:
    content, message = BROKEN[kind]
    (tmp_path / "deep").mkdir()
    (tmp_path / inner).write_bytes(content)
    (tmp_path / "outer.yaml").write_text("model: {encoder: deep/next.yaml}")
    (tmp_path / "deep/next.yaml").write_text("- {class_path: part.yaml}\n- ../outer.yaml")
    with pytest.raises(InputError) as caught:
        check_configurations([arg.replace("FOLDER", str(tmp_path)) for arg in args])
    assert f"{inner.rpartition('/')[2]}, line " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "args",
    [
        ["--config", "missing.yaml"],
        ["--config", "."],
        ["--config", "x" * 5000],
        ["--name", "\0"],
        ["--data.include", "{x: [1, 2]}", "--name=[a"],
        ["--config", "{a: 1}"],
        ["--ckpt_path", "binary.ckpt"],
        ["--print_config"],
    ],
)
def test_other_arguments_are_left_to_the_parser(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary.ckpt").write_bytes(os.urandom(100))
    check_configurations(args)


@pytest.mark.parametrize("value", ["{x: 1, x: 2}", "[" * 3000, "{a: " * 3000, BOMB])
@pytest.mark.parametrize("option", ["--data.include", "--model.regularizers", "--config"])
def test_limits_hold_on_the_command_line(
    option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", f"{option}={value}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"dislab: error: {option}, line ")
    assert error.count("\n") == 1


def test_texts_that_the_parser_reads_by_itself_have_the_same_limits() -> None:
    before = jsonargparse.get_loader("yaml")
    try:
        read_values_strictly()
        load = jsonargparse.get_loader("yaml")
        read_values_strictly()
        assert jsonargparse.get_loader("yaml") is load
        assert load("{a: 1e-4, b: }") == {"a": 1e-4, "b": None}
        assert load("None") is None
        assert load("{a, b}") == "{a, b}"  # a set to YAML, a text to the parser
        with pytest.raises(InputError, match="a value, line 2: a was set in line 1 already"):
            load("a: 1\na: 2")
        with pytest.raises(yaml.YAMLError):  # which the parser takes for a text that is no YAML
            load("[a")
    finally:
        jsonargparse.set_loader("yaml", before, (yaml.YAMLError,))


def with_little_memory(args: list[str]) -> int:
    """The command, in a process that may take 2 GB."""
    resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
    return main(args)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duplicate", "latin", "list", "braces", "bomb"])
def test_the_command_ends_with_one_line_and_little_memory(kind: str, tmp_path: Path) -> None:
    content, message = BROKEN[kind]
    (tmp_path / "broken.yaml").write_bytes(content)
    process = Started(tmp_path, with_little_memory, ["fit", "--config=broken.yaml"], apart=True)
    _, errors = process.communicate()
    assert process.wait() == 2
    assert errors.startswith("dislab: error: broken.yaml")
    assert message in errors
    assert errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["broken.yaml"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "runs"), [("1e1638797704", "1e5"), ("0x10", "1_000"), ("on", "~"), ("1:30", "on")]
)
def test_texts_that_look_like_numbers_survive_a_printed_configuration(
    name: str, runs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(yaml_text({"name": name, "runs": runs}), encoding="utf-8")
    for source in ("a", "b"):
        config = f"--config={tmp_path}/{source}.yaml"
        with pytest.raises(SystemExit) as ended:
            main(["fit", "--config=vae", config, "--print_config"])
        assert not ended.value.code
        printed = capsys.readouterr().out
        assert parse_yaml(printed, "printed")["name"] == name
        assert parse_yaml(printed, "printed")["runs"] == runs
        (tmp_path / "b.yaml").write_text(printed, encoding="utf-8")
