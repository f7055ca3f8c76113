"""Codes of the same images in every run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from dislab.errors import InputError, suggestion
from dislab.study.stages.base import Stage

if TYPE_CHECKING:
    from dislab.runs.codes import StoredCodes

WORD: Final = "codes"
"""The stage in a study file."""
FILE: Final = "codes.npz"
"""In the run folder, as `dislab encode` writes it."""

_LEAST: Final[Mapping[str, int]] = {"images": 2, "seed": 0, "batch_size": 1}
_SPLITS: Final = ("train", "validation", "test", "all")


@final
class CodesStage(Stage):
    """Keeps the codes of the same images, and the KL of each latent, of every run.

    Agreement of models, such as UDR, is computed from them. The settings are those of
    `dislab encode`: `images`, `split`, `seed` and `batch_size`.
    """

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of `dislab encode`."""
        for name, value in settings.items():
            if name == "split":
                if value not in _SPLITS:
                    raise InputError(f"codes.split is {value!r}; it is one of {', '.join(_SPLITS)}")
            elif name not in _LEAST:
                known = (*_LEAST, "split")
                raise InputError(
                    f"codes has no setting {name!r}{suggestion(name, known)}; it has "
                    f"{', '.join(known)}"
                )
            elif not isinstance(value, int) or isinstance(value, bool) or value < _LEAST[name]:
                raise InputError(
                    f"codes.{name} is {value!r}; it must be a whole number, at least {_LEAST[name]}"
                )
        return dict(settings)

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """`dislab encode`."""
        return ["encode", str(run), *(f"--{name}={value}" for name, value in settings.items())]

    def scores(self, run: Path) -> dict[str, float | None]:
        """Nothing: what the codes are for compares several runs."""
        return {}


def read_run_codes(run: Path) -> "StoredCodes | None":
    """The codes of a run; None for a method without codes or without posteriors.

    Args:
        run: The run folder, after the stage.

    Raises:
        InputError: The file is damaged.
    """
    import numpy as np

    from dislab.runs.codes import read_codes  # with Lightning, which a table does without

    if not (run / FILE).is_file():
        return None
    found = read_codes(run / FILE)
    return None if np.isnan(found.kl).any() else found
