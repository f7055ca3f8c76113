"""Record in a run folder of training that stopped because a loss became NaN or infinite."""

from pathlib import Path
from typing import Final

from dislab.storage import atomic

DIVERGED: Final = "diverged.txt"


def record_divergence(run: Path, message: str) -> None:
    """Writes the reason why training stopped into `diverged.txt` of a run folder.

    Args:
        run: The run folder.
        message: The terms that were not finite, and the step.

    Raises:
        InputError: The file cannot be written.
    """
    with atomic(run / DIVERGED) as temporary:
        temporary.write_text(f"{message}\n", encoding="utf-8")


def forget_divergence(run: Path) -> None:
    """Removes the record when training continues.

    Args:
        run: The run folder.
    """
    (run / DIVERGED).unlink(missing_ok=True)


def has_diverged(run: Path) -> bool:
    """Whether the last training of a run stopped because a loss became NaN or infinite.

    Args:
        run: The run folder.
    """
    return (run / DIVERGED).is_file()
