"""The contract of a launcher."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dislab.plugins import LAUNCHERS, load_declared
from dislab.study.study_file import Resources


@dataclass(frozen=True)
class Workers:
    """Workers to start.

    Args:
        folder: The folder of the study.
        command: Command line that starts one worker.
        count: Number of workers; None lets the launcher choose.
        resources: Processor cores and graphics cards of one worker.
        unfinished: Number of unfinished runs: more workers than this would have nothing to do.
        tick: Callback to show progress, called once or twice a second while workers run.
    """

    folder: Path
    command: tuple[str, ...]
    count: int | None
    resources: Resources
    unfinished: int
    tick: Callable[[], None]


class Launcher(ABC):
    """Starts workers of a study."""

    @abstractmethod
    def launch(self, workers: Workers) -> bool:
        """Starts workers and waits until they have ended.

        On Ctrl-C (KeyboardInterrupt), the launcher asks its workers to end, waits for them, and
        raises it again.

        Args:
            workers: The workers to start.

        Returns:
            Whether the workers have run; False if something else starts them later.

        Raises:
            InputError: Workers cannot be started, or had to stop.
            TrainingError: Workers had to stop because the first runs failed.
        """


def load_launcher(word: str) -> Launcher:
    """Loads a launcher by its name on the command line; raises `InputError` if it cannot."""
    launcher: Launcher = load_declared(LAUNCHERS, word, Launcher)
    return launcher
