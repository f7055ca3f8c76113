"""A part whose method does not take what its contract passes is refused when it is made."""

import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
from torch import nn

from dislab import plugins
from dislab.base import DataModule, Dataset, Encoder, Objective
from dislab.base.failures import parts_named
from dislab.base.parts import make_part
from dislab.cli.messages import base_of
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.errors import InputError
from dislab.naming.settings import Part, subclasses
from dislab.plans import PlannedData
from dislab.plugins import (
    LAUNCHERS,
    PARTS,
    SAMPLERS,
    STAGES,
    Plugin,
    check_methods,
    load_command,
    load_declared,
)
from dislab.study.launchers.base import Launcher
from dislab.study.samplers import Sampler
from dislab.study.stages.base import Stage

STUDIES = {STAGES: Stage, LAUNCHERS: Launcher, SAMPLERS: Sampler}
CONTRACTS = [*(base_of(group) for group in PARTS), PlannedData, *STUDIES.values()]


def right(self: Any, *arguments: Any, **settings: Any) -> Any: ...


def wrong(self: Any, *, more: int) -> Any: ...


OPEN = ("save_hyperparameters",)
"""Methods that take any arguments."""


def methods_of(contract: type) -> Iterator[str]:
    for base in contract.__mro__:
        if base.__module__.startswith("dislab."):
            for name, value in vars(base).items():
                if inspect.isfunction(value) and not name.startswith("_") and name not in OPEN:
                    yield name


CASES = [
    pytest.param(contract, name, id=f"{contract.__name__}-{name}")
    for contract in CONTRACTS
    for name in dict.fromkeys(methods_of(contract))
]


def derived(contract: Any, **attributes: Any) -> Any:
    """A class with all abstract methods of a contract, and other attributes."""
    abstract = {
        name: property(right) if isinstance(getattr(contract, name), property) else right
        for name in getattr(contract, "__abstractmethods__", ())
    }
    if getattr(contract, "filled_in", 0) == 2:

        def __init__(self: Any, first: Any, second: Any) -> None:  # noqa: N807
            super(contract, self).__init__()

        abstract["__init__"] = __init__
    return type("Mine", (contract,), abstract | attributes)


def make(contract: type, cls: Any, monkeypatch: pytest.MonkeyPatch) -> object:
    """Makes a part as its owner does."""
    for group, base in STUDIES.items():
        if contract is base:
            declared = {"mine": Plugin(group, "mine", "mykit:Mine", "mykit", "1")}
            monkeypatch.setattr(plugins, "declared", {group: declared}.get)
            monkeypatch.setattr(plugins, "load_object", lambda plugin: cls)
            return load_declared(group, "mine", base)
    if contract is PlannedData:
        return cls(GaussianBlob())
    if count := getattr(contract, "filled_in", 0):
        leading: dict[int, dict[str, Any]] = {
            1: {"space": GaussianBlob().factors},
            2: {"first": 1, "second": 2},
        }
        return make_part(contract, cls, **leading[count])
    return cls()


@pytest.mark.parametrize(("contract", "method"), CASES)
def test_a_method_with_other_arguments_is_refused(
    contract: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(contract, derived(contract, **{method: right}), monkeypatch)
    with pytest.raises(
        InputError, match=rf"^Mine\.{method} (takes|requires|has) .*; it must take "
    ):
        make(contract, derived(contract, **{method: wrong}), monkeypatch)


@pytest.mark.parametrize("contract", [Objective, Dataset, DataModule, PlannedData])
def test_a_constructor_of_its_own_does_not_hide_a_wrong_method(contract: Any) -> None:
    def __init__(self: Any) -> None:  # noqa: N807
        raise AssertionError  # methods are checked first

    for name in methods_of(contract):
        with pytest.raises(InputError, match=rf"^Mine\.{name} .*; it must take "):
            derived(contract, **{name: wrong, "__init__": __init__})()


def test_a_plan_with_other_arguments_is_refused() -> None:
    class Few:
        def draw(self, generator: np.random.Generator, count: int) -> Any: ...

    class OfFew(SingleData):  # type: ignore[misc]
        def plan(self, split: Any) -> Any:
            return Few()

    with pytest.raises(
        InputError, match=r"^Few.draw .*; it must take generator, count, step, batches$"
    ):
        OfFew(GaussianBlob()).train_dataloader()


def test_properties_and_methods_are_not_exchanged() -> None:
    with pytest.raises(InputError, match=r"^Mine.factors must be a property: write @property ab"):
        derived(Dataset, factors=right)()
    with pytest.raises(InputError, match=r"^Mine.tables must be a method: remove @property above"):
        derived(Dataset, tables=property(right))()


def test_methods_that_need_no_object_pass() -> None:
    def gather(tables: Any, index: Any) -> Any: ...

    derived(Dataset, gather=staticmethod(gather))()
    with pytest.raises(InputError, match=r"^Mine.gather takes index; it must take tables, index"):
        derived(Dataset, gather=classmethod(gather))()


def test_hooks_of_lightning_may_leave_out_options() -> None:
    class Hooks(pl.Callback):
        def on_validation_batch_end(  # type: ignore[override]
            self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int
        ) -> None: ...

    class Few(pl.Callback):
        def on_train_batch_end(self, trainer: Any, module: Any) -> None: ...  # type: ignore[override]

    check_methods(Hooks)
    with pytest.raises(
        InputError, match=r"^Few.on_train_batch_end takes .*; it must take trainer, pl_module"
    ):
        check_methods(Few)


def test_a_command_takes_the_list_of_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "load_object", lambda plugin: lambda: 0)
    with pytest.raises(
        InputError, match=r"^mykit:run takes no arguments; it must take the list of arguments alone"
    ):
        load_command(Plugin("commands", "mine", "mykit:run", "mykit", "1"))


def test_all_parts_of_dislab_keep_their_contracts() -> None:
    plugins.load_all()
    classes = {*subclasses(Part, pl.Callback, *STUDIES.values())}
    assert Encoder in classes
    for cls in classes:
        if cls.__module__.startswith("dislab."):
            check_methods(cls)


class WithoutSuper(Objective):
    def __init__(self, encoder: Any, parts: Any, layer: bool = True) -> None:
        if layer:
            self.encoder = encoder(1, 2)

    losses = draw = codes = right


class DataWithoutSuper(SingleData):  # type: ignore[misc]
    def __init__(self, dataset: Dataset, batch_size: int = 64) -> None:
        self.dataset = dataset


def test_a_constructor_that_does_not_call_its_base_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(globals(), "__name__", "mykit.parts")  # as dislab's own keep their errors
    make_layer = partial(nn.Linear)
    message = (
        r"^the objective WithoutSuper \(.*\) does not call super\(\).__init__\(optimizer, "
        r"scheduler\); call it first in __init__ \(test_methods.py, line \d+\)$"
    )
    with pytest.raises(InputError, match=message), parts_named():
        WithoutSuper(make_layer, {"one": make_layer})
    for make in (
        partial(WithoutSuper, make_layer, {}, layer=False),
        partial(DataWithoutSuper, GaussianBlob()),
    ):
        with pytest.raises(InputError, match=r"Super.__init__ does not call super\(\).__init__\("):
            make()


class Failing(Objective):
    def __init__(self, encoder: Any, parts: Any) -> None:
        super().__init__()
        raise ValueError("no")

    losses = draw = codes = right


def test_makers_of_parts_are_named_by_their_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "__name__", "mykit.parts")
    message = r"with encoder=Linear, parts=\{'one': Linear, 'two': Linear\}: ValueError: no"
    parts = {"one": nn.Linear, "two": partial(right, nn.Linear, bias=False)}
    with pytest.raises(InputError, match=message), parts_named():
        Failing(partial(nn.Linear, bias=False), parts)
