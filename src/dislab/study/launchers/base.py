"""The contract of a launcher."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dislab.errors import InputError, suggestion
from dislab.plugins import LAUNCHERS, declared, load_object
from dislab.study.study_file import Resources


@dataclass(frozen=True)
class Workers:
    """What a launcher starts.

    Args:
        folder: The folder of the study.
        command: What starts one worker, as a list of words.
        count: How many; None lets the launcher choose.
        resources: What one worker needs.
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
    known = declared(LAUNCHERS)
    if word not in known:
        raise InputError(
            f"no launcher is named {word!r}{suggestion(word, known)}; the launchers are "
            f"{', '.join(known)}"
        )
    found = load_object(known[word])
    if not isinstance(found, type) or not issubclass(found, Launcher):
        raise InputError(
            f"{known[word].value} of dislab.launchers is no dislab.study.launchers.Launcher"
        )
    return found()
