"""The errors that the command line explains without a traceback, and a hint for misspelt names."""

import errno
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate, islice
from pathlib import Path
from types import MappingProxyType
from typing import Final

_CANNOT_WRITE: Final = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
)
_NO_MEMORY: Final = (
    "can't allocate memory",  # torch on a CPU
    "out of memory",  # torch on an accelerator
    "Storage size calculation overflowed",  # torch
    "array is too big",  # numpy
    "Maximum allowed dimension exceeded",  # numpy
)

_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)
"""Characters that move a terminal's cursor, change its state or reverse the order of a text."""

_INNER: Final = frozenset(
    ("dislab", "lightning", "torch", "torchmetrics", "jsonargparse", "jaxtyping", "beartype")
)
"""Packages between the line of a user's program and a warning of dislab."""
_ALIKE: Final = 0.7
"""Likeness, by `difflib`, from which a name is suggested."""
_ALIKE_FROM_START: Final = 0.65
"""Likeness from which a name with the same first letter is suggested."""
_MANY: Final = 10_000
"""Files of a folder among whose names a misspelt one is sought."""


class InputError(ValueError):
    """A user's mistake: a wrong configuration, a file, a shape, a value or a name.

    The message is complete: the fault, the value, the allowed ones, the remedy. The command
    line prints it without a traceback and exits with status 2.
    """


class BusyError(InputError):
    """Another process is working on the same run; a later attempt may succeed."""


class TrainingError(RuntimeError):
    """Training cannot continue although the input is valid, for example after a non-finite loss.

    The message names the event, the step and the remedy. The command line prints it without a
    traceback, and exits with status 1.
    """


class DivergenceError(TrainingError):
    """A loss became NaN or infinite; a study records this as a result, not as a failure."""


def explained(error: RuntimeError) -> Exception:
    """The error for a library that cannot be imported.

    If torchvision was built for another torch, libraries that import it, such as Lightning and
    torchmetrics, fail; this error becomes a message. Any other error is returned unchanged.

    Args:
        error: Error of the import.
    """
    frames = traceback.walk_tb(error.__traceback__)
    is_of_import = any(frame.f_code.co_name == "<module>" for frame, _ in frames)
    if "torchvision" not in str(error) or not is_of_import:
        return error
    return InputError(
        f"torchvision {_version('torchvision')} does not fit torch {_version('torch')} ({error}); "
        "install the torchvision that was built for this torch, from the index that torch came "
        "from (https://pytorch.org/get-started/locally), or uninstall torchvision and timm"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def suggestion(
    name: str, names: Iterable[str], others: Mapping[str, str] = MappingProxyType({})
) -> str:
    """` (did you mean …?)` with the known name closest to a misspelt one, or those that it begins.

    It is empty if no name is similar.

    Args:
        name: The misspelt name.
        names: The known names.
        others: What is known under further names, by these names; their misspellings count too.

    >>> suggestion("TotalCorelation", ["KL", "TotalCorrelation"])
    ' (did you mean TotalCorrelation?)'
    >>> suggestion("dci", ["mig", "dci_hgbt_completeness", "dci_hgbt_informativeness"])
    ' (did you mean dci_hgbt_completeness or dci_hgbt_informativeness?)'
    >>> suggestion("warm_up", ["beta", "warmup_steps"])
    ' (did you mean warmup_steps?)'
    >>> suggestion("trian", ["fit", "transfer"], {"train": "fit"})
    ' (did you mean fit?)'
    >>> suggestion("noe", ["one"])
    ' (did you mean one?)'
    >>> suggestion("bogus", ["devices"], {"gpus": "devices"}), suggestion("nonsense", ["noise"])
    ('', '')
    """
    themselves = {candidate: candidate for candidate in names}
    by_lower = {candidate.lower(): meant for candidate, meant in {**others, **themselves}.items()}
    lower_name = name.lower()
    alike = [lower for lower in by_lower if lower[:1] == lower_name[:1]]
    matches = get_close_matches(lower_name, list(by_lower), n=1, cutoff=_ALIKE)
    matches = matches or get_close_matches(lower_name, alike, n=1, cutoff=_ALIKE_FROM_START)
    matches = matches or [lower for lower in by_lower if sorted(lower) == sorted(lower_name)][:1]
    if not matches and len(name) > 2:
        beginning = lower_name.replace("_", "")
        matches = [lower for lower in by_lower if beginning in accumulate(lower.split("_"))][:3]
    meant = " or ".join(by_lower[lower] for lower in matches)
    return f" (did you mean {meant}?)" if meant else ""


def beside(path: Path) -> str:
    """` (did you mean …?)` with the file or folder whose name is most like that of a missing path.

    Suffixes do not count: of two files with `.npz` one need not be meant by the other.

    Args:
        path: The path.
    """
    with suppress(OSError, ValueError):  # no folder can have such a name
        files = islice(path.parent.iterdir(), _MANY)
        return suggestion(path.stem, (), {file.stem: str(file) for file in files})
    return ""


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the line of the user's program that led here, which Python shows with the message.

    Args:
        message: The fault, its consequence, and a remedy.
        category: The class of the warning.
    """
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _INNER:
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    file, name = frame.f_code.co_filename, frame.f_globals.get("__name__")
    warnings.warn_explicit(message, category, file, frame.f_lineno, name, registry)


def one_line(message: object) -> str:
    """The text of an error or a warning in one line, without a full stop at its end.

    Args:
        message: An error, a warning or a text.

    >>> f"pulling failed: {one_line('No such name.')}; check the name"
    'pulling failed: No such name; check the name'
    """
    return printable(" ".join(str(message).split())).removesuffix(".")


def printable(text: str) -> str:
    r"""A text whose control characters, other than line breaks and tabs, are escape sequences.

    Args:
        text: A text that may come from a file, such as a name or the message of a library.

    >>> printable("red: \033[31m")
    'red: \\x1b[31m'
    """
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def cannot_write(error: BaseException | None) -> bool:
    """Whether an error means a full disk or missing permission to write."""
    return isinstance(error, OSError) and error.errno in _CANNOT_WRITE


def lacks_memory(error: BaseException) -> bool:
    """Whether an error means that an array does not fit into memory."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError | ValueError) and any(
        sign in str(error) for sign in _NO_MEMORY
    )


def missing(path: Path, setting: str, content: str) -> str:
    """`PATH does not exist`, of a relative path where it was sought, and how to give another.

    Args:
        path: The file or folder of a data set.
        setting: The setting of the data set that gives it, such as `folder`.
        content: What is to be given, such as `the folder of the images`.
    """
    place, start = "", ""
    if not path.is_absolute():
        place = f" in {Path.cwd()}, where the command started"
        start = f"start the command in the folder that has {path}, or "
    return (
        f"{path} does not exist{place}{beside(path)}; {start}give {content} as {setting} in the "
        "configuration (that of a run is its config.yaml), or to fit, validate, test and predict "
        f"by --data.dataset.{setting}"
    )
