"""The streams of the command's process, and the settings of a program that calls a command."""

import errno
import io
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from dislab.cli.quiet import LOGGERS
from dislab.errors import printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NO_READER: Final = (errno.EPIPE, errno.EIO)
"""Errors of writing to a pipe or a terminal that has been closed."""


class _Terminal(io.TextIOWrapper):
    """Output to a terminal, on which control characters of a text become escape sequences."""

    def write(self, text: str, /) -> int:
        return super().write(printable(text))


class _Unbroken(io.FileIO):
    """Output that is discarded as soon as nobody reads it."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _NO_READER:
                raise
        _discard(self.fileno())
        return memoryview(data).nbytes


def keep_streams_open() -> None:
    """Lets the command end its work when a reader such as `head` has left, or a stream is closed.

    Characters that the system's encoding lacks are printed as escape sequences. Streams that a
    Python program has replaced stay.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:  # the next file to be opened would become this stream
            _discard(descriptor)
        try:
            if stream is not None and stream.fileno() != descriptor:
                continue
        except (OSError, ValueError):  # no stream of the system
            continue
        if name == "stdin":
            sys.stdin = stream or open(descriptor, encoding="utf-8", closefd=False)  # noqa: SIM115
            continue
        buffer = io.BufferedWriter(_Unbroken(descriptor, "w", closefd=False))
        encoding, is_direct = getattr(stream, "encoding", "utf-8"), name == "stderr"
        # bars of progress, which need control characters, are drawn on stderr
        is_escaped = name == "stdout" and buffer.isatty()
        text = (_Terminal if is_escaped else io.TextIOWrapper)(
            buffer,
            encoding,
            "backslashreplace",
            line_buffering=is_direct or buffer.isatty(),
            write_through=getattr(stream, "write_through", False),
        )
        setattr(sys, name, text)


def _discard(descriptor: int) -> None:
    """Connects a stream with the null device."""
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing != descriptor:
        os.dup2(nothing, descriptor)
        os.close(nothing)


@contextmanager
def left_as_it_was() -> Iterator[None]:
    """Restores what a command changes in its process, for a Python program that calls it.

    That is the environment, the warning filters, the filters of Lightning's loggers, the hook for
    errors of threads, and the loader and the settings of jsonargparse. Seeds and the memory
    settings of the C library stay changed.
    """
    import jsonargparse
    import yaml
    from jsonargparse import _common  # no public function reads the settings

    environment, hook = dict(os.environ), threading.excepthook
    load, settings = jsonargparse.get_loader("yaml"), dict(_common.parsing_settings)
    filters = {name: list(logging.getLogger(name).filters) for name in LOGGERS}
    with warnings.catch_warnings():
        try:
            yield
        finally:
            threading.excepthook = hook
            if dict(os.environ) != environment:
                os.environ.clear()
                os.environ.update(environment)
            jsonargparse.set_loader("yaml", load, (yaml.YAMLError,))
            _common.parsing_settings.clear()
            _common.parsing_settings.update(settings)
            for name, before in filters.items():
                logging.getLogger(name).filters[:] = before
