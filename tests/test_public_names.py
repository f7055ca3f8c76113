"""The package as a person with a notebook sees it: names, signatures, lines of warnings."""

import ast
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dislab
from dislab.base.pixels import PixelWarning
from dislab.datasets import ArrayDataset
from dislab.factors import FactorWarning
from dislab.metrics import ConstantFactorWarning, ContinuousFactorWarning, evaluate
from dislab.runs import open_run

PACKAGES = [name for name in dislab.__all__ if isinstance(getattr(dislab, name), ModuleType)]


@pytest.mark.slow
def test_only_public_names_are_shown_and_packages_are_imported_when_used() -> None:
    assert dir(dislab) == ["__version__", *dislab.__all__]
    code = "import sys, dislab; dir(dislab); print('torch' in sys.modules, dislab.evaluate)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False <function evaluate")
    with pytest.raises(AttributeError, match="module 'dislab' has no attribute 'metric'"):
        getattr(dislab, "metric")  # noqa: B009


def test_two_functions_stand_at_the_root() -> None:
    assert set(dislab.__all__) - set(PACKAGES) == {"evaluate", "open_run"}
    assert dislab.evaluate is evaluate
    assert dislab.open_run is open_run


def test_every_documented_package_is_public() -> None:
    pages = (Path(__file__).parents[1] / "docs/api").glob("*.md")
    lines = [line for page in pages for line in page.read_text().splitlines()]
    names = {line.split(".")[1] for line in lines if line.startswith("::: dislab.")}
    of_commands = {"cli", "naming", "signals", "yaml_files"}
    assert names - of_commands == set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_shows_the_names_that_it_imports_when_they_are_used(name: str) -> None:
    package = getattr(dislab, name)
    assert set(getattr(package, "__all__", ())) <= set(dir(package))
    assert "TYPE_CHECKING" not in dir(package)
    if hasattr(package, "__getattr__"):
        assert set(dir(package)) == set(package.__all__)


def functions(module: ModuleType) -> Iterator[Callable[..., object]]:
    """The exported functions of a package, and the methods and constructors of its classes."""
    for name in getattr(module, "__all__", ()):
        part = getattr(module, name)
        if inspect.isclass(part):
            methods = filter(inspect.isfunction, vars(part).values())
            yield from (
                method for method in methods if not re.match("_(?!_init__)", method.__name__)
            )
        elif inspect.isfunction(part):
            yield part


@pytest.mark.parametrize("name", PACKAGES)
def test_signatures_are_readable(name: str) -> None:
    for function in functions(getattr(dislab, name)):
        for parameter in inspect.signature(function).parameters.values():
            text = inspect.formatannotation(parameter.annotation)
            assert len(text) <= 200, (function.__qualname__, parameter.name, text)


CODES = np.random.default_rng(0).normal(size=(60, 2))
FACTORS = np.repeat([[0, 0], [1, 0]], 30, axis=0)
TEXTS = np.array(["0,5", "0,7", "1,0", "0,5"])
IMAGES = np.zeros((4, 8, 8), np.uint8)


@pytest.mark.parametrize(
    ("call", "category"),
    [
        (lambda: evaluate(CODES, FACTORS, "MIG"), ConstantFactorWarning),
        (lambda: evaluate(CODES, CODES, "MIG"), ContinuousFactorWarning),
        (lambda: ArrayDataset(IMAGES, {"x": TEXTS}), FactorWarning),
        (lambda: ArrayDataset(IMAGES), PixelWarning),
    ],
)
def test_a_warning_names_the_line_of_the_caller(
    call: Callable[[], object], category: type[Warning]
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    lines = [item.filename for item in caught if item.category is category]
    assert lines
    assert set(lines) == {__file__}


@pytest.mark.slow
def test_every_warning_of_the_package_is_raised_by_one_function() -> None:
    package = Path(dislab.__file__).parent
    found = []
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warnings.warn"):
                found.append(path)
    assert found == []
