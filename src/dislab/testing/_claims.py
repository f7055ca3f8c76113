"""Check of how parts are declared, and helpers that the checks of every group share."""

import inspect
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from dislab import cli
from dislab.base.failures import parts_named
from dislab.base.parts import check_concrete, check_derived, make_part
from dislab.errors import InputError
from dislab.naming.settings import Part
from dislab.plugins import available, load

CPU: Final = torch.device("cpu")
TOO_FEW: Final = "a class that needs more images sets smallest_batch, such as 2"
Kind = TypeVar("Kind")


def check_declared(group: str, names: Sequence[str] | str) -> None:
    """Checks that each class is declared under its own name, with a summary for `dislab plugins`.

    Args:
        group: The plugin group.
        names: Names of the classes, or one name.
    """
    names = [names] if isinstance(names, str) else names
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


def part_from(base: type, build: Callable[..., Kind], **leading: object) -> Kind:
    """A part from the arguments that dislab gives; an AssertionError tells what it lacks."""
    must_build(base, build, f"check_{base.__name__.lower()}({{}})")
    with mistakes():
        return make_part(base, build, **leading)


def must_build(base: type, build: object, example: str) -> None:
    """Raises an AssertionError unless a check is given a class or function that makes parts.

    Args:
        base: The contract of the parts.
        build: What the check is given.
        example: A right call, with `{}` for the name of the class.
    """
    check, made = example.partition("(")[0], isinstance(build, nn.Module | Part)
    if made:
        must_derive(build, base)
    if made or not callable(build):
        name = type(build).__name__
        example = example.format(name if made else f"My{base.__name__}")
        raise AssertionError(
            f"{check} takes a class or a function that makes the part, not an object of {name}; "
            f"write {example}"
        )


def made_by(base: type, build: Callable[[], Kind], example: str) -> Kind:
    """A part from a class or function without arguments; an AssertionError says what is amiss."""
    must_build(base, build, example)
    cls = build.func if isinstance(build, partial) else build
    name = f"My{base.__name__}"
    if inspect.isclass(cls):
        name = cls.__name__
        with mistakes():
            check_derived(cls, base)
            check_concrete(cls, base)
    try:
        inspect.signature(build).bind()
    except TypeError as error:
        raise AssertionError(
            f"{example.partition('(')[0]} calls {name if inspect.isclass(cls) else 'the function'}"
            f"(): {error}; write {example.format(name)}, with its settings"
        ) from None
    try:
        part = build()
    except TypeError as error:
        if "abstract class" not in str(error):
            raise
        raise AssertionError(f"{error}; define it as {base.__name__} does") from error
    must_derive(part, base)
    return part


def must_derive(part: object, base: type) -> None:
    """Raises an AssertionError unless a part derives from the base class of its group."""
    if inspect.isclass(part):
        name = part.__name__
        raise AssertionError(f"the function returns the class {name}; return {name}(...), a part")
    with mistakes():
        check_derived(type(part), base)


def must_be(value: object, kind: type, what: str) -> None:
    """Raises an AssertionError unless a result is of a type; it says which type was found."""
    must(isinstance(value, kind), f"{what} a {kind.__name__}, not a {type(value).__name__}")


def must_have(value: Tensor, shape: tuple[int, ...], what: str) -> None:
    """Raises an AssertionError unless a tensor has a shape; it says which shape was found."""
    must(tuple(value.shape) == shape, f"{what} shape {shape}, not {tuple(value.shape)}")


def must_equal(value: Tensor, expected: Tensor, claim: str, exact: bool = True) -> None:
    """Raises an AssertionError unless tensors are equal; it says by how much they differ.

    Args:
        value: A tensor.
        expected: The same, of another call or by another way.
        claim: Why they are equal.
        exact: Whether rounding counts as a difference.
    """
    must_have(value, tuple(expected.shape), f"{claim}, of")
    equal = torch.equal if exact else partial(torch.allclose, rtol=1e-5, atol=1e-5)
    if not equal(value, expected):
        largest = (value.double() - expected.double()).abs().max().item()
        must(False, f"{claim}; they differ by up to {largest:.3g}")


def must_carry_gradients(value: Tensor, what: str) -> None:
    """Raises an AssertionError if a result is cut off from all that it is computed from."""
    must(
        value.requires_grad,
        f"{what} carries gradients to train by; it has none: leave out .detach(), .data and "
        "torch.no_grad(), which cut it off from the parameters",
    )


def must_keep_states(before: tuple[bytes, bytes], what: str) -> None:
    """Raises an AssertionError if the global random states have changed."""
    must(
        before == random_states(),
        f"{what}; the global random state of torch or NumPy has changed: draw by a generator, such "
        "as dislab.functional.random.host_generator(seed, purpose)",
    )


@contextmanager
def mistakes(arguments: str = "") -> Iterator[None]:
    """Turns a message on a part, as in training, into an AssertionError.

    Args:
        arguments: Those of the part, to append to the message of an error that it raises.
    """
    try:
        with parts_named(arguments), warnings.catch_warnings():
            # the result, NaN, is checked
            warnings.filterwarnings("ignore", ".*degrees of freedom", UserWarning)
            yield
    except InputError as error:
        raise AssertionError(str(error)) from error


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


def smallest_batch(part: nn.Module) -> int:
    """Fewest images of a training batch that a part and its own parts declare."""
    return max(getattr(module, "smallest_batch", 1) for module in part.modules())


def check_state_dict(module: nn.Module, copy: nn.Module) -> None:
    """Raises an AssertionError unless `copy` can load every tensor of `module`'s state dict."""
    stored = io.BytesIO()
    torch.save(module.state_dict(), stored)
    stored.seek(0)
    copy.load_state_dict(torch.load(stored, weights_only=True))
    for name, value in module.state_dict().items():
        must_equal(copy.state_dict()[name], value, f"{name} survives a checkpoint")
