"""Stage that stores codes of the same images for every run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_choice, check_count
from dislab.study.stages.base import Stage

if TYPE_CHECKING:
    from dislab.runs.codes import StoredCodes

WORD: Final = "codes"
"""Name of the stage in a study file."""
SPLITS: Final = ("train", "validation", "test", "all")
"""Splits that images can be drawn from."""

_LEAST: Final[Mapping[str, int]] = {"images": 2, "seed": 0, "batch_size": 1}


@final
class CodesStage(Stage):
    """Stores the codes of the same images, and the KL of each latent, for every run.

    Agreement between models, such as UDR, is computed from them. The settings are those of
    `dislab encode`: `images`, `split`, `seed` and `batch_size`.
    """

    def checked(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of `dislab encode`."""
        for name, value in settings.items():
            if name == "split":
                check_choice("codes.split", value, SPLITS)
            elif name not in _LEAST:
                names = (*_LEAST, "split")
                raise InputError(
                    f"codes has no setting {name!r}{suggestion(name, names)}; it has "
                    f"{', '.join(names)}"
                )
            else:
                check_count(f"codes.{name}", value, _LEAST[name])
        return dict(settings)

    def arguments(
        self, run: Path, settings: Mapping[str, Any], config: Mapping[str, Any]
    ) -> list[str]:
        """`dislab encode`."""
        items = self.checked(settings).items()  # again: the plan may come from somebody else
        return ["encode", str(run), *(f"--{name}={value}" for name, value in items)]

    def scores(self, run: Path) -> dict[str, float | None]:
        """Returns no scores: codes are compared across runs."""
        return {}


def read_run_codes(run: Path, config: Mapping[str, Any]) -> "StoredCodes | None":
    """Reads the stored codes of a run; None for a method without codes or without posteriors.

    Raises:
        InputError: The file is damaged, or it is missing although the method has codes.
    """
    import numpy as np

    from dislab.runs.codes import CODES, read_codes  # imports Lightning, which tables do not need

    if not (run / CODES).is_file():
        if _has_codes(config):
            raise InputError(
                f"{run / CODES} is missing, although the stage {WORD} has been done; "
                f"{again(str(run))}"
            )
        return None
    codes = read_codes(run / CODES)
    return None if np.isnan(codes.kl).any() else codes


def labelled_scores(run: Path, labels: int) -> dict[str, float]:
    """MIG and SAP on some of the images of a run's codes; empty without codes of enough images."""
    import warnings

    from dislab.functional.random import host_generator
    from dislab.metrics import evaluate
    from dislab.runs.codes import CODES, read_codes  # imports Lightning, which tables do not need

    if not (run / CODES).is_file():
        return {}
    stored = read_codes(run / CODES)
    if stored.factors is None or len(stored.codes) < labels:
        return {}
    rows = host_generator(0).permutation(len(stored.codes))[:labels]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of factors with one value, for every run
        scores = evaluate(stored.codes[rows], stored.factors[rows], ["MIG", "SAP"])
    return {f"{name}_{labels}_labels": value for name, value in scores.items()}


def again(run: str) -> str:
    """Advice on how to store the codes of a run again."""
    return f"remove {run}/stages/{WORD}/done.json and run the study again"


def _has_codes(config: Mapping[str, Any]) -> bool:
    """Whether the method of a run makes codes: true unless its class sets `has_codes = False`."""
    from dislab.naming.classes import find_object

    cls = find_object(config.get("model", {}).get("class_path"))
    return bool(getattr(cls, "has_codes", True))
