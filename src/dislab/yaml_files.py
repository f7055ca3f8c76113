"""Strict YAML: one reader, whose messages name the file and the line, and one writer for it.

Duplicate keys, of which YAML libraries silently keep the last one, are refused; so are nesting and
aliases that would exhaust the memory. Numbers such as 1e-4 are numbers, as in YAML 1.2 and in
jsonargparse, and dates are text. The writer quotes each text that this reader, or PyYAML's, would
take for anything else, such as 1e5, on, ~, 1:30 and 2020-01-01.
"""

import os.path
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dislab.errors import InputError, suggestion

CONFIG: Final = "config.yaml"
"""Name of the file in a run folder that holds the settings of the run."""

PLAN: Final = "plan.json"
"""Name of the file in the folder of a study with the schedule that was last run there."""

DEPTH: Final = 64
"""Largest depth of nested lists and mappings."""
_LIBRARY_DEPTH: Final = "exceeded maximum nesting depth"
"""Error of PyYAML from 6.0.4 on for 1,000 levels, which it may find before the first event."""
COPIES: Final = 10_000
"""Largest number of values that all aliases of a text may add."""

OF_RUNS: Final = "runs are in runs/ and studies/NAME/runs/"
"""Where runs are, for messages."""
_WORDS: Final = {
    "did not find expected": "missing",
    "could not find expected": "missing",
    "flow sequence": "list in brackets",
    "flow mapping": "mapping in braces",
    "flow node": "value",
    "block sequence": "list",
    "block mapping": "mapping",
    "block collection": "list",
    "quoted scalar": "text in quotes",
    "mapping values are not allowed in this context": "a colon in the wrong place: align the line "
    "with the one above, or quote its text",
}
"""Terms of the library's messages in plain words."""

_SUFFIXES: Final = (".yaml", ".yml")
_FLOAT: Final = re.compile(
    r"""^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+
    |\.[0-9_]+(?:[eE][-+][0-9]+)?
    |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)
_SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SPECIAL: Final = ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value")
"""Keys `<<` and `=`, which have a special meaning in YAML."""
_UNICODE_BREAKS: Final = frozenset("\x85\u2028\u2029")
_REPLACED: Final = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:float")


class _Loader(_SAFE_LOADER):  # type: ignore[misc]  # the C loader if PyYAML has it
    """PyYAML's safe loader, with the numbers of YAML 1.2 and without dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # as PyYAML has it
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
        for first, resolvers in _SAFE_LOADER.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


class _Dumper(yaml.SafeDumper):
    """PyYAML's safe dumper, which quotes each text that a reader would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        """True: the reader limits the values that aliases add."""
        return True

    def represent_text(self, value: str) -> ScalarNode:
        """Double quotes keep the line breaks of Unicode, which PyYAML loses in other styles."""
        style = '"' if not _UNICODE_BREAKS.isdisjoint(value) else None
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
_Dumper.add_representer(str, _Dumper.represent_text)


def yaml_text(value: Any) -> str:
    """Plain data as YAML, from which `parse_yaml` reads the same data.

    Args:
        value: Numbers, texts, None, lists and mappings, none of which holds itself.
    """
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


def is_yaml(path: str | Path) -> bool:
    """Whether a path has the suffix of a YAML file, in capitals or not."""
    return Path(path).suffix.lower() in _SUFFIXES


def read_mapping(path: Path, example: str) -> dict[str, Any]:
    """The settings in a YAML file; the message about a file without settings shows `example`.

    Raises:
        InputError: The file cannot be read, is not UTF-8 or not YAML, sets a key twice, or holds no
            settings.
    """
    return parse_mapping(read_text(path), str(path), example)


def read_config(folder: Path, advice: str = "") -> dict[str, Any]:
    """The settings of a run.

    Args:
        folder: The run folder.
        advice: What else the user can do if it is none, for the end of the message.

    Raises:
        InputError: The folder is no run, or its configuration is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise no_run(folder, advice)
    return read_mapping(path, "model: {class_path: VAE}")


def runs_below(folder: Path) -> list[Path]:
    """The runs in a folder and in its subfolders, in the order of the numbers in their names.

    Args:
        folder: A folder such as `runs`, that of a method in it, or a study.
    """
    runs = [path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/{CONFIG}")]
    return sorted(runs, key=lambda run: re.sub(r"\d+", lambda digits: digits[0].zfill(9), str(run)))


def no_run(folder: Path, advice: str = "") -> InputError:
    """The error of a path that is no run: missing, a file, a study, a folder of runs.

    Args:
        folder: The path, which is no folder with the settings of a run.
        advice: What else the user can do.
    """
    below = runs_below(folder)
    inside = [run.name for run in below if run.parent == folder and run.name.startswith("version_")]
    around = [run for run in folder.parents[:2] if (run / CONFIG).is_file()]
    studied = Path("studies", folder)
    study = folder if folder.exists() else studied
    if folder.exists() and around:
        fault = f"it is a {'file' if folder.is_file() else 'folder'} in a run; give {around[0]}"
    elif folder.is_file():
        fault = f"it is a file; give the folder of a run; {OF_RUNS}"
    elif (study / PLAN).is_file():
        fault = f"it is a study, whose runs are in {study / 'runs'}"
    elif not folder.exists():
        fault = f"it does not exist{run_hint(folder) or study_hint(folder)}; {OF_RUNS}"
    elif inside:
        fault = f"it has no {CONFIG}; name one of its runs: {', '.join(inside)}"
    elif studies := sorted(plan.parent for plan in folder.glob(f"*/{PLAN}")):
        fault = (
            f"it is a folder of studies; `dislab report {studies[0]}` writes the page of one, and "
            f"its runs are in {studies[0] / 'runs'}"
        )
    elif below:
        fault = f"it is a folder of runs; name one of them, such as {below[0]}"
    elif (studied / PLAN).is_file():
        fault = f"it has no {CONFIG}; {studied} is a study, whose runs are in {studied / 'runs'}"
    else:
        fault = f"it has no {CONFIG}; {OF_RUNS}"
    return InputError(f"{folder} is no run: {fault}{advice}")


def run_hint(path: Path) -> str:
    """` (did you mean …?)` with a folder of runs like the first that is missing of a path.

    Args:
        path: The missing path, or a name of a folder in `runs`.
    """
    with suppress(OSError, ValueError):  # no folder can have such a name
        folder = next(each for each in path.parents if each.is_dir())
        folders = [folder, Path("runs")] if runs_below(folder) else [Path("runs")]
        names = [os.path.relpath(each, folder) for root in folders for each in root.iterdir()]
        by_last = {Path(name).name: name for name in names}
        return suggestion(path.relative_to(folder).parts[0], sorted(names), by_last)
    return ""


def study_hint(path: str | Path, names: Iterable[str] = ()) -> str:
    """` (did you mean …?)` with the study whose name is most like that of a missing path.

    Args:
        path: The path or name, whose folder and `studies` have the studies to choose from. Of a
            path the hint is a path too.
        names: Names of other studies.
    """
    path = Path(path)
    is_path = path.parent != Path()
    prefix = "studies/" if path.parts[:1] == ("studies",) else ""
    studies = {name: prefix + name for name in names}
    with suppress(OSError, ValueError):  # no folder can have such a name
        for folder in (Path("studies"), path.parent):
            for plan in sorted(folder.glob(f"*/{PLAN}")):
                name = plan.parent.name
                studies[name] = str(plan.parent) if is_path else name
    name = path.stem if is_yaml(path) else path.name
    return suggestion(name, (), {study: meant for study, meant in studies.items() if study != name})


def parse_mapping(text: str, origin: str, example: str) -> dict[str, Any]:
    """The settings in a YAML text.

    Messages name `origin`, the file or option; that about a text without settings shows `example`.

    Raises:
        InputError: The text is not valid YAML, sets a key twice, or holds no settings.
    """
    content = parse_yaml(text, origin)
    if isinstance(content, dict) and content:
        check_keys(content, origin)
        return content
    wrong = "is empty" if content in (None, {}) else f"holds {_only(content)}"
    raise InputError(f"{origin} {wrong}; it must hold settings, such as {example}")


def check_keys(settings: Iterable[object], origin: str, section: str = "") -> None:
    """Refuses keys that are no text, such as numbers.

    Raises:
        InputError: A key is no text; the message names `origin` and the section of the key.
    """
    for name in settings:
        if not isinstance(name, str):
            where = f" of {section}" if section else ""
            raise InputError(
                f"{origin}: the key {written(name)}{where} is no text, and settings have names; "
                f'name a setting, or quote the name, as in "{name}"'
            )


def parse_yaml(text: str, origin: str) -> Any:
    """The content of a YAML text: numbers, texts, lists, mappings.

    Raises:
        InputError: The text is not valid YAML, sets a key twice, is nested too deeply, or its
            aliases add too many values.
    """
    try:
        return _checked(text, origin)
    except yaml.YAMLError as error:
        raise InputError(_explained(error, text, origin)) from error


def check_limits(text: str, origin: str) -> Any:
    """The content of a text that may be YAML, such as the value of an option; None if it is none.

    Raises:
        InputError: The text sets a key twice, is nested too deeply, or its aliases add too many
            values.
    """
    with suppress(yaml.YAMLError):
        return _checked(text, origin)
    return None


def read_values_strictly() -> None:
    """Makes jsonargparse reject duplicate keys, deep nesting and too many aliases everywhere.

    It also makes jsonargparse write YAML with dislab's writer, which quotes texts such as 1e5.

    The text `None` becomes null, as jsonargparse passes on null settings of a part as this text.
    """
    import jsonargparse

    load = jsonargparse.get_loader("yaml")
    if getattr(load, "is_strict", False):
        return

    def strict(text: str) -> Any:
        check_limits(text, "a value")
        return None if text == "None" else load(text)

    strict.is_strict = True  # type: ignore[attr-defined]
    jsonargparse.set_loader("yaml", strict, (yaml.YAMLError,))
    jsonargparse.set_dumper("yaml", yaml_text)


def written(value: object) -> str:
    """A value as it stands in YAML, for messages; lists and mappings are called so."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else repr(value)


def read_text(path: Path) -> str:
    """The text of a file; raises an `InputError` if it cannot be read or is not UTF-8."""
    try:
        content = path.read_bytes()
        return content.decode("utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte {content[error.start]:#04x} is not UTF-8; save the file as "
            "UTF-8 text"
        ) from error


def _checked(text: str, origin: str) -> Any:
    _check_nesting(text, origin)
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _Walk(origin).extent(root)
        return loader.construct_document(root)
    except (yaml.YAMLError, InputError):
        raise
    except Exception as error:  # PyYAML raises several types for a value that does not fit its tag
        raise InputError(f"{origin} holds a value that cannot be read: {error}") from error
    finally:
        loader.dispose()


def _check_nesting(text: str, origin: str) -> None:
    """Refuses deep nesting before PyYAML builds values with one call per level."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > DEPTH:
                    raise _too_deep(origin, _line(event))
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.MarkedYAMLError as error:
        if error.problem_mark and _LIBRARY_DEPTH in str(error.problem):
            raise _too_deep(origin, error.problem_mark.line + 1) from error
        raise


class _Extent(NamedTuple):
    """Number of values in a node with all aliases expanded, and the depth of nesting."""

    values: int
    depth: int


class _Walk:
    """Computes the extent of each YAML node, and visits each node once."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._extents: dict[int, _Extent | None] = {}
        self._copies = 0
        self._scalars = _Loader("")

    def extent(self, node: Node) -> _Extent:
        """The extent of a node, whose keys and aliases are checked."""
        if id(node) in self._extents:
            return self._alias(node)
        self._extents[id(node)] = None  # until its content is known
        inside: list[Node] = []
        if isinstance(node, MappingNode):
            self._check_keys(node)
            inside = [value for _, value in node.value]
        elif isinstance(node, SequenceNode):
            inside = node.value
        extents = [self.extent(child) for child in inside]
        values = 1 + sum(child.values for child in extents)
        depth = 1 + max((child.depth for child in extents), default=0) if inside else 0
        if depth > DEPTH:
            raise _too_deep(self.origin, _line(node))
        self._extents[id(node)] = extent = _Extent(values, depth)
        return extent

    def _alias(self, node: Node) -> _Extent:
        extent = self._extents[id(node)]
        if extent is None:
            raise InputError(f"{self._at(node)}: an alias stands for a value that holds the alias")
        self._copies += extent.values
        if self._copies > COPIES:
            raise InputError(
                f"{self._at(node)}: aliases of this value and others add more than {COPIES:,} "
                "values; use fewer"
            )
        return extent

    def _check_keys(self, node: MappingNode) -> None:
        first: dict[Any, Node] = {}
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                raise InputError(
                    f"{self._at(key)}: a key is {_only(key.value)}; a key must be a word"
                )
            name = key.value if key.tag in _SPECIAL else self._scalars.construct_object(key)
            if name in first:
                raise InputError(
                    f"{self._at(key)}: {key.value} was set in line {_line(first[name])} already; "
                    "keep one of them"
                )
            first[name] = key

    def _at(self, node: Node) -> str:
        return f"{self.origin}, line {_line(node)}"


def _line(node: Node | yaml.Event) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1


def _too_deep(origin: str, line: int) -> InputError:
    return InputError(
        f"{origin}, line {line}: more than {DEPTH} lists and mappings lie inside each other; nest "
        "less"
    )


def _explained(error: yaml.YAMLError, text: str, origin: str) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is None:  # an invalid character
        return f"{origin} is not valid YAML: {' '.join(str(error).split())}"
    problem = ", ".join(filter(None, (getattr(error, name) for name in ("context", "problem"))))
    for term, words in _WORDS.items():
        problem = problem.replace(term, words)
    line = text.splitlines()[mark.line : mark.line + 1]
    if line and line[0][mark.column : mark.column + 1] == "\t":
        problem = "a tab, which YAML does not take for indentation; write spaces"
    return f"{origin}, line {mark.line + 1}, column {mark.column + 1}: not valid YAML: {problem}"


def _only(content: object) -> str:
    text = written(content)
    return text if isinstance(content, dict | list) else f"{text} only"
