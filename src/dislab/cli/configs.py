"""Configurations of dislab and plugins: the command `dislab configs`, names for `--config`."""

import argparse
import hashlib
import math
import os
import re
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from dislab.cli.arguments import Existing, Parser, help_width
from dislab.cli.data import (
    image_options,
    inspected,
    no_images,
    own_images,
    parted,
    parts_of,
)
from dislab.cli.messages import print_warning
from dislab.errors import InputError, one_line, suggestion
from dislab.plugins import (
    configuration,
    configuration_folder,
    configuration_hint,
    configurations,
    remedy,
)
from dislab.storage import atomic, check_output, folders_above, text_table
from dislab.yaml_files import OF_RUNS, PLAN, is_yaml, read_mapping, run_hint, study_hint, yaml_text

_OF_STUDIES: Final = "`dislab configs list studies` shows the studies of dislab and its plugins"
_NAME: Final = re.compile(r"(configs/)?(studies/)?[\w-]{1,100}(\.ya?ml)?")
"""Matches words that are meant as names of configurations rather than as paths."""
_NO_NAME: Final = re.compile(r"[^\w.+=,-]", re.ASCII)
"""Letters that the name of a run may not have."""
_SENTENCE: Final = re.compile(r"(?<=\.) (?=[A-Zβγλ]|configs/|dislab )|: (?=dislab )|:$")
"""Ends of the first sentence of a configuration's comment."""
_ADDRESS: Final = re.compile(r",? https?://[^\s,)]+")
_FILE: Final = re.compile(r"\bconfigs/([\w/-]+)\.yaml")
_MODEL: Final = re.compile(r"^model:(\s*\n  class_path:| *\{class_path:| +\w)", re.MULTILINE)
"""Matches a file that names the class of a model."""
_HEADINGS: Final = {
    "model": "methods, in the settings of papers too: --config NAME",
    "": "settings to put on top of a method: --config METHOD --config NAME",
    "splits": "splits, which hold images out, likewise",
    "correlations": "correlations of factors, likewise",
    "scenarios": "scenarios of transfer: dislab transfer --scenarios NAME",
    "studies": "studies: dislab study run NAME",
    "studies/parts": "parts of studies",
}
"""Headings of the list, by the folder of a configuration."""
_CHECKSUM: Final = "# `dislab configs new` replaces this file unless it is edited: checksum "
_FLAGS: Final = ("--config", "-c")
_OF_IMAGES: Final = ("SingleData", "PairedData")
"""Data modules that take any images."""
_BATCH: Final = 64
"""Batch size of data modules unless given."""
_KEPT: Final = ("batch_size", "scheme", "k")
"""Their settings that do not depend on the data set."""
_VALIDATION: Final = {"val_check_interval": 1000, "check_val_every_n_epoch": None}
"""Settings of the trainer of a new configuration: an epoch of few images has few steps, and a
validation after each of them would fill the disk with pictures."""
_UNTRAINED: Final = 5
"""Number of untrained models that a new configuration scores beside the trained one."""
_SMALL: Final = 32
"""Height and width up to which images keep their size, with fully connected networks."""
_NETWORKS: Final = {
    name: {"class_path": cls, "init_args": {"hidden": [256, 256]}}
    for name, cls in (("encoder", "MLPEncoder"), ("decoder", "MLPDecoder"))
}
_CONVOLUTIONS: Final = {"encoder": "ConvEncoder64", "decoder": "ConvDecoder64"}


def run(args: list[str]) -> int:
    """List, show and copy the configurations; write one for your own images.

    Raises:
        InputError: No configuration has the name, or the copy cannot be written.
    """
    parser = Parser(
        "dislab configs",
        description="List, show and copy the configurations of dislab and plugins, or write one.",
        example="dislab configs show factorvae",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="VERB")

    def add(verb: str, text: str, example: str) -> Parser:
        description = f"{text[:1].upper()}{text[1:]}."
        example = f"dislab configs {verb} {example}".rstrip()
        return commands.add_parser(verb, help=text, description=description, example=example)

    listing = add("list", "list the methods, or those that have a word", "montero")
    listing.add_argument(
        "word",
        nargs="?",
        default="",
        help="show those that have this word in name or first sentence, such as montero, or are "
        "under this heading, such as studies; all shows all",
    )
    show = add("show", "print a configuration", "factorvae")
    show.add_argument("name", help="such as factorvae, or studies/quick")
    copy = add("copy", "write one, or all, as files of your own", "factorvae")
    copy.add_argument("name", help="such as factorvae; all for all of dislab")
    copy.add_argument("folder", nargs="?", type=Path, default=Path(), help="where they go")
    new = add(
        "new", "write a configuration for images of your own", "--data my_images --method factorvae"
    )
    new.add_argument(
        "--data",
        type=Path,
        required=True,
        action=Existing,
        refusal=no_images,
        help="folder of images, their table, or a npy or npz file",
    )
    new.add_argument("--method", default="factorvae", help="a configuration, such as betavae")
    new.add_argument(
        "--out", type=Path, metavar="FILE", help="the new file; unless given, DATA_METHOD.yaml"
    )
    own_images(new)
    options = parser.parse_args(args or ["--help"])
    if options.command == "new":
        _new(options)
    elif options.command == "list":
        print(_table(options.word))
    elif options.command == "show":
        print(_required(options.name).read_text(encoding="utf-8"), end="")
    else:
        print(_copied(options.name, options.folder))
    return 0


def resolved(args: Sequence[str]) -> list[str]:
    """The arguments with names of configurations after `--config` replaced by their paths.

    Existing files stay unchanged. A warning names an option that a later file sets again.

    Raises:
        InputError: Nothing has the name, or a folder has it.
    """
    arguments: list[str] = []
    options: list[str] = []
    for before, arg in zip(["", *args], args, strict=False):
        flag, equals, value = arg.partition("=")
        if before in _FLAGS or (equals and flag in _FLAGS):
            path = _file_of(value if equals and flag in _FLAGS else arg)
            arguments.append(path if before in _FLAGS else f"{flag}={path}")
            _warn_of_order(options, path)
        else:
            arguments.append(arg)
            options += [flag] * flag.startswith("--")
    return arguments


def _warn_of_order(options: Sequence[str], path: str) -> None:
    """Warns of options before a file that sets the same."""
    settings: list[str] = []
    if os.environ.get("LOCAL_RANK", "0") != "0":  # the first of the processes of a run warns
        return
    with suppress(InputError, OSError):  # which the parser reports
        settings = [f"--{name}." for name in _dotted(read_mapping(Path(path), "model: {}"))]
    for option in dict.fromkeys(options):
        name = re.sub(r"\.init_args\b|\.class_path$", "", option) + "."
        if any(name.startswith(each) or each.startswith(name) for each in settings):
            print_warning(
                f"{option} stands before --config {path}, which sets it, too, and counts; "
                "put options behind the files"
            )


def _dotted(settings: Mapping[Any, Any], prefix: str = "") -> Iterator[str]:
    """Names of settings as options of the command line have them."""
    for key, value in settings.items():
        name = prefix if key == "init_args" else f"{prefix}{key}."
        if isinstance(value, Mapping) and value:
            yield from _dotted(value, name)
        elif key != "class_path":
            yield name.rstrip(".")


def _file_of(name: str) -> str:
    """The file that an option `--config` names."""
    path = _path_of_name(name, required=True)
    if path is None and os.path.isdir(name):  # which may be YAML, too long for a path
        raise InputError(
            f"--config is {name}, which is a folder; name a file, or a run by --resume or --run"
        )
    return str(path or name)


def find_study(name: str) -> Path:
    """The path of a study: a file or folder with a name, an installed file, or `studies/NAME`.

    Args:
        name: A path, or a name such as `quick`, `studies/quick` or `configs/studies/quick.yaml`, or
            that of a study of the user's own which has run.

    Raises:
        InputError: Nothing has the name.
    """
    study = f"studies/{_short(name).removeprefix('studies/')}"
    if os.path.exists(name):
        return Path(name)
    if path := configuration(study) or configuration(_short(name)):
        return path
    if Path("studies", name, PLAN).is_file():
        return Path("studies", name)
    hint = _study_hint(name)
    if not name.startswith("studies/"):  # which is alike in all names of studies
        hint = hint or configuration_hint(name)
    raise InputError(f"no file and no study is named {name!r}{hint}; {_OF_STUDIES}")


def _study_hint(name: str) -> str:
    """The plugin that has a study, else ` (did you mean …?)` with a study or file that exists."""
    short = _short(name).removeprefix("studies/")
    names = [each.removeprefix("studies/") for each in configurations() if _is_study(each)]
    if Path(f"{name}.yaml").is_file():
        return f" (did you mean {name}.yaml?)"
    file = configuration_hint(name) if is_yaml(name) else ""
    return remedy(f"studies/{short}") or file or study_hint(name, names)


def no_run_or_study(path: Path) -> InputError:
    """The error of a missing path of a command that takes runs and studies.

    Args:
        path: The path, or the name of a study.
    """
    hint = _study_hint(str(path)) or run_hint(path)
    return InputError(
        f"{path} is no run and no study: it does not exist{hint}; {OF_RUNS}; a study is "
        f"given by its folder, file or name; {_OF_STUDIES}"
    )


def path_or_study(text: str) -> str:
    """The path of a study with a name, as `find_study` takes it; other texts unchanged."""
    try:
        return str(find_study(text))
    except InputError:  # no study: the path of a run
        return text


def _is_study(name: str) -> bool:
    """Whether a configuration is a study, rather than that of a run or a part of studies."""
    return name.startswith("studies/") and name.count("/") == 1


def _path_of_name(name: str, required: bool = False) -> Path | None:
    """The installed configuration with a name, unless a file or folder has this name.

    Raises:
        InputError: Nothing has the name, and it is required or a configuration has a similar one.
    """
    with suppress(OSError, ValueError):  # no file can have such a name
        if Path(name).exists():
            return None
    path = configuration(_short(name))
    parts = name.split(",")
    if len(parts) > 1 and all(map(configuration, map(_short, parts))):
        options = " ".join(f"--config {part}" for part in parts)
        raise InputError(f"--config takes one configuration; write {options}, not {name!r}")
    is_name = _NAME.fullmatch(name) is not None
    if path is not None or not (is_name or is_yaml(name)):
        return path
    hint = configuration_hint(name) if is_name else ""
    if hint or required:
        raise InputError(
            f"no file and no configuration is named {name!r}{hint}; `dislab configs list` shows "
            "the names of configurations"
        )
    return path


def _short(name: str) -> str:
    return name.removeprefix("configs/").removesuffix(".yaml")


def _required(name: str) -> Path:
    path = configuration(_short(name))
    if path is None:
        raise InputError(
            f"no configuration is named {name!r}{configuration_hint(name)}; "
            "`dislab configs list` shows their names"
        )
    return path


def _table(word: str) -> str:
    """The names and first sentences of configurations under headings.

    Args:
        word: Shows those that have it, or `all`; without it, methods in one line each, and how
            many others there are.

    Raises:
        InputError: None has it.
    """
    groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS.values()}
    headings = [_word_of(heading) for heading in groups]
    for name, files in configurations().items():
        for path, distribution in files:
            sentence = _first_sentence(path) or "no description: it begins with no comment"
            sentence += "" if distribution == "dislab" else f" ({distribution})"
            heading = _heading(name, path)
            has_word = word.lower() in f"{name} {sentence}".lower() and word not in headings
            if word in ("", "all", _word_of(heading)) or has_word:
                groups.setdefault(heading, []).append((f"  {name}", sentence))
    if not any(groups.values()):
        hint = suggestion(word, configurations())
        raise InputError(f"no configuration has {word!r} in its name or first sentence{hint}")
    if not word:
        return _overview(groups)
    rows = iter(text_table(row for group in groups.values() for row in group))
    return "\n\n".join(
        "\n".join([heading, *(next(rows) for _ in group)])
        for heading, group in groups.items()
        if group
    )


def _overview(groups: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """The methods, each in one line, and the number of the others, with what lists them."""
    methods, *others = groups.items()
    heading, rows = methods
    width, column = help_width(), max(len(name) for name, _ in rows) + 2
    lines = [heading]
    for name, sentence in rows:
        short = (
            sentence if len(sentence) <= width - column else f"{sentence[: width - column - 1]}…"
        )
        lines.append(f"{name:{column}}{short}")
    for heading, group in others:
        if group:
            lines += ["", heading, f"  {len(group)} files: dislab configs list {_word_of(heading)}"]
    return "\n".join([*lines, "", "dislab configs list all shows all, in whole sentences."])


def _word_of(heading: str) -> str:
    """The first word of a heading, by which `dislab configs list` shows what is under it."""
    return heading.split()[0].rstrip(",:")


def _heading(name: str, path: Path) -> str:
    """The heading of a configuration: that of its folder, or of files with a model or without."""
    if "/" in name:
        folder = name.rpartition("/")[0]
        return _HEADINGS.get(folder, folder)
    has_model = _MODEL.search(path.read_text(encoding="utf-8"))
    return _HEADINGS["model" if has_model else ""]


def _first_sentence(path: Path) -> str:
    """The first sentence of the comment that a configuration begins with, without addresses."""
    with path.open(encoding="utf-8") as file:
        lines = list(takewhile(lambda line: line.startswith("#"), file))
    comment = " ".join(line.removeprefix("#").strip() for line in lines)
    sentence = _ADDRESS.sub("", _SENTENCE.split(comment, maxsplit=1)[0])
    return _FILE.sub(r"\1", sentence).strip()


def _new(options: argparse.Namespace) -> None:
    """Writes the configuration of a method with images of the user as its data."""
    data, method = options.data, options.method
    source = _path_of_name(method, required=True) or Path(method)
    config = read_mapping(source, "model: {class_path: VAE}")
    name = data.stem if data.is_file() else data.resolve().name
    out = options.out or Path(f"{name}_{source.stem}.yaml")
    if out.exists() and not _is_unchanged(out):
        raise InputError(
            f"{out} exists already, and is edited or of another origin; choose another --out, or "
            "remove it"
        )
    check_output("--out", out, suffixes=[".yaml", ".yml"])
    section, model = _arguments(config.get("data")), _arguments(config.get("model"))
    supervised = _learns_from_factors(method, section["class_path"], model["class_path"])
    keep = section["class_path"] == "SingleData" and not supervised
    networks = model["init_args"]
    classes = {name: _class_of(networks.get(name)) for name in _CONVOLUTIONS}
    side = 128 if str(classes["encoder"]).endswith("128") else 64
    inspection = inspected(data, options, side, keep)
    is_other = inspection.largest <= _SMALL or inspection.size != (side, side)
    if classes == _CONVOLUTIONS and is_other:
        inspection = inspected(data, options, inspection.largest, keep)
        config["model"]["init_args"] = {**networks, **_NETWORKS}
    check = f"`dislab data check {image_options(data, options)}`"
    if inspection.faults:
        raise InputError(f"{inspection.faults[0]}; {check} lists every fault")
    factors = ", ".join(inspection.factors)
    if not inspection.is_labelled:
        config.pop("evaluate", None)
        offered = " ".join(inspection.offered)
        option = f"--factors {offered}" if offered else ""
        option = f"--table {inspection.beside}" if inspection.beside else option
        hint = f"; {option} would give it some" if option else ""
        if section["class_path"] != "SingleData":
            raise InputError(f"{method} needs factors of images, and {data} has none{hint}")
        factors = f"none, so there are no scores{hint.replace(' it ', ' ')}"
    else:  # of few images, noise reaches more than the chance of some scores
        config["evaluate"] = {"untrained": _UNTRAINED, **(config.get("evaluate") or {})}
    parts, few = parts_of(inspection)
    config.setdefault("method", config.get("name", source.stem))
    config["name"] = _NO_NAME.sub("_", out.stem)[:200]
    dataset = {"class_path": inspection.dataset, "init_args": inspection.settings}
    from dislab.factors import FactorWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FactorWarning)  # they are notes of the inspection
            config["data"] = _data_section(section, dataset)
    except InputError as error:
        advice = "; --factors chooses the factors" if inspection.is_labelled else ""
        raise InputError(f"{method} cannot train on {data}: {error}{advice}") from error
    trainer = config.get("trainer") or {}
    if isinstance(trainer, Mapping) and not _VALIDATION.keys() & trainer.keys():
        config["trainer"] = {**trainer, **_VALIDATION}
    first = one_line(f"# {method} on {data}; {check} describes the images.")
    with atomic(out) as temporary:
        temporary.write_text(_with_checksum(f"{first}\n", yaml_text(config)), encoding="utf-8")
    for note in inspection.decided:
        print(f"note: {note}")
    if others := len([*inspection.notes, *few]) - len(inspection.decided):
        further = "more " if inspection.decided else ""
        print(f"note: {check} shows {others} {further}note{'s' * (others > 1)} on these images")
    print(f"images: {parts}\nfactors: {factors}\n{out}")
    print(f"next: dislab fit --config {shlex.quote(str(out))} --config quick")


def _with_checksum(first: str, text: str) -> str:
    """A new configuration: its first line, the checksum of its other lines, and these."""
    checksum = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{first}{_CHECKSUM}{checksum}\n{text}"


def _is_unchanged(path: Path) -> bool:
    """Whether a file is what `dislab configs new` wrote, without an edit."""
    with suppress(OSError, ValueError):
        first, _, rest = path.read_text(encoding="utf-8").partition("\n")
        text = rest.partition("\n")[2]
        return f"{first}\n{rest}" == _with_checksum(f"{first}\n", text)
    return False


def _learns_from_factors(method: str, data: str, model: str) -> bool:
    """Whether the model needs factors; refuses a configuration that images cannot serve."""
    if data not in _OF_IMAGES:
        raise InputError(
            f"{method} takes {data or 'no data'}, which images alone do not give; "
            f"choose a configuration with {' or '.join(_OF_IMAGES)}"
        )
    if not model:
        raise InputError(f"{method} names no model; choose a configuration with model: class_path")
    from dislab.base import Objective
    from dislab.base._batches import learns_from_factors
    from dislab.naming.classes import find_class
    from dislab.plugins import load_all

    load_all(("objectives",))
    return learns_from_factors(find_class(model, (Objective,), "model"))


def _data_section(section: Mapping[str, Any], dataset: dict[str, Any]) -> dict[str, Any]:
    """The data of a method with another data set, with parts and batches that have images.

    Raises:
        InputError: There are too few images, or no pairs of them can be drawn.
    """
    from dislab import datamodules, datasets

    settings, module = section["init_args"], getattr(datamodules, section["class_path"])
    arguments = {key: settings[key] for key in _KEPT if key in settings}
    images = getattr(datasets, dataset["class_path"])(**dataset["init_args"])
    data, parts = parted(module, images, arguments)
    if section["class_path"] == "PairedData":
        data.plan("train")  # refuses images without pairs
    training, size = len(data.indices("train")), arguments.get("batch_size", _BATCH)
    if isinstance(size, int) and training < size:
        arguments["batch_size"] = 2 ** int(math.log2(training))
    return {
        "class_path": section["class_path"],
        "init_args": {"dataset": dataset, **arguments, **parts},
    }


def _class_of(network: Any) -> Any:
    return network.get("class_path") if isinstance(network, Mapping) else network


def _arguments(part: Any) -> dict[str, Any]:
    """The class and the arguments of a part, empty where a file says anything else."""
    settings = part if isinstance(part, Mapping) else {}
    name, arguments = settings.get("class_path"), settings.get("init_args")
    return {
        "class_path": name if isinstance(name, str) else "",
        "init_args": arguments if isinstance(arguments, Mapping) else {},
    }


def _copied(name: str, folder: Path) -> Path:
    """Copies one configuration or all of them, atomically; returns the path of the copy."""
    source = configuration_folder() if name == "all" else _required(name)
    target = folder / source.name
    if target.exists():
        raise InputError(f"{target} exists already; choose another folder")
    try:
        with (
            folders_above(target),
            tempfile.TemporaryDirectory(prefix=".configs-", dir=folder) as temporary,
        ):
            copy = Path(temporary, source.name)
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, copy)
            copy.rename(target)
    except OSError as error:
        reason = error.strerror or one_line(error)
        raise InputError(f"{target} cannot be written: {reason}; choose another folder") from error
    return target
