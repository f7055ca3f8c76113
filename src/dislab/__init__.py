"""dislab: disentangled representation learning with PyTorch Lightning.

`import dislab` is fast: its packages, such as `dislab.metrics`, and its two functions are imported
when they are first used. `open_run` opens a finished run, `evaluate` scores codes of any program.
"""

import sys as _sys

if (
    _sys.argv[:1] == ["-m"]  # Python looks for `__main__`
    and _sys.orig_argv[-len(_sys.argv)] in ("dislab", "-mdislab")
    and not _sys.flags.safe_path
):
    # `python -m` imports from the working folder first, such as a user's random.py
    del _sys.path[0]

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from dislab.metrics import evaluate
    from dislab.runs import open_run

__version__ = _version("dislab")
__all__ = [
    "base",
    "callbacks",
    "codes",
    "datamodules",
    "datasets",
    "decoders",
    "encoders",
    "errors",
    "evaluate",
    "exports",
    "factors",
    "functional",
    "metrics",
    "objectives",
    "open_run",
    "plans",
    "plots",
    "plugins",
    "predictors",
    "regularizers",
    "report",
    "runs",
    "storage",
    "study",
    "testing",
    "transfer",
]

_FUNCTIONS = {"evaluate": "metrics", "open_run": "runs"}
"""Functions of the packages that this package offers too."""


def __getattr__(name: str) -> _Any:
    """Imports a package or function when it is first used, as in `dislab.metrics`."""
    if name in _FUNCTIONS:
        return getattr(_import_module(f"dislab.{_FUNCTIONS[name]}"), name)
    if name in __all__:
        return _import_module(f"dislab.{name}")
    raise AttributeError(f"module 'dislab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
