"""The parser of dislab's own commands."""

import argparse
from typing import NoReturn

from dislab.errors import InputError


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one message, without the usage text."""

    def error(self, message: str) -> NoReturn:
        """Raises the error as an `InputError`.

        Args:
            message: Message of argparse.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{message}; see {self.prog} --help")
