"""Checks of the differences between the runs of a pack."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

import torch
from torch import Tensor, nn

from dislab.base import Objective
from dislab.base.hyperparameters import describe
from dislab.errors import InputError, PackError

_OF_PARTIALS: Final = ("func", "args", "keywords")
"""Attributes by which two `functools.partial` objects are compared."""

_UNRELATED: Final = (
    "training",
    "own_classes",
    "allow_zero_length_dataloader_with_multiple_devices",
)
"""Attributes of modules that losses do not read."""


def check_schedules(models: Sequence[Objective]) -> None:
    """Refuses different schedules, since a stack follows that of the first run.

    Args:
        models: The methods of the runs.

    Raises:
        PackError: Two runs have different schedules.
    """
    first, *others = map(_schedule, models)
    for number, other in enumerate(others, 1):
        if not _equal(first, other):
            raise PackError(
                f"the scheduler is {first!r} in run 0 and {other!r} in run {number}; runs of one "
                "pack share the schedule of their learning rate"
            )


def _schedule(model: Objective) -> Any:
    """The builder of a schedule as plain data; the builder itself if it is a function."""
    try:
        return describe(model._make_scheduler, "scheduler")
    except InputError:
        return model._make_scheduler


def check_alike(found: Sequence[Mapping[str, Tensor]]) -> None:
    """Refuses tensors with different names, shapes or dtypes.

    Args:
        found: The parameters, or the buffers, of each run by name.

    Raises:
        PackError: Tensors of two runs differ.
    """
    first = found[0]
    for number, other in enumerate(found):
        for name in dict.fromkeys([*first, *other]):
            one, its = (_form(tensors.get(name)) for tensors in (first, other))
            if one != its:
                raise PackError(
                    f"{name} is {one} in run 0 and {its} in run {number}; runs of one pack differ "
                    "in their seeds, and in settings that are numbers and change no shape"
                )


def _form(tensor: Tensor | None) -> str:
    if tensor is None:
        return "missing"
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def differing(models: Sequence[nn.Module]) -> list[tuple[nn.Module, str, list[Any]]]:
    """Settings in which models differ: module of the first model, attribute, values of all models.

    Args:
        models: The methods of the runs.

    Raises:
        PackError: They differ in their parts, or in settings that are not numbers.
    """
    found: list[tuple[nn.Module, str, list[Any]]] = []
    modules = [dict(model.named_modules()) for model in models]
    for place, module in modules[0].items():
        others = [its.get(place) for its in modules]
        for number, other in enumerate(others):
            if type(other) is not type(module):
                raise PackError(
                    f"{place or 'the model'} is a {type(module).__name__} in run 0 and a "
                    f"{type(other).__name__} in run {number}; runs of one pack have the same parts"
                )
        for name, value in vars(module).items():
            if name.startswith("_") or name in _UNRELATED:
                continue
            values = [vars(other).get(name) for other in others]
            wrong = [number for number, one in enumerate(values) if not _equal(value, one)]
            if not wrong:
                continue
            if not all(is_number(one) or _are_numbers(one, value) for one in values):
                raise PackError(
                    f"{f'{place}.' if place else ''}{name} is {value!r} in run 0 and "
                    f"{values[wrong[0]]!r} in run {wrong[0]}; runs of one pack differ in their "
                    "seeds and in numbers only"
                )
            found.append((module, name, values))
    return found


def _equal(one: Any, other: Any) -> bool:
    """Whether two values of a setting mean the same."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Tensor):
        return torch.equal(one, other)
    if isinstance(one, FunctionType):
        return False  # functions defined for each run may enclose different values
    if isinstance(one, partial):
        return all(_equal(getattr(one, part), getattr(other, part)) for part in _OF_PARTIALS)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if "__eq__" not in {name for kind in type(one).__mro__[:-1] for name in vars(kind)} and hasattr(
        one, "__dict__"
    ):
        return _equal([*vars(one).items()], [*vars(other).items()])
    return bool(one == other)


def is_number(value: Any) -> bool:
    """Whether a setting is a number that may differ between runs.

    Args:
        value: The setting.
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(value: Any, example: Any) -> bool:
    """Whether a value is a sequence of as many numbers as an example."""
    if not isinstance(value, list | tuple) or not isinstance(example, list | tuple):
        return False
    return len(value) == len(example) and all(map(is_number, value))
