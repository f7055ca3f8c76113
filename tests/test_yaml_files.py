"""The strict reader: what it reads, and one message for each way a file can be wrong."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonargparse
import pytest
import yaml

from dislab.errors import InputError
from dislab.yaml_files import (
    COPIES,
    DEPTH,
    check_limits,
    parse_yaml,
    read_mapping,
    read_text,
    yaml_text,
)

CONFIGS = Path(__file__).parents[1] / "configs"
SCALARS = [
    "1e-4",
    "1.",
    ".5",
    ".5e3",
    "1e4",
    "+1e4",
    "-1E-4",
    "2020-01-01",
    "yes",
    "no",
    "on",
    "off",
    "~",
    "null",
    "0x10",
    "0o7",
    "010",
    "1_000",
    "1:30",
    "1:30.5",
    ".inf",
    "-.inf",
    ".nan",
    "1e",
    "12e03",
    "true",
    "'a'",
    "Null",
]


def bomb(levels: int, width: int) -> str:
    """Lists of aliases of lists of aliases: width to the power of levels values."""
    names = [f"l{level}" for level in range(levels)]
    lines = [f"{names[0]}: &{names[0]} [{', '.join('x' * width)}]"]
    for inner, outer in pairwise(names):
        lines.append(f"{outer}: &{outer} [{', '.join([f'*{inner}'] * width)}]")
    return "\n".join(lines)


@pytest.mark.parametrize("scalar", SCALARS)
def test_scalars_are_those_of_the_command_line(scalar: str) -> None:
    assert repr(parse_yaml(scalar, "x")) == repr(jsonargparse.get_loader("yaml")(scalar))


@pytest.mark.every(4)
@pytest.mark.parametrize("path", sorted(CONFIGS.rglob("*.yaml")), ids=lambda path: path.stem)
def test_files_are_read_as_the_command_line_reads_them(path: Path) -> None:
    expected = jsonargparse.get_loader("yaml")(path.read_text())
    assert read_mapping(path, "a: 1") == expected


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("", None),
        ("# nothing\n", None),
        ("\ufeffa: 1", {"a": 1}),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2}", {"a": {"b": 1}, "c": {"b": 2}}),
        ("a: &x {<<: {c: 1}, d: 2}\nb: {<<: *x}", {"a": {"c": 1, "d": 2}, "b": {"c": 1, "d": 2}}),
        ("{a: {x: 1}, b: {x: 1}}", {"a": {"x": 1}, "b": {"x": 1}}),
        ("{1: a, '1': b}", {1: "a", "1": "b"}),
        ("{a: !!str 1}", {"a": "1"}),
        ("[" * DEPTH + "]" * DEPTH, ...),
        (bomb(3, 20), ...),
    ],
)
def test_sound_texts_are_read(text: str, content: Any) -> None:
    found = parse_yaml(text, "x")
    assert content is ... or found == content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\n\na: 3", "m.yaml, line 4: a was set in line 1 already; keep one of them"),
        ("a:\n  b: {c: 1,\n    c: 1}", "m.yaml, line 3: c was set in line 2 already"),
        ("- a: 1\n  a: 1", "m.yaml, line 2: a was set in line 1 already"),
        ("a: 1\n'a': 1", "m.yaml, line 2: a was set in line 1 already"),
        ("1: x\n0x1: y", "m.yaml, line 2: 0x1 was set in line 1 already"),
        ("&k a: 1\n*k : 2", "a was set in line 1 already"),
        ("a: {<<: {b: 1}, <<: {c: 1}}", "<< was set in line 1 already"),
        (
            "a: [",
            "m.yaml, line 2, column 1: not valid YAML: while parsing a value, missing node content",
        ),
        ("a:\n\t- 1", "m.yaml, line 2, column 1: not valid YAML: a tab, which YAML does not"),
        (
            "a: 1\n---\nb: 1",
            "not valid YAML: expected a single document in the stream, but found another",
        ),
        ("a: *b", "m.yaml, line 1, column 4: not valid YAML: found undefined alias"),
        ("a: \0", "m.yaml is not valid YAML: unacceptable character #x0000"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor for the ta"),
        ("a: !!bool maybe", "m.yaml holds a value that cannot be read: 'maybe'"),
        ("a: !!int ''", "m.yaml holds a value that cannot be read: string index"),
        ("!!int x: 1", "m.yaml holds a value that cannot be read: invalid literal"),
        (f"a: {'9' * 5000}", "m.yaml holds a value that cannot be read: Exceeds the limit"),
        ("? [1, 2]\n: x", "m.yaml, line 1: a key is a list; a key must be a word"),
        ("a: &x [*x]", "m.yaml, line 1: an alias stands for a value that holds the alias"),
        ("{a: " * 3000, f"m.yaml, line 1: more than {DEPTH} lists and mappings lie inside each o"),
        ("- " * 3000, f"m.yaml, line 1: more than {DEPTH} lists and mappings"),
        (f"a: &x {'[' * 40}{']' * 40}\nb: {'[' * 40}*x{']' * 40}", f"more than {DEPTH} lists"),
        (bomb(40, 9), f"m.yaml, line 4: aliases of this value and others add more than {COPIES:,}"),
    ],
)
def test_mistakes_name_the_file_and_the_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "m.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "m.yaml is empty; it must hold settings, such as a: 1"),
        (b"# a comment\n", "m.yaml is empty; it must hold settings"),
        (b"{}", "m.yaml is empty; it must hold settings"),
        (b"- a\n- b\n", "m.yaml holds a list; it must hold settings"),
        (b"word", "m.yaml holds 'word' only; it must hold settings"),
        (b"0", "m.yaml holds 0 only; it must hold settings"),
        ("a: 1\nb: é".encode("latin-1"), "m.yaml, line 2: byte 0xe9 is not UTF-8; save the file a"),
        ("a: 1".encode("utf-16"), "m.yaml, line 1: byte 0xff is not UTF-8"),
    ],
)
def test_files_without_settings_say_why(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_mapping(path, "a: 1")
    assert message in str(caught.value)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError, match=rf"{path.name} cannot be read: {reason}"):
            read_text(path)


@pytest.mark.parametrize("text", ["[a", "=", "*", "a: b: c", "%", "path/to/a file", "\0"])
def test_limits_let_other_text_pass(text: str) -> None:
    check_limits(text, "--x")


@pytest.mark.parametrize("text", ["{a: 1, a: 2}", "[" * 100, bomb(40, 9)])
def test_limits_hold_for_options(text: str) -> None:
    with pytest.raises(InputError, match="--x, line "):
        check_limits(text, "--x")


HOSTILE = [
    *SCALARS,
    *("1e1638797704", "1e5", "2020-01-01 10:00:00", "=", "<<", "", " ", "a\n b", "\t", "- a"),
    *(
        "? a",
        "a: b",
        "#a",
        "a #b",
        "\x85",
        "\u2028",
        "\ufeff",
        "&a",
        "*a",
        "!a",
        "%a",
        "@a",
        "`a",
        "'",
    ),
    *('"', "\\", "---", "...", "{a: 1}", "[1]", "-", "é", "\U0001f600", "x" * 200 + " y" * 200),
]


def run_ids() -> list[str]:
    """Random names of runs: 1,000 as digests have them, and 1,000 that look like numbers."""
    draws = random.Random(0)
    digests = [f"{draws.getrandbits(48):012x}" for _ in range(1000)]
    digits = [f"{draws.getrandbits(48):015d}"[-12:] for _ in range(1000)]
    return digests + [f"{one[: 1 + n % 10]}e{one[2 + n % 10 :]}" for n, one in enumerate(digits)]


def readers() -> dict[str, Callable[[str], Any]]:
    return {
        "dislab": lambda text: parse_yaml(text, "x"),
        "jsonargparse": jsonargparse.get_loader("yaml"),
        "PyYAML": yaml.safe_load,
    }


@pytest.mark.slow
@pytest.mark.parametrize("reader", readers())
@pytest.mark.parametrize("texts", [HOSTILE, run_ids()], ids=["hostile", "run ids"])
def test_texts_survive_the_writer_and_each_reader(reader: str, texts: list[str]) -> None:
    read = readers()[reader]
    for text in texts:
        value = {"name": text, "list": [text], "mapping": {text: {"inner": text}}}
        assert read(yaml_text(value)) == value, text


def test_other_values_survive_the_writer() -> None:
    shared: list[Any] = [1, 2.5, 1e-5, 1e300, True, None, [], {}]
    value = {"a": shared, "b": shared, "c": {1: shared}}
    assert repr(parse_yaml(yaml_text(value), "x")) == repr(value)
    assert "&" not in yaml_text(value)
