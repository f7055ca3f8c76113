"""Links from properties of the data to constructor arguments of an objective with equal names."""

import inspect
from collections.abc import Callable
from typing import Any

from lightning.pytorch.cli import LightningArgumentParser

from dislab.base import DataModule, Objective, offered
from dislab.base.named_classes import find_class
from dislab.errors import InputError


def link(parser: LightningArgumentParser) -> None:
    """Links the model's arguments to the properties that any data module offers."""
    for name in offered():
        target = f"model.init_args.{name}"
        if name in DataModule.offers:
            parser.link_arguments(f"data.{name}", target, apply_on="instantiate")
        else:  # some data modules lack this property
            parser.link_arguments("data", target, _taking(name), apply_on="instantiate")


def _taking(name: str) -> Callable[[DataModule], Any]:
    def take(data: DataModule) -> Any:
        return getattr(data, name, None)

    return take


def check_offers(config: Any) -> None:
    """Checks that the data module offers all properties that the model needs.

    Raises:
        InputError: The model needs a property that the data module lacks; the message names data
            modules that have it.
    """
    model: Any = find_class(config["model"]["class_path"], (Objective,), "model")
    data: Any = find_class(config["data"]["class_path"], (DataModule,), "data")
    needed = {
        name
        for name, parameter in inspect.signature(model).parameters.items()
        if parameter.default is parameter.empty and name in offered()
    }
    if missing := sorted(needed - {*data.offers}):
        others = [
            parameter.__name__
            for parameter in _below(DataModule)
            if needed <= {*parameter.offers} and issubclass(parameter.batch_type, model.batch_types)
        ]
        remedy = (
            f"choose {' or '.join(sorted(others))}" if others else "no data module that fits does"
        )
        raise InputError(
            f"{model.__name__} needs {', '.join(missing)} from the data, which {data.__name__} "
            f"does not offer; {remedy}"
        )


def _below(base: type[Any]) -> list[type[Any]]:
    """The concrete classes that derive from a class."""
    below = [cls for derived in base.__subclasses__() for cls in _below(derived)]
    return below if inspect.isabstract(base) else [base, *below]
