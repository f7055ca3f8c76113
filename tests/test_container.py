"""The Dockerfile, which no test can build: its files, its arguments, and the page about it."""

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text()
STEPS = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
"""The steps of the file, each in one line."""
COPIED = [one for step in STEPS if step.startswith("COPY ") for one in step.split()[1:-1]]


def test_copied_files_are_there_and_not_ignored() -> None:
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    assert "*" in rules
    assert sorted(kept) == sorted(COPIED)
    assert all((ROOT / name).exists() for name in COPIED)


def test_all_that_the_wheel_is_built_of_is_copied() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    project = settings["project"]
    needed = [*wheel["packages"], *wheel["force-include"], project["readme"], "pyproject.toml"]
    for name in [*needed, *project["license-files"]]:
        assert any(fnmatch(name, pattern) for one in COPIED for pattern in (one, f"{one}/*")), name


def test_arguments_are_used_and_explained() -> None:
    arguments = dict(re.findall(r"^ARG (\w+)=(.*)$", TEXT, re.MULTILINE))
    page = (ROOT / "docs/install.md").read_text()
    for name, default in arguments.items():
        assert re.search(rf"\$\{{?{name}\b", TEXT), name
        assert f"| `{name}` | {f'`{default}`' if default else ''}" in page, name
    devices = re.findall(r"^ +(\w+)\) pip install", TEXT, re.MULTILINE)
    assert devices == ["cpu", "cuda"]
    used = set(re.findall(r"--build-arg (\w+)=", TEXT + page))
    assert used <= arguments.keys()


def test_its_python_is_one_that_was_seen() -> None:
    [version] = re.findall(r"^ARG PYTHON=(.*)$", TEXT, re.MULTILINE)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    seen = [
        one.rpartition(" :: ")[2]
        for one in settings["project"]["classifiers"]
        if one.startswith("Programming Language :: Python :: 3.")
    ]
    assert version in seen
    page = (ROOT / "docs/install.md").read_text()
    table = re.findall(r"^\| (3\.\d+(?:, 3\.\d+)*) \|", page, re.MULTILINE)
    assert [one for row in table for one in row.split(", ")] == seen
