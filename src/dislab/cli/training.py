"""`dislab fit | validate | test | predict`: checks names of files and runs before slow imports."""

from collections.abc import Callable, Sequence
from pathlib import Path

from dislab.cli.configs import resolved
from dislab.cli.training_help import requested
from dislab.cli.training_options import check_run


def fit(args: Sequence[str], folder: Path | None) -> int:
    """Train a model, then test it."""
    return _run(fit, args, folder)


def validate(args: Sequence[str], folder: Path | None) -> int:
    """Compute losses on the validation split, and scores on all states."""
    return _run(validate, args, folder)


def test(args: Sequence[str], folder: Path | None) -> int:
    """Compute losses on the test split, and scores on all states."""
    return _run(test, args, folder)


def predict(args: Sequence[str], folder: Path | None) -> int:
    """Write the codes of the whole test split; `encode` takes any split and number."""
    return _run(predict, args, folder)


def _run(function: Callable[..., int], args: Sequence[str], folder: Path | None) -> int:
    """Runs a training command, in the run folder that a study has chosen, and returns the status.

    The name of the function is that of the command; its docstring explains it.
    """
    section, args = requested(args)
    args = resolved(args)
    check_run(args)
    from dislab.cli.training_command import run  # imports Lightning

    return run(function.__name__, str(function.__doc__), args, folder, section or "")
