"""The parser of dislab's own commands."""

import argparse
from typing import Any, NoReturn

from dislab.errors import InputError


class Parser(argparse.ArgumentParser):
    """A parser that takes whole options only, and reports an error without the usage text."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        """Raises the error as an `InputError`.

        Args:
            message: Message of argparse.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{message}; see {self.prog} --help")
