"""Names and folders of the models, and loading."""

from pathlib import Path
from typing import Final

from dislab.base import Objective
from dislab.errors import InputError, suggestion
from dislab.runs import load_run

_FOLDER: Final = Path(__file__).parent / "files"
_PREFIX: Final = "zoo/"


def names() -> list[str]:
    """Sorted names of all models, such as `factorvae-dsprites`."""
    return sorted(folder.name for folder in _FOLDER.iterdir() if folder.is_dir())


def path(name: str) -> Path:
    """Folder of a model: safetensors, settings, scores, configuration and model card.

    Accepted by `dislab.runs.load_run` and `open_run`. Copy the folder before you write to it.

    Args:
        name: A name of `names()`, with or without `zoo/` before it.

    Raises:
        InputError: No model has that name.
    """
    short, models = name.removeprefix(_PREFIX), names()
    if short not in models:
        raise InputError(
            f"the zoo has no model {name!r}{suggestion(short, models)}; `dislab zoo` lists them"
        )
    return _FOLDER / short


def load(name: str) -> Objective:
    """Loads a model in single precision, on the CPU and in evaluation mode.

    Its weights were rounded to half precision; `zoo.json` in its folder contains scores before and
    after rounding.

    Args:
        name: A name of `names()`, with or without `zoo/` before it.

    Raises:
        InputError: No model has that name, or the installed dislab does not fit its files.
    """
    return load_run(path(name))
