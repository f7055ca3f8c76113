"""`dislab data list | prepare | show`: lists data sets, prepares their files, draws pictures."""

import re
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dislab.cli.arguments import Parser
from dislab.cli.catalogue import as_json, as_table, catalogue, in_words
from dislab.errors import InputError, suggestion
from dislab.plugins import available, load_all

if TYPE_CHECKING:
    from dislab.base import Dataset

ACTIONS: Final = ("list", "prepare", "show")
_SHOW: Final = "data show"

_HELP: Final = """usage: dislab data list [--json]
       dislab data prepare NAME [--SETTING VALUE ...]
       dislab data show NAME [--out DIR] [--images COUNT] [--SETTING VALUE ...]

List the data sets, make or fetch one's files, or draw pictures of its images and factors.
`dislab data prepare NAME --help` explains the settings of a data set.
"""


def run(args: list[str]) -> int:
    """Runs `dislab data` and returns the exit status."""
    action, *arguments = args or ["--help"]
    if action in ("-h", "--help"):
        print(_HELP, end="")
        return 0
    if action not in ACTIONS:
        raise InputError(
            f"dislab data has no action {action!r}{suggestion(action, ACTIONS)}; it has "
            f"{', '.join(ACTIONS)}"
        )
    if action == "list":
        return _list(arguments)
    name, *settings = arguments or ["--help"]
    if name.startswith("-"):
        if name not in ("-h", "--help"):
            raise InputError(f"dislab data {action} takes the name of a data set before {name}")
        print(_HELP, end="")
        return 0
    return _prepare(name, settings) if action == "prepare" else _show(name, settings)


def _list(args: list[str]) -> int:
    parser = Parser("dislab data list", description="List the data sets.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    entries = catalogue()
    print(as_json(entries) if parser.parse_args(args).json else as_table(entries))
    return 0


def _prepare(name: str, settings: list[str]) -> int:
    dataset, _ = _built("prepare", name, settings)
    try:
        dataset.prepare()
    except KeyboardInterrupt:
        print("dislab: interrupted; run the same command to go on", file=sys.stderr)
        return 130
    size = sum(table.nbytes for table in dataset.tables().values())
    where = ", ".join(f"{key} {value}" for key, value in dataset.provenance().items())
    print(f"{name}: {len(dataset.factors):,} images, {in_words(size)} ({where})")
    return 0


def _show(name: str, settings: list[str]) -> int:
    dataset, options = _built("show", name, settings)
    from dislab import plots
    from dislab.cli.sheets import check_images, sample_sheet, traversal_sheet
    from dislab.storage import check_output

    check_images(options["images"])
    paths = [Path(options["out"], f"{name}_{kind}.png") for kind in ("samples", "traversals")]
    for path in paths:
        check_output("--out", path, partial(plots.is_picture, command=_SHOW))
    dataset.prepare()
    sheets = (sample_sheet(dataset, options["images"]), traversal_sheet(dataset))
    for sheet, path in zip(sheets, paths, strict=True):
        plots.save(sheet, path, _SHOW)
        print(path)
    return 0


def _built(action: str, name: str, settings: list[str]) -> "tuple[Dataset, dict[str, Any]]":
    """Builds a data set from its settings; returns it with the other options."""
    names = [plugin.name for plugin in available("datasets")]
    if name not in names:
        raise InputError(
            f"no data set is named {name!r}{suggestion(name, names)}; the data sets are "
            f"{', '.join(names)}"
        )
    import jsonargparse  # data sets import torch, which listing must avoid

    from dislab.cli.config_checks import check_configurations
    from dislab.cli.messages import explain
    from dislab.cli.names import confine_names

    check_configurations(settings)
    confine_names()
    cls: Any = load_all(("datasets",))["datasets"].get(name)
    if cls is None:
        raise InputError(f"{name} cannot be imported; the warning above says why")

    class SettingsParser(jsonargparse.ArgumentParser):
        def error(self, message: str, ex: Exception | None = None) -> NoReturn:
            raise InputError(_reworded(message, name, settings_of_class, explain)) from ex

    parser = SettingsParser(prog=f"dislab data {action} {name}", allow_abbrev=False)
    settings_of_class = parser.add_class_arguments(cls, None)
    if action == "show":
        parser.add_argument("--out", type=str, default=".", help="folder of the pictures")
        parser.add_argument("--images", type=int, default=40, help="how many images to show")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        options = parser.parse_args(settings).as_dict()
    return cls(**{setting: options.pop(setting) for setting in settings_of_class}), options


def _reworded(message: str, name: str, settings: list[str], explain: Any) -> str:
    """A parser's message, reworded for the settings of a data set."""
    if match := re.search(r"unrecognized arguments: (\S+)", message):
        written = match[1].partition("=")[0].lstrip("-")
        listing = f"it has {', '.join(settings)}" if settings else "it has none"
        return f"{name} has no setting {written!r}{suggestion(written, settings)}; {listing}"
    if match := re.search(r'(?:Key "|are required: )(\w+)', message):
        return f"{name} needs a {match[1]}: give --{match[1]}"
    return f"{name}: {explain(message, settings)}"
