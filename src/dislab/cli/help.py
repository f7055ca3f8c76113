"""`dislab help NAME`: help on a command, a verb, a part, a setting, or a configuration."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from textwrap import fill
from typing import Any, Final

from dislab.cli import COMMANDS, MEANT, TRAINING
from dislab.cli.arguments import help_width
from dislab.errors import InputError, suggestion
from dislab.plugins import (
    GROUPS,
    Plugin,
    available,
    configuration,
    configurations,
    declarations,
    group_meant,
    letters,
    remedy,
    spelt,
)
from dislab.storage import text_table
from dislab.yaml_files import read_mapping

OPTION: Final = {
    "objectives": "model",
    "regularizers": "model.regularizers",
    "encoders": "model.encoder",
    "decoders": "model.decoder",
    "datamodules": "data",
    "datasets": "data.dataset",
    "metrics": "evaluate.metrics",
    "predictors": "transfer.predictors",
    "callbacks": "trainer.callbacks",
}
"""The option of `dislab fit` that takes the parts of a group, and whose help explains them."""

SECTIONS: Final = (
    "general",
    "trainer",
    "model",
    "data",
    "progress",
    "checkpoint",
    "score_curves",
    "evaluate",
    "transfer",
    "generalisation",
    "reconstructions",
    "traversals",
    "samples",
    "interpolations",
    "inner_steps",
)
"""The sections of a configuration, in the order of `dislab fit --help`."""

_ALSO: Final = {
    "evaluate": "The scores of a trained run: `dislab test --run RUN`; of a file of codes: `dislab "
    "score FILE`; in Python: `dislab.evaluate(codes)`.",
    "callbacks": "A list `callbacks` in the section `trainer` of a configuration takes them.",
    "logger": "`logger` chooses one of the five; `trainer.logger` takes other classes.",
}
"""What a word names besides, by word."""

_WITH_WORDS: Final = ("draw", "study", "data", "configs", "plugins")
"""Commands of dislab that have verbs, or kinds of their results."""

_NAMED: Final = re.compile(r"^ *(\w+):(?: *\{|\s*\n) *class_path: *(\w+)", re.MULTILINE)
"""A part in a configuration, with the name that it has there."""

_WHOLE: Final = ("objectives", "datamodules", "datasets")
"""Groups whose parts take settings without a default; the others' owners fill such arguments in."""

_CHOSEN: Final = {"model.optimizer": ["fit", "--model.optimizer.help", "torch.optim.Adam"]}
"""What explains the settings of a part whose class has no name of dislab, for its usual class."""

_OF_LABELS: Final = {"dci": "dci_hgbt"}
"""The beginning of the keys of scores that tables show by a shorter one."""
_MADE_BY: Final = {"infom": "InfoMEC", "infoe": "InfoMEC", "infoc": "InfoMEC"}
"""The part whose scores begin with a word that is not its name."""

_USUAL: Final = {"model": "VAE", "data": "SingleData", "": "KL"}
"""Parts that examples take, by the section that has their settings."""

_ENTRY: Final = re.compile(r"^  --([\w.]+) .*\n(?: {6,}.*\n?)*", re.MULTILINE)
"""A setting in a page of help, with the lines that explain it."""

_METHODS: Final = "https://dislab.readthedocs.io/en/latest/methods/"
PAGES: Final = (
    *("adagvae", "annealedvae", "betatcvae", "betavae", "betavae_dae", "bottleneck", "composition"),
    *("contrastive", "dcign", "dipvae", "dittadi", "factorvae", "gtdecoder", "hfs", "infogan"),
    *("ivae", "qlae", "scan", "slowvae", "vae"),
)
"""The pages on methods, by the beginnings of the names of their configurations."""
_OTHER_PAGES: Final = {"adamlvae": "adagvae", "tcl": "ivae", "lejepa": "contrastive"}
"""Pages on methods that have another name."""
_SIZES: Final = ("latent_dim",)
"""Settings of models that nearly every configuration of a method sets."""


Run = Callable[[str, list[str]], int]
"""Runs a command with arguments and returns its status."""


def print_help(words: Sequence[str], commands: Collection[str], run: Run) -> int:
    """Prints the help on a name, and returns the status.

    Args:
        words: The name; of a verb, the command and the verb.
        commands: Names of all commands.
        run: Runs a command.

    Raises:
        InputError: Nothing has the name, or there are words too many.
    """
    first = words[0]
    also = "" if words[1:] else _ALSO.get(first, "")
    if not words[1:] and first in commands and first in SECTIONS:
        also = f"{first} is also a section of a configuration: see `dislab fit --help {first}`."
    line = command_line(words, commands)
    if line and line[:2] == ["configs", "show"] and (about := _of_method(line[2])):
        print(f"{about}\n")
    if line and not also:
        return run(line[0], line[1:])
    name = "_".join(words)
    of_score = None if line or "." in name else _of_score(name, run)
    text = _page(run, line) if line else of_score or _of_setting(name, run)
    if text is None:
        raise _superfluous(first, words[1:]) if words[1:] else _unknown(first, commands)
    more = f"\n{fill(also, help_width(), break_on_hyphens=False)}\n" if also else ""
    print(text + more, end="")
    return 0


def command_line(words: Sequence[str], commands: Collection[str]) -> list[str] | None:
    """The command and arguments that print the help on a name; None for another name, or none.

    Args:
        words: The name; of a verb, the command and the verb.
        commands: Names of all commands.

    Raises:
        InputError: There are words too many, or the command has no such word.
    """
    first, *others = words
    if first not in commands:
        return explained("_".join(words))
    if not others:
        return [first, "--help"]
    if others[1:] and first in COMMANDS and first != "data":  # data show NAME
        raise _superfluous(f"{first} {others[0]}", others[1:])
    if not others[1:] and (line := explained(others[0])):
        return line
    if first in TRAINING:  # a section of the settings
        return [first, "--help", *others]
    if first in COMMANDS and first not in _WITH_WORDS:
        raise _unknown(others[0], commands)
    return [first, *others, "--help"]


def explained(name: str) -> list[str] | None:
    """The command and arguments that explain a group, a part, a configuration or a section.

    A name in other letters is found too: `FactorVAE` is the configuration `factorvae`. So are the
    names that configurations give to parts, such as `tc`. None if nothing has the name.

    Args:
        name: Its name.
    """
    if (group := group_meant(name)) in GROUPS and name not in SECTIONS:
        return ["plugins", group]
    names = _names()
    if name in names:
        return names[name]
    if name in SECTIONS:
        return ["fit", "--help", name]
    by_letters = {_letters(other): line for other, line in reversed(names.items())}
    return by_letters.get(_letters(name)) or names.get(_short_names().get(name.lower(), ""))


def _names() -> dict[str, list[str]]:
    """What explains each part and each configuration."""
    names = {plugin.name: _line(group, plugin.name) for group, plugin in _parts()}
    for group in OPTION:  # of a disputed name, each path
        names |= {p.path: _line(group, p.path) for p in declarations(group) if p.dispute}
    return names | {name: ["configs", "show", name] for name in configurations()}


def _line(group: str, name: str) -> list[str]:
    return ["fit", f"--{OPTION[group]}.help", name]


def _of_method(name: str) -> str:
    """What each part of a configuration's model does, and its weights; empty without a model."""
    path = configuration(name)
    config = read_mapping(path, "model: {class_path: VAE}") if path else {}
    model = config.get("model")
    if not isinstance(model, dict) or "class_path" not in model:
        return ""
    summaries = {plugin.name: plugin.summary for _, plugin in _parts()}
    arguments = model.get("init_args") or {}
    regularizers = arguments.get("regularizers") or {}
    named = {"": model} | {
        key: part for key, part in regularizers.items() if isinstance(part, dict)
    }
    rows, settings = list[tuple[str, str]](), [f"model.{key}" for key in _SIZES if key in arguments]
    for key, part in named.items():
        cls = str(part.get("class_path")).rpartition(".")[2]
        rows.append((f"  {f'{key}: ' * bool(key)}{cls}", summaries.get(cls, "")))
        settings += [
            f"model.regularizers.{key}.{setting}"
            for setting, value in (part.get("init_args") or {}).items()
            if key and isinstance(value, int | float)
        ]
    options = ", ".join(f"--{setting}" for setting in settings)
    ends = [f"Main settings: {options}." if settings else "", _address(name, config)]
    texts = [fill(end, help_width(), break_on_hyphens=False) for end in ends if end]
    return "\n".join(
        [
            f"{name}: the configuration of a method, of these parts",
            "",
            *text_table(rows),
            "",
            *texts,
        ]
    )


def _address(name: str, config: Mapping[str, Any]) -> str:
    """The address of the page on a configuration's method, or that of the list of methods."""
    starts = {**{page: page for page in PAGES}, **_OTHER_PAGES}
    names = (name, letters(str(config.get("method", ""))))
    start = max(
        (start for start in starts if any(n.startswith(start) for n in names)), key=len, default=""
    )
    if not start:
        return f"Pages on methods: {_METHODS}"
    return f"Page on the method: {_METHODS}{starts[start]}/"


def _parts() -> list[tuple[str, Plugin]]:
    """Every part with its group."""
    return [(group, plugin) for group in OPTION for plugin in available(group)]


def _short_names() -> dict[str, str]:
    """The part by each name that configurations give to this part alone."""
    parts = defaultdict[str, set[str]](set)
    for files in configurations().values():
        for path, _ in files:
            for name, part in _NAMED.findall(path.read_text(encoding="utf-8")):
                parts[name].add(part)
    return {name: min(found) for name, found in parts.items() if len(found) == 1}


def _letters(name: str) -> str:
    """The letters and digits of a name without its folder, in lower case."""
    return letters(name.rpartition("/")[2].removesuffix(".yaml"))


def _page(run: Run, line: Sequence[str]) -> str:
    """What a command prints."""
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        run(line[0], list(line[1:]))
    return printed.getvalue()


def _of_score(word: str, run: Run) -> str | None:
    """What a score in a table is, and the part that makes it; None for no score."""
    from dislab.metrics.score_table import blind_spot, definition  # the package imports torch

    if text := definition(word):
        return f"{fill(text, help_width())}\n"
    first, *others = re.findall(r"[^\W_]+", word.lower()) or [""]
    key = "_".join([_OF_LABELS.get(first, first), *others]) if others else first
    sees = blind_spot("_".join([first, *others])) or blind_spot(key)
    for count in range(len(others), 0, -1):
        part = spelt("metrics", _MADE_BY.get(first, "".join([first, *others][:count])))
        if sees and part in _names():
            page = _page(run, _line("metrics", part))
            text = fill(f"{part} makes the scores that begin with {first}. {sees}", help_width())
            return f"{text}\n\n{page}"
    return None


def _of_setting(word: str, run: Run) -> str | None:
    """Help on a setting: of a part, as in `MIG.bins`, or of all that have it; None for no setting.

    Raises:
        InputError: A part or a section has no such setting.
    """
    owner, _, name = word.rpartition(".")
    short = owner.rpartition(".")[2]  # as kl in model.regularizers.kl
    line = _CHOSEN.get(owner) or explained(owner) or explained(short) if owner else None
    if not line or line[0] != "fit":
        return _of_all(name, owner, run)
    if owner in _USUAL:  # the class decides about the settings
        owner = _USUAL[owner]
        line = explained(owner) or []
    page = _page(run, line)
    entries = _entries(page)
    names = [option.rpartition(".")[2] for option in entries]
    if name not in names:
        hint = suggestion(name, names)
        if not hint and (text := _of_score(word, run)):  # as DCI.disentanglement
            return text
        raise InputError(
            f"{owner} has no setting {name!r}{hint}; `dislab help {owner}` describes its settings"
        )
    return f"{page.partition(chr(10))[0]}\n\n" + "".join(
        entry for option, entry in entries.items() if option.rpartition(".")[2] == name
    )


def _of_all(name: str, owner: str, run: Run) -> str | None:
    """Help on a setting of all sections and parts that have it; None if nothing has it."""
    from dislab.cli.messages import ELSEWHERE, NAMED_PARTS  # torch, as the page of all settings

    owners = _owners(name)
    entries = {
        option: entry
        for option, entry in _entries(_page(run, ["fit", "--help", "all"])).items()
        if option.rpartition(".")[2] == name and option.count(".") < 2
    }
    blocks = ["".join(entries.values())] if entries else []
    if (usual := "" if owner else ELSEWHERE.get(name, "")) and usual not in entries:
        entry = (_of_setting(usual, run) or "").partition("\n\n")[2]
        blocks.insert(0, f"  --{usual}\n{entry.partition(chr(10))[2]}")
    if owners:
        rows = [
            (f"  --{OPTION[group]}.{'NAME.' * (group in NAMED_PARTS)}{name}", ", ".join(parts))
            for group, parts in owners.items()
        ]
        of_first = next(iter(owners.values()))
        example = min(of_first, key=lambda part: part not in _USUAL.values())
        described = f"`dislab help {example}.{name}` describes that of {example}."
        if not blocks and any(parts != [example] for parts in owners.values()):
            entry = (_of_setting(f"{example}.{name}", run) or "").partition("\n\n")[2]
            blocks.append(entry)
            described = (
                f"The text is that of {example}; `dislab help NAME.{name}` describes that of "
                "another one."
            )
        lines = [described, *_instead(usual, name)]
        texts = [fill(line, help_width(), break_on_hyphens=False) for line in lines]
        blocks.append("\n".join([*text_table(rows), *texts]) + "\n")
    return f"{name}: a setting\n\n" + "\n".join(blocks) if blocks else None


def _instead(usual: str, name: str) -> Iterator[str]:
    """The parts that configurations put in the place of one with a setting, and their settings.

    Args:
        usual: The setting of a regularizer, such as `model.regularizers.kl.beta`; or another one.
        name: Its last part.
    """
    path, _, key = usual.rpartition(".")[0].rpartition(".")
    if path != OPTION["regularizers"]:
        return
    holders = defaultdict[str, list[str]](list)
    for configuration_name, files in configurations().items():
        for file, _ in files:
            for part_key, part in _NAMED.findall(file.read_text(encoding="utf-8")):
                if part_key == key:
                    holders[part].append(configuration_name)
    for group, plugin in _parts():
        holding = holders.get(plugin.name, []) if group == "regularizers" else []
        settings = [setting for setting, has_default in plugin.settings.items() if has_default]
        if holding and name not in plugin.settings and settings:
            where = ", ".join(sorted(holding, key=len)[:3]) + ", …" * (len(holding) > 3)
            yield (
                f"{plugin.name}, which is {key} in {where}, has no {name}; it has "
                f"{', '.join(settings)}."
            )


def _entries(page: str) -> dict[str, str]:
    """The settings that a page of help explains, with the lines on each."""
    return {entry[1]: entry[0] for entry in _ENTRY.finditer(f"{page}\n")}


def _owners(name: str) -> dict[str, list[str]]:
    """The parts that have a setting, by group."""
    owners = defaultdict[str, list[str]](list)
    for group, plugin in _parts():
        if plugin.settings.get(name, False) or (name in plugin.settings and group in _WHOLE):
            owners[group].append(plugin.name)
    return owners


def _superfluous(name: str, words: Sequence[str]) -> InputError:
    return InputError(
        f"dislab help {name} takes no further word, got {' '.join(words)!r}; write one name, or a "
        "command and its verb"
    )


def _unknown(name: str, commands: Collection[str]) -> InputError:
    from dislab.cli.messages import ELSEWHERE  # torch, which the commands that succeed may avoid

    settings = {setting for _, plugin in _parts() for setting in plugin.settings}
    names = [*commands, *GROUPS, *SECTIONS, *_names(), *settings, *ELSEWHERE]
    hint = suggestion(name, [], MEANT) if name.lower() in MEANT else ""
    hint = hint or remedy(name) or _holding(name) or suggestion(name, names, MEANT)
    return InputError(
        f"no command, part, setting or configuration is named {name!r}{hint}; `dislab --help` "
        "lists the commands, `dislab plugins` the parts, `dislab configs list` the configurations"
    )


def _holding(word: str) -> str:
    """` (did you mean …?)` with the names of parts and configurations that hold a word."""
    held = _letters(word)
    found = [name for name in _names() if len(held) > 2 and held in _letters(name)]
    return f" (did you mean {' or '.join(sorted(found, key=len)[:3])}?)" if found else ""
