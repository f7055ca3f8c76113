"""The contract of a launcher."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dislab.plugins import LAUNCHERS
from dislab.study.declared import load_declared
from dislab.study.study_file import Resources


@dataclass(frozen=True)
class Workers:
    """Workers to start.

    Args:
        folder: The folder of the study.
        command: Starts one worker; a list of words.
        count: How many; None lets the launcher choose.
        resources: Cores and graphics cards of one worker.
        left: Runs that are not finished: more workers would have nothing to do.
        tick: Is called once or twice a second while workers are at work, to show progress.
    """

    folder: Path
    command: tuple[str, ...]
    count: int | None
    resources: Resources
    left: int
    tick: Callable[[], None]


class Launcher(ABC):
    """Starts workers of a study."""

    @abstractmethod
    def launch(self, workers: Workers) -> bool:
        """Starts workers and waits until they have ended.

        Ctrl-C reaches a launcher as KeyboardInterrupt; it asks its workers to end, waits, and
        raises it again.

        Args:
            workers: What to start.

        Returns:
            Whether workers have worked; False when somebody else starts them later.

        Raises:
            InputError: Workers cannot be started, or had to stop.
            TrainingError: Workers had to stop as the first runs have failed.
        """


def load_launcher(word: str) -> Launcher:
    """The launcher of a word.

    Args:
        word: As on the command line.

    Raises:
        InputError: There is no such launcher, or it cannot be imported.
    """
    found: Launcher = load_declared(LAUNCHERS, word, Launcher)
    return found
