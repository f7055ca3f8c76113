"""Messages for parser errors: the place in the configuration, the fault, the allowed values."""

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from dislab.cli.arguments import TOO_FEW
from dislab.errors import InputError, one_line, suggestion
from dislab.plugins import (
    GROUPS,
    available,
    configuration,
    configurations,
    hint_for,
    letters,
    load,
    missing_package,
    warn_of_faults,
)
from dislab.yaml_files import is_yaml, read_mapping

if TYPE_CHECKING:
    from jsonargparse import ArgumentParser

_OF_STUDIES: Final = ("axes", "stages", "seeds", "search")
_KEY: Final = re.compile(r'Parser key "([^"]+)"')
_CLASS: Final = re.compile(r"class_path[ =]'([\w.]+)'")
_UNKNOWN_CLASS: Final = re.compile(r"Expected a dot import path string: (\S+)")
_DISPUTED: Final = re.compile(r"\w+ is declared by .+? or uninstall one")
_NO_MODULE: Final = re.compile(
    r"Problem with given class_path '([^']+)':\s+"
    r"(?:No module named|module '[\w.]+' has no attribute)"
)
_NO_ATTRIBUTE: Final = re.compile(
    r"expects a function or a callable class: module '([\w.]+)' has no attribute '(\w+)'"
)
_DENIED: Final = re.compile(r"Importing '([^']+)' is not allowed")
_UNKNOWN_OPTION: Final = re.compile(  # of a part, whose message stands within that of its section
    r"(?:Option '|(?<=\s)unrecognized arguments: --)([^'=\n]+)(?:' is not accepted|=)"
)
_UNKNOWN_KEY: Final = re.compile(r"Group '([^']+)' does not accept option '([^']+)'")
_UNRECOGNIZED: Final = re.compile(r"unrecognized arguments: --(\S+)")
_NO_OPTION: Final = re.compile(r"unrecognized arguments: ([^\s=-][^\s=]*)(?:[= ](\S+))?")
_NO_SETTINGS: Final = re.compile(r'Unable to load config "(.*)"$')
_WRONG_TYPE: Final = re.compile(r"Expected an? (.+?)\. Got value: ([^\n]*?)(?=\. Got value: |\n|$)")
_WHOLE: Final = re.compile(r"([+-]?\d+)\.0*")
_EXPECTED: Final = re.compile(r"Expected an? (.+)")
_GIVEN_VALUE: Final = re.compile(r"^ *Given value: (.*?)(?:\. Got value: .*)?$", re.MULTILINE)
_NESTED: Final = re.compile(r"^NestedArg\(key='[\w.]+', val='?(.*?)'?\)$")
_KEYS: Final = re.compile(r"^(Unexpected|Missing required) keys: \{([^}]*)\}")
_NO_SUBCLASS: Final = re.compile(r"Not a valid subclass of \w+")
_OF_CLASS: Final = "Problem with given class_path"
_ABSTRACT: Final = re.compile(r"Expected an instantiatable class, but (\S*?) ?is abstract")
_SETTINGS_ALONE: Final = re.compile(r"NestedArg\(|\{(?!'class_path')")
_UNNAMED: Final = re.compile(r"Dict must include a class_path .*?, but got (.+?)\. Got value: ")
_NO_SPECIFICATION: Final = re.compile(
    r"Expected an import path or a subclass spec, but got (.+?)\. "
)
_NO_NUMBER: Final = re.compile(
    r"\[<class 'float'>, <class 'torch\.Tensor'>.*?Given value: (.*?)(?:\. Got value: |$)",
    re.DOTALL | re.MULTILINE,
)
_NO_VALUE: Final = re.compile(r"Unexpected config: (.*)")
_REQUIRED: Final = re.compile(r'(?:arguments are required: |Key ")(\w[\w.]*\b(?:, \w[\w.]*\b)*)')
_IN_NEED: Final = re.compile(r"arguments are required: [\w, ]+\. Got value: ([^\n]+)")
_ABOVE: Final = re.compile(r"class_path '([\w.]+)':\s+the following $")
_LEAF: Final = re.compile(
    r"^ *- (?!Expected a <class 'NoneType'>|Expected a path but |Does not validate"
    r"|Problem with given class_path '[\w.]+':$)(\S.*)$",
    re.MULTILINE,
)
_NOISE: Final = re.compile(
    r"^ *(Does not validate|Subtypes:|Errors:|Given value|- Expected a <class 'NoneType'>).*\n?",
    re.MULTILINE,
)
OF_TORCH: Final = {
    "optimizer": ("optimiser", "torch.optim", "torch.optim.Adam"),
    "scheduler": (
        "scheduler",
        "torch.optim.lr_scheduler",
        "torch.optim.lr_scheduler.CosineAnnealingLR",
    ),
}
"""Settings that take a class of torch: what it is, its module and an example."""
_GROUP_OF: Final = {"model": "objectives", "data": "datamodules"}
NAMED_PARTS: Final = ("regularizers", "metrics", "predictors")
LINKED: Final = ("image_shape", "train_size")
"""Arguments that the data give."""
TYPE_NAMES: Final = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "dict": "a mapping of names to values",
    "list": "a list",
    "Mapping": "a mapping of names to values",
    "Sequence": "a list",
}
_EXAMPLES: Final = {
    "include": "{shape: [heart], scale: {min: 0.6}}",
    "hold_out": "{shape: [heart], scale: {min: 0.6}}",
    "few_labels": "{count: 100}",
    "correlation": "{factors: [scale, shape], strength: 0.4}",
    "metrics": "{mig: MIG, dci: DCI}",
    "regularizers": "{kl: KL}",
    "predictors": "{gbt: GradientBoosting}",
}
"""Values of settings whose mapping has a form of its own."""


ELSEWHERE: Final = {
    "beta": "model.regularizers.kl.beta",
    "gamma": "model.regularizers.tc.gamma",
    "lr": "model.optimizer.lr",
    "learning_rate": "model.optimizer.lr",
    "epochs": "trainer.max_epochs",
    "steps": "trainer.max_steps",
    "iterations": "trainer.max_steps",
    "gpus": "trainer.devices",
    "gpu": "trainer.accelerator",
    "cuda": "trainer.accelerator",
    "device": "trainer.accelerator",
    "batch_size": "data.batch_size",
    "latents": "model.latent_dim",
    "latent_size": "model.latent_dim",
    "z_dim": "model.latent_dim",
    "seed": "seed_everything",
}
"""Settings by the names that other programs give them."""

_OF_OTHER_VERSIONS: Final = {"gpus": "; write accelerator: gpu and devices: 1"}
"""What replaces settings that the trainer had in other versions of Lightning."""
_MANY: Final = 15
"""Number of settings above which a message leaves their names to the help."""


def explain(
    message: str, top_level: Sequence[str] = (), command: str = "fit", file: str = ""
) -> str:
    """Short message for an error of jsonargparse.

    Args:
        message: The message of jsonargparse.
        top_level: The parser's settings, by dotted name.
        command: The command that the parser is for.
        file: The first configuration, if any.
    """
    setting = _setting_of(message)
    prefix = f"{setting}: " if setting else ""
    if match := _DISPUTED.search(message):
        return prefix + match[0]
    if match := _DENIED.search(message):
        return prefix + _denied(match[1], setting)
    if match := _NO_NUMBER.search(message):  # numbers may be tensors, which no text names
        return f"{prefix}expected {_number(match[1])}; got {match[1]!r}"
    if match := _UNKNOWN_CLASS.search(message) or _NO_MODULE.search(message):
        return prefix + unknown_class(match[1], setting)
    if match := _NO_ATTRIBUTE.search(message):
        return prefix + unknown_class(".".join(match.groups()), setting)
    if fault := _missing_class(message, setting, file):
        return prefix + fault
    if match := _UNKNOWN_OPTION.search(message):
        cls = _refusing_class(message, match)
        if not (setting or cls):
            return _unknown_key(match[1], top_level)
        return prefix + _unknown_option(match[1], cls, setting)
    if match := _NO_SETTINGS.search(message):
        section = setting.partition(".")[0]
        return f"{section}: expected settings, or a file that holds them; got {match[1]!r}"
    if match := TOO_FEW.match(message):
        return f"{match[1]} has no value; write {match[1]} VALUE"
    if (match := _NO_OPTION.match(message)) and not match[1].startswith("-"):
        if option := _option_of(match[1], command):
            return f"{match[1]} has no option before it; write {option} {match[1]}"
        if "." not in match[1] and match[1] not in top_level and "=" not in message:
            return (
                f"{match[1]} has no option before it; write --SETTING {match[1]}, or leave it out"
            )
        text = f" {match[2]}" if match[2] else ""
        return f"{match[1]} is no option; options begin with --, such as --{match[1]}{text}"
    if match := _UNKNOWN_KEY.search(message) or _UNRECOGNIZED.search(message):
        return _unknown_key(".".join(match.groups()), top_level)
    if match := _WRONG_TYPE.search(message):
        value = match[2].strip()
        nearest = suggestion(value.strip("'"), _choices(match[1]))
        kind = _type(match[1])
        whole = kind == TYPE_NAMES["int"] and _WHOLE.fullmatch(value.strip("'"))
        kind = _number(value) if kind == TYPE_NAMES["float"] else kind
        remedy = f"; write {whole[1]}" if whole else _like(setting)
        return f"{prefix}expected {kind}, got {value!r}{nearest}{remedy}"
    if match := _NO_VALUE.match(message):
        return f"the configuration sets no value; it says {match[1]!r}"
    if match := _REQUIRED.search(message):
        return _required(match[1], setting, command, _class_in_need(message, match))
    if leaves := _LEAF.findall(message):
        fault = _none_of(leaves, message) or ""
        group = group_of(setting) if setting else None
        if group and not fault and "to be a subclass of" not in message:
            # which may be the error of a dotted path
            warn_of_faults(GROUPS if setting in _GROUP_OF else [group])
        fault = fault or "; ".join(dict.fromkeys(leaves))
        fault = _KEYS.sub(lambda match: f"{match[1].lower()} keys: {match[2]}", fault)
        return f"{prefix}{fault}{_like(setting)}"
    text = _KEY.sub("", _NOISE.sub("", message)).strip(" :\n")
    return prefix + re.sub(r"\s*\n\s*", " ", text)


def _number(value: str) -> str:
    """The kind of a number that a setting takes in place of a text, which may be `nan`."""
    is_infinite = value.strip("'+-.").lower() in ("nan", "inf", "infinity")
    return "a finite number" if is_infinite else TYPE_NAMES["float"]


def _like(setting: str) -> str:
    """An example of a setting whose values have a form of their own, as the end of a message."""
    example = _EXAMPLES.get(setting.rpartition(".")[2])
    return f"; write it like {example}" if example else ""


def _option_of(word: str, command: str) -> str:
    """The option that takes a word that stands alone; empty if no option is likely."""
    if word in configurations() or is_yaml(word):
        return "--config"
    is_run = "/" in word or Path(word).is_dir()
    return ("--resume" if command == "fit" else "--run") if is_run else ""


def explain_data(message: str) -> str:
    """Short message for an error of jsonargparse in the section `data` of a run."""
    return explain(message, ["data"])


@contextmanager
def warnings_in_one_line() -> Iterator[set[str]]:
    """Prints each warning on stderr in one line, without the line of code that raised it.

    A warning of dislab itself is printed once, by the first process, and none on gaps, of which
    the configuration says what becomes of them.
    Yields the texts of dislab's own.
    """
    with warnings.catch_warnings():
        printed = set[str]()

        def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            if category.__module__.startswith("dislab."):
                if os.environ.get("LOCAL_RANK", "0") != "0" or str(message) in printed:
                    return
                printed.add(str(message))
                if _is_decided(category):
                    return
            print_warning(message)

        warnings.showwarning = show
        yield printed


def said_once(message: str, warned: Iterable[str]) -> str:
    """The message of an error, without the reason of a plugin's fault that a warning gave.

    Args:
        message: The message, which ends in the reason.
        warned: Texts of the warnings above it.
    """
    subject, cut, reason = message.partition(" cannot be used: ")
    if cut and any(reason in text for text in warned):
        return f"{subject} cannot be used; the warning above says why"
    return message


def _is_decided(category: type[Warning]) -> bool:
    """Whether a warning is about gaps, which a configuration decides and `data check` notes."""
    from dislab.factors import GapWarning

    return issubclass(category, GapWarning)


def base_of(group: str) -> type:
    """The abstract class that every part of a group derives from.

    Args:
        group: Name of an entry point group without its prefix, such as `encoders`.
    """
    if group == "callbacks":
        return cast("type", import_module("lightning.pytorch").Callback)
    base = import_module("dislab.base")
    name = next(base_name for base_name in base.__all__ if f"{base_name.lower()}s" == group)
    base_class: type = getattr(base, name)
    return base_class


def foreign_base(group: str, cls: type) -> str | None:
    """The fault of a class that does not derive from the base of its group; None if it does."""
    base = base_of(group)
    if issubclass(cls, base):
        return None
    others = ", ".join(cls_base.__name__ for cls_base in cls.__bases__)
    home = "lightning.pytorch" if group == "callbacks" else "dislab.base"
    return f"{cls.__name__} derives from {others}, not from {home}.{base.__name__}"


def print_warning(message: Warning | str) -> None:
    """Prints a warning on stderr in one line."""
    print(f"dislab: warning: {one_line(message)}", file=sys.stderr)


def _setting_of(message: str) -> str:
    """The setting that a message is about, with the name of a dictionary's entry."""
    keys = _KEY.findall(message)
    for index, key in enumerate(keys):
        part = key.rpartition(".")[2]
        if part in NAMED_PARTS and (name := _entry(message, part)):
            keys[index] = f"{key}.{name}"
    return ".".join(keys)


def _entry(message: str, key: str) -> str | None:
    if match := re.search(rf"NestedArg\(key='{key}\.(\w+)", message):
        return match[1]
    if (
        match := _UNNAMED.search(message)
        or _NO_SPECIFICATION.search(message)
        or _IN_NEED.search(message)
    ):
        names = set(re.findall(rf"'(\w+)': {re.escape(match[1])}[,}}]", message))
        return names.pop() if len(names) == 1 else None
    if match := _UNKNOWN_CLASS.search(message) or _DENIED.search(message):
        wrong = match[1]
    elif (match := _UNKNOWN_OPTION.search(message)) or (match := _WRONG_TYPE.search(message)):
        wrong = _refusing_class(message, match).rpartition(".")[2]
    else:
        return None
    entries = rf"'(\w+)': (?:\{{'class_path': |Namespace\(class_path=)'(?:[\w.]+\.)?{wrong}'"
    names = set(re.findall(entries, message))
    return names.pop() if len(names) == 1 else None


def _refusing_class(message: str, match: re.Match[str]) -> str:
    """The class that refused an option; a message names it after a nested option, before others."""
    behind: list[str] = _CLASS.findall(message[match.start() :].partition("\n")[0])
    before: list[str] = _CLASS.findall(message[: match.start()])
    return (behind or before[::-1] or [""])[0]


def _missing_class(message: str, setting: str, file: str) -> str | None:
    """Message for a part without a class; None for another fault."""
    if _UNNAMED.search(message):
        return _no_class(setting, file)
    if match := _NO_SPECIFICATION.search(message):
        return _no_specification(match[1], setting)
    abstract, value = _ABSTRACT.search(message), _GIVEN_VALUE.search(message)
    if value is None or not (abstract or _NO_SUBCLASS.search(message)):
        return None
    if value[1].startswith("[") and _OF_CLASS in message:
        return None  # a part in a list has the fault
    name = ((abstract and abstract[1]) or value[1]).rpartition(".")[2]
    if lacking := _lacking(name, setting):
        return f"{name} lacks {' and '.join(lacking)}; define it as its base class does"
    if _SETTINGS_ALONE.match(value[1]):
        return _no_class(setting, file)
    if abstract is None:
        return _no_specification(value[1], setting)
    return f"{name} is a base class; name a class that derives from it{_listing(setting)}"


def _lacking(name: str, setting: str) -> list[str]:
    """The methods that a part which can be named at a place leaves undefined."""
    group = group_of(setting)
    if group is None or name not in {plugin.name for plugin in available(group)}:
        return []
    return sorted(getattr(load(group, name), "__abstractmethods__", ()))


def _no_class(setting: str, file: str = "") -> str:
    if setting in _GROUP_OF:
        return (
            "no class is named; begin with the configuration of a method and put others behind it: "
            f"dislab fit --config factorvae --config {file or 'FILE'}, in a study file config: "
            f"[factorvae, {file or 'FILE'}]"
        )
    hint = suggestion(setting.rpartition(".")[2], _entries(setting, file))
    return f"no class is named{hint}; give its class_path too{_listing(setting)}"


def _entries(setting: str, file: str) -> list[str]:
    """The parts that a configuration names in the mapping of a setting such as that of penalties.

    Args:
        setting: Dotted name of a part, whose last word is its name in the mapping.
        file: The configuration, a name or a path.
    """
    *sections, name = setting.split(".")
    settings: Any = {}
    if file and sections and sections[-1] in NAMED_PARTS:
        with suppress(InputError, OSError):
            settings = read_mapping(configuration(file) or Path(file), "")
        for section in sections:
            inner = settings.get("init_args")
            settings = (inner if isinstance(inner, dict) else settings).get(section)
            if not isinstance(settings, dict):
                return []
    return [str(entry) for entry in settings if entry != name]


def _no_specification(value: str, setting: str) -> str:
    return (
        f"expected the name of a class, or its class_path and init_args; got {value!r}"
        f"{_listing(setting)}"
    )


def _listing(setting: str) -> str:
    """The parts that can be named at a place, as the end of a message."""
    if (group := group_of(setting)) is None:
        return ""
    return f"; available {group}: {', '.join(plugin.name for plugin in available(group))}"


def unknown_class(name: str, setting: str) -> str:
    """Message for a class that does not exist, with the classes that do.

    Args:
        name: Its name.
        setting: Dotted name of the setting that takes a class.
    """
    if (kind := setting.rpartition(".")[2]) in OF_TORCH:
        what, home, example = OF_TORCH[kind]
        classes = inspect.getmembers(import_module(home), inspect.isclass)
        nearest = suggestion(name.rpartition(".")[2], [cls for cls, _ in classes])
        return f"no {what} is named {name}{nearest}; it is a class of {home}, such as {example}"
    group = group_of(setting)
    groups = [group] if group else list(GROUPS)
    names = [plugin.name for each in groups for plugin in available(each)]
    if group and name in names:  # declared, and yet no choice
        return _unusable(group, name)
    listing = f"available {group}: {', '.join(names)}" if group else "`dislab plugins` lists them"
    if group == "callbacks":
        listing += ", and classes of lightning.pytorch.callbacks by their whole names"
        module = "lightning.pytorch.callbacks"
        names += [f"{module}.{cls}" for cls in import_module(module).__all__]
        name = name if "." in name or name in names else f"{module}.{name}"
    if missing := missing_package(name):
        return f"{name} is named, {missing}"
    if fault := _broken(name):
        return fault
    if described := _described_elsewhere(name, is_method="objectives" in groups):
        return f"{described}; {listing}" if group else described
    warn_of_faults(groups)
    hint = hint_for(name, names) or (_method_hint(name) if "objectives" in groups else "")
    return f"no part is named {name}{hint}; {listing}"


def _described_elsewhere(name: str, is_method: bool) -> str:
    """Where a part of another group, or a method that is a configuration, is described."""
    for group in GROUPS:
        if any(plugin.name == name for plugin in available(group)):
            return f"{name} is one of the {group}; `dislab help {name}` describes it"
    wanted = letters(name)
    if is_method and wanted in configurations():
        return (
            f"{name} is not a class but a configuration, which `dislab configs show {wanted}` "
            f"shows; name it by --config {wanted}, and put changes behind it"
        )
    return ""


def _method_hint(name: str) -> str:
    """A hint at the configuration of a method whose name is misspelt."""
    return suggestion(
        letters(name), (), {c: f"--config {c}" for c in configurations() if "/" not in c}
    )


def _broken(name: str) -> str:
    """Why the part of a name cannot be imported; empty if it can, or if there is none."""
    for group in GROUPS:
        if any(plugin.name == name for plugin in available(group)):
            try:
                load(group, name)
            except InputError as error:
                return str(error)
    return ""


def _unusable(group: str, name: str) -> str:
    """Why a declared part cannot be chosen."""
    try:
        fault = foreign_base(group, load(group, name))
    except InputError as error:
        return str(error)
    return f"{fault}, so that it cannot be one of the {group}"


def _denied(name: str, setting: str) -> str:
    if missing := missing_package(name):
        return f"{name} is named, {missing}"
    return (
        f"{name} may not be named; parts are classes of dislab, torch, lightning and installed "
        f"plugins{_listing(setting)}"
    )


def _unknown_option(name: str, class_path: str, setting: str) -> str:
    name = name.removesuffix(".help")
    module, _, attribute = class_path.rpartition(".")
    if attribute == "Optimizer":  # the base class, which the parser takes where none is named
        return "no class is named; give its class_path too, such as torch.optim.Adam"
    try:
        parameters = _parameters(getattr(import_module(module), attribute))
    except (ImportError, AttributeError, ValueError):
        return f"no setting is named {name!r}"
    group = group_of(setting)
    count = getattr(base_of(group), "filled_in", 0) if group else 0
    if setting.endswith(("optimizer", "scheduler")):
        count = 1
    if group and name in parameters[:count]:
        example = next(part.name for part in available(group) if part.distribution == "dislab")
        first = _parameters(load(group, example))[:count]
        if name not in first:
            return (
                f"{attribute}.__init__ takes {', '.join(parameters)}; it must take "
                f"{' and '.join(first)} before settings of its own, as {example} does"
            )
    names = [parameter for parameter in parameters[count:] if parameter not in LINKED]
    if not names:  # a base class, which the parser takes where none is named
        return _no_class(setting)
    word = name.partition(".")[0]
    misspells_a_mapping = ".init_args" in name and word not in names
    elsewhere = "" if misspells_a_mapping else ELSEWHERE.get(name.rpartition(".")[2], "")
    if elsewhere.startswith(f"{setting}.") and elsewhere != f"{setting}.{name}":
        return f"{attribute} has no setting {name!r}; use --{elsewhere}"
    there = {f"--{setting}.{parameter}" for parameter in names}
    others = {
        other: option
        for other, option in _others(setting).items()
        if option in there or option.rpartition(".")[0] != f"--{setting}"
    }
    mapping = setting.rpartition(".")[0]  # whose other parts may have the setting
    beside = _others(mapping).items() if mapping.endswith(NAMED_PARTS) else ()
    hint = suggestion(word, names, others) or suggestion(
        word, (), {other: key for other, key in beside if not key.startswith(f"--{setting}.")}
    )
    shown = word if misspells_a_mapping else name.replace(".init_args", "")
    return f"{attribute} has no setting {shown!r}{hint}; it has {', '.join(names)}"


def filled_in(name: str, setting: str) -> list[str]:
    """The leading arguments of a part that its owner fills in.

    Args:
        name: Name of the class, with or without its module.
        setting: Dotted name of the setting that takes it.
    """
    from dislab.naming.classes import find_object

    group = group_of(setting) or ""
    base = base_of(group)
    return _parameters(find_object(name, (base,)) or base)[: getattr(base, "filled_in", 0)]


def _parameters(cls: Any) -> list[str]:
    """Names of a class's arguments, including those that it passes to its bases."""
    parameters = inspect.signature(cls).parameters.values()
    names = [
        parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD
    ]
    if len(names) < len(parameters) and isinstance(cls, type):
        names += [parameter for parameter in _parameters(cls.__base__) if parameter not in names]
    return names


def _unknown_key(written: str, top_level: Sequence[str]) -> str:
    section, _, setting = written.partition("=")[0].partition(".")
    inside = [key.partition(".")[2] for key in top_level if key.startswith(f"{section}.")]
    if inside and setting == "help":
        return f"`dislab fit --help {section}` lists the settings of {section}"
    if inside and setting:
        other = ELSEWHERE.get(setting, "").removeprefix(f"{section}.")
        hint = _OF_OTHER_VERSIONS.get(setting) or (f"; use {other}" if other in inside else "")
        hint = hint or suggestion(setting, inside, _others(section))
        if not hint:
            listed = f"`dislab fit --help {section}` lists its settings"
            hint = f"; {listed if len(inside) > _MANY else 'it has ' + ', '.join(inside)}"
        return f"{section} has no setting {setting!r}{hint}"
    sections = list(dict.fromkeys(key.partition(".")[0] for key in top_level))
    fault = f"no setting at the top level is named {section!r}"
    if elsewhere := _elsewhere(section, top_level):
        options = " or ".join(f"--{key}{setting and '.'}{setting}" for key in elsewhere)
        return f"{fault}; use {options}"
    if section in _OF_STUDIES:
        return f"{fault}; this is the file of a study: dislab study run FILE"
    others = {} if setting else _others(*sections)
    nearest = suggestion(section, [*sections, "config", "print_config", "help"], others)
    if nearest:
        return f"{fault}{nearest}"
    return f"{fault}; the settings are {', '.join(sections)}"


def _others(*sections: str) -> dict[str, str]:
    """The options of settings of sections, by the names that other programs give the settings."""
    beginnings = tuple(f"{section}." for section in sections)
    return {name: f"--{key}" for name, key in ELSEWHERE.items() if f"{key}.".startswith(beginnings)}


def _elsewhere(name: str, top_level: Sequence[str]) -> list[str]:
    """The settings of sections that have a name, or its meaning in other programs."""
    name = name.lower().replace("-", "_")
    if (key := ELSEWHERE.get(name)) and key.partition(".")[0] in {"data", "model", *top_level}:
        return [key]
    return [key for key in _inner(top_level) if key.rpartition(".")[2] == name][:3]


def _inner(top_level: Sequence[str]) -> list[str]:
    """Dotted settings: those of the parser, of a VAE and of single images."""
    usual = {"model": load("objectives", "VAE"), "data": load("datamodules", "SingleData")}
    parts = [
        f"{section}.{name}"
        for section, cls in usual.items()
        if section in top_level
        for name in _parameters(cls)
        if name not in LINKED
    ]
    return parts + [key for key in top_level if "." in key]


def _class_in_need(message: str, match: re.Match[str]) -> str:
    """The class that lacks required settings: that of the line above, or else of the value."""
    above = _ABOVE.search(message[: match.start()])
    classes = [above[1]] if above else _CLASS.findall(message[match.end() :])
    return classes[0].rpartition(".")[2] if classes else ""


def _required(names: str, setting: str, command: str, cls: str) -> str:
    keys = [name.strip().rpartition(".")[2] for name in names.split(",")]
    if setting:
        option = f"{setting}.NAME" if setting.endswith(NAMED_PARTS) else setting
        needs = f"{cls or 'the part'} needs {', '.join(keys)}"
        give = "give it by" if len(keys) == 1 else "give each like"
        return f"{setting}: {needs}; {give} --{option}.{keys[0]} VALUE, or in init_args of a file"
    missing = " and ".join(keys)
    if command != "fit":
        return f"{missing} must be given; name a run, such as --run runs/betavae/version_0"
    return (
        f"{missing} must be given; start from a configuration such as --config betavae, which "
        "`dislab configs list` lists"
    )


def _type(text: str) -> str:
    text = re.sub(r"<class '(?:[\w.]*\.)?(\w+)'>", r"\1", text).replace("typing.", "")
    if choices := _choices(text):
        return f"one of {', '.join(choices)}"
    return TYPE_NAMES.get(text, text)


def _none_of(leaves: Sequence[str], message: str) -> str | None:
    """Message for a value that fits no type of a union; None if it has another fault."""
    expected = [match[1] for leaf in leaves if (match := _EXPECTED.fullmatch(leaf))]
    given = _GIVEN_VALUE.search(message)
    if len(expected) < len(leaves) or given is None:
        return None
    value = _NESTED.sub(r"\1", given[1])
    choices = list(dict.fromkeys(choice for text in expected for choice in _choices(text)))
    kinds = [_type(text) for text in expected if not _choices(text)]
    if choices:
        kinds.append(choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}")
    nearest = suggestion(value.strip("'"), choices)
    return f"expected {', or '.join(dict.fromkeys(kinds))}; got {value!r}{nearest}"


def _choices(text: str) -> list[str]:
    """The values of a `Literal` in a message of jsonargparse; none of another type."""
    text = text.removeprefix("typing.")
    if not text.startswith("Literal["):
        return []
    return text[len("Literal[") : -1].replace("'", "").split(", ")


def group_of(setting: str) -> str | None:
    """The group of the parts that a setting such as `model.encoder` takes; None for no part.

    Args:
        setting: Dotted name of the setting.
    """
    keys = setting.split(".")
    if keys[-1] in _GROUP_OF:
        return _GROUP_OF[keys[-1]]
    for key in reversed(keys):
        for group in GROUPS:
            if key in (group, group.removesuffix("s")):
                return group
    return None


_Built = TypeVar("_Built")


class _Constructors:
    """Calls classes for a parser, and keeps the last message of a constructor that failed.

    The parser itself drops the error of a class in a list or in a choice of types.
    """

    message: str | None = None

    def __call__(self, cls: type, *args: Any, **settings: Any) -> Any:
        from dislab.base.failures import failure, message_of

        try:
            return cls(*args, **settings)
        except Exception as error:  # a class may reject its settings with any error
            if isinstance(error, InputError):
                self.message = str(error)
            else:
                parameters = inspect.signature(cls).parameters
                chosen = [
                    f"{name}={value!r:.60}"
                    for name, value in settings.items()
                    if name not in parameters or value is not parameters[name].default
                ]
                self.message = failure(error, with_dislab=True) or (
                    f"{cls.__name__} cannot be made with {', '.join(chosen) or 'no settings'}: "
                    f"{message_of(error)}"
                )
            raise


def built(build: Callable[[], _Built], parser: "ArgumentParser | None" = None) -> _Built:
    """Builds and returns parts, whose constructors check their settings.

    Args:
        build: Builds them.
        parser: The parser that calls the constructors, if one does.

    Raises:
        InputError: A part rejects its settings.
    """
    from dislab.base.failures import failure

    constructors = _Constructors()
    if parser:
        parser.add_instantiator(constructors, object)
    try:
        return build()
    except InputError:
        raise
    except Exception as error:  # a part may reject its settings with any error
        message = constructors.message or failure(error, with_dislab=True)
        if message is None and isinstance(error, ValueError):
            message = explain(str(error))
        if message is None:
            raise
        raise InputError(message) from error
