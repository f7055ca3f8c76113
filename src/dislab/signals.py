"""Handling of the signals that end a process: Ctrl-C, SIGTERM, and SIGHUP (a closed terminal)."""

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
    """Installs a handler for the signals and returns the previous handlers, for `give_back`.

    Python allows this only in the main thread; in other threads nothing changes. A SIGHUP that is
    ignored, as under `nohup`, stays ignored.

    Args:
        handler: Function called with the signal number and the current frame.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    return {
        signum: signal.signal(signum, handler)
        for signum in numbers
        if signum == signal.SIGINT or signal.getsignal(signum) is not signal.SIG_IGN
    }


def give_back(previous: Handlers) -> None:
    """Restores previous handlers.

    Args:
        previous: Result of `handle`.
    """
    for signum, handler in previous.items():
        signal.signal(signum, handler)


def interrupt(signum: int, frame: FrameType | None) -> NoReturn:
    """Raises a KeyboardInterrupt that names the signal, as Python does for Ctrl-C."""
    leave_closed_terminal()
    raise KeyboardInterrupt(signal.Signals(signum).name)


@contextmanager
def interrupting() -> Iterator[None]:
    """Within the block, make every signal that ends the process raise KeyboardInterrupt."""
    previous = handle(interrupt)
    try:
        yield
    finally:
        give_back(previous)


def leave_closed_terminal() -> None:
    """Discards later output to a closed terminal, where printing would raise an error."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # no stream, or a stream without a file
            descriptor = stream.fileno()
            if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, descriptor)
                os.close(nothing)
