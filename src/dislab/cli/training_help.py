"""Help of the training commands: the common options, a section of the settings, or all settings."""

import inspect
import re
from collections.abc import Iterable, Sequence
from textwrap import fill, wrap
from typing import Any, Final

from dislab.cli.arguments import help_page, help_width
from dislab.cli.lightning_texts import TEXTS, TITLES
from dislab.cli.messages import LINKED, NAMED_PARTS, TYPE_NAMES
from dislab.cli.part_help import SECTION_CLASSES
from dislab.errors import InputError, suggestion
from dislab.naming.classes import find_object
from dislab.plugins import GROUPS, available, configurations
from dislab.storage import text_table

ALL: Final = "all"
"""Name that stands for all sections in `--help`."""

COMMON: Final = {
    "Run": {
        "config NAME": "a file, or a name of `dislab configs list`; later ones override",
        "name NAME": "of the folder runs/NAME/version_N",
        "seed_everything SEED": "of all that is random; true draws one",
        "resume RUN": "go on training in the folder of a run",
        "run RUN": "a run: its best checkpoint by checkpoint.monitor, else the last",
        "print_config": "print all settings and end",
    },
    "Method and data": {
        "model CLASS": "the method; --model.help CLASS explains it",
        "model.latent_dim N": "number of latents",
        "model.regularizers.kl.beta X": "a weight: NAME.SETTING of a regularizer",
        "data CLASS": "the data module; see --data.help CLASS",
        "data.dataset CLASS": "the data set, such as Shapes3D; --data.dataset.help lists all",
        "data.batch_size N": "images of a training step",
    },
    "Training": {
        "trainer.max_steps STEPS": "optimiser steps; with -1, 1000 epochs",
        "trainer.max_time TIME": "end by the clock: days:hours:min:sec",
        "trainer.accelerator NAME": "auto, cpu or gpu",
        "trainer.precision NAME": "32-true or bf16-mixed",
        "trainer.val_check_interval N": "steps between validations, or share of an epoch",
    },
    "Results": {
        "then_test BOOL": "after training, score the model",
        "evaluate.points N": "how many images are scored",
        "pictures BOOL": "draw pictures",
        "logger NAME": "tensorboard, wandb, mlflow, csv or none; others by --trainer.logger",
        "report BOOL": "write the page of the run",
    },
}
"""The options that most runs need, by heading."""
_OF_TRAINING: Final = frozenset(
    {
        "trainer.max_steps STEPS",
        "trainer.max_time TIME",
        "trainer.val_check_interval N",
        "then_test BOOL",
    }
)
"""Those that change nothing without training."""

_ENTRY: Final = re.compile(r"^ {2,4}-.*\n(?: {6,}.*\n?)*", re.MULTILINE)
"""An option of a help text, with the lines that explain it."""
_TYPE: Final = re.compile(
    r" *\((?P<required>required, )?type: (?P<type>.*?)(?:, default: (?P<default>.*?))?"
    r"(?:, known subclasses: (?P<classes>.*))?\)$"
)
_MARKED: Final = re.compile(r"(?::\w+:)?`+~?(?:lightning\.\w[\w.]*\.)?([^`]+)`+")
_LISTED: Final = re.compile(r"^( |[-*] )", re.MULTILINE)
"""Matches a paragraph whose lines stay as they are."""
_CLASS_PATH: Final = re.compile(r"\{'class_path': '(?:[\w.]+\.)?(\w+)'\}")
_DEFAULT: Final = re.compile(r" *Default: ``([^`]*)``\.")
_BASE: Final = re.compile(r"^Help for --(\S+)\.help=dislab\.base\.(\w+)$", re.MULTILINE)
_CLASS: Final = re.compile(r"^Help for (--\S+)\.help=(\S+)$", re.MULTILINE)
_LINKS: Final = re.compile(r"^Linked arguments:\n(?:.+\n)*\n?", re.MULTILINE)
_SETTINGS: Final = "A file with the settings of this section."
_SUBCLASS: Final = re.compile(r"One or more arguments specifying|Show the help for the given")
_OTHERS: Final = ("torch", "lightning")
"""Packages whose docstrings are too long for a terminal."""
_AFTER_PROSE: Final = re.compile(r"\n\n(?:Args|Raises|Examples?|Returns|Attributes|Warns):\n")
_GENERAL: Final = ("general", "Settings of every run, in no section")
"""Name and title of the settings that lie in no section."""
_INDENT: Final = 24
_BOOLS: Final = ("True", "False")
_HEADING: Final = re.compile(r"^(\S.*):$", re.MULTILINE)


def requested(args: Sequence[str]) -> tuple[str | None, list[str]]:
    """The section given after `--help` (empty for the common options), and the other arguments."""
    others = list(args)
    for flag in ("--help", "-h"):
        if flag in others:
            index = others.index(flag) + 1
            following = others[index : index + 1]
            if following and not following[0].startswith("-"):
                return others.pop(index), others
            return "", others
    return None, others


def help_text(command: str, description: str, full: str, section: str) -> str:
    """Help text with the common options, the settings of a section, or all settings.

    Args:
        command: The command.
        description: A sentence on the command.
        full: The full help of the command.
        section: Name of the section; empty for the common options, `ALL` for everything.

    Raises:
        InputError: No section has the name.
    """
    full = without_types(full).replace("\noptions:\n", "\nOptions:\n")
    full = _HEADING.sub(lambda match: f"{TITLES.get(match[1], match[1])}:", _LINKS.sub("", full))
    usage = _usage(command)
    if section == ALL:
        lines = wrap(f"usage: {usage}", help_width(), subsequent_indent="  ")
        return "\n".join([*lines, *full.splitlines()[1:], ""])
    sections = _sections(full)
    if not section:
        return _common(command, description, sections, full)
    if section not in sections:
        names = [*sections, ALL]
        if (whole := section.partition(".")[0]) in sections:
            raise InputError(
                f"{section} is a setting, and --help takes a section; `dislab {command} --help "
                f"{whole}` describes the settings of {whole}"
            )
        raise InputError(
            f"no section of the settings is named {section!r}{suggestion(section, names)}; "
            f"choose one of {', '.join(names)}"
        )
    title, text = sections[section]
    end = ""
    if name := SECTION_CLASSES.get(section):
        end = fill(
            f"The class decides about the settings: `dislab {command} --{section}.help {name}` "
            f"lists those of {name}, `dislab {command} --{section}.help` the classes.",
            help_width(),
        )
    return "\n\n".join(filter(None, [f"{section}: {title}", text.rstrip(), end])) + "\n"


def _sections(full: str) -> dict[str, tuple[str, str]]:
    """Title and text of each section, by the prefix of its options."""
    pieces = _HEADING.split(full)[1:]
    sections: dict[str, tuple[str, str]] = {}
    for title, text in zip(pieces[::2], pieces[1::2], strict=True):
        first = re.search(r"^ +--(\w+)[. ]", text, re.MULTILINE)
        hidden = title in ("options", "Linked arguments") or (first and first[1] == "ckpt_path")
        name, title = _GENERAL if title == "Options" else (first and first[1], title)
        if name and not hidden and name not in sections:
            sections[name] = (title, text.strip("\n"))
    return sections


def _common(command: str, description: str, sections: Iterable[str], full: str) -> str:
    fits = command == "fit"
    other = "run RUN" if fits else "resume RUN"
    groups = {
        "Machine" if heading == "Training" and not fits else heading: [
            (f"--{option}", text + _default(option, full))
            for option, text in options.items()
            if option != other and (fits or option not in _OF_TRAINING)
        ]
        for heading, options in COMMON.items()
    }
    example = (
        "--config factorvae --config quick"
        if command == "fit"
        else "--run runs/factorvae/version_0"
    )
    return help_page(
        _usage(command),
        description,
        groups,
        f"dislab {command} {example}",
        f"Defaults are in brackets. Sections of the settings: {', '.join(sections)}. "
        f"`dislab {command} --help SECTION` lists the settings of one, `--help {ALL}` every "
        "setting.",
    )


def _usage(command: str) -> str:
    first = "--config FILE" if command == "fit" else "--run RUN | --config FILE"
    return f"dislab {command} {first} [--config FILE …] [--SETTING VALUE …]"


def _default(option: str, full: str) -> str:
    """The default of an option in the full help, as the end of its text; empty for null."""
    name = re.escape(option.split()[0])
    entry = re.search(rf"^ +--{name} .*\n(?: {{6,}}.*\n)*", full, re.MULTILINE)
    default = re.search(r"default: ([^;)]+)", " ".join(entry[0].split())) if entry else None
    value = default[1] if default else "null"
    return "" if value == "null" else f" ({value.lower() if value in _BOOLS else value})"


def settings_text(full: str) -> str:
    """Help on the settings of one class, or the names of all classes of a group for its base."""
    if (match := _BASE.search(full)) and (group := f"{match[2].lower()}s") in GROUPS:
        rows = text_table((f"  {plugin.name}", plugin.summary) for plugin in available(group))
        return "\n".join([f"{group}:", *rows, "", f"--{match[1]}.help NAME explains one."]) + "\n"
    if not (match := _CLASS.search(full)):
        return without_types(full)
    option, path = match.groups()
    cls, name = find_object(path), path.rpartition(".")[2]
    settings = class_settings(cls, full[match.end() :])
    recipe = re.sub(r"\W", "", name).lower()
    end = (
        f"`dislab configs show {recipe}` shows its recipe.\n" if recipe in configurations() else ""
    )
    written = path if path.partition(".")[0] in _OTHERS else name
    return "\n\n".join(filter(None, [f"{name}: {option} {written}", settings, end])).rstrip() + "\n"


def class_settings(cls: Any, full: str) -> str:
    """What a class says of itself, and help on its settings, under headings.

    Args:
        cls: The class.
        full: jsonargparse's help on its settings, which has the first line of its docstring as
            heading.
    """
    text = without_types(full).strip("\n")
    if cls is None or str(cls.__module__).partition(".")[0] in _OTHERS:
        return _HEADING.sub(r"\1.", text, count=1)
    doc = inspect.getdoc(cls) or ""
    first = doc.partition("\n")[0].rstrip(".")
    text = re.sub(rf"^{re.escape(first)}:$", "Settings:", text, flags=re.MULTILINE)
    prose = _AFTER_PROSE.split(f"{doc}\n")[0].strip()
    paragraphs = [
        part if _LISTED.search(part) else fill(" ".join(part.split()), help_width())
        for part in prose.split("\n\n")
    ]
    return "\n\n".join([*paragraphs, text or "It has no settings."])


def without_types(text: str) -> str:
    """A help text with types in words, and without help on classes inside other classes."""
    return _ENTRY.sub(lambda entry: _entry_without_types(entry[0]), text)


def _entry_without_types(entry: str) -> str:
    first, _, continuation = entry.partition("\n")
    option, _, start = first.strip().partition("  ")
    option = option.partition(", --")[0] if option.startswith("--") else option
    name = option.removeprefix("-c CONFIG, ").split(" ")[0]
    if (name.endswith(".help") and name.count(".") > 1) or name.rpartition(".")[2] in LINKED:
        return ""
    text = " ".join(f"{start} {continuation}".split())
    if _SUBCLASS.match(text):
        option, text = _of_class(name, text)
    if match := _TYPE.search(text):
        text, default = _plain(text[: match.start()], match["default"] or "")
        text = TEXTS.get(name, text)
        required = "required" if match["required"] else ""
        default = f"default: {default}" if default else ""
        choices = _choices(match["classes"] or "")
        if choices and name.rpartition(".")[2] in NAMED_PARTS:
            choices = f"names of your own, each with {choices}"
        notes = [required, _kind(match["type"]), default, choices]
        summary = "; ".join(filter(None, notes))
        text = f"{text} ({summary})" if summary else text
    elif text == "Path to a configuration file.":
        text = _SETTINGS
    else:
        text = TEXTS.get(name, text)
    indent = " " * _INDENT
    lines = fill(
        text.strip(),
        help_width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"  {option}\n{lines}\n"


def _of_class(name: str, text: str) -> tuple[str, str]:
    """Option and text of a setting that takes a class, or of help on it."""
    types = _TYPE.search(text)
    if name.endswith(".help"):
        return f"{name} [CLASS]", "Explain a class; without its name, list all."
    explained = f"A class by its name, or a file of settings; its own settings are {name}.SETTING."
    return f"{name} CLASS", explained + (types[0] if types else "")


def _plain(text: str, default: str) -> tuple[str, str]:
    """A docstring without marks of reStructuredText, and the default that it tells for null."""
    described = _DEFAULT.search(text)
    if described and default == "null":
        default = described[1].strip("'\"").replace("None", "null")
    default = default.lower() if default in _BOOLS else default
    if _CLASS_PATH.search(default):  # parts by name
        default = _CLASS_PATH.sub(r"\1", default).replace("'", "").strip("{}")
    return _MARKED.sub(r"\1", _DEFAULT.sub("", text)).strip(), default


def _kind(annotation: str) -> str:
    """A type in words; empty for a type that only programmers know."""
    inner = re.fullmatch(r"Optional\[(\w+)\]|Union\[(\w+), (?:null|None)\]", annotation)
    name = next(filter(None, inner.groups())) if inner else annotation
    words = TYPE_NAMES.get(name, "")
    return f"{words} or null" if words and inner else words


def _choices(classes: str) -> str:
    """The classes that an option takes, by the names that a configuration gives them."""
    names = [name for name in classes.split(", ") if name]
    if not names:
        return ""
    if names[0].startswith(("torch.", "lightning.")):
        return f"a class of {names[0].rpartition('.')[0]}"
    return f"one of {', '.join(name.rpartition('.')[2] for name in names)}"
