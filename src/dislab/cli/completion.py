"""`dislab completion bash | zsh`: a script for command-line completion in a shell."""

import contextlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from string import Template
from typing import Final

from dislab.cli import COMMANDS, configs, data, dispatch, study
from dislab.cli.arguments import Parser
from dislab.cli.help_text import COMMON
from dislab.plugins import GROUPS, available, commands

_SHELLS: Final = ("bash", "zsh")
_TRAINING: Final = ("fit", "validate", "test", "predict")
_VERBS: Final[Mapping[str, Iterable[str]]] = {
    "completion": _SHELLS,
    "configs": configs.ACTIONS,
    "data": data.ACTIONS,
    "plugins": ("new", *GROUPS),
    "study": study.VERBS,
}
"""Subcommands by command."""

_PARTS: Final = {
    "--model": "objectives",
    "--model.encoder": "encoders",
    "--model.decoder": "decoders",
    "--data": "datamodules",
    "--data.dataset": "datasets",
    "--metrics": "metrics",
    "--predictors": "predictors",
}
"""Options whose values are parts of a plugin group."""

_OPTION: Final = re.compile(r"^ +(?:-\w, )?(--[\w-]+)(?: \{([^}]*)\})?", re.MULTILINE)
"""Matches an option in the help of a command, and its choices."""

_SCRIPT: Final = Template(
    """\
# Completes the words of dislab; written by `dislab completion $shell`. Write it again after you
# install another version or plugins.
_dislab() {
    local current="$${COMP_WORDS[COMP_CWORD]}" before="$${COMP_WORDS[COMP_CWORD-1]}"
    local place="$${COMP_WORDS[1]}" words=""
    if [[ $$current == = ]]; then  # bash makes three words of --config=factorvae
        current=""
    elif [[ $$before == = ]]; then
        before="$${COMP_WORDS[COMP_CWORD-2]}"
    fi
    if [[ $$COMP_CWORD -gt 2 && " $verbs " == *" $$place "* ]]; then
        place="$$place $${COMP_WORDS[2]}"
    fi
    if [[ $$COMP_CWORD -eq 1 ]]; then
        words="$commands"
    else
        case "$$place:$$before" in
$values
        esac
        if [[ -z $$words ]]; then
            case "$$place:$$current" in
$options
            esac
        fi
        if [[ -z $$words ]]; then
            case "$$place" in
$names
            esac
        fi
    fi
    COMPREPLY=($$(compgen -W "$$words" -- "$$current"))
}
complete -o bashdefault -o default -F _dislab dislab
"""
)


def run(args: list[str]) -> int:
    """Prints the script of a shell, and returns the exit status.

    Args:
        args: The arguments after `dislab completion`.

    Raises:
        InputError: There is no script for the shell.
    """
    parser = Parser(
        "dislab completion",
        description="Print a script by which a shell completes commands, options, names of "
        "configurations and parts.",
        epilog='bash: add `eval "$(dislab completion bash)"` to ~/.bashrc; zsh: '
        '`eval "$(dislab completion zsh)"` to ~/.zshrc, after compinit.',
    )
    parser.add_argument("shell", choices=_SHELLS, help="the shell")
    print(script(parser.parse_args(args).shell), end="")
    return 0


def script(shell: str) -> str:
    """The completion script of a shell; zsh runs that of bash through its emulation.

    Args:
        shell: `bash` or `zsh`.
    """
    declared = commands()  # commands of plugins, whose options are not known here
    text = _SCRIPT.substitute(
        shell=shell,
        verbs=" ".join(_VERBS),
        commands=" ".join([*COMMANDS, *(one for one in declared if one not in COMMANDS)]),
        values=_cases(_values(), 12),
        options=_cases(((f'"{place}:-"*', found) for place, found in _options()), 16),
        names=_cases(((f'"{place}"', found) for place, found in _names()), 16),
    )
    if shell == "zsh":
        return f"#compdef dislab\nautoload -U +X bashcompinit && bashcompinit\n{text}"
    return text


def _cases(cases: Iterable[tuple[str, Iterable[str]]], indent: int) -> str:
    """Branches of a shell `case` statement that select words."""
    return "\n".join(f'{"":{indent}}{one}) words="{" ".join(words)}" ;;' for one, words in cases)


def _values() -> Iterator[tuple[str, Iterable[str]]]:
    """Values of options, by command and option."""
    yield "*:--config", configs.names()
    yield "*:-c", configs.names()
    for option, group in _PARTS.items():
        yield f"*:{option}", [plugin.name for plugin in available(group)]
    for place in _places():
        for option, choices in _OPTION.findall(_help(place)):
            if choices:
                yield f'"{place}:{option}"', choices.split(",")


def _options() -> Iterator[tuple[str, Iterable[str]]]:
    """Options of each command."""
    common = [f"--{one.partition(' ')[0]}" for group in COMMON.values() for one in group]
    for command in _TRAINING:
        yield command, ["--help", *(one for one in common if "NAME" not in one)]
    for place in _places():
        if found := [option for option, _ in _OPTION.findall(_help(place))]:
            yield place, found


def _names() -> Iterator[tuple[str, Iterable[str]]]:
    """Positional words by command; without any, the shell completes files."""
    yield from _VERBS.items()
    known = configs.names()
    for action in ("show", "copy"):
        yield f"configs {action}", [*known, "all"] if action == "copy" else known
    for action in ("prepare", "show"):
        yield f"data {action}", [plugin.name for plugin in available("datasets")]
    for verb in ("plan", "run"):  # the others take folders
        yield f"study {verb}", [one for one in known if one.startswith("studies/")]


def _places() -> Iterator[str]:
    """Commands with their verbs, except those whose parser takes long to import."""
    for command in COMMANDS:
        if command == "study":
            yield from (f"study {verb}" for verb in study.VERBS)
        elif command == "data":
            yield "data list"
        elif command not in (*_TRAINING, "completion"):
            yield command


def _help(place: str) -> str:
    """The help of a command."""
    text = io.StringIO()
    command, *rest = place.split()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        dispatch(command, [*rest, "--help"])
    return text.getvalue()
