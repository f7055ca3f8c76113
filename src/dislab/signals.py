"""Signals that ask a process to end: Ctrl-C, SIGTERM, and SIGHUP, which a closed terminal sends."""

import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, NoReturn

Handlers = dict[int, Any]
"""Handlers of signals, by number."""

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")


def handle(handler: Callable[[int, FrameType | None], None]) -> Handlers:
    """Handles the signals and returns their previous handlers, for `give_back`.

    Python allows that in the main thread only; in another one nothing is changed. A SIGHUP that
    is ignored, as under `nohup`, stays ignored.

    Args:
        handler: Is called with the number of a signal.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    return {
        number: signal.signal(number, handler)
        for number in numbers
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
    }


def give_back(previous: Handlers) -> None:
    """Puts previous handlers back.

    Args:
        previous: Result of `handle`.
    """
    for number, handler in previous.items():
        signal.signal(number, handler)


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raises a KeyboardInterrupt that names the signal, as Python does for Ctrl-C."""
    leave_closed_terminal()
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def interrupting() -> Iterator[None]:
    """Lets every signal that ends the process raise KeyboardInterrupt meanwhile."""
    previous = handle(interrupt)
    try:
        yield
    finally:
        give_back(previous)


def leave_closed_terminal() -> None:
    """Discards later output to a terminal that is gone, where printing would be an error."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # no stream, or no file behind it
            number = stream.fileno()
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, number)
                os.close(nothing)
