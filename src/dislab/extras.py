"""Import of optional packages, which extras such as `dislab[onnx]` install."""

import importlib
from typing import Any

from dislab.errors import InputError, one_line


def imported(module: str, extra: str, purpose: str) -> Any:
    """Imports a module of a package that an extra installs.

    Args:
        module: Dotted name of the module.
        extra: Name of the extra in `pip install 'dislab[…]'`.
        purpose: The user's task, which begins the message.

    Raises:
        InputError: The package is missing or cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{purpose} needs {module.partition('.')[0]} ({one_line(error)}); install it by "
            f"pip install 'dislab[{extra}]'"
        ) from error
