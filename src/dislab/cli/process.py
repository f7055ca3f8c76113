"""The process of a command: its streams, notes and memory, and what a caller gets back."""

import ctypes
import errno
import gc
import io
import logging
import os
import platform
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

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

    Characters that the system's encoding lacks are printed as escape sequences. Each line is
    written at once, so that the log file of a long command grows with it. Streams that a Python
    program has replaced stay.
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
        encoding = getattr(stream, "encoding", "utf-8")
        # bars of progress, which need control characters, are drawn on stderr
        is_escaped = name == "stdout" and buffer.isatty()
        text = (_Terminal if is_escaped else io.TextIOWrapper)(
            buffer,
            encoding,
            "backslashreplace",
            line_buffering=True,
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
    from jsonargparse import _common, _typehints  # no public function reads the settings

    environment, hook = dict(os.environ), threading.excepthook
    find_class = _typehints.resolve_class_path_by_name
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
            _typehints.resolve_class_path_by_name = find_class
            _common.parsing_settings.clear()
            _common.parsing_settings.update(settings)
            for name, before in filters.items():
                logging.getLogger(name).filters[:] = before


_WARNINGS: Final = (
    "Experiment logs directory .* exists and is not empty",  # the new run folder
    "Precision .* is not supported by the model summary",  # affects only a size in MB
    r"Found .* module\(s\) in eval mode",  # a frozen model inside another one
    "GPU available but not used",  # because the user asked for the CPU
    # float16's scaler skipped the first step
    r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`",
    "The dirpath has changed from",  # a run that was moved, or is given by another path
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning 2.6 beside torch 2.13
    "No seed found, seed set to",  # the seed of every run is in its config.yaml
    "The .* does not have many workers",  # images come from memory, or from a file in batches
    "The number of training batches .* is smaller than the logging interval",  # steps are logged
)
"""Patterns for the start of hidden warnings."""

_NOTES: Final = re.compile(
    r"Seed set to|Random seed|[A-Z]PU available|Using .*precision|Using .*AMP"
    r"|`Trainer.\w+` stopped: `max_|Trainer already configured"
    r"|Restor(ing|ed) .*checkpoint|Loaded model weights|Restored all states"
    r"|LOCAL_RANK: |Initializing distributed|-{20,}|distributed_backend=|All distributed processes"
    r"|`weights_only` was not set|Detected KeyboardInterrupt|💡|.*litlogger|.*litmodels"
)
"""Pattern for the start of hidden notes."""

LOGGERS: Final = (
    "lightning.fabric.utilities.rank_zero",
    "lightning.fabric.utilities.seed",
    "lightning.pytorch.utilities.rank_zero",
    "lightning.pytorch.accelerators.cuda",
    "lightning.fabric.utilities.distributed",
)


def hide_lightnings_notes() -> None:
    """Hides notes and warnings that contain no information about the run."""
    for message in _WARNINGS:
        warnings.filterwarnings("ignore", message)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_is_of_use)


def _is_of_use(record: logging.LogRecord) -> bool:
    """Whether a note is about the run; replaces its control characters by escape sequences."""
    record.msg, record.args = printable(record.getMessage()), None
    return _NOTES.match(record.msg.strip()) is None


_TRIM_THRESHOLD: Final = -1
_MMAP_MAX: Final = -4
_LARGEST: Final = 2**31 - 1


def keep_freed_memory() -> bool:
    """Makes the C library keep freed memory for the next step; returns whether it succeeded.

    By default, glibc maps every activation of a few megabytes anew and returns it to the kernel
    after use, which costs thousands of page faults per training step on a CPU. The setting applies
    to the whole process and has no effect with other C libraries.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _LARGEST))


@contextmanager
def old_objects_left_alone() -> Iterator[None]:
    """Excludes existing objects from Python's garbage collection.

    The imported libraries consist of 400,000 objects, which exist until the end of training;
    repeatedly scanning them takes 4 % of the time of a small network's steps.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
