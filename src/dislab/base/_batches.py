"""Whether a method and its data fit."""

from dislab.base.datamodule import DataModule
from dislab.errors import InputError
from dislab.plugins import load_all


def check_batches(method: str, accepted: tuple[type, ...], data: DataModule) -> None:
    """Refuse data whose batches a method does not learn from; the message names data that fit."""
    if issubclass(data.batch_type, accepted):
        return
    fitting = [
        name
        for name, one in load_all(("datamodules",))["datamodules"].items()
        if issubclass(getattr(one, "batch_type", object), accepted)
    ]
    wanted = " or ".join(one.__name__ for one in accepted)
    raise InputError(
        f"{method} learns from {wanted}, and {type(data).__name__} delivers "
        f"{data.batch_type.__name__}; data modules that fit: {', '.join(fitting) or 'none'}"
    )
