"""Names of the models, their folders, and the models themselves."""

from pathlib import Path
from typing import Final

from dislab.base import Objective
from dislab.errors import InputError, suggestion
from dislab.runs import load_run

_FOLDER: Final = Path(__file__).parent / "files"
_PREFIX: Final = "zoo/"


def names() -> list[str]:
    """The names of all models, such as `factorvae-dsprites`, sorted."""
    return sorted(one.name for one in _FOLDER.iterdir() if one.is_dir())


def path(name: str) -> Path:
    """The folder of a model: safetensors, settings, scores, configuration and card.

    `dislab.runs.load_run` and `open_run` take it. Copy it before you write to it.

    Args:
        name: A name of `names()`, with or without `zoo/` before it.

    Raises:
        InputError: No model has that name.
    """
    short, known = name.removeprefix(_PREFIX), names()
    if short not in known:
        raise InputError(
            f"the zoo has no model {name!r}{suggestion(short, known)}; `dislab zoo` lists them"
        )
    return _FOLDER / short


def load(name: str) -> Objective:
    """A model in single precision, on the CPU and in evaluation mode.

    Its weights were rounded to half precision: `zoo.json` in its folder holds scores before and
    after.

    Args:
        name: A name of `names()`, with or without `zoo/` before it.

    Raises:
        InputError: No model has that name, or the installed dislab does not fit its files.
    """
    return load_run(path(name))
