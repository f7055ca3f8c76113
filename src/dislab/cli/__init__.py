"""The `dislab` command: a dispatcher that imports only what the chosen command needs."""

import errno
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from dislab.errors import (
    InputError,
    TrainingError,
    cannot_write,
    explained,
    lacks_memory,
    one_line,
    printable,
    suggestion,
)
from dislab.plugins import Plugin, commands, load_command, remedy
from dislab.signals import interrupting

TRAINING: Final = ("fit", "validate", "test", "predict")
"""The commands that train a model or use one with its data, in a run folder."""

COMMANDS: Final = (
    *TRAINING,
    "encode",
    "score",
    "transfer",
    "draw",
    "report",
    "cite",
    "export",
    "push",
    "pull",
    "study",
    "compare",
    "data",
    "configs",
    "plugins",
)
"""dislab's own commands in the order of the help; each is an entry point of `dislab.commands`."""

OTHER_NAMES: Final = {
    "train": "fit",
    "run": "fit",
    "resume": "fit --resume RUN",
    "eval": "test, or dislab score for a file of codes",
    "evaluate": "test, or dislab score for a file of codes",
    "metrics": "score",
    "embed": "encode",
    "codes": "encode",
    "list": "plugins",
    "datasets": "data list",
    "explorer": "report --explorer_only",
    "sweep": "study",
    "grid": "study",
    "-v": "--version",
}
"""dislab's equivalents of command names in other programs."""
MEANT: Final = {name: f"dislab {equivalent}" for name, equivalent in OTHER_NAMES.items()}
"""The same as a message names them."""

_FIRST_SPEAKS: Final = 10.0
"""Seconds that the other processes of a run wait for the first one to report an error."""

_LACKING: Final = "the installed files that describe dislab"
_REINSTALL: Final = (
    "they are missing, damaged or of another version: install dislab again by pip, as in "
    "pip install -e . in its folder"
)

_HELP: Final = ("help", "-h", "--help")
_OPTIONS: Final = (
    ("-h, --help", "show this text; `dislab COMMAND --help` explains a command"),
    (
        "help NAME",
        "explain a command, a verb (study run), a part (MIG), a setting (MIG.bins, trainer) or a "
        "configuration (quick)",
    ),
    ("--version", "show the version"),
)


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status.

    The status is 0 for success, 1 for failed training, 2 for a user error, and 130 for an
    interrupt by Ctrl-C, SIGTERM or SIGHUP. `args` excludes the program's name; None uses the
    command line of the process. Settings of a calling program, such as its warning filters, are
    the same before and after.
    """
    from dislab.cli.process import keep_streams_open, left_as_it_was

    if args is not None:
        with left_as_it_was():
            return _run(list(args) or ["--help"])
    keep_streams_open()
    # no Python process that the command starts imports from the working folder
    os.environ["PYTHONSAFEPATH"] = "1"
    return _run(sys.argv[1:] or ["--help"])


def _run(args: list[str]) -> int:
    """Runs a command and explains its errors; returns the exit status."""
    from dislab.cli.messages import said_once, warnings_in_one_line

    command, *arguments = args
    warned = set[str]()
    try:
        with interrupting(), warnings_in_one_line() as warned:
            return dispatch(command, arguments)
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has closed it
        sys.stderr.close()
        return 0
    except (KeyboardInterrupt, SystemExit) as ended:  # training handles signals itself
        if isinstance(ended, SystemExit) and ended.code != 1:
            raise  # Lightning exits with 1 after an interrupt
        if os.environ.get("LOCAL_RANK", "0") == "0":  # the first of the processes of a run
            again = shlex.join(["dislab", command, *arguments])
            _print(f"interrupted; files are whole. Run again: {again}")
        return 130
    except TrainingError as error:
        _print(str(error))
        return 1
    except Exception as error:
        if (message := _explanation(error)) is None:
            raise
        if isinstance(error, InputError) and os.environ.get("LOCAL_RANK", "0") != "0":
            # the first process most likely reports the same error and then ends this one; if this
            # one ended first, the first could not report it
            time.sleep(_FIRST_SPEAKS)
        _print(f"error: {said_once(message, warned)}")
        return 2


def _print(message: str) -> None:
    print(f"dislab: {printable(message)}", file=sys.stderr)


def _explanation(error: Exception) -> str | None:
    """Message of an error that a user can cause; None for other errors."""
    if lacks_memory(error):
        return _memory(error)
    if isinstance(error, RuntimeError):  # of a library that a command imports, at any line
        error = explained(error)
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, PackageNotFoundError) and error.name == "dislab":
        return f"{_LACKING} do not give its version; {_REINSTALL}"
    if isinstance(error, Warning):
        return (
            f"Python was told to treat this warning as an error: {one_line(error)[:300]}; leave "
            "out -W error or PYTHONWARNINGS"
        )
    if isinstance(error, UnicodeEncodeError):
        return (
            f"{ascii(error.object)[:200]} cannot be written in {error.encoding}, the encoding of "
            "this system; set PYTHONUTF8=1"
        )
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{str(error.filename)[:40]}…: {error.strerror}"
    if isinstance(error, OSError) and cannot_write(error):
        where = f" {error.filename}" if error.filename else ""
        denied = isinstance(error, PermissionError)
        deed, remedy = ("use", "permit it to this user") if denied else ("write", "make room")
        return (
            f"cannot {deed}{where}: {error.strerror}; {remedy} or choose another folder. Finished "
            "files are whole; go on with a run by --resume"
        )
    return None


def _memory(error: BaseException) -> str:
    reason = one_line(error)[:200]
    return (
        f"memory does not suffice{f' ({reason})' if reason else ''}; choose fewer images or "
        "latents, smaller networks or a smaller batch_size, or free some memory"
    )


def dispatch(command: str, args: list[str], folder: Path | None = None) -> int:
    """Runs a command and returns its exit status; user errors are raised as `InputError`.

    `folder` is the run folder that a study has chosen for a new run.
    """
    if words := _asked(command, args):
        from dislab.cli.help import print_help

        return print_help(words, _declared(), _started)
    if command in _HELP:
        from dislab.cli.arguments import help_page

        groups = {"Commands": _rows(), "Options": _OPTIONS}
        text = "Train, score and document models of disentangled representation learning."
        example = "dislab fit --config factorvae --config quick"
        print(help_page("dislab COMMAND [options]", text, groups, example), end="")
        return 0
    if command == "--version":
        print(f"dislab {version('dislab')}")
        return 0
    return _started(command, args, folder)


def _started(command: str, args: list[str], folder: Path | None = None) -> int:
    """Runs a command that has a function, and returns its exit status."""
    plugin = _declared().get(command)
    if plugin is None:
        raise _unknown(command, args)
    # read by the OpenMP library when torch loads it: busy-waiting threads make a training step
    # several times slower as soon as another process needs a core
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    run = _function(plugin)
    return (run(args, folder) if command in TRAINING else run(args)) or 0


def _asked(command: str, args: Sequence[str]) -> list[str]:
    """The words that help is asked on by `help NAME` or `COMMAND --help NAME`; none otherwise."""
    if command in _HELP:
        named = (word for word in args if not word.startswith("-"))
        return [part for word in named for part in word.split() or [word]]  # "study run" is two
    if args[:1] and args[0] in _HELP[1:] and args[1:] and not args[1].startswith("-"):
        return [command, *args[1:]]
    return []


def _declared() -> dict[str, Plugin]:
    """All commands, dislab's own first, then those of plugins."""
    plugins = commands()
    if missing := [name for name in COMMANDS if name not in plugins]:
        raise InputError(f"{_LACKING} do not declare the command {missing[0]}; {_REINSTALL}")
    return {name: plugins[name] for name in (*COMMANDS, *sorted(plugins.keys() - {*COMMANDS}))}


def _function(plugin: Plugin) -> Callable[..., int | None]:
    """The function of a command; a mistake in one of dislab's own keeps its traceback."""
    module, _, name = plugin.value.partition(":")
    if plugin.dispute or not module.startswith("dislab."):
        return load_command(plugin)
    function: Callable[..., int | None] = getattr(import_module(module), name)
    return function


def _summary(plugin: Plugin) -> str:
    """What a command does, in the words of its docstring."""
    first, *others = plugin.summary.removesuffix(".").split(" ")
    lower = first if first[1:] != first[1:].lower() else first.lower()  # no name such as VAE
    summary = " ".join([lower, *others])
    if plugin.dispute:
        return f"{summary} (cannot be used: {plugin.dispute})".lstrip()
    owner = f"{plugin.distribution} {plugin.version}"
    return summary if plugin.name in COMMANDS else f"{summary} ({owner})".lstrip()


def _rows() -> list[tuple[str, str]]:
    """Name and summary of each command."""
    return [(name, _summary(plugin)) for name, plugin in _declared().items()]


def _unknown(command: str, args: Sequence[str]) -> InputError:
    names = list(_declared())
    if command.startswith("-") and (first := next((arg for arg in args if arg in names), None)):
        return InputError(f"{command} stands before the command; give dislab {first} {command} …")
    from dislab.cli.help import explained

    equivalent = OTHER_NAMES.get(command.lower())
    if explained(command) and not equivalent:
        return InputError(f"{command} is no command; `dislab help {command}` explains it")
    if install := remedy(command):
        return InputError(f"no command is named {command!r}{install}")
    hint = suggestion(command, [*names, "--help", "--version"], MEANT)
    return InputError(f"no command is named {command!r}{hint}; the commands are {', '.join(names)}")
