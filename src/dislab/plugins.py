"""Look-up of the parts that dislab and third-party distributions declare as entry points.

A part is an entry point in one of the groups `dislab.encoders`, `dislab.decoders`, … whose key is
the name of the class. A command is an entry point in `dislab.commands`, whose key is the name of
the subcommand and whose value is a function. Stages and launchers of studies are entry points in
`dislab.stages` and `dislab.launchers`, with their names as keys. An entry point in
`dislab.configurations` has the dotted name of a folder with YAML files in a package as its value.
This module needs only the standard library; listing parts does not import them.
"""

import ast
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distributions, entry_points
from importlib.resources import files
from pathlib import Path
from types import FunctionType
from typing import Any, Final, NamedTuple, get_origin
from urllib.parse import unquote, urlsplit

from dislab.errors import InputError, one_line, suggestion, warn

PARTS: Final = (
    "encoders",
    "decoders",
    "regularizers",
    "objectives",
    "datamodules",
    "datasets",
    "metrics",
    "predictors",
)
"""The groups of the parts of models, data and scores."""

GROUPS: Final = (*PARTS, "callbacks")
"""The plugin groups: folder names, plurals of their base classes."""

COMMANDS: Final = "commands"
"""The group of the subcommands, which are functions."""

STAGES: Final = "stages"
"""The group of the stages of a study, whose keys are the words in a study file."""

LAUNCHERS: Final = "launchers"
"""The group of the launchers, which start the workers of a study."""

SAMPLERS: Final = "samplers"
"""The group of the samplers, which propose the points of a search."""

CONFIGURATIONS: Final = "configurations"
"""The group of the folders with configurations, whose values are dotted names of folders."""

_ALL: Final = (*GROUPS, COMMANDS, STAGES, LAUNCHERS, SAMPLERS, CONFIGURATIONS)
"""All groups of dislab."""

_MEANT: Final = {
    "score": "metrics",
    "method": "objectives",
    "model": "objectives",
    "penalty": "regularizers",
    "penalties": "regularizers",
}
"""Groups by other words for their parts."""

_PLUGINS: Final = {
    "dislab-control": (
        *("ActionData", "ControlScores", "IndependentlyControllableFactors", "WorldFrames"),
        *("WorldStates", "act", "act-transfer", "darla_dae", "darla_see", "icf_dsprites"),
        *("icf_generated", "icf_grid", "icf_maze", "seek_avoid", "shapes_room", "shapes_room_dae"),
        *("studies/darla", "studies/darla_finger", "studies/darla_laptop", "studies/darla_room"),
    ),
    "dislab-downstream": ("fairness", "reasoning"),
    "dislab-hfs": ("HFS", "hfs"),
    "dislab-identify": (
        *("ContrastiveInversion", "DrawnWorld", "IVAE", "LeJEPA", "SlowVAE", "StepData", "TCL"),
        *("VectorDataset", "contrastive", "ivae", "lejepa", "slowvae", "tcl", "vectors"),
    ),
    "dislab-import": ("import",),
    "dislab-optuna": ("optuna",),
    "dislab-qlae": ("QLAE", "qlae"),
    "dislab-zoo": ("zoo",),
}
"""Parts, commands, stages, samplers and configurations of the distributions in `plugins/` of
dislab's repository."""

_IN_A_CLONE: Final = "in a clone of dislab: pip install ./plugins/"

_MEND: Final = "mend the entry point in pyproject.toml and install the package again"

_BROKEN: Final = (Exception, SystemExit)
"""Errors of third-party modules that must not end the command, including `sys.exit()`."""

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
"""Kinds of the parameters that an argument by position reaches."""

_HOMES: Final = ("dislab", "lightning")
"""Packages that have the base classes of all parts."""

_WITHOUT_VALUE: Final = re.compile(r"\s*[^\s#\[=][^=]*")
"""Matches a line of entry_points.txt that declares a name without a class."""


_Definition = ast.ClassDef | ast.FunctionDef


class PluginWarning(UserWarning):
    """A plugin could not be imported and was skipped."""


@dataclass(frozen=True)
class Plugin:
    """A declared part, not yet imported.

    Args:
        group: One of `GROUPS`, or `commands`, `stages`, `launchers`.
        name: The class name, as in YAML and on the command line; the name of a command, a stage or
            a launcher.
        value: Location of the class, as `module:Class`; `module:function` for a command.
        distribution: The distribution that declares it.
        version: That distribution's version.
        dispute: What to do if other distributions declare the name in the group, too: the part
            cannot be used by its name.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str
    dispute: str = ""

    @property
    def path(self) -> str:
        """Dotted path of the class."""
        return self.value.replace(":", ".")

    @property
    def summary(self) -> str:
        """First line of the docstring, read from the source without an import."""
        definition = self._definition()
        return (ast.get_docstring(definition) or "").partition("\n")[0] if definition else ""

    @property
    def constants(self) -> dict[str, str | int | None]:
        """Annotated class attributes that are strings or integers, read like the summary."""
        definition = self._definition()
        constants: dict[str, str | int | None] = {}
        for node in definition.body if definition else ():
            if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                continue
            if isinstance(node.value, ast.Constant) and (
                node.value.value is None or isinstance(node.value.value, str | int)
            ):
                constants[node.target.id] = node.value.value
        return constants

    @property
    def settings(self) -> dict[str, bool]:
        """Whether each argument of the constructor has a default, read like the summary.

        If the class has no constructor, or hands further arguments on, those of its base class are
        settings too.
        """
        module, _, name = self.value.partition(":")
        settings: dict[str, bool] = {}
        definition, statements = _found(module, name)
        while isinstance(definition, ast.ClassDef):
            for node in definition.body:
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    settings = _arguments(node.args) | settings
                    if node.args.kwarg is None:
                        return settings
            base = next((each.id for each in definition.bases if isinstance(each, ast.Name)), "")
            definition, statements = _found_in(statements, base)
        return settings

    def _definition(self) -> _Definition | None:
        module, _, attribute = self.value.partition(":")
        return _found(module, attribute)[0]


def available(group: str) -> list[Plugin]:
    """The declared parts of a group, sorted by name; each name once.

    Args:
        group: One of `GROUPS`.

    Raises:
        InputError: The group does not exist.
    """
    return _by_name(declarations(group))


def declarations(group: str) -> list[Plugin]:
    """The declared parts of a group, sorted by name; also all those that share one.

    Args:
        group: One of `GROUPS`.

    Raises:
        InputError: The group does not exist.
    """
    return _declared(_supported(group))


def check_undisputed(name: str, *bases: Any) -> None:
    """Refuses the name of a class that several distributions declare in one group.

    Args:
        name: A class name without its module.
        bases: Classes from which the class derives; their groups count, or all if they have none.

    Raises:
        InputError: Several distributions declare the name.
    """
    groups = groups_of(*bases) or GROUPS
    for plugin in _Installed().named(name):
        if plugin.group in groups and plugin.dispute:
            raise InputError(plugin.dispute)


def groups_of(*bases: Any) -> list[str]:
    """The groups of the parts that derive from classes; empty if none does.

    Args:
        bases: Classes, such as `Encoder`.
    """
    kinds = [kind for base in bases for kind in getattr(get_origin(base) or base, "__mro__", ())]
    names = {f"{kind.__name__.lower()}s" for kind in kinds}
    return [group for group in GROUPS if group in names]


def commands() -> dict[str, Plugin]:
    """The subcommands that third-party distributions declare, by name."""
    return declared(COMMANDS)


def declared(group: str) -> dict[str, Plugin]:
    """The declared commands, stages, launchers or samplers, by name.

    Args:
        group: `COMMANDS`, `STAGES`, `LAUNCHERS` or `SAMPLERS`.
    """
    return {plugin.name: plugin for plugin in _by_name(_declared(group))}


def load_object(plugin: Plugin) -> Any:
    """Imports the object that an entry point names.

    Raises:
        InputError: The object cannot be imported.
    """
    if plugin.dispute:
        raise InputError(plugin.dispute)
    try:
        return _object(plugin)
    except _BROKEN as error:
        raise InputError(f"{_where(plugin)} cannot be used: {_reason(error, plugin)}") from error


def load_declared(group: str, word: str, base: type) -> Any:
    """Creates the launcher, stage or sampler that a distribution declares under the name `word`.

    `group` is the group of entry points, such as `dislab.launchers`.

    Raises:
        InputError: The name is not declared, its class is no `base`, or it cannot be imported.
    """
    plugins, noun = declared(group), base.__name__.lower()
    if word not in plugins:
        hint = hint_for(word, plugins)
        raise InputError(
            f"no {noun} is named {word!r}{hint}; installed {noun}s: {', '.join(plugins)}"
        )
    cls = load_object(plugins[word])
    if not isinstance(cls, type) or not issubclass(cls, base):
        package = base.__module__.removesuffix(".base")
        raise InputError(f"{plugins[word].value} of {group} is no {package}.{base.__name__}")
    check_methods(cls)
    return cls()


_checked: set[tuple[type, ...]] = set()
"""Classes whose methods were found right, each with its contracts."""


def check_methods(cls: type, *contracts: type) -> None:
    """Refuses a class whose methods do not take what those of its contracts take.

    Args:
        cls: The class of a part.
        contracts: What defines the methods; unless given, its bases in dislab and Lightning.

    Raises:
        InputError: A method takes other arguments, or is a property where its contract has a
            method, or the reverse.
    """
    if (cls, *contracts) in _checked or cls.__module__.startswith("lightning."):
        return
    for base in contracts or cls.__mro__[1:]:
        package = base.__module__.partition(".")[0]
        for word, contract in vars(base).items() if package in _HOMES else ():
            method = inspect.getattr_static(cls, word, None)
            if word.startswith("_") or method is contract:
                continue
            is_method = inspect.isfunction(contract)
            if isinstance(method, property) if is_method else _is_plain(method, contract):
                form = "method: remove" if is_method else "property: write"
                raise InputError(f"{cls.__name__}.{word} must be a {form} @property above it")
            if is_method and isinstance(method, staticmethod | classmethod | FunctionType):
                _check_takes(cls, word, contract, package == "dislab")
    _checked.add((cls, *contracts))


def _is_plain(method: object, contract: object) -> bool:
    """Whether a method stands where a contract has a property."""
    return isinstance(contract, property) and isinstance(method, FunctionType)


def _check_takes(cls: type, word: str, contract: Callable[..., Any], with_options: bool) -> None:
    """Refuses a method that does not take the arguments of a contract; with or without options."""
    names, further = list[str](), dict[str, None]()
    for name, parameter in list(inspect.signature(contract).parameters.items())[1:]:
        if parameter.kind is parameter.VAR_POSITIONAL:  # such as Lightning's forward
            return
        if parameter.default is not parameter.empty and not with_options:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            further[name] = None
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(name)
    bound = isinstance(inspect.getattr_static(cls, word), staticmethod | classmethod)
    arguments = names if bound else ["self", *names]
    if fault := misfit(getattr(cls, word), *arguments, **further):
        inputs = ", ".join([*names, *further]) or "no arguments"
        raise InputError(f"{cls.__name__}.{word} {fault}; it must take {inputs}")


def misfit(function: Callable[..., Any], *arguments: object, **settings: object) -> str:
    """What a function takes instead of arguments; empty if it takes them, or says so itself.

    Args:
        function: The function.
        arguments: The arguments by position.
        settings: Further arguments by name.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # a partial with settings that do not exist
        return ""
    try:
        signature.bind(*arguments, **settings)
    except TypeError as error:
        reason, _, word = str(error).partition("'")
        word = word.removesuffix("'")
        positional = [
            name
            for name, parameter in signature.parameters.items()
            if name != "self" and parameter.kind in _POSITIONAL
        ]
        return {
            "too many": f"takes {', '.join(positional) or 'no arguments'}",
            "missing a": f"requires {word}",
            "got an": f"has no argument {word}",
        }.get(" ".join(reason.split()[:2]), f"does not take its arguments: {error}")
    return ""


def remedy(word: str) -> str:
    """How to install or to mend the plugin that declares a name; empty if none does.

    It is one of dislab, an editable one whose declaration is younger than its installation, an
    installed one that declares it in a wrong group, or one whose folder is the working folder or in
    it.

    Args:
        word: Name of a part, a command, a stage, a sampler or a configuration.
    """
    for name, words in _PLUGINS.items():
        if word in words:
            return f" without the plugin {name}; {_IN_A_CLONE}{name}"
    installed = list(_Installed().of_others())
    keys = {(name, point.group, point.name) for name, point in installed}
    for name, folder in _editable():
        for point in _declared_in(folder):
            if word in _named_by(point, folder) and (name, point.group, point.name) not in keys:
                return _misplaced(name, point) or (
                    f" ({name} declares it since it was installed; install it again: "
                    f"pip install -e {folder})"
                )
    for name, point in installed:
        if word in _named_by(point):
            return _misplaced(name, point) or (
                f" ({name} declares it in {point.group}; if that is the wrong group, {_MEND})"
            )
    for name, folder in _beside():
        for point in _declared_in(folder):
            if word in _named_by(point, folder):
                return _misplaced(name, point) or (
                    f" (the package {name} declares it; install it: {_installing(folder)})"
                )
    return ""


def absent(word: str) -> str:
    """Says that a plugin of dislab's repository is not installed, and how to install it.

    Empty if it is installed, or the word names none of them.

    Args:
        word: Name of a plugin, with or without `dislab-`, or of something that it declares.
    """
    plain = word.lower().replace("_", "-")
    for name, words in _PLUGINS.items():
        if word in words or plain in (name, name.removeprefix("dislab-")):
            present = any(True for _ in distributions(name=name))
            return "" if present else f"{name} is not installed; {_IN_A_CLONE}{name}"
    return ""


def _misplaced(distribution: str, point: EntryPoint) -> str:
    """What is wrong with the group of an entry point; empty if it is a group of dislab."""
    group = point.group.removeprefix("dislab.")
    if group in _ALL:
        return ""
    return (
        f" ({distribution} declares it in {point.group}, which is no group of "
        f"dislab{_group_hint(group, _ALL)}; {_MEND})"
    )


def _named_by(point: EntryPoint, folder: Path | None = None) -> set[str]:
    """The name that an entry point declares; those of the configurations, if it names a folder.

    The folder is that of the package, else the package is an installed one.
    """
    if ":" in point.value:
        return {point.name}
    if not all(word.isidentifier() for word in point.value.split(".")):  # a path to elsewhere
        return set()
    configs = folder / "src" / point.value.replace(".", "/") if folder else _folder(point.value)
    found = configs.rglob("*.yaml") if configs else ()
    return {file.relative_to(configs).with_suffix("").as_posix() for file in found if configs}


def _declared_in(folder: Path) -> list[EntryPoint]:
    """The entry points of dislab that the pyproject.toml of a folder declares."""
    with suppress(OSError, ValueError, AttributeError, KeyError, TypeError):  # of setuptools
        return [
            EntryPoint(key, value, group)
            for group, points in _project(folder).get("entry-points", {}).items()
            for key, value in points.items()
            if group.startswith("dislab.") and isinstance(value, str)
        ]
    return []


def _project(folder: Path) -> dict[str, Any]:
    """The table `project` of the pyproject.toml of a folder."""
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    return project["project"]  # type: ignore[no-any-return]


def _beside() -> Iterator[tuple[str, Path]]:
    """Names and folders of the packages in the working folder, and of this folder's own."""
    for file in (Path("pyproject.toml"), *sorted(Path().glob("*/pyproject.toml"))):
        with suppress(OSError, ValueError, AttributeError, KeyError, TypeError):
            if (name := _project(file.parent)["name"]) != "dislab":
                yield name, file.parent


def _installing(folder: Path) -> str:
    """The command that installs the package of a folder in the working folder."""
    return "pip install -e ." if folder == Path() else f"pip install -e ./{folder}"


def _editable() -> Iterator[tuple[str, Path]]:
    """Names and folders of the distributions that are installed from where they are edited."""
    for distribution in distributions():
        with suppress(OSError, ValueError, KeyError, TypeError):
            record = json.loads(distribution.read_text("direct_url.json") or "{}")
            if record["dir_info"]["editable"] and distribution.name != "dislab":
                yield distribution.name, Path(unquote(urlsplit(record["url"]).path))


def letters(name: str) -> str:
    """The letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def group_meant(word: str) -> str:
    """The group that a word means in the singular, in other letters or by another name.

    The word itself, if it means none.

    Args:
        word: A word such as `regulariser` or `scores`, for `regularizers` and `metrics`.

    >>> group_meant("Regularisers"), group_meant("data-set"), group_meant("score")
    ('regularizers', 'datasets', 'metrics')
    """
    plain = letters(word).replace("regularis", "regulariz")
    for group in (plain, f"{plain}s"):
        if group in _ALL:
            return group
    return _MEANT.get(plain) or _MEANT.get(plain.removesuffix("s"), word)


def _group_hint(group: str, groups: Iterable[str]) -> str:
    """` (did you mean …?)` with the group that a misspelt one means."""
    return suggestion(group_meant(group), groups, _MEANT)


def spelt(group: str, word: str) -> str:
    """The name of the part whose letters and digits a word has; the word itself without any.

    Args:
        group: One of `GROUPS`.
        word: A name such as `mig`, for `MIG`.
    """
    names = [plugin.name for plugin in available(group)]
    alike = [name for name in names if letters(name) == letters(word)]
    return word if word in names or len(alike) != 1 else alike[0]


def hint_for(word: str, names: Iterable[str]) -> str:
    """How to install the plugin that declares a name, else ` (did you mean …?)`; empty if neither.

    Args:
        word: The name that is none of the names.
        names: The names that exist.
    """
    return remedy(word) or suggestion(word, names)


def load_command(plugin: Plugin) -> Callable[[list[str]], int]:
    """The function of a subcommand: takes the remaining arguments, returns the exit status.

    Raises:
        InputError: The function cannot be imported, or is no function.
    """
    value = load_object(plugin)
    if not callable(value) or isinstance(value, type):
        raise InputError(f"{_where(plugin)} cannot be used: {plugin.value} is no function")
    if fault := misfit(value, []):
        raise InputError(f"{plugin.value} {fault}; it must take the list of arguments alone")
    function: Callable[[list[str]], int] = value
    return function


def _declared(group: str, installed: "_Installed | None" = None) -> list[Plugin]:
    return _disputed((installed or _Installed()).plugins(group))


def _disputed(plugins: Iterable[Plugin]) -> list[Plugin]:
    """Declarations sorted by name; those of several distributions with their dispute."""
    by_name: dict[tuple[str, str], dict[str, Plugin]] = {}
    for plugin in plugins:
        by_name.setdefault((plugin.name, plugin.group), {}).setdefault(plugin.distribution, plugin)
    return [
        replace(plugin, dispute=_dispute(rivals)) if len(rivals) > 1 else plugin
        for _, owners in sorted(by_name.items())
        for rivals in [sorted(owners.values(), key=_rank)]
        for plugin in rivals
    ]


def _rank(plugin: Plugin) -> tuple[bool, str]:
    return plugin.distribution != "dislab", plugin.distribution


def _dispute(plugins: list[Plugin]) -> str:
    owners = " and ".join(f"{plugin.distribution} {plugin.version}" for plugin in plugins)
    paths = " or ".join(dict.fromkeys(plugin.path for plugin in plugins))
    remedy = f"write {paths}, or uninstall one" if plugins[0].group in GROUPS else "uninstall one"
    return f"{plugins[0].name} is declared by {owners}; {remedy}"


def _by_name(plugins: list[Plugin]) -> list[Plugin]:
    """The first declaration of each name."""
    return list({plugin.name: plugin for plugin in reversed(plugins)}.values())[::-1]


class Configuration(NamedTuple):
    """A YAML file that an installed distribution hands over."""

    path: Path
    distribution: str


def configuration_folder() -> Path:
    """Folder of dislab's own configurations: in the installed package, else in its checkout."""
    inside = Path(str(files("dislab"))) / "configs"
    return inside if inside.is_dir() else inside.parents[2] / "configs"


def configurations() -> dict[str, list[Configuration]]:
    """The configurations of dislab and of plugins by name, such as `ivae` or `studies/quick`.

    A name that several distributions use has several files. Links that leave their folder are not
    followed.

    Warns:
        PluginWarning: A plugin declares a folder that does not exist.
    """
    folders = {configuration_folder(): "dislab"}
    for plugin in _Installed().plugins(CONFIGURATIONS):
        folder = _folder(plugin.value)
        if folder is None:
            warn(
                f"{_where(plugin)} was left out: {plugin.value!r} is no folder of an installed "
                "package; its value is a dotted name, such as my_package.configs",
                PluginWarning,
            )
        else:
            folders.setdefault(folder, plugin.distribution)
    by_name: dict[str, list[Configuration]] = {}
    for folder, distribution in folders.items():
        root = folder.resolve()
        for path in sorted(folder.rglob("*.yaml"), key=lambda path: (len(path.parts), path)):
            if path.is_file() and path.resolve().is_relative_to(root):
                name = path.relative_to(folder).with_suffix("").as_posix()
                by_name.setdefault(name, []).append(Configuration(path, distribution))
    return by_name


def configuration(name: str) -> Path | None:
    """The file of the configuration with a name; None if there is none.

    Raises:
        InputError: Several distributions have a configuration of this name.
    """
    matches = configurations().get(name, [])
    if len(matches) > 1:
        listed = " and ".join(f"{path} of {distribution}" for path, distribution in matches)
        raise InputError(f"{name} is the name of {listed}; give the path of one of them")
    return matches[0].path if matches else None


def configuration_hint(name: str, folder: Path = Path()) -> str:
    """The plugin of dislab that has the configuration, else ` (did you mean …?)`.

    A similar file of the folder comes before a similar configuration.

    If the name ends in a suffix, a configuration must be nearly equal to it.
    """
    path = Path(name)
    files = dict[str, str]()
    with suppress(OSError, ValueError):  # no folder can have such a name
        for file in sorted((folder / path.parent).glob("*.yaml")):
            files[file.stem] = str(path.parent / file.name)
    short = re.sub(r"^configs/|\.ya?ml$", "", name, flags=re.IGNORECASE)
    if install := remedy(short):
        return install
    alike = list(configurations())
    if path.suffix:
        alike = get_close_matches(short, alike, cutoff=0.85)
    if path.suffix:  # compared without folder and suffix, which make any two names alike
        return suggestion(Path(short).name, (), files) or suggestion(short, alike)
    return suggestion(name, files.values()) or suggestion(short, alike)


def packages() -> list[str]:
    """Top-level packages of the distributions that declare parts, sorted by name."""
    installed = _Installed()
    return sorted(
        {
            plugin.value.partition(":")[0].partition(".")[0].strip()
            for group in GROUPS
            for plugin in installed.plugins(group)
        }
    )


def load_all(groups: Iterable[str] = GROUPS) -> dict[str, dict[str, type]]:
    """Imports every declared part and returns the classes by group and name.

    A part that cannot be imported, or whose class name differs from its key, is skipped: no command
    need depend on it. `load` gives its error, and `warn_of_faults` those of all.

    Args:
        groups: The groups to import.
    """
    by_group = _by_group(groups)
    errors = faults(plugin for plugins in by_group.values() for plugin in plugins)
    return {
        group: {plugin.name: _load(plugin) for plugin in plugins if plugin not in errors}
        for group, plugins in by_group.items()
    }


def _by_group(groups: Iterable[str]) -> dict[str, list[Plugin]]:
    """The declared parts of each group, each name once."""
    installed = _Installed()
    return {group: _by_name(_declared(_supported(group), installed)) for group in groups}


def warn_of_faults(groups: Iterable[str] = GROUPS) -> None:
    """Warns of the parts that cannot be imported, one of which may define a name that is missing.

    The warning names group, key, distribution, version and error. That of a wrong entry point says
    if an imported module of its package has a class of the name, which settings find. Parts of a
    distribution that fail with the same error share one warning.

    Args:
        groups: The groups of the parts.
    """
    errors = faults(plugin for plugins in _by_group(groups).values() for plugin in plugins)
    failures: dict[tuple[str, str, bool], list[Plugin]] = {}
    for plugin, error in errors.items():
        if plugin.dispute:
            warn(f"dislab.{plugin.group}: {plugin.dispute}", PluginWarning)
            continue
        key = (plugin.distribution, error, is_elsewhere(plugin))
        failures.setdefault(key, []).append(plugin)
    for (distribution, error, _), (first, *others) in failures.items():
        more = f"{len(others)} more part{'s' if len(others) > 1 else ''} of {distribution}"
        further = (
            f"; so {'were' if len(others) > 1 else 'was'} {more}, which `dislab plugins` lists"
            if others
            else ""
        )
        if is_elsewhere(first):  # settings find it by its name, as any imported class
            fault = "has an entry point that is wrong, and is taken from the class of its name"
        else:
            fault = "was left out"
        warn(f"{_where(first)} {fault}: {error}{further}", PluginWarning)


def load(group: str, name: str) -> type:
    """The class of a declared part; no other part is imported.

    Args:
        group: One of `GROUPS`.
        name: The class name, or its dotted path as declared.

    Raises:
        InputError: The part does not exist or cannot be imported.
    """
    plugins = declarations(group)
    names = {plugin.name: plugin for plugin in plugins}
    installed = names | {plugin.path: replace(plugin, dispute="") for plugin in plugins}
    if name not in installed:
        hint = hint_for(name, names)
        listing = ", ".join(names) or "none"
        raise InputError(f"none of the {group} is named {name!r}{hint}; available: {listing}")
    plugin = installed[name]
    if plugin.dispute:
        raise InputError(plugin.dispute)
    try:
        return _load(plugin)
    except _BROKEN as error:
        raise InputError(f"{_where(plugin)} cannot be used: {_reason(error, plugin)}") from error


def faults(plugins: Iterable[Plugin]) -> dict[Plugin, str]:
    """Imports parts and returns the error of each unusable part as one line.

    Args:
        plugins: Declared parts.
    """
    reasons: dict[Plugin, str] = {}
    broken: dict[str, str] = {}  # by module, to import each one only once
    for plugin in plugins:
        module = plugin.value.partition(":")[0]
        if module in broken:
            reasons[plugin] = broken[module]
            continue
        try:
            _load(plugin)
        except _BROKEN as error:
            reasons[plugin] = _reason(error, plugin)
            if module not in sys.modules and not plugin.dispute:
                broken[module] = reasons[plugin]
    return reasons


def misspelt_groups() -> list[str]:
    """A sentence for each group `dislab.…` of an installed distribution that dislab does not read.

    >>> misspelt_groups()
    []
    """
    return [
        f"{distribution} {version} has entry points in dislab.{group}, which is no group of dislab"
        f"{_group_hint(group, _ALL)}; the groups are {', '.join(_ALL)}"
        for group, distribution, version in _Installed().others(_ALL)
    ]


def contested() -> list[str]:
    """A sentence for each command, stage, launcher and sampler that two distributions declare."""
    return [
        f"dislab.{group}: {plugin.dispute}"
        for group in (COMMANDS, STAGES, LAUNCHERS, SAMPLERS)
        for plugin in _by_name(_declared(group))
        if plugin.dispute
    ]


def _supported(group: str) -> str:
    if group not in GROUPS:
        hint = _group_hint(group, GROUPS)
        raise InputError(
            f"no plugin group is named {group!r}{hint}; the groups are {', '.join(GROUPS)}"
        )
    return group


class _Installed:
    """All entry points of the installed distributions, found in one pass."""

    def __init__(self) -> None:
        try:
            self._points, self._origins = _entry_points()
        except (TypeError, ValueError, AttributeError):  # a malformed declaration anywhere
            self._points, self._origins = EntryPoints(_readable()), {}

    def plugins(self, group: str) -> Iterator[Plugin]:
        """The declarations of a group, in the order of the distributions on the path."""
        for entry in self._points.select(group=f"dislab.{group}"):
            yield Plugin(group, entry.name, entry.value, *self._origin(entry.dist))

    def named(self, name: str) -> list[Plugin]:
        """The declarations of a part's name in all groups."""
        return _disputed(
            Plugin(group, entry.name, entry.value, *self._origin(entry.dist))
            for entry in self._points.select(name=name)
            if (group := entry.group.removeprefix("dislab.")) != entry.group
        )

    def of_others(self) -> Iterator[tuple[str, EntryPoint]]:
        """The entry points of dislab of other distributions, each with its distribution."""
        for group in sorted(name for name in self._points.groups if name.startswith("dislab.")):
            for entry in self._points.select(group=group):
                if (name := self._origin(entry.dist)[0]) != "dislab":
                    yield name, entry

    def others(self, names: Iterable[str]) -> list[tuple[str, str, str]]:
        """Groups `dislab.…` without those names, each with its distribution and version."""
        groups = [name for name in self._points.groups if name.startswith("dislab.")]
        return sorted(
            {
                (group, *self._origin(entry.dist))
                for group in {name.removeprefix("dislab.") for name in groups}.difference(names)
                for entry in self._points.select(group=f"dislab.{group}")
            }
        )

    def _origin(self, distribution: Distribution | None) -> tuple[str, str]:
        """Name and version, kept because a distribution reads them from files each time."""
        if distribution is None:
            return "unknown", "unknown"
        key = id(distribution)  # stays valid: the entry points keep the distribution alive
        if key not in self._origins:
            self._origins[key] = distribution.name, distribution.version
        return self._origins[key]


_Points = tuple[Any, dict[int, tuple[str, str]]]
"""Entry points, and name and version of their distributions as far as read, by `id`."""

_last: tuple[object, _Points] | None = None
"""The entry points read last, with the folders in which they were read."""


def _entry_points() -> _Points:
    """All entry points, read again only when a folder of the import path changes."""
    global _last
    places = [*sys.meta_path], [(folder, _state(folder)) for folder in sys.path]
    if _last is None or _last[0] != places:
        _last = places, (entry_points(), {})
    return _last[1]


def _state(folder: str) -> tuple[int, ...] | None:
    """What changes when a distribution is installed in a folder of the import path, or removed."""
    try:
        state = os.stat(folder or ".")
    except OSError:
        return None
    return state.st_dev, state.st_ino, state.st_mtime_ns


def _readable() -> Iterator[EntryPoint]:
    """All entry points; a distribution with malformed declarations is left out with a warning."""
    seen: set[str] = set()
    for distribution in distributions():
        name = distribution.name
        if name in seen:  # Python imports the first one on the path
            continue
        seen.add(name)
        try:
            yield from distribution.entry_points
        except (TypeError, ValueError, AttributeError):
            text = distribution.read_text("entry_points.txt") or ""
            line = next(filter(_WITHOUT_VALUE.fullmatch, text.splitlines()), "")
            warn(
                f"{name} {distribution.version} was left out: {line.strip()!r} in its "
                "entry_points.txt has no '='; an entry point is Name = module:Class",
                PluginWarning,
            )


def _object(plugin: Plugin) -> Any:
    if plugin.dispute:
        raise InputError(plugin.dispute)
    if not EntryPoint.pattern.match(plugin.value):
        raise InputError(f"its entry point {plugin.value!r} is not of the form module:Class")
    entry = EntryPoint(plugin.name, plugin.value, f"dislab.{plugin.group}")
    try:
        return entry.load()
    except AttributeError as error:
        module = sys.modules.get(entry.module)
        if module is None or hasattr(module, entry.attr):  # an error of the module itself
            raise
        raise InputError(
            f"{entry.module} has no {entry.attr}{suggestion(entry.attr, vars(module))}; {_MEND}"
        ) from error
    except ModuleNotFoundError as error:
        if not f"{entry.module}.".startswith(f"{error.name}."):  # an import of the module itself
            raise
        raise InputError(
            f"there is no module {entry.module}{suggestion(entry.module, _beside_module(entry))}; "
            f"{_MEND}"
        ) from error


def _beside_module(entry: EntryPoint) -> list[str]:
    """Dotted names of the modules in the package of an entry point, found without an import."""
    package = entry.module.rpartition(".")[0]
    folders = [str(folder)] if (folder := _folder(package)) else []
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(folders)]


def _load(plugin: Plugin) -> type:
    loaded = _object(plugin)
    if not isinstance(loaded, type) or loaded.__name__ != plugin.name:
        further = ""
        if isinstance(loaded, type):
            name = loaded.__name__
            further = f"; settings find it by its own name, {name}: make {name} the key"
        elif ":" not in plugin.value:
            further = f"; write {plugin.value}:{plugin.name}"
        raise InputError(f"{plugin.value} is no class named {plugin.name}{further}")
    return loaded


def is_elsewhere(plugin: Plugin) -> bool:
    """Whether an imported module of the plugin's package has a part of its name."""
    if plugin.dispute:
        return False
    package = plugin.value.partition(":")[0].partition(".")[0]
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == package and module is not None
    ]
    found = [vars(module).get(plugin.name) for module in modules]
    return any(
        isinstance(cls, type)
        and cls.__name__ == plugin.name
        and any(base.__module__.partition(".")[0] in _HOMES for base in cls.__mro__)
        for cls in found
    )


def _where(plugin: Plugin) -> str:
    return f"dislab.{plugin.group}: {plugin.name} of {plugin.distribution} {plugin.version}"


def _reason(error: BaseException, plugin: Plugin) -> str:
    """The error in one line, with the last line of the plugin's package that led to it."""
    message = one_line(error)
    if isinstance(error, InputError):
        return message
    package = plugin.value.partition(".")[0].partition(":")[0]
    lines = [
        f" ({Path(frame.f_code.co_filename).name}, line {line})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package
    ]
    return f"{type(error).__name__}: {message}{lines[-1] if lines else ''}"


_Found = tuple[_Definition | None, list[ast.stmt]]
"""A definition, None if there is none, and the statements of its module."""


def _found(module: str, name: str) -> _Found:
    """A definition in a module, or in one from which the module imports it."""
    return _found_in(_statements(module), name)


def _found_in(statements: list[ast.stmt], name: str) -> _Found:
    if definition := _defined(statements, name):
        return definition, statements
    for node in statements:  # a package re-exports the class from one of its modules
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return _found(node.module or "", name)
    return None, []


def _arguments(arguments: ast.arguments) -> dict[str, bool]:
    """Whether each argument of a method other than `self` has a default."""
    given = [*arguments.posonlyargs, *arguments.args]
    required = len(given) - len(arguments.defaults)
    settings = {each.arg: at >= required for at, each in enumerate(given) if at}
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return settings | {each.arg: value is not None for each, value in keywords}


def _defined(statements: list[ast.stmt], name: str) -> _Definition | None:
    for node in statements:
        if isinstance(node, _Definition) and node.name == name:
            return node
    return None


def _statements(module: str) -> list[ast.stmt]:
    """The statements of a module's source; none where the source is missing or cannot be read."""
    source = source_of(module)
    try:
        return ast.parse(source.read_text(encoding="utf-8")).body if source else []
    except (OSError, SyntaxError, ValueError):
        return []


def source_of(module: str) -> Path | None:
    """The file that defines a module, found without importing the module or its parents."""
    if not module:
        return None
    top, *inner = module.split(".")
    spec = _spec(top)
    if spec is None:
        return None
    if not inner:
        return Path(spec.origin) if spec.origin else None
    for root in spec.submodule_search_locations or ():
        path = Path(root, *inner)
        for candidate in (path.with_suffix(".py"), path / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


def _folder(name: str) -> Path | None:
    """The folder with a dotted name inside a package, found without importing the package."""
    top, *inner = name.split(".")
    if not all(part.isidentifier() for part in (top, *inner)) or (spec := _spec(top)) is None:
        return None
    folders = (Path(root, *inner) for root in spec.submodule_search_locations or ())
    return next(filter(Path.is_dir, folders), None)


def _spec(package: str) -> ModuleSpec | None:
    loaded = sys.modules.get(package)
    return loaded.__spec__ if loaded is not None else importlib.util.find_spec(package)


def missing_package(name: object) -> str | None:
    """Says which package is not installed, if a dotted name belongs to one; imports nothing."""
    package, dot, _ = str(name).partition(".")
    if not dot or not package.isidentifier() or package in sys.modules:
        return None
    if importlib.util.find_spec(package) is not None:
        return None
    distribution = package.replace("_", "-")
    how = f"{_IN_A_CLONE if distribution in _PLUGINS else 'such as by pip install '}{distribution}"
    for _, folder in _beside():
        if (folder / "src" / package).is_dir():
            how = _installing(folder)
    return f"and no package {package} is installed here; install the plugin that has it, {how}"
