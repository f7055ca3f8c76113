"""The parser of dislab's own commands."""

import argparse
from typing import NoReturn

from dislab.errors import InputError


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one message, without the usage text."""

    def error(self, message: str) -> NoReturn:
        """Raise the mistake as an `InputError`.

        Args:
            message: Message of argparse.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{message}; see {self.prog} --help")
