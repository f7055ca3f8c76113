"""`dislab data`: lists data sets, prepares their files, draws pictures, checks own images."""

import argparse
import csv
import json
import re
import shlex
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from dislab.cli.arguments import Existing, Parser, help_page
from dislab.errors import InputError, beside, suggestion
from dislab.plugins import Plugin, available, declarations, hint_for, load, load_all
from dislab.storage import atomic, cache_path, check_output, text_table, unreadable
from dislab.yaml_files import yaml_text

if TYPE_CHECKING:
    from dislab.base import Dataset
    from dislab.datasets.own.inspection import Inspection

ACTIONS: Final = {
    "list": "name, contents and licence of each data set",
    "prepare NAME": "make or fetch the files of a data set",
    "show NAME": "draw pictures of its images and factors",
    "check PATH": "look at a folder of your own images",
}
_DESCRIPTIONS: Final = {
    "prepare": "Make or fetch the files of a data set, with the settings that runs will use.",
    "show": "Draw two pictures of a data set: images at random, and one row for each factor, in "
    "which it alone changes.",
}
_EXAMPLES: Final = {"prepare": "Shapes3D", "show": "Shapes3D --images 20"}
_IMAGES: Final = 40
_OF_SHOW: Final = (
    ("--out FOLDER", "where the pictures go (default: .)"),
    ("--images N", f"how many images to show (default: {_IMAGES})"),
)
_SHOW: Final = "data show"
_COPIES: Final = ("group_of_equal_files", "file")
"""Columns of the table of equal files."""
_FEW_TESTED: Final = 100
"""Test images below which a note says so: a share of 100 has a standard error of up to 0.05."""
_SHARES: Final = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
"""Fractions of own images that validate, and that test; the first one that is an image is taken."""


def run(args: list[str]) -> int:
    """List, prepare and show data sets; check images of your own."""
    action, *arguments = args or ["--help"]
    if action in ("-h", "--help"):
        print(_help(), end="")
        return 0
    actions = [words.split()[0] for words in ACTIONS]
    if action not in actions:
        raise InputError(
            f"dislab data has no action {action!r}{suggestion(action, actions)}; it has "
            f"{', '.join(actions)}"
        )
    if action == "list":
        return _list(arguments)
    if action == "check":
        return _check(arguments)
    name, *settings = arguments or [""]
    if name in ("-h", "--help"):  # before or without the name of a data set
        settings, name = [name], "".join(settings[:1])
        if not name:
            print(_help_of(action), end="")
            return 0
    if not name:
        raise InputError(
            f"NAME must be given; write dislab data {action} NAME; `dislab data list` has the names"
        )
    if name.startswith("-"):
        raise InputError(f"dislab data {action} takes the name of a data set before {name}")
    return _prepare(name, settings) if action == "prepare" else _show(name, settings)


def _help() -> str:
    return help_page(
        "dislab data VERB [options]",
        "List, prepare and show data sets; check images of your own.",
        {"Verbs": list(ACTIONS.items())},
        "dislab data show Shapes3D --images 20",
        "`dislab data VERB --help` explains a verb, `dislab data prepare NAME --help` the settings "
        "of a data set.",
    )


def _help_of(action: str) -> str:
    """The help of a verb that takes the name of a data set."""
    return help_page(
        f"dislab data {action} NAME [--SETTING VALUE …]",
        _DESCRIPTIONS[action],
        {
            "Arguments": [("NAME", "a data set of `dislab data list`, such as Shapes3D")],
            **({"Options": _OF_SHOW} if action == "show" else {}),
        },
        f"dislab data {action} {_EXAMPLES[action]}",
        f"`dislab data {action} NAME --help` lists the settings of a data set.",
    )


def _list(args: list[str]) -> int:
    parser = Parser(
        "dislab data list", description="List the data sets.", example="dislab data list colour"
    )
    parser.add_argument(
        "word",
        nargs="?",
        default="",
        help="show those that have this word in name, summary or contents",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(args)
    word, catalogue = options.word.lower(), _catalogue()
    entries = [
        entry
        for entry in catalogue
        if word in f"{entry.name} {entry.summary} {entry.contents}".lower()
    ]
    if not entries and word:
        hint = suggestion(options.word, [entry.name for entry in catalogue])
        raise InputError(f"no data set has {options.word!r} in its name, summary or contents{hint}")
    print(_as_json(entries) if options.json else _as_table(entries))
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
    from dislab.plots.dataset_sheets import check_images, sample_sheet, traversal_sheet

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


def own_images(parser: Parser) -> None:
    """Adds the options that describe images of the user."""
    parser.add_argument("--table", help="the table of factors, in the folder or elsewhere")
    parser.add_argument("--file", metavar="COLUMN", help="the column that names the images")
    parser.add_argument(
        "--factors",
        metavar="COLUMN",
        nargs="+",
        help="the columns, or the arrays, that are factors; else all",
    )
    parser.add_argument(
        "--images", metavar="ARRAY", help="the array of the images, in an npz file with several"
    )
    parser.add_argument(
        "--fit",
        choices=("pad", "crop", "squash"),
        help="images that are not square get borders (with a table), lose their ends (without "
        "one), or their proportions",
    )


def image_options(path: Path, options: argparse.Namespace) -> str:
    """The path of images and the options of `own_images` as a user types them."""
    words = [str(path)]
    for name in ("table", "file", "images", "fit"):
        if (value := getattr(options, name)) is not None:
            words += [f"--{name}", value]
    if options.factors:
        words += ["--factors", *options.factors]
    return shlex.join(words)


def no_images(path: Path) -> InputError:
    """The error of a path of own images that does not exist."""
    return InputError(
        f"{path} does not exist{beside(path)}; give a folder of images, their table, or a npy or "
        "npz file"
    )


def inspected(
    path: Path, options: argparse.Namespace, side: int = 64, keep: bool = True
) -> "Inspection":
    """What can be said of the images of a folder, or of a file of arrays.

    Args:
        path: The folder, a table, or a npy or npz file.
        options: Those of `own_images`.
        side: Height and width in pixels that images of a folder shall have.
        keep: Whether images without a value of some factor are to be kept.

    Raises:
        InputError: The images cannot be read, or an option is not for a file of arrays.
    """
    from dislab.datasets.own.array_inspection import ARRAYS, inspect_arrays
    from dislab.datasets.own.inspection import inspect

    if path.is_dir() or path.suffix not in ARRAYS:
        if options.images is not None:
            raise InputError(f"--images is for a file of arrays, and {path} is none; leave it out")
        chosen = (options.table, options.file, options.factors)
        return inspect(path, *chosen, side, keep, options.fit)
    for name in ("table", "file", "fit"):
        if getattr(options, name) is not None:
            raise InputError(
                f"--{name} is for a folder of images, and {path} is a file of arrays; leave it out"
            )
    return inspect_arrays(path, options.factors, keep, options.images)


def parted(module: Any, images: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A data module of own images whose parts all have images, and the settings that part them.

    Args:
        module: The class of the data module.
        images: The data set.
        settings: Other settings.

    Raises:
        InputError: There are too few images, or the module refuses them.
    """
    levels = getattr(images, "held_out", None)
    for share in _SHARES:
        parts = {"validation": share, **({"hold_out": levels} if levels else {"test": share})}
        try:
            return module(images, **{**settings, "batch_size": 1}, **parts), parts
        except InputError:
            if share == _SHARES[-1]:
                raise
    raise AssertionError("the last share returns or raises")


def parts_of(inspection: "Inspection") -> tuple[str, list[str]]:
    """How many images train, validate and test, and a note if few test; refuses too few images.

    Args:
        inspection: That of images without faults.

    Raises:
        InputError: They are too few.
    """
    from dislab import datasets
    from dislab.base.datamodule import split_text
    from dislab.datamodules import SingleData

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are notes of the inspection
        images = getattr(datasets, inspection.dataset)(**inspection.settings)
        count = len(images.factors)
        try:
            data, parts = parted(SingleData, images, {})
        except InputError as error:
            raise InputError(
                f"{count:,} image{'s are' if count > 1 else ' is'} too few: at least one must "
                "train, one validate and one test; add some"
            ) from error
    text, tested = split_text(data), len(data.indices("test"))
    if tested >= _FEW_TESTED:
        return text, []
    them = f"{tested} test image{'s' * (tested > 1)}"
    remedy = f"raise data.test, {parts['test']}, for more" if "test" in parts else "add some"
    return text, [f"losses and scores of {them} alone are coarse; {remedy}"]


def _check(args: list[str]) -> int:
    parser = Parser(
        "dislab data check",
        description="Look at a folder of images and its table, or at arrays: sizes, factors, "
        "faults.",
        example="dislab data check my_images --table labels.csv",
    )
    parser.add_argument(
        "path",
        type=Path,
        action=Existing,
        refusal=no_images,
        help="the folder, a table that names the images, or a npy or npz file",
    )
    own_images(parser)
    parser.add_argument(
        "--copies",
        type=Path,
        metavar="FILE",
        help="write a table of all equal files there, one a line (CSV)",
    )
    options = parser.parse_args(args)
    if options.copies:
        check_output("--copies", options.copies, _lists_copies, [".csv"])
    inspection = inspected(options.path, options)
    if options.copies:
        _write_copies(inspection.copies, options.copies)
    rows, few = [*inspection.images, *inspection.table], list[str]()
    if not inspection.faults:
        try:
            text, few = parts_of(inspection)
            rows.append(("split", f"{text}, in a new configuration"))
        except InputError as error:
            inspection.faults.append(str(error))
    print("\n".join(text_table(rows)))
    for note in [*inspection.notes, *few]:
        print(f"note: {note}")
    for fault in inspection.faults:
        print(f"fault: {fault}")
    print(f"\nsettings of {inspection.dataset}:")
    print("\n".join(f"  {line}" for line in yaml_text(inspection.settings).splitlines()))
    if inspection.faults:
        print("\nmend the faults, then run this command again")
        return 1
    if inspection.beside:
        options.table = inspection.beside
        print(f"\nnext: dislab data check {image_options(options.path, options)}")
        options.table = None
    options.factors = options.factors or inspection.advised
    images = image_options(options.path, options)
    word = "or, without that table:" if inspection.beside else "\nnext:"
    print(f"{word} dislab configs new --data {images} --method factorvae")
    return 0


def _lists_copies(path: Path) -> bool:
    """Whether a file is a table of equal files."""
    return path.read_bytes().startswith(f"{','.join(_COPIES)}\n".encode())


def _write_copies(copies: list[list[str]], path: Path) -> None:
    """Writes a table of files by group of equal ones."""
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(_COPIES)
        for number, equal in enumerate(copies, 1):
            lines.writerows((number, name) for name in equal)


def _built(action: str, name: str, settings: list[str]) -> "tuple[Dataset, dict[str, Any]]":
    """Builds a data set from its settings; returns it with the other options."""
    plugins = declarations("datasets")
    names = list(dict.fromkeys(plugin.name for plugin in plugins))
    if name not in names and not any(p.dispute and name == p.path for p in plugins):
        hint = hint_for(name, names)
        raise InputError(
            f"no data set is named {name!r}{hint}; the data sets are {', '.join(names)}"
        )
    import jsonargparse  # data sets import torch, which listing must avoid

    from dislab.cli.messages import explain
    from dislab.cli.training_help import class_settings, without_types
    from dislab.cli.yaml_input import check_configurations
    from dislab.naming.parsed import confine_names

    check_configurations(settings)
    confine_names()
    load_all(("datasets",))
    cls: Any = load("datasets", name)

    class SettingsParser(jsonargparse.ArgumentParser):
        def error(self, message: str, ex: Exception | None = None) -> NoReturn:
            raise InputError(_reworded(message, name, settings_of_class, explain)) from ex

        def format_help(self, formatter: Any = None) -> str:
            full = super().format_help(formatter)
            options, _, settings = full.partition("\noptions:\n")[2].partition("\n\n")
            options = without_types(f"{options}\n").partition("exit.\n")[2]
            usage = f"usage: dislab data {action} {name} [--SETTING VALUE …]"
            blocks = [
                usage,
                class_settings(cls, settings),
                options and f"Options:\n{options.rstrip()}",
            ]
            return "\n\n".join(filter(None, blocks)) + "\n"

    parser = SettingsParser(prog=f"dislab data {action} {name}", allow_abbrev=False)
    settings_of_class = parser.add_class_arguments(cls, None)
    if action == "show":
        parser.add_argument("--out", type=str, default=".", help="folder of the pictures")
        parser.add_argument("--images", type=int, default=_IMAGES, help="how many images to show")
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


class Entry(NamedTuple):
    """One data set.

    Attributes:
        name: Its class name.
        summary: First line of its docstring.
        contents: Images and factors.
        drawn: Comparison of drawn images with published ones; empty unless both exist.
        untried: Whether its reader has never been tested on the published files.
        licence: Licence of the images.
        citation: Source of the images.
        size: Bytes of the default version on disk; None if unknown.
        cached: Bytes of all its versions in the cache folder.
        distribution: The package that declares it.
    """

    name: str
    summary: str
    contents: str
    drawn: str
    untried: bool
    licence: str
    citation: str
    size: int | None
    cached: int
    distribution: str


def _catalogue() -> list[Entry]:
    """Every declared data set, sorted by name.

    Raises:
        InputError: Two distributions declare one name, or the cache folder may not be read.
    """
    return [_entry(plugin) for plugin in available("datasets")]


def _as_json(entries: list[Entry]) -> str:
    """The entries as JSON."""
    return json.dumps([entry._asdict() for entry in entries], indent=2, ensure_ascii=False)


def _as_table(entries: list[Entry]) -> str:
    """The entries as a readable table, two lines each."""
    rows = []
    for entry in entries:
        rows.append((entry.name, entry.contents or entry.summary))
        drawn = f"drawn: {entry.drawn}; " if entry.drawn else ""
        untried = "reader not tried on the published files; " if entry.untried else ""
        rows.append(("", f"{drawn}{untried}{_state(entry)}; licence: {entry.licence}"))
    return "\n".join([*text_table(rows), f"cache folder: {cache_path()}"])


def in_words(size: int) -> str:
    """A number of bytes with a unit, such as 377 MB."""
    for unit, bytes_in in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_in:
            return f"{size / bytes_in:.3g} {unit}"
    return f"{size} bytes"


def _state(entry: Entry) -> str:
    if entry.cached:
        short = entry.size is not None and entry.cached < entry.size
        more = f", the default needs {in_words(entry.size or 0)}" if short else ""
        return f"{in_words(entry.cached)} in the cache{more}"
    if entry.size == 0:
        return "computed, needs no file"
    return "not in the cache" + (f", needs {in_words(entry.size)}" if entry.size else "")


def _entry(plugin: Plugin) -> Entry:
    constants: dict[str, Any] = plugin.constants
    size = constants.get("size")
    return Entry(
        plugin.name,
        plugin.summary,
        constants.get("contents") or "",
        constants.get("drawn") or "",
        bool(constants.get("untried")),
        constants.get("licence") or "unstated",
        constants.get("citation") or "",
        size if isinstance(size, int) else None,
        _bytes_of(constants.get("cache"), plugin.name),
        f"{plugin.distribution} {plugin.version}",
    )


def _bytes_of(folder: str | None, name: str) -> int:
    """Bytes of a data set's complete arrays in its cache folder, or in folders of its name."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    folders = {name.lower(), snake} if folder is None else {folder} - {""}
    try:
        banks = [path for name in folders for path in cache_path().joinpath(name).glob("*.npy")]
        return sum(path.stat().st_size for path in banks if path.with_suffix(".json").is_file())
    except PermissionError as error:
        raise unreadable(cache_path(), error) from error
