"""Check of how parts are declared, and helpers that the checks of every group share."""

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Final, TypeVar

import numpy as np
import torch
from torch import nn

from dislab import cli
from dislab.errors import InputError
from dislab.plugins import available, load

CPU: Final = torch.device("cpu")
Part = TypeVar("Part")


def check_declared(group: str, names: Sequence[str]) -> None:
    """Checks that each class is declared under its own name, with a summary for `dislab plugins`.

    Args:
        group: The plugin group.
        names: Names of the classes.
    """
    declared = {plugin.name: plugin for plugin in available(group)}
    for name in names:
        must(name in declared, f"pyproject.toml has an entry point {name} of dislab.{group}")
        plugin = declared[name]
        must(
            plugin.value.endswith(f":{name}"),
            f"the entry point {name} has a value that ends in :{name}, not {plugin.value}",
        )
        try:
            load(group, name)
        except InputError as error:
            raise AssertionError(f"this should hold: {name} can be imported; {error}") from error
        must(bool(plugin.summary), f"{name} has a docstring in {plugin.value}")


def check_configuration(name: str) -> None:
    """Checks that `dislab fit --config NAME` reads the configuration and finds all its parts.

    Args:
        name: Name of the configuration of a package, or a file.
    """
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as messages:
        try:
            status: object = cli.main(["fit", "--config", name, "--print_config"])
        except SystemExit as end:  # after the settings are printed
            status = end.code
    must(not status, f"the configuration {name} is read; {messages.getvalue().strip()}")


def must(holds: bool, claim: str) -> None:
    """Raises an AssertionError with the claim unless it holds."""
    if not holds:
        raise AssertionError(f"this should hold: {claim}")


def part_from(build: Callable[..., Part], names: str, *given: object) -> Part:
    """A part from the arguments that dislab gives; an AssertionError tells what it has to take."""
    try:
        part = build(*given)
    except TypeError as error:
        claim = f"the class takes {names} before its own settings, which have defaults"
        raise AssertionError(f"this should hold: {claim}; {error}") from error
    is_begun = not isinstance(part, nn.Module) or "_parameters" in vars(part)
    must(is_begun, f"{type(part).__name__}.__init__ calls super().__init__() first")
    return part


def refuses(action: Callable[[], object], claim: str) -> None:
    """Raises an AssertionError with the claim unless the action raises an `InputError`."""
    try:
        action()
    except InputError:
        return
    must(False, f"{claim}, with an InputError")


def random_states() -> tuple[bytes, bytes]:
    """The global random states of torch and NumPy, to compare before and after a call."""
    numpy_state: Any = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state().numpy().tobytes(), numpy_state[1].tobytes()


def check_state_dict(module: nn.Module, copy: nn.Module) -> None:
    """Raises an AssertionError unless `copy` can load every tensor of `module`'s state dict."""
    stored = io.BytesIO()
    torch.save(module.state_dict(), stored)
    stored.seek(0)
    copy.load_state_dict(torch.load(stored, weights_only=True))
    for name, value in module.state_dict().items():
        must(torch.equal(value, copy.state_dict()[name]), f"{name} survives a checkpoint")
