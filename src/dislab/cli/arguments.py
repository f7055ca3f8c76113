"""The parser of dislab's own commands."""

import argparse
from typing import NoReturn

from dislab.errors import InputError


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes become one message instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        """Raises what was wrong.

        Args:
            message: What argparse says.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{message}; see {self.prog} --help")
