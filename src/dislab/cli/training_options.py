"""Options of the training commands that name configurations, runs and checkpoints."""

import argparse
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from dislab.cli.arguments import Parser, chosen
from dislab.errors import InputError
from dislab.yaml_files import CONFIG, no_run, read_mapping

_EXAMPLE: Final = "model: {class_path: VAE}"
_WRITTEN_BY: Final = "# dislab=="


def written_elsewhere(args: Sequence[str]) -> str:
    """Sentence about configurations written by another version of dislab; empty if none."""
    options = _file_options(args)
    paths = [*options.config, *([options.folder / CONFIG] if options.folder else [])]
    here = version("dislab")
    for path in paths:
        try:
            with path.open(encoding="utf-8") as file:
                first = file.readline().strip()
        except (OSError, UnicodeDecodeError):
            continue
        there = first.removeprefix(_WRITTEN_BY)
        if first.startswith(_WRITTEN_BY) and there != here:
            return (
                f"{path} was written by dislab {there}, and this is {here}: see CHANGELOG.md for "
                "settings that changed"
            )
    return ""


def check_run(args: Sequence[str]) -> None:
    """Refuses a folder after `--run` or `--resume` that is no run."""
    folder = _file_options(args).folder
    if folder is not None and not (folder / CONFIG).is_file():
        raise no_run(folder)


def with_run(args: Sequence[str], command: str) -> list[str]:
    """The arguments, of which a run folder at first place is that of `--run`, except of `fit`."""
    first = args[0] if args else "-"
    if command == "fit" or first.startswith("-") or not Path(first, CONFIG).is_file():
        return list(args)
    return ["--run", *args]


def of_run(args: Sequence[str], resumes: bool) -> list[str]:
    """The arguments, preceded by the configuration and checkpoint of the named run.

    A run that `resumes` does so from its last checkpoint; other commands take `--checkpoint`.
    """
    from dislab.runs import checkpoint_of

    folder = _file_options(args).folder
    if resumes or folder is None:
        _check_no_choice(args, resumes)
    if folder is None:
        return list(args)
    config = folder / CONFIG
    if resumes:
        return [f"--config={config}", f"--ckpt_path={checkpoint_of(folder, 'last')}", *args]
    choice, others = _without_choice(args)
    return [f"--config={config}", f"--ckpt_path={chosen(folder, choice)}", *others]


def _without_choice(args: Sequence[str]) -> tuple[str | None, list[str]]:
    """The choice among the arguments of a training command, and the other arguments.

    There `--checkpoint` alone would be the section of that name.
    """
    choice, others = _choice(args)
    if choice == "":
        raise InputError("--checkpoint needs best, last or a .ckpt file of the run")
    return choice, others


def _check_no_choice(args: Sequence[str], resumes: bool) -> None:
    """Refuses a choice of a checkpoint where a training command takes settings of the section.

    `resumes` is true for `fit`, which resumes a run from its last checkpoint.
    """
    choice, _ = _choice(args)
    if choice in ("best", "last") or (choice or "").endswith(".ckpt"):
        remedy = (
            "fit --resume RUN always goes on from the last one, so leave it out"
            if resumes
            else "name the run too, by --run RUN"
        )
        raise InputError(f"--checkpoint {choice} chooses a checkpoint of a finished run; {remedy}")


def _choice(args: Sequence[str]) -> tuple[str | None, list[str]]:
    parser = Parser("dislab fit", add_help=False)
    parser.add_argument("--checkpoint", nargs="?", const="")
    options, others = parser.parse_known_args(list(args))
    return options.checkpoint, others


def _file_options(args: Sequence[str]) -> argparse.Namespace:
    """The options that name files and folders."""
    parser = Parser("dislab fit", add_help=False)
    parser.add_argument("--run", "--resume", type=Path, dest="folder")
    parser.add_argument("--config", "-c", type=Path, action="append", default=[])
    options: argparse.Namespace = parser.parse_known_args(args)[0]
    return options


def sets(args: Sequence[str], setting: str, config: Path) -> bool:
    """Whether arguments set a setting such as `trainer.logger`, by an option or in a file.

    Args:
        args: The arguments of a training command.
        setting: Its section and name.
        config: A configuration file that does not count.
    """
    options = [arg.partition("=")[0].removeprefix("--") for arg in args if arg.startswith("--")]
    if any(f"{option}.".startswith(f"{setting}.") or option == setting for option in options):
        return True
    section, _, name = setting.partition(".")
    for path in _file_options(args).config:
        content: Any = read_mapping(path, _EXAMPLE) if path != config and path.is_file() else {}
        value = content.get(section) or {}
        if section in content and (not name or (isinstance(value, Mapping) and name in value)):
            return True
    return False
