"""dislab: disentangled representation learning with PyTorch Lightning.

`import dislab` is fast: its packages, such as `dislab.metrics`, are imported when they are first
used.
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
from types import ModuleType as _ModuleType

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
    "exports",
    "factors",
    "functional",
    "metrics",
    "objectives",
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


def __getattr__(name: str) -> _ModuleType:
    """Imports a package when it is first used, as in `dislab.metrics.evaluate(codes, factors)`."""
    if name in __all__:
        return _import_module(f"dislab.{name}")
    raise AttributeError(f"module 'dislab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
