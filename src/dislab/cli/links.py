"""Properties of the data that the constructor of an objective requests by name."""

import inspect
from collections.abc import Callable
from typing import Any

from lightning.pytorch.cli import LightningArgumentParser

from dislab.base import DataModule, Objective, offered
from dislab.base.named_classes import find_class
from dislab.errors import InputError


def link(parser: LightningArgumentParser) -> None:
    """Lets the model take from the data all that any data module offers."""
    for name in offered():
        target = f"model.init_args.{name}"
        if name in DataModule.offers:
            parser.link_arguments(f"data.{name}", target, apply_on="instantiate")
        else:  # a property that other data modules lack
            parser.link_arguments("data", target, _taking(name), apply_on="instantiate")


def _taking(name: str) -> Callable[[DataModule], Any]:
    def take(data: DataModule) -> Any:
        return getattr(data, name, None)

    return take


def check_offers(config: Any) -> None:
    """Checks that the data module offers all that the model needs of it.

    Raises:
        InputError: The model needs a property that the data module lacks; the message names data
            modules that have it.
    """
    model = find_class(config["model"]["class_path"], (Objective,), "model")
    data: Any = find_class(config["data"]["class_path"], (DataModule,), "data")
    needed = {
        name
        for name, one in inspect.signature(model).parameters.items()
        if one.default is one.empty and name in offered()
    }
    if missing := sorted(needed - {*data.offers}):
        others = [one.__name__ for one in _below(DataModule) if needed <= {*one.offers}]
        raise InputError(
            f"{model.__name__} needs {', '.join(missing)} from the data, which {data.__name__} "
            f"does not offer; choose {' or '.join(sorted(others))}"
        )


def _below(base: type[Any]) -> list[type[Any]]:
    """The concrete classes that derive from a class."""
    below = [one for derived in base.__subclasses__() for one in _below(derived)]
    return below if inspect.isabstract(base) else [base, *below]
