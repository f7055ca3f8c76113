"""Reads a run folder into the form that a page shows."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import signature
from itertools import islice
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from dislab.base import Dataset, Objective
from dislab.base._batches import learns_from_factors
from dislab.base.objective import LEARNING_RATE
from dislab.codes.latent_order import ACTIVE, NAMED
from dislab.errors import InputError
from dislab.metrics.evaluation import BY_CHANCE, PER_FACTOR
from dislab.metrics.score_table import (
    FACTOR_VAE,
    OF_STILL,
    abbreviations,
    blind_spot,
    highest_of,
    images_text,
    is_detail,
    is_of_no_latent,
    label,
    likelihood,
    score_rows,
    scored_on,
    spread_text,
    title,
)
from dislab.metrics.sheet import informativeness_in
from dislab.naming.classes import class_name, find_object, method_of
from dislab.regularizers.decomposed_kl import Decomposition
from dislab.report.figures import (
    COLUMN,
    MOST_PANELS,
    curves_figure,
    drawing,
    main_terms,
    part_figures,
    picture,
    repeats_of_loss,
    scored_factors,
    unit_of,
)
from dislab.report.literature import literature
from dislab.report.verdict import (
    EXPLAINED,
    LatentInformation,
    information_in,
    unearned_in,
    untrained_by_factor,
    verdict,
)
from dislab.runs import SCORES, checkpoint_of, read_checkpoint, read_scores
from dislab.runs.curves import CURVES, read_curves, term_name
from dislab.runs.published import published, without_paths
from dislab.runs.records import OTHER_DATA, mapping_in
from dislab.storage import duration
from dislab.yaml_files import CONFIG, read_config, yaml_text

RECONSTRUCTIONS: Final = "reconstructions"
TRAVERSALS: Final = "traversals"
PICTURES: Final = {
    RECONSTRUCTIONS: "Test images in the first row, their reconstructions below",
    TRAVERSALS: "Each row moves one latent",
}
"""Pictures of the run folder that a page shows, with their captions."""

_OF_CODES: Final = ("test", "validate")
_OF_TRANSFER: Final = ("test_transfer", "validate_transfer")
_OTHERS: Final = {
    "test_generalisation": "Generalisation to held-out states",
    "test_concepts": "Images drawn from concepts",
    "validate_concepts": "Images drawn from concepts (validation)",
}
"""Titles of the tables of further records."""

_DESCRIBED: Final = {
    "accuracy": "Accuracy: named attributes found in the images (share)",
    "diversity": "Diversity: KL of the other attributes from uniform (nats, lower is better)",
    "reader_accuracy": "Accuracy of the reader of attributes on real images (share)",
}
"""Names of the scores of concepts."""
_COLUMNS: Final = {
    "": "error",
    "/in_distribution": "error in distribution",
    "/accuracy": "accuracy",
    "/accuracy_in_distribution": "accuracy in distribution",
}
"""Column headings by the suffix of a transfer score's name."""

_OF_FACTORS: Final = "By factor"
_CHANCE_OF_ALL: Final = f"{_OF_FACTORS}; chance is known for all factors together, as above"
"""Title of the table of single factors of an older record, which has chance of all together."""
_BY_CHANCE: Final = " by chance"
_UNTRAINED: Final = ", untrained"
"""Endings of the headings of levels in the table of single factors."""
_OF_IMAGES: Final = re.compile(r" \([\d,]+ images\)$")
"""Matches the number of images behind a split in a heading."""
_SOURCES: Final = {
    "rendered": "rendered",
    "rendered look-alike": "rendered look-alike",
    "official": "read from the published file",
    "published": "read from the published file",
}
"""What a page says of the images of a data set, by the `source` of its provenance."""
_FEW: Final = 8
"""Maximum number of values of a factor that are listed."""
_SPLITS: Final = ("train", "validation", "test")
_EVEN: Final = 0.005
"""Share by which the number of values of a factor may differ from that by their entropy."""
_FEW_IMAGES: Final = 1_000
"""Number of images below which scores are said to depend on which images they are."""
_LOGGED: Final = 50
"""Lightning's `log_every_n_steps` where the settings have none."""
_PHONE: Final = 44
"""Letters, without gaps between columns, in a row of a table on a phone."""

Row = list[str]


class Table(NamedTuple):
    """Column headings, and rows of text."""

    heads: Row
    rows: list[Row]
    links: Mapping[str, str] = MappingProxyType({})
    """Addresses that cells with these texts link to."""
    is_matrix: bool = False
    """Whether every column holds the same quantity, so that the table scrolls inside itself."""

    @property
    def stacks(self) -> bool:
        """Whether rows become blocks on a phone: too wide for it, and no matrix."""
        columns = zip(self.heads, *self.rows, strict=True)
        letters = sum(max(map(len, map(str, column))) for column in columns)
        return not self.is_matrix and letters > _PHONE

    @property
    def short_heads(self) -> Row:
        """The headings without numbers of images, for the rows of blocks below the first."""
        return [_OF_IMAGES.sub("", head) for head in self.heads]

    @property
    def has_levels(self) -> bool:
        """Whether scores of factors have columns of their levels behind them."""
        return any(head.endswith((_BY_CHANCE, _UNTRAINED)) for head in self.heads)

    @property
    def groups(self) -> dict[str, list[str]]:
        """The columns of each score in a table with levels: its value and its levels."""
        groups: dict[str, list[str]] = {}
        levels = {_BY_CHANCE: "chance", _UNTRAINED: "untrained"}
        for head in self.heads[1:]:
            ending = next((ending for ending in levels if head.endswith(ending)), "")
            groups.setdefault(head.removesuffix(ending), []).append(levels.get(ending, "value"))
        return groups


class PagePicture(NamedTuple):
    """An image with its caption, which is also its alternative text."""

    name: str
    address: str
    caption: str


class RunRecord(NamedTuple):
    """One run, ready to be shown.

    Attributes:
        name: Name and version, such as `factorvae/version_0`; the name alone of a folder that has
            this name, such as that of an exported model. Results on other data add their folder.
        other_data: On which other data the run is scored, in sentences; empty for its own data.
        facts: Names and values of basic facts such as method, data and steps.
        verdict: Sentence on which latents carry which factors; empty if that was not scored.
        information: What latents know about factors; None if that was not scored.
        unearned: Factors that untrained models predict no worse; empty if that is not known.
        headline: The main scores by name, each with the levels beside it, which may be empty.
        scores: The table of scores; None for a run that was not scored.
        reading: Sentences on the images and the good end of the scores.
        terms: Sentences on the columns and the abbreviations of the scores.
        bounds: The table of likelihoods, with a column for each split; None if there are none.
        of_bounds: Why it has fewer images than the splits; empty if it does not.
        published: The table of published values of scores; None if there are none.
        of_published: Sentences on the training and the images of these values.
        blind: What each score cannot see, with the names of the scores.
        transfer: The table of transfer errors, if any.
        others: Further tables by title.
        notes: Remarks on how to interpret the numbers.
        details: The table of scores that repeat others in another form; None if there are none.
        curves: Training curves.
        of_curves: Sentences on terms left out or without meaning, and on why no curve is of
            validation; empty if neither is so.
        without_curves: Sentence on why there are none; empty if there are some.
        panels: Figures of latents and factors.
        pictures: Images from the run folder.
        settings: The configuration as others may read it.
        versions: Versions by distribution.
        unscored: Why no score was taken, where that is the same for all; else empty.
        images: The images in a few words.
    """

    name: str
    other_data: str
    facts: dict[str, str]
    verdict: str
    information: LatentInformation | None
    unearned: list[str]
    headline: dict[str, tuple[str, str]]
    scores: Table | None
    reading: list[str]
    terms: list[str]
    bounds: Table | None
    of_bounds: str
    published: Table | None
    of_published: list[str]
    blind: dict[str, str]
    transfer: Table | None
    others: dict[str, Table]
    notes: list[str]
    details: Table | None
    curves: list[PagePicture]
    of_curves: str
    without_curves: str
    panels: list[PagePicture]
    pictures: list[PagePicture]
    settings: str
    versions: dict[str, str]
    unscored: str
    images: str


def read_run(folder: Path, draw: bool = True) -> RunRecord:
    """Reads the record of a run from its folder.

    Results on other data, in `other_data` of a run, have the curves and the training of this run.

    Args:
        folder: The run folder.
        draw: Whether to draw curves and read pictures.

    Raises:
        InputError: It is no run folder, or a file in it is damaged.
    """
    settings = published(read_config(folder))
    records = _records(folder)
    scored = scored_record(records)
    transfer = _first(records, _OF_TRANSFER)
    run = folder.resolve().parents[1] if folder.resolve().parent.name == OTHER_DATA else folder
    trained = published(read_config(run)) if run != folder and (run / CONFIG).is_file() else {}
    run = run if trained else folder
    rows = read_curves(run / CURVES).rows if draw else []
    terms = main_terms(rows)
    curves = list(_curves(rows, terms))
    values = literature(folder, settings, scored)
    planned = mapping_in(trained or settings, "trainer").get("max_steps")
    table, reasons = _scores(scored, are_details=False), set(_reasons(scored))
    unscored = reasons.pop() if table is None and len(reasons) == 1 else ""
    facts, training = facts_of(settings, scored), _training(run)
    steps = facts.get("steps") or training.facts.get("steps", "")
    if steps and isinstance(planned, int) and int(steps.replace(",", "")) < planned:
        facts["steps"] = f"{steps} of {planned:,}"
    if training.changes:
        facts["method"] = f"{facts.get('method', '')} with other terms ({training.changes})"
    versions = mapping_in(scored, "versions") or training.versions
    name, version = str(settings.get("name") or "run"), run.resolve().name
    name = name if name == version else f"{name}/{version}"
    return RunRecord(
        f"{name} on {folder.resolve().name}" if trained else name,
        _on_other_data(name, facts_of(trained, scored_record(_records(run))), facts)
        if trained
        else "",
        facts | training.facts | facts,  # steps of the scores before those of training
        verdict(scored),
        information_in(scored),
        unearned_in(scored),
        _headline(scored),
        table,
        list(_reading(scored)),
        list(_terms(scored)),
        _bounds(scored),
        _of_bounds(scored),
        Table(["score", "obtained", "published"], [[*entry[:3]] for entry in values])
        if values
        else None,
        [entry.about for entry in values],
        blind_spots(mapping_in(scored, "scores")),
        _transfer(transfer["scores"]) if transfer.get("scores") else None,
        {
            title: table
            for title, table in (
                (_title_of_factors(scored), _by_factor(scored)),
                ("Losses", None if scored.get("scores") else _losses(scored)),
                *((title, _plain(mapping_in(records, name))) for name, title in _OTHERS.items()),
            )
            if table is not None
        },
        [
            *(str(note) for note in transfer.get("notes", [])),
            *([] if unscored else _skipped(scored)),
        ],
        _scores(scored, are_details=True),
        curves,
        _of_curves(rows, terms, trained or settings) if curves else "",
        "" if curves or not draw else without_curves(run, trained or settings),
        list(_panels(scored)) if draw else [],
        list(_pictures(folder)) if draw else [],
        yaml_text(settings),
        {name: str(version) for name, version in sorted(versions.items())},
        unscored,
        _images(mapping_in(mapping_in(settings, "data"), "init_args"), scored),
    )


def _records(folder: Path) -> dict[str, Any]:
    """The records of scores of a run as others may read them; empty for none."""
    return without_paths(read_scores(folder)) if (folder / SCORES).is_file() else {}


def _on_other_data(run: str, before: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Sentences on a run, and on the facts of the data of its training and of its scores."""
    names = ("data set", "included", "resized to")
    trained, scored = (
        "; ".join(facts[name] for name in names if name in facts) for facts in (before, here)
    )
    return (
        f"Scores of the run {run} on other data than in training. Trained on: {trained}. Scored "
        f"on: {scored}. Curves and times are those of its training; the scores on its own data are "
        "on the page of that run."
    )


def scored_record(records: Mapping[str, Any]) -> dict[str, Any]:
    """The record of the scores of codes, that of the test split first; empty for none.

    Args:
        records: The content of `scores.json`.
    """
    return _first(records, _OF_CODES)


def _first(records: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    present = (records[name] for name in names if isinstance(records.get(name), dict))
    return next(present, {})


def facts_of(settings: Mapping[str, Any], scored: Mapping[str, Any]) -> dict[str, str]:
    """Names and values of basic facts such as method, data and steps.

    Args:
        settings: The complete configuration of a run.
        scored: Its record of scores; empty for none.
    """
    arguments = mapping_in(mapping_in(settings, "model"), "init_args")
    data, objective = mapping_in(settings, "data"), class_name(settings.get("model"))
    steps = mapping_in(scored, "checkpoint").get("steps")
    size = mapping_in(data, "init_args").get("resize")
    facts = {
        "method": method_of(settings),
        "objective": "" if method_of(settings) == objective else objective,
        "regularizers": ", ".join(
            _described(fact) for fact in mapping_in(arguments, "regularizers").values()
        ),
        "encoder": _described(arguments.get("encoder")),
        "decoder": _described(arguments.get("decoder") or arguments.get("generator")),
        "latents": _text(arguments.get("latent_dim")),
        "likelihood": _text(arguments.get("likelihood")),
        "optimizer": _optimizer(arguments),
        "scheduler": _described(arguments.get("scheduler")),
        "batch size": _text(mapping_in(data, "init_args").get("batch_size")),
        "data set": _dataset_of(mapping_in(data, "init_args"), mapping_in(scored, "data")),
        "included": _included(mapping_in(mapping_in(data, "init_args"), "include")),
        "resized to": f"{size}×{size} pixels" if size else "",
        "supervision": _supervision(settings),
        "steps": f"{steps:,}" if isinstance(steps, int) else "",
        "scored on": images_of(scored) if _headline(scored) else "",
        "seed": _text(settings.get("seed_everything")),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _supervision(settings: Mapping[str, Any]) -> str:
    """`images alone` where a method sees nothing else, or the class of the data."""
    data, model = mapping_in(settings, "data"), mapping_in(settings, "model")
    name, objective = class_name(data), None
    with suppress(InputError):
        objective = find_object(model.get("class_path"), (Objective,))
    is_plain = name == "SingleData" and not mapping_in(data, "init_args").get("few_labels")
    if is_plain and objective is not None and not learns_from_factors(objective):
        return "images alone"
    return name


class _Training(NamedTuple):
    """What the last checkpoint of a run says of its training.

    Attributes:
        facts: Steps, date, time and hardware, as far as known.
        versions: Versions by distribution, of an older checkpoint that of Lightning alone.
        changes: Which regularizers were changed; empty for none.
    """

    facts: dict[str, str]
    versions: Mapping[str, Any]
    changes: str


def _training(folder: Path) -> _Training:
    """What the last checkpoint of a run says of its training; nothing if it cannot be read."""
    stored: Mapping[str, Any] = {}
    with suppress(InputError):  # no checkpoint, or one that cannot be read
        stored = read_checkpoint(checkpoint_of(folder, "last"))
    state = mapping_in(mapping_in(stored, "callbacks"), "Progress")
    seconds = state.get("seconds")
    steps = mapping_in(stored, "state_dict").get("steps", stored.get("global_step"))
    lightning = stored.get("pytorch-lightning_version")
    facts = {
        "steps": _steps_text(steps),
        "trained": _text(state.get("date")),
        "training time": duration(seconds) if isinstance(seconds, int | float) else "",
        "hardware": _text(state.get("hardware")),
    }
    return _Training(
        {name: fact for name, fact in facts.items() if fact},
        mapping_in(state, "versions") or ({"lightning": lightning} if lightning else {}),
        _text(state.get("other_regularizers")),
    )


def _steps_text(steps: object) -> str:
    """A number of steps, which may be a tensor; empty where there is none."""
    with suppress(TypeError, ValueError, OverflowError, RuntimeError):
        return f"{int(cast('Any', steps)):,}"
    return ""


def images_of(scored: Mapping[str, Any]) -> str:
    """How many images were scored, of how many, and of which split; empty for an older record.

    Args:
        scored: The record of scores.
    """
    draw = mapping_in(scored, "draw")
    count, available, split = (draw.get(name) for name in ("points", "available", "split"))
    if not isinstance(count, int) or not isinstance(available, int):
        return ""
    return scored_on(count, available, _text(split))


def _count(scored: Mapping[str, Any], section: str, name: str) -> int:
    """A number of images in a section of a record; 0 if an older record lacks it."""
    count = mapping_in(scored, section).get(name)
    return count if isinstance(count, int) else 0


def caution(scored: Iterable[str], data_differ: bool) -> str:
    """Says why scores of runs cannot be compared, or may differ; empty if nothing is known of it.

    Args:
        scored: Result of `images_of` for each run.
        data_differ: Whether the runs have different data sets, or parts of them.
    """
    if data_differ:
        return "the runs have different data, and their scores cannot be compared"
    texts = list(dict.fromkeys(filter(None, scored)))
    if len(texts) < 2:
        return ""
    which = f" ({'; '.join(texts)})" if len(texts) <= _FEW else ""
    return f"the runs are scored on different images{which}, so that scores may differ for this"


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _described(part: Any, is_complete: bool = False) -> str:
    """The class name of a part with its settings that are numbers, strings or short lists.

    With `is_complete`, all settings that are not null: `true`, `false` and mappings, too.
    """
    if not class_name(part):
        return ""
    arguments = mapping_in(part, "init_args") if isinstance(part, Mapping) else {}
    settings = [f"{name} {_plain_text(v)}" for name, v in arguments.items() if _is_plain(v)]
    if is_complete:
        given = {name: v for name, v in arguments.items() if v not in (None, {}, [])}
        settings = [f"{name} {_whole_text(v)}" for name, v in given.items()]
    return f"{class_name(part)} ({', '.join(settings)})" if settings else class_name(part)


def _optimizer(arguments: Mapping[str, Any]) -> str:
    """The optimiser of an objective with its learning rate; empty for one that takes none."""
    if "optimizer" in arguments and arguments["optimizer"] is None:
        return f"Adam (lr {LEARNING_RATE})"
    return _described(arguments.get("optimizer"))


def _dataset_of(arguments: Mapping[str, Any], recorded: Mapping[str, Any]) -> str:
    """The data set of a data module, its settings, and whether it is a part, or rendered."""
    text = _described(_without_defaults(arguments.get("dataset")), is_complete=True)
    source = _SOURCES.get(str(mapping_in(recorded, "provenance").get("source")))
    part = "a part of " if text and arguments.get("include") else ""
    return f"{part}{text}{f', {source}' if text and source else ''}"


def _images(arguments: Mapping[str, Any], scored: Mapping[str, Any]) -> str:
    """The images of a data module in a few words: own files and their number, or the data set."""
    dataset = arguments.get("dataset")
    settings = mapping_in(dataset, "init_args") if isinstance(dataset, Mapping) else {}
    path = next((name for key in ("folder", "file") if (name := settings.get(key))), "")
    if not path:
        return _dataset_of(arguments, mapping_in(scored, "data"))
    part = "a part of " if arguments.get("include") else ""
    draw = mapping_in(scored, "draw")
    count = draw.get("available") if draw.get("split") == "all" else None
    images = f", {count:,} images" if count else ""
    equal = ", one of each group of equal files" if settings.get("copies") == "drop" else ""
    return f"{part}{PurePath(str(path)).name}{images}{equal}"


def _included(states: Mapping[str, Any]) -> str:
    """The values of factors that a part of a data set has, as in `shape cube, hue max 0.5`."""
    return ", ".join(f"{factor} {_values(values)}" for factor, values in states.items())


def _values(values: Any) -> str:
    """Values of a factor, or conditions on them, in a few words."""
    if isinstance(values, Mapping):
        return " and ".join(f"{name} {value}" for name, value in values.items())
    if isinstance(values, list):
        return " or ".join(map(str, values)) if len(values) <= _FEW else f"{len(values)} values"
    return str(values)


def _without_defaults(dataset: Any) -> Any:
    """A data set without the arguments that are defaults of its class, if that is installed."""
    cls = None
    with suppress(InputError):
        cls = find_object(mapping_in({"": dataset}, "").get("class_path"), (Dataset,))
    if cls is None:
        return dataset
    defaults = {name: item.default for name, item in signature(cls).parameters.items()}
    arguments = mapping_in(dataset, "init_args")
    changed = {name: item for name, item in arguments.items() if defaults.get(name, cls) != item}
    return {**dataset, "init_args": changed}


def _plain_text(value: Any) -> str:
    """A plain setting in words, a list as in `32, 32 and 64`."""
    *others, last = map(str, value if isinstance(value, list) else [value])
    return f"{', '.join(others)} and {last}" if others else last


def _whole_text(value: Any) -> str:
    """Any setting in words, a mapping as in `angle 360 and hue 1`, a long list by its length."""
    if isinstance(value, Mapping):
        members = (f"{name} {_whole_text(member)}" for name, member in value.items())
        return _described(value, is_complete=True) or " and ".join(members)
    if isinstance(value, bool):
        return str(value).lower()
    return _plain_text(value) if _is_plain(value) else _values(value)


def _is_plain(value: Any) -> bool:
    """Whether a setting is a number, a text or a short list of these."""
    if isinstance(value, list):
        return (
            0 < len(value) <= _FEW
            and not any(isinstance(item, list) for item in value)
            and all(map(_is_plain, value))
        )
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _headline(scored: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The primary value of each score, and its level by chance and of untrained models."""
    values, levels, standings = mapping_in(scored, "scores"), _levels(scored), _standings(scored)
    headline = {}
    for name in _primary(scored):
        said = [OF_STILL] if is_of_no_latent(name, values) else []
        for level, spreads in levels.items():
            means = {key: spread.get("mean") for key, spread in spreads.items()}
            if is_of_no_latent(name, means):
                said.append(f"{level}: {OF_STILL}")
            elif text := spread_text(spreads.get(name, {}), partial(_digits, decimals=2)):
                said.append(f"{standings.get((name, level), '')} {level} {text}".lstrip())
        headline[label(name)] = (_digits(values[name], 2), ", ".join(said))
    return headline


def low_scores(scored: Mapping[str, Any]) -> str:
    """Names the main scores that are not clearly above chance or untrained models; may be empty.

    Args:
        scored: The record of the scores of codes.
    """
    names: dict[str, list[str]] = {}
    models = {"chance": "chance", "untrained": "untrained models"}
    for (name, level), standing in _standings(scored).items():
        names.setdefault(f"{standing} {models[level]}", []).append(label(name))
    texts = [f"{standing}: {', '.join(listed)}." for standing, listed in names.items()]
    return " ".join(f"{text[:1].upper()}{text[1:]}" for text in texts)


def _primary(scored: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The descriptions of scores by the name of their main value, of those that have one."""
    values = mapping_in(scored, "scores")
    of_metrics = _mappings(mapping_in(scored, "metrics")).values()
    return {name: of for of in of_metrics if (name := str(of.get("primary"))) in values}


def _levels(scored: Mapping[str, Any]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The mean of each score by chance, and with the deviation that of untrained models."""
    untrained = mapping_in(mapping_in(scored, "untrained"), "scores")
    return {
        "chance": {name: {"mean": mean} for name, mean in mapping_in(scored, "chance").items()},
        "untrained": _mappings(untrained),
    }


def _standings(scored: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Which main scores are not above a level, or within its spread, by score and level."""
    values, standings = mapping_in(scored, "scores"), dict[tuple[str, str], str]()
    for name, metric in _primary(scored).items():
        if not metric.get("higher_is_better") or is_of_no_latent(name, values):
            continue
        if not isinstance(value := values[name], int | float):
            continue
        for level, spreads in _levels(scored).items():
            spread = spreads.get(name, {})
            means = {key: other.get("mean") for key, other in spreads.items()}
            if not is_of_no_latent(name, means) and value <= highest_of(spread):
                is_within = value > spread["mean"]
                standings[name, level] = "within the spread of" if is_within else "not above"
    return standings


def _digits(value: Any, decimals: int = 3) -> str:
    if not isinstance(value, int | float):
        return "" if value is None else str(value)
    if float(value).is_integer() and abs(value) > 1:
        return f"{value:.0f}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"  # no minus before a zero


def _values_of(spread: Mapping[str, Any]) -> list[Any]:
    """The scores of single models in a spread; empty in an older record, or one by hand."""
    values = spread.get("values")
    return values if isinstance(values, list) else []


def _mappings(records: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The mappings among values by name, as a record by hand has them."""
    return {name: value for name, value in records.items() if isinstance(value, Mapping)}


def _nats(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, int | float) else _digits(value)


def _scores(scored: Mapping[str, Any], are_details: bool) -> Table | None:
    """Table of scores without likelihoods, those of one family together; None for no score.

    `are_details` chooses the scores that repeat another one in another form.
    """
    scores = mapping_in(scored, "scores")
    values = {
        name: value
        for name, value in scores.items()
        if not likelihood(name) and is_detail(name, scores) == are_details
    }
    if not values:
        return None
    heads, *rows = score_rows(
        values,
        mapping_in(scored, "intervals"),
        _mappings(mapping_in(mapping_in(scored, "untrained"), "scores")),
        mapping_in(scored, "chance"),
        _mappings(mapping_in(scored, "baselines")),
        _digits,
        scores,
    )
    rows = [[label(name), *cells] for name, *cells in rows]
    families = list(dict.fromkeys(row[0].partition(" ")[0] for row in rows))
    return Table(heads, sorted(rows, key=lambda row: families.index(row[0].partition(" ")[0])))


def _reading(scored: Mapping[str, Any]) -> Iterator[str]:
    """How to read the table of scores: its images, the best value, what is missing."""
    if (images := images_of(scored)) and _scores(scored, are_details=False):
        numbers = ("points", "incomplete", "equal_files")
        count, incomplete, equal = (_count(scored, "draw", name) for name in numbers)
        yield f"Scored on {images_text(count, images, incomplete, equal).removesuffix(',')}."
        if count < _FEW_IMAGES and not mapping_in(scored, "intervals"):
            yield (
                "That is few: other images may give other scores. Scores that fit no predictor, "
                "such as MIG, get intervals by dislab test --run RUN --evaluate.bootstrap 100."
            )
        if equal:
            yield (
                "Equal files may be in training and test; the setting copies: drop of the data set "
                "takes one of each."
            )
    metrics = _mappings(mapping_in(scored, "metrics"))
    ends = {True: "Higher is better", False: "Lower is better"}
    for is_high, sentence in ends.items():
        names = [title(n) for n, of in metrics.items() if of.get("higher_is_better") is is_high]
        if names:
            yield f"{sentence}: {', '.join(names)}."
    entropies = mapping_in(mapping_in(scored, "sample"), "entropy")
    if constant := [factor for factor in scored_factors(scored) if entropies.get(factor) == 0]:
        yield f"Constant in these images, and in no score: {', '.join(constant)}."
    if worse := _predicted_worse(scored):
        yield f"Untrained models predict better (DCI informativeness): {', '.join(worse)}."
    kl = mapping_in(scored, "parts").get("kl_per_latent")
    if "active_units" in mapping_in(scored, "scores") and isinstance(kl, list):
        amounts = [amount for amount in kl if isinstance(amount, int | float)]
        active, used = (sum(amount > least for amount in amounts) for least in (ACTIVE, NAMED))
        if used < active:
            yield f"In use, with a KL above {NAMED} nats: {used} of {active} active units."
    spreads = mapping_in(mapping_in(scored, "untrained"), "scores")
    if mapping_in(scored, "chance") and "untrained" in scored and not spreads:
        yield (
            "Untrained models were not scored, which takes more time: "
            "dislab test --run RUN --evaluate.untrained 5 does."
        )
    if any(
        str(name).startswith(FACTOR_VAE) and 0 in _values_of(of)
        for name, of in _mappings(spreads).items()
    ):
        yield "An untrained model in which no latent varies enough has a FactorVAE score of 0."


def _predicted_worse(scored: Mapping[str, Any]) -> list[str]:
    """Factors whose informativeness is below that of untrained models by more than its spread."""
    name, factors = informativeness_in(mapping_in(scored, "parts")), scored_factors(scored)
    values = mapping_in(scored, "parts").get(f"{name}{PER_FACTOR}")
    spreads = untrained_by_factor(scored, f"{name}{PER_FACTOR}", len(factors))
    if not isinstance(values, list):
        return []
    return [
        factor
        for factor, value, spread in zip(factors, values, spreads, strict=False)
        if isinstance(value, int | float)
        and isinstance(mean := spread["mean"], int | float)
        and value < 2 * mean - highest_of(spread)
    ]


def _terms(scored: Mapping[str, Any]) -> Iterator[str]:
    """What the columns, the counts and the abbreviations of the table of scores mean."""
    scores, metrics = mapping_in(scored, "scores"), mapping_in(scored, "metrics")
    if mapping_in(scored, "chance"):
        yield "Chance: the score of the codes of other images, which tell nothing of these."
    if "dci" in metrics:
        of_noise = " On few images codes of noise have more than 0: 0.01 to 0.03 on 280 images."
        yield (
            "DCI informativeness: the share of images whose value of a factor is predicted "
            "exactly; of a continuous factor, R². Chance of DCI is that of always predicting the "
            "most frequent value, or the mean; disentanglement and completeness are then 0."
            f"{of_noise * (_count(scored, 'draw', 'points') < _FEW_IMAGES)}"
        )
    if any(str(name).endswith("_nrmse") for name in scores):
        yield (
            "NRMSE: the root mean squared error in standard deviations of the factor, whose values "
            "are numbered in their order. Of categories it has no meaning, and of a factor that is "
            "always predicted as its most frequent value it is above 1."
        )
    if spreads := mapping_in(mapping_in(scored, "untrained"), "scores"):
        count = max((len(_values_of(of)) for of in _mappings(spreads).values()), default=0)
        models = f"{count} models" if count else "models"
        within = (
            "; within their spread is a score of at most two of these deviations above the mean"
        )
        is_marked = any("within" in standing for standing in _standings(scored).values())
        text = f"Untrained: mean ± standard deviation of {models} with fresh weights"
        yield f"{text}{within * is_marked}."
    if "active_units" in scores:
        yield (
            f"Active units have a KL above {ACTIVE} nats; a latent with at most {NAMED} nats is "
            "not in use and is grey in the picture of the information, as a sample of it tells at "
            "most its KL."
        )
    if any(str(name).endswith("num_active") for name in scores):
        yield (
            "Latents that vary are counted by the spread of their codes over the images, not by "
            "their KL as active units are: for the FactorVAE score, those whose standard deviation "
            "is at least its threshold, 0.05 unless set."
        )
    if any(str(name).endswith("_train") and not likelihood(name) for name in scores):
        yield (
            "On training images: those that the predictor of the score was fitted to, whatever "
            "split of the model's training they are of. If it is far higher there, the predictor "
            "has learnt these images by heart."
        )
    if text := abbreviations(map(label, scores)):
        yield f"{text}."


def _bounds(scored: Mapping[str, Any]) -> Table | None:
    """Table with a row for each likelihood, and a column for each split with its images."""
    rows: dict[str, dict[str, str]] = {}
    for name, value in mapping_in(scored, "scores").items():
        if bound := likelihood(name):
            digits = _digits if str(name).startswith(EXPLAINED) else _nats
            rows.setdefault(bound[0], {})[bound[1]] = digits(value)
    splits = [split for split in _SPLITS if any(split in row for row in rows.values())]
    table = [[term, *(row.get(split, "") for split in splits)] for term, row in rows.items()]
    counts = {split: _count(scored, "bound_images", split) for split in splits}
    heads = [f"{split} ({count:,} images)" if count else split for split, count in counts.items()]
    return Table(["nats per image", *heads], table) if table else None


def _of_bounds(scored: Mapping[str, Any]) -> str:
    """Why likelihoods have fewer images than their splits; empty if they do not."""
    if not (_count(scored, "draw", "incomplete") and _count(scored, "bound_images", "train")):
        return ""
    return "Likelihoods leave out images without a value of some factor, as the scores do."


def of_estimates(settings: Mapping[str, Any]) -> str:
    """Which terms of the loss have values without a meaning, and why; empty for none.

    Args:
        settings: The configuration of a run.
    """
    arguments = mapping_in(mapping_in(settings, "model"), "init_args")
    for name, part in mapping_in(arguments, "regularizers").items():
        estimator = mapping_in(mapping_in({"": part}, ""), "init_args").get("estimator", "mss")
        if class_name(part) == "DecomposedKL" and estimator != "mss":
            terms = [term_name(f"{name}/{term}") for term in Decomposition._fields]
            return (
                f"The values of {', '.join(terms[:-1])} and {terms[-1]} are off by up to tens of "
                f"nats and may be negative, as the estimator {estimator} leaves their level open: "
                "read only how they change. Those of the estimator mss are close to the true ones."
            )
    return ""


def blind_spots(scores: Mapping[str, Any]) -> dict[str, str]:
    """What scores cannot see: each limitation once, under the names of its scores in words.

    Args:
        scores: Values by name, as in `scores.json`.
    """
    names: dict[str, list[str]] = {}
    for name in map(str, scores):
        if (sentence := blind_spot(name)) and not is_detail(name, scores):
            bound = likelihood(name)
            names.setdefault(sentence, []).append(bound[0] if bound else label(name))
    return {", ".join(dict.fromkeys(listed)): sentence for sentence, listed in names.items()}


def _transfer(scores: Mapping[str, Any]) -> Table:
    """Table with one row per scenario and predictor."""
    rows: dict[str, dict[str, str]] = {}
    for name, value in scores.items():
        ending = max(
            (ending_name for ending_name in _COLUMNS if str(name).endswith(ending_name)), key=len
        )
        rows.setdefault(str(name).removesuffix(ending), {})[ending] = _digits(value)
    endings = [
        ending_name for ending_name in _COLUMNS if any(ending_name in row for row in rows.values())
    ]
    table = [
        [name, *(row.get(ending_name, "") for ending_name in endings)] for name, row in rows.items()
    ]
    return Table(["scenario/predictor", *(_COLUMNS[ending_name] for ending_name in endings)], table)


def _plain(record: Mapping[str, Any]) -> Table | None:
    """Table of the scores of a record; None for no score."""
    scores = mapping_in(record, "scores")
    rows = [[_DESCRIBED.get(name, str(name)), _digits(score)] for name, score in scores.items()]
    return Table(["score", "value"], rows) if rows else None


def _losses(scored: Mapping[str, Any]) -> Table | None:
    """Table of the test losses of a model without codes; None for no loss."""
    losses = mapping_in(scored, "losses")
    rows = [[str(name).partition("/")[2], _digits(loss)] for name, loss in losses.items()]
    return Table(["loss", "value"], rows) if rows else None


def _by_factor(scored: Mapping[str, Any]) -> Table | None:
    """Table with a row for each factor and a column for each score of single factors.

    Behind a score stand the chance of each factor and the level of untrained models, if known.
    """
    factors, scores = scored_factors(scored), mapping_in(scored, "scores")
    parts = {
        name: part
        for name, part in mapping_in(scored, "parts").items()
        if isinstance(part, list) and len(part) == len(factors)
    }
    columns: list[list[str]] = []
    heads = ["factor"]
    for name, part in parts.items():
        score = str(name).removesuffix(PER_FACTOR)
        if score == name or is_detail(score, scores):
            continue
        heads.append(label(score))
        columns.append([_digits(value) for value in part])
        if levels := parts.get(f"{name}{BY_CHANCE}", []):
            heads.append(f"{label(score)}{_BY_CHANCE}")
            columns.append([_digits(level) for level in levels])
        if spreads := untrained_by_factor(scored, str(name), len(factors)):
            heads.append(f"{label(score)}{_UNTRAINED}")
            columns.append([spread_text(spread, _digits) for spread in spreads])
    cells = zip(*columns, strict=True)
    sample = mapping_in(scored, "sample")
    names = [f"{factor}{_count_of_values(sample, factor)}" for factor in factors]
    rows = [[name, *row] for name, row in zip(names, cells, strict=False) if any(row)]
    return Table(heads, rows) if rows else None


def _count_of_values(sample: Mapping[str, Any], factor: str) -> str:
    """How many values of a factor the scored images have, in brackets; empty if not known.

    Of equally frequent values it is told by their entropy; of others the record has the most.
    """
    size, entropy = (mapping_in(sample, name).get(factor) for name in ("factors", "entropy"))
    if not isinstance(size, int) or not isinstance(entropy, int | float) or size < 1:
        return ""
    if not 0 <= entropy <= math.log(size) + _EVEN:  # a record by hand
        return ""
    count = round(math.exp(entropy))
    if math.exp(entropy) > size - 1 + _EVEN:  # fewer values cannot have this entropy
        return f" ({size} values)"
    is_even = abs(math.exp(entropy) - count) < _EVEN * count
    return f" ({count} values)" if is_even else f" (up to {size} values)"


def _title_of_factors(scored: Mapping[str, Any]) -> str:
    ending = f"{PER_FACTOR}{BY_CHANCE}"
    has_levels = any(str(name).endswith(ending) for name in mapping_in(scored, "parts"))
    return _CHANCE_OF_ALL if scored.get("chance") and not has_levels else _OF_FACTORS


def _reasons(scored: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of scores that were not taken, by the reason."""
    names: dict[str, list[str]] = {}
    for name, why in mapping_in(scored, "skipped").items():
        names.setdefault(str(why), []).append(title(str(name)))
    return names


def _skipped(scored: Mapping[str, Any]) -> list[str]:
    return [
        f"{', '.join(listed)} {'was' if len(listed) == 1 else 'were'} not taken: {why}"
        for why, listed in _reasons(scored).items()
    ]


def _panels(scored: Mapping[str, Any]) -> Iterator[PagePicture]:
    """Figures of latents and factors, of one height."""
    for name, about, figure in part_figures(scored):
        yield PagePicture(name, drawing(figure, is_cropped=False), about)


def _curves(rows: Sequence[dict[str, str]], terms: Sequence[str]) -> Iterator[PagePicture]:
    """Curves of the terms of the loss, one picture per term."""
    figures = ((term, curves_figure(rows, [term], COLUMN)) for term in terms)
    for term, figure in islice(((t, f) for t, f in figures if f is not None), MOST_PANELS):
        yield PagePicture(term_name(term), drawing(figure), "over the steps of training")


def without_curves(folder: Path, settings: Mapping[str, Any]) -> str:
    """Why a run has no curves, and what to set so that the next one has.

    Args:
        folder: The run folder.
        settings: Its configuration.
    """
    rows = read_curves(folder / CURVES).rows
    logged = len({row["step"] for row in rows if any(name.startswith("train/") for name in row)})
    if not rows:
        return f"No curves: the run folder has no {CURVES} with logged values."
    if logged > 1:
        return (
            f"No curves: no loss differs between the {logged} steps of training that were logged."
        )
    every = mapping_in(settings, "trainer").get("log_every_n_steps") or _LOGGED
    end = "ended before the first time" if not logged else "once before the end"
    return (
        f"No curves: training logs its losses every {every} steps, and {end}; a curve takes two. "
        "Set --trainer.log_every_n_steps to less than half of the steps of training."
    )


def _of_curves(
    rows: Sequence[dict[str, str]], terms: Sequence[str], settings: Mapping[str, Any]
) -> str:
    """What the curves of a run leave out, and which of them have no unit or no meaning."""
    without_unit = [term_name(term) for term in terms if not unit_of(term, rows)]
    of_units = f"Without a unit: {', '.join(without_unit)}." * bool(without_unit)
    repeats = " and ".join(map(term_name, repeats_of_loss(rows)))
    left_out = f"Left out, as its curve looks the same as that of the loss: {repeats}." * bool(
        repeats
    )
    of_validation = _without_validation(rows, mapping_in(settings, "trainer"))
    return " ".join(filter(None, (of_units, left_out, of_estimates(settings), of_validation)))


def _without_validation(rows: Sequence[dict[str, str]], trainer: Mapping[str, Any]) -> str:
    """Why no curve shows the validation; empty if validation was logged more than once."""
    logged = {row["step"] for row in rows if any(name.startswith("validation/") for name in row)}
    if len(logged) > 1:
        return ""
    count, every = (
        "one validation" if logged else "no validation",
        trainer.get("val_check_interval"),
    )
    when = f" (one comes every {every:,} steps)" if isinstance(every, int) else ""
    return f"Training had {count}{when}; a curve takes two."


def _pictures(folder: Path) -> Iterator[PagePicture]:
    for name, caption in PICTURES.items():
        path = folder / "images" / f"{name}.png"
        if path.is_file():
            yield PagePicture(name, picture(path), caption)
