"""Unpickles containers of numbers and arrays, and rejects everything else."""

import collections
import pickle
from io import BufferedIOBase
from typing import Any, Final

import numpy as np

_ALLOWED: Final = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}
_NUMPY: Final = {
    ("multiarray", "_reconstruct"),
    ("multiarray", "scalar"),
    ("numeric", "_frombuffer"),
}


def load_plain(stream: BufferedIOBase) -> Any:
    """Unpickles an object that consists of plain containers, numbers and arrays.

    Anything else that a pickle names, such as a function to call, is rejected before it is looked
    up.

    Raises:
        pickle.UnpicklingError: The pickle names anything else, or is invalid.
    """
    try:
        return _Plain(stream).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # a broken pickle raises almost anything
        raise pickle.UnpicklingError(f"broken: {error!r}") from error


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Allows only the constructors that arrays need, under their old and new module names."""
        if (module, name) in _ALLOWED:
            return _ALLOWED[module, name]
        package, _, inner = module.rpartition(".")
        if package in ("numpy.core", "numpy._core") and (inner, name) in _NUMPY:
            return super().find_class(f"numpy._core.{inner}", name)
        if (module, name) == ("_codecs", "encode"):
            return _latin1
        raise pickle.UnpicklingError(f"it names {module}.{name}, which is refused")


def _latin1(text: str, _encoding: str) -> bytes:
    """Decodes bytes as Python 3 writes them into pickles for Python 2."""
    return text.encode("latin1")
