"""Help of the training commands: the common options, a section of the settings, or all settings."""

import re
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Final

from dislab.cli.arguments import help_page, help_width
from dislab.cli.messages import LINKED, TYPE_NAMES
from dislab.errors import InputError, suggestion
from dislab.plugins import GROUPS, available
from dislab.storage import text_table

ALL: Final = "all"
"""Name that stands for all sections in `--help`."""

COMMON: Final = {
    "Configuration": {
        "config FILE": "a configuration; several may be given, later ones override",
        "print_config": "print the complete configuration and end",
        "model.help CLASS": "the settings of a method, such as VAE",
        "data.help CLASS": "the settings of a data module, such as SingleData",
    },
    "Run": {
        "name NAME": "of the run's folder, RUNS/NAME/version_N",
        "runs RUNS": "folder of all runs",
        "seed_everything SEED": "seed of weights, batches and noise",
        "resume RUN": "go on training in the folder of a run",
        "run RUN": "use the settings and the last checkpoint of a run",
    },
    "Method and data": {
        "model CLASS": "the method; --model.latent_dim 10 sets one of its settings",
        "model.regularizers.kl.beta VALUE": "a weight: NAME.SETTING of a regularizer",
        "data CLASS": "the data module; --data.batch_size 64 sets one of its settings",
        "data.dataset CLASS": "the data set, as in --data.dataset Shapes3D",
    },
    "Training": {
        "trainer.max_steps STEPS": "optimiser steps",
        "trainer.max_time TIME": "ends training by the clock, as in 00:12:00:00",
        "trainer.accelerator NAME": "auto, cpu or gpu",
        "trainer.devices NUMBER": "how many of them",
        "trainer.precision NAME": "32-true or bf16-mixed, for example",
        "trainer.val_check_interval STEPS": "between two validations",
        "checkpoint.every_n_train_steps STEPS": "between two checkpoints",
    },
    "Results": {
        "then_test BOOL": "after training, score the model",
        "evaluate.points NUMBER": "how many images are scored",
        "pictures BOOL": "draw pictures",
        "logger NAME": "tensorboard, wandb, mlflow, csv or none",
        "report BOOL": "write the page of the run",
    },
}
"""The options that most runs need, by heading."""

_ENTRY: Final = re.compile(r"^ {2,4}-.*\n(?: {6,}.*\n?)*", re.MULTILINE)
"""An option of a help text, with the lines that explain it."""
_TYPE: Final = re.compile(
    r" *\((?P<required>required, )?type: (?P<type>.*?)(?:, default: (?P<default>.*?))?"
    r"(?:, known subclasses: (?P<classes>.*))?\)$"
)
_BASE: Final = re.compile(r"^Help for --(\S+)\.help=dislab\.base\.(\w+)$", re.MULTILINE)
_INDENT: Final = 24
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
    full = without_types(full)
    if section == ALL:
        return full
    sections = _sections(full)
    if not section:
        return _common(command, description, sections)
    if section not in sections:
        names = [*sections, ALL]
        raise InputError(
            f"no section of the settings is named {section!r}{suggestion(section, names)}; "
            f"choose one of {', '.join(names)}"
        )
    title, text = sections[section]
    return f"{section}: {title}\n\n{text.rstrip()}\n"


def _sections(full: str) -> dict[str, tuple[str, str]]:
    """Title and text of each section, by the prefix of its options."""
    pieces = _HEADING.split(full)[1:]
    sections: dict[str, tuple[str, str]] = {}
    for title, text in zip(pieces[::2], pieces[1::2], strict=True):
        first = re.search(r"^ +--(\w+)[. ]", text, re.MULTILINE)
        hidden = title in ("options", "Linked arguments") or (first and first[1] == "ckpt_path")
        if first and not hidden and first[1] not in sections:
            sections[first[1]] = (title, text.strip("\n"))
    return sections


def _common(command: str, description: str, sections: Iterable[str]) -> str:
    fits = command == "fit"
    other = "run RUN" if fits else "resume RUN"
    groups = {
        heading: [(f"--{option}", text) for option, text in options.items() if option != other]
        for heading, options in COMMON.items()
    }
    example = (
        "--config factorvae --config quick"
        if command == "fit"
        else "--run runs/factorvae/version_0"
    )
    return help_page(
        f"dislab {command} --config FILE [--config FILE …] [--SETTING VALUE …]",
        description,
        groups,
        f"dislab {command} {example}",
        f"Sections of the settings: {', '.join(sections)}. `dislab {command} --help SECTION` lists "
        f"the settings of one, `--help {ALL}` every setting.",
    )


def settings_text(full: str) -> str:
    """Help on the settings of one class, or the names of all classes of a group for its base."""
    if (match := _BASE.search(full)) and (group := f"{match[2].lower()}s") in GROUPS:
        rows = text_table((f"  {plugin.name}", plugin.summary) for plugin in available(group))
        return "\n".join([f"{group}:", *rows, "", f"--{match[1]}.help NAME explains one."]) + "\n"
    _, heading, settings = full.partition("Help for ")
    return without_types(f"Help for {settings}" if heading else full)


def without_types(text: str) -> str:
    """A help text with types in words, and without help on classes inside other classes."""
    return _ENTRY.sub(lambda entry: _entry_without_types(entry[0]), text)


def _entry_without_types(entry: str) -> str:
    first, _, continuation = entry.partition("\n")
    option, _, start = first.strip().partition("  ")
    name = option.split(" ")[0]
    if (name.endswith(".help") and name.count(".") > 1) or name.rpartition(".")[2] in LINKED:
        return ""
    text = " ".join(f"{start} {continuation}".split())
    match = _TYPE.search(text)
    if match is None:
        return entry
    required = "required" if match["required"] else ""
    default = f"default: {match['default']}" if match["default"] else ""
    notes = [required, _kind(match["type"]), default, _choices(match["classes"] or "")]
    summary = "; ".join(filter(None, notes))
    explained = f"{text[: match.start()]} ({summary})" if summary else text[: match.start()]
    indent = " " * _INDENT
    lines = fill(explained.strip(), help_width(), initial_indent=indent, subsequent_indent=indent)
    return f"  {option}\n{lines}\n"


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
