"""Old names of modules that have moved: each can be imported until the release after the move.

Configurations, checkpoints, pickles and entry points of the release before name classes by these
paths. `import dislab` makes them importable; an old name gives the very module of the new name.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

MOVED: Final = {
    "dislab.datasets.array_dataset": "dislab.datasets.own.array_dataset",
    "dislab.datasets.chairs3d": "dislab.datasets.chairs.chairs3d",
    "dislab.datasets.color_dsprites": "dislab.datasets.dsprites.color_dsprites",
    "dislab.datasets.folder_dataset": "dislab.datasets.own.folder_dataset",
    "dislab.datasets.noisy_dsprites": "dislab.datasets.dsprites.noisy_dsprites",
    "dislab.datasets.parametric_chairs": "dislab.datasets.chairs.parametric_chairs",
    "dislab.datasets.parametric_heads": "dislab.datasets.heads.parametric_heads",
    "dislab.datasets.robot_finger_files": "dislab.datasets.robot_finger.robot_finger_files",
    "dislab.datasets.robot_finger_pseudo_real": (
        "dislab.datasets.robot_finger.robot_finger_pseudo_real"
    ),
    "dislab.datasets.scream_dsprites": "dislab.datasets.dsprites.scream_dsprites",
}
"""New names of modules by their old ones; a package of modules has an entry for each of them."""


class _OldNames(MetaPathFinder, Loader):
    """Import hook that gives the module of the new name for an old one."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = import_module(MOVED[name])


def accept_old_names() -> None:
    """Makes the old names importable in this process; a second call changes nothing."""
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OldNames())
