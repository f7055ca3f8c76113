"""The allow-list: classes that a file or a command line may name.

A name is looked up among the modules that are imported already and the modules of dislab, torch,
lightning and the installed plugins. No other module is imported, and nothing is called.
"""

import importlib
import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from dislab import plugins
from dislab.errors import InputError
from dislab.naming.settings import Part, subclasses

_PACKAGES: Final = ("dislab", "torch", "lightning")
_UNNAMED: Final = re.compile(r"run|[0-9a-f]{12}")
"""Names of runs that say nothing about the method: the default, and the identity in a study."""


class ForeignNameError(InputError):
    """A file names a class that is not allowed or cannot be found.

    `key_path` is the setting; `exists` is false if nothing has the name.
    """

    def __init__(self, message: str, key_path: str, exists: bool) -> None:
        super().__init__(message)
        self.key_path = key_path
        self.exists = exists


def class_name(part: Any) -> str:
    """The class name of a part as settings name it; empty for none."""
    path = part.get("class_path") if isinstance(part, Mapping) else part
    return str(path).rpartition(".")[2] if path else ""


def method_of(settings: Mapping[str, Any]) -> str:
    """The method's name in a run's configuration: its `method`, else its `name`, else its class."""
    name = str(settings.get("name") or "run")
    chosen = settings.get("method") or ("" if _UNNAMED.fullmatch(name) else name)
    return str(chosen) or class_name(settings.get("model"))


def packages() -> list[str]:
    """Top-level packages whose modules may be imported when a file names them."""
    return [*_PACKAGES, *plugins.packages()]


def known_bases() -> tuple[type, ...]:
    """The base classes allowed for an argument without a type annotation."""
    from lightning.fabric.plugins import CheckpointIO, ClusterEnvironment
    from lightning.fabric.plugins import Precision as FabricPrecision
    from lightning.pytorch import Callback
    from lightning.pytorch.accelerators import Accelerator
    from lightning.pytorch.loggers import Logger
    from lightning.pytorch.plugins import LayerSync, Precision
    from lightning.pytorch.profilers import Profiler
    from lightning.pytorch.strategies import Strategy
    from torch import nn
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

    trained = (Optimizer, LRScheduler, ReduceLROnPlateau)
    plugged = (FabricPrecision, Precision, LayerSync, CheckpointIO, ClusterEnvironment)
    return (nn.Module, Part, *trained, *plugged, Callback, Logger, Profiler, Strategy, Accelerator)


def find_class(
    name: object,
    bases: tuple[type, ...],
    key_path: str,
    module_classes: Mapping[str, type] | None = None,
) -> type:
    """The class of a dotted path or of an imported bare name, if it derives from a base class.

    `module_classes` holds further classes by their dotted paths.

    Raises:
        ForeignNameError: The name refers to no such class.
        InputError: An allowed module fails to be imported.
    """
    value = (module_classes or {}).get(str(name)) or find_object(name, bases)
    if isinstance(value, type) and issubclass(value, bases):
        return value
    is_any = bases == known_bases()
    if value is None:
        plugins.warn_of_faults(plugins.GROUPS if is_any else plugins.groups_of(*bases))
    kind = "part" if is_any else " or ".join(base.__name__ for base in bases)
    reason = plugins.missing_package(name) or (
        f"which is no {kind} of dislab, torch, lightning or an installed plugin; nothing else may "
        "be named"
    )
    raise ForeignNameError(f"{key_path} names {name}, {reason}", key_path, value is not None)


def find_object(name: object, bases: tuple[type, ...] = ()) -> Any:
    """The object of a name; None if the name may not be looked up.

    Raises:
        InputError: An allowed module fails to be imported, or several distributions declare the
            name.
    """
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        return None
    if "." not in name:
        plugins.check_undisputed(name, *bases)
        classes = {cls for cls in subclasses(*bases) if cls.__name__ == name}
        return classes.pop() if len(classes) == 1 else None
    parts = name.split(".")
    if (value := _imported(parts)) is not None:
        return value
    # importing a module `__main__` may run its program
    allowed = parts[0] in packages() and "__main__" not in parts
    return _import(parts) if allowed else None


def _imported(parts: list[str]) -> Any:
    """The object of a dotted path if its module is already imported; triggers no lazy import."""
    for cut in range(len(parts) - 1, 0, -1):
        value: Any = sys.modules.get(".".join(parts[:cut]))
        for part in parts[cut:]:
            value = getattr(value, "__dict__", {}).get(part)
        if value is not None:
            return value
    return None


def _import(parts: list[str]) -> Any:
    """The object of a dotted path, whose module is imported."""
    for cut in range(len(parts) - 1, 0, -1):
        path = ".".join(parts[:cut])
        try:
            value: Any = importlib.import_module(path)
        except ImportError as error:
            if isinstance(error, ModuleNotFoundError) and f"{path}.".startswith(f"{error.name}."):
                continue
            raise InputError(f"{path} cannot be imported: {error}") from error
        except (Exception, SystemExit) as error:  # a module may raise anything on import
            raise InputError(f"{path} cannot be imported: {error!r}") from error
        for part in parts[cut:]:
            value = getattr(value, part, None)
        return value
    return None
