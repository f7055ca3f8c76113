"""The arguments with which pytest runs the tests of one part: `make part NAME=TotalCorrelation`.

Its own test file runs whole, or, where it has none, the one of its group that names it most often.
Of the tests that all parts of its group share, its cases run.
"""

import os
import re
import sys
from pathlib import Path

from dislab.errors import InputError, suggestion
from dislab.plugins import PARTS, available

TESTS = Path(__file__).parent


def chosen(name: str) -> list[str]:
    """Test files and an expression for `-k`.

    Args:
        name: The class name of a built-in part, or the name of the module that defines it.

    Raises:
        InputError: There is no such part.
    """
    modules = {
        plugin.name: (group, plugin.value.partition(":")[0].rpartition(".")[2])
        for group in PARTS
        for plugin in available(group)
    }
    found = [one for one, (_, module) in modules.items() if name in (one, module)]
    if not found:
        raise InputError(f"no part is named {name!r}{suggestion(name, modules)}")
    [cls] = found
    group, module = modules[cls]
    files = sorted((TESTS / group).rglob("test_*.py"))
    named = {path: len(re.findall(rf"\b{cls}\b", path.read_text())) for path in files}
    most = max(files, key=lambda path: named[path])
    own = next((path for path in files if path.stem == f"test_{module}"), most)
    shared = TESTS / "conformance" / f"test_{group}.py"
    return [str(own), str(shared), "-k", f"{own.stem} or {cls}-"]


if __name__ == "__main__":
    try:
        arguments = chosen(sys.argv[1] if len(sys.argv) > 1 else "")
    except InputError as error:
        sys.exit(f"{error}; give a class name, such as: make part NAME=TotalCorrelation")
    # a process of its own, as the type checks of tests begin before dislab is imported
    pytest = [sys.executable, "-m", "pytest", "-m", "not slow", *arguments, *sys.argv[2:]]
    os.execv(sys.executable, pytest)
