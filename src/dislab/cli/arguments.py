"""The parser of commands, and the option that many of them share."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from dislab.errors import InputError


class Parser(argparse.ArgumentParser):
    """A parser that takes whole options only, and reports an error without the usage text."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        """Raises the error as an `InputError`.

        Args:
            message: Message of argparse.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{message}; see {self.prog} --help")


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """Adds the option `--checkpoint` of commands that read the model of a run."""
    parser.add_argument(
        "--checkpoint",
        metavar="best|last|FILE",
        help="which checkpoint of the run: best, the one that checkpoint.monitor chose; last; or "
        "a .ckpt file. Unless given, the best one of a run with a monitor, else the last one",
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
