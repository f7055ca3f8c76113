"""The parser of commands, the form of their help, and the option that many of them share."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, takewhile
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, Final, NoReturn

from dislab.errors import InputError, suggestion
from dislab.yaml_files import CONFIG, PLAN, is_yaml, no_run, runs_below

_WIDEST: Final = 100
_NARROWEST: Final = 40
_COLUMN: Final = 0.4
"""Largest share of the width that names of options take; texts of longer ones begin below them."""
OF_TARGET: Final = (
    "such as score.mig; DCI disentanglement unless given, as it asks whether each latent carries "
    "one factor, or else the first score of the study"
)
"""Help of `--target`, the score that tables, pictures and best runs of a study are about."""

Rows = Sequence[tuple[str, str]]
"""Names of options with their explanations."""


def help_width() -> int:
    """Width of help texts: that of the terminal, or of COLUMNS, up to 100."""
    return max(_NARROWEST, min(_WIDEST, get_terminal_size((_WIDEST, 24)).columns))


def help_page(
    usage: str, description: str, groups: Mapping[str, Rows], example: str, end: str = ""
) -> str:
    """The help of a command: usage, description, options in groups, an example.

    Args:
        usage: The command with its arguments.
        description: Paragraphs; lines that begin with a space stay as they are.
        groups: Options by heading.
        example: A command to try.
        end: A paragraph before the example; that of a command with verbs names their help.
    """
    command, verb, _ = usage.partition(" VERB")
    end = end or (f"`{command} VERB --help` explains a verb." if verb else "")
    width, rows = help_width(), [row for group in groups.values() for row in group]
    longest = max((len(name) for name, _ in rows), default=0)
    column = min(longest, int(width * _COLUMN)) + 4
    blocks = ["\n".join(wrap(f"usage: {usage}", width, subsequent_indent="  "))]
    blocks += [_paragraph(text, width) for text in description.split("\n\n")]
    for title, group in groups.items():
        lines = [line for row in group for line in _row(*row, column, width)]
        blocks.append("\n".join([f"{title}:", *lines]))
    lines = wrap(example, width - 12, break_long_words=False, break_on_hyphens=False)
    blocks += [
        _paragraph(end, width),
        "Example:  " + " \\\n            ".join(lines) if lines else "",
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _paragraph(text: str, width: int) -> str:
    lines = text.strip("\n").split("\n")
    if any(line.startswith(" ") for line in lines):
        return "\n".join(lines)
    return "\n".join(wrap(" ".join(lines), width, break_on_hyphens=False))


def _row(name: str, text: str, column: int, width: int) -> list[str]:
    lines = [f"{'':{column}}{line}" for line in wrap(text, width - column, break_on_hyphens=False)]
    if len(name) + 4 > column or not lines:
        return [f"  {name}", *lines]
    return [f"  {name:{column - 2}}{lines[0].lstrip()}", *lines[1:]]


_CHOICE: Final = re.compile(r"argument (.+?): invalid choice: '(.*)' \(choose from (.*)\)")
_NUMBER: Final = re.compile(r"argument (.+?): invalid (int|float) value: '(.*)'")
TOO_FEW: Final = re.compile(r"argument ([^:]+): expected .*arguments?$")
_MISSING: Final = re.compile(r"the following arguments are required: (.*)")
_REFUSED: Final = re.compile(r"argument ([^:]+): (.*)", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unrecognized arguments: (-\S+)")
_SUPERFLUOUS: Final = re.compile(r"unrecognized arguments: (.*)")


class Parser(argparse.ArgumentParser):
    """A parser that takes whole options only, and reports an error without the usage text.

    Args:
        args: Arguments of argparse's parser.
        example: A command to try, for the end of the help.
        settings: Further arguments of argparse's parser.
    """

    def __init__(self, *args: Any, example: str = "", **settings: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **settings})
        self.example = example
        self._given: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parses arguments, and checks the seeds and the paths of any command.

        Args:
            args: Arguments; those of the program unless given.
            namespace: Object that receives the values; a new one unless given.

        Returns:
            The values, and arguments that no option takes.

        Raises:
            InputError: A seed is negative or too large, or a run does not exist.
        """
        self._given = sys.argv[1:] if args is None else list(args)
        options, others = super().parse_known_args(args, namespace)
        for action in self._actions if others else ():
            if isinstance(action, argparse._SubParsersAction):  # the verb says it, with its help
                action.choices[getattr(options, action.dest)].error(
                    f"unrecognized arguments: {' '.join(others)}"
                )
        seeds = getattr(options, "seed", None)
        for seed in seeds if isinstance(seeds, list) else [seeds]:
            if isinstance(seed, int):
                from dislab.functional.checks import check_count  # imports numpy

                check_count("--seed", seed, 0)
        # an unknown option is named before a missing path
        for action in () if others else self._actions:
            if isinstance(action, Existing):
                action.check(getattr(options, action.dest))
        return options, others

    def format_help(self) -> str:
        """Formats the help: arguments and options in groups, and an example."""
        verbs = any(isinstance(action, argparse._SubParsersAction) for action in self._actions)
        titles = {"positional arguments": "Verbs" if verbs else "Arguments", "options": "Options"}
        groups = {
            titles.get(str(group.title), str(group.title)): [
                row for action in group._group_actions for row in _rows(action)
            ]
            for group in self._action_groups
        }
        return help_page(
            f"{self._shortest()} [options]",
            self.description or "",
            {title: rows for title, rows in groups.items() if rows},
            self.example,
            self.epilog or "",
        )

    def _shortest(self) -> str:
        """The command with the arguments that it needs."""
        words = [self.prog]
        words += [_named(action) for action in self._actions if not action.option_strings]
        words += [_named(action) for action in self._actions if _is_needed(action)]
        return " ".join(words)

    def error(self, message: str) -> NoReturn:
        """Raises the error as an `InputError`.

        Args:
            message: Message of argparse.

        Raises:
            InputError: Always.
        """
        if match := _CHOICE.match(message):
            names = match[3].replace("'", "").split(", ")
            message = (
                f"{match[1]} is {match[2]!r}{suggestion(match[2], names)}; choose one of "
                f"{', '.join(names)}"
            )
        elif match := _NUMBER.match(message):
            kind = "a whole number" if match[2] == "int" else "a number"
            message = f"{match[1]} is {match[3]!r}; it must be {kind}"
        elif match := TOO_FEW.match(message):
            action = self._option_string_actions.get(match[1].split("/")[0])
            message = (
                f"{match[1]} has too few values; write {_named(action) if action else match[1]}"
            )
        elif (match := _MISSING.match(message)) and (unknown := self._unknown()):
            message = self._no_option(unknown)
        elif match:
            shown = {action.dest: _named(action) for action in self._actions}
            names = [shown.get(name, name) for name in match[1].split(", ")]
            message = f"{' and '.join(names)} must be given; write {self._shortest()}"
        elif match := _REFUSED.match(message):
            # the message on an argument without an option begins with its value
            message = f"{match[1]}: {match[2]}" if match[1].startswith("-") else match[2]
        elif match := _UNKNOWN.match(message):
            message = self._no_option(match[1])
        elif match := _SUPERFLUOUS.match(message):
            message = f"{match[1]} is more than the command takes; leave it out"
        raise InputError(f"{message}; see {self.prog} --help")

    def _unknown(self) -> str:
        """The first of the given arguments that is an option of another name; empty for none."""
        names = self._option_string_actions
        for word in takewhile(lambda word: word != "--", self._given):
            if word.startswith("--") and word.partition("=")[0] not in names:
                return word
        return ""

    def _no_option(self, word: str) -> str:
        hint = suggestion(word.partition("=")[0], self._option_string_actions)
        return f"no option is named {word}{hint}"


def _is_needed(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.required


def _rows(action: argparse.Action) -> Rows:
    """The rows of an argument in the help: those of its commands, if it has any."""
    if isinstance(action, argparse._SubParsersAction):
        return [(str(command.dest), command.help or "") for command in action._choices_actions]
    if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
        return []
    text = explained = (action.help or "") % {**vars(action), "prog": ""}
    choices = [str(choice) for choice in action.choices or ()]
    if choices and not all(choice in text for choice in choices):
        text += f"; one of {', '.join(choices)}"
    default = action.default if isinstance(action.default, list) else [action.default]
    shown = " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in default)
    if shown not in ("", "None", "True", "False"):
        said = re.search(
            rf"\((?:default: )?{re.escape(shown)}\)|\b{re.escape(shown)} unless", explained
        )
        text += "" if said else f" (default: {shown})"
    return [(_named(action), text)]


def _named(action: argparse.Action) -> str:
    """An argument as it is written, with the name of its value."""
    if isinstance(action, argparse._SubParsersAction):
        return "VERB"
    metavar = action.metavar or action.dest.upper()
    value = " ".join(metavar) if isinstance(metavar, tuple) else str(metavar)
    value += {"+": " …", "*": " …"}.get(str(action.nargs), "")
    if not action.option_strings:
        return f"[{value}]" if action.nargs in ("*", "?") else value
    return action.option_strings[0] if action.nargs == 0 else f"{action.option_strings[0]} {value}"


class Existing(argparse.Action):
    """An argument of paths, by default of runs, which the parser refuses if they do not exist.

    Args:
        args: Arguments of argparse's action.
        refusal: Makes the error of a missing path.
        settings: Further arguments of argparse's action.
    """

    def __init__(
        self, *args: Any, refusal: Callable[[Path], InputError] = no_run, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._refusal = refusal

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keeps the paths."""
        setattr(namespace, self.dest, values)

    def check(self, values: Any) -> None:
        """Refuses paths that do not exist.

        Args:
            values: A path, several, or None.

        Raises:
            InputError: One of them does not exist.
        """
        for path in map(Path, values if isinstance(values, list) else [values] if values else []):
            if not path.exists():
                raise self._refusal(path)


def is_study(path: Path) -> bool:
    """Whether a path is a study file, and not that of a run's settings, or a study's folder."""
    is_file = path.is_file() and is_yaml(path) and path.name != CONFIG
    return (path / PLAN).is_file() or is_file


def runs_of(paths: Iterable[str | Path]) -> list[Path]:
    """The runs that paths name; a folder of runs stands for all of them.

    Runs of a study are in the order of its plan, those that the plan lacks last, and others in the
    order of the numbers in their names.

    Args:
        paths: Runs, folders of runs such as `runs`, or files and folders of studies.
    """
    from dislab.study.schedule import read_schedule
    from dislab.study.study import Study

    runs = []
    for given in map(Path, paths):
        path = Study(given).path if given.is_file() and is_study(given) else given
        below = [] if (path / CONFIG).is_file() else runs_below(path)
        for folder, members in groupby(below, lambda run: run.parent):
            found = list(members)
            with suppress(InputError):  # a folder of no study
                plan = read_schedule(folder.absolute().parent)
                order = {run.id: number for number, run in enumerate(plan.runs)}
                found.sort(key=lambda run: order.get(run.name, len(order)))
            runs += found
        runs += [] if below else [path]
    return runs


def add_checkpoint(parser: argparse._ActionsContainer) -> None:
    """Adds the option `--checkpoint` of commands that read the model of a run."""
    parser.add_argument(
        "--checkpoint",
        metavar="WHICH",
        help="best, last or a .ckpt file of the run; unless given, the best by checkpoint.monitor, "
        "else the last",
    )


def chosen(run: Path, choice: str | None) -> Path:
    """The checkpoint of a run; says in one line if it is the best one by default.

    A checkpoint file or an export is returned itself.

    Raises:
        InputError: The checkpoint does not exist, or a choice is given for what is no run.
    """
    from dislab.runs import best_checkpoint, checkpoint_of
    from dislab.runs.exported import is_exported

    if is_exported(run):
        if choice is not None:
            raise InputError(f"{run} is an export of one model; leave out --checkpoint {choice}")
        return run
    path = checkpoint_of(run, choice)
    best = best_checkpoint(run) if choice is None and run.is_dir() else None
    if best and os.environ.get("LOCAL_RANK", "0") == "0":
        print(
            f"Checkpoint: {path}, the best by {best.monitor} ({best.score:.5g}); --checkpoint last "
            "takes the last one",
            file=sys.stderr,
        )
    return path
