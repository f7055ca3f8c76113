"""Reads a run folder into the form that a page shows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import signature
from itertools import compress, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Dataset
from dislab.codes.latent_order import LEAST, main_latents, own_latents
from dislab.errors import InputError
from dislab.metrics.evaluation import INFORMATION
from dislab.metrics.score_table import blind_spot, is_detail, label, likelihood, score_rows
from dislab.metrics.sheet import first_part, information_of
from dislab.naming.classes import class_name, find_object, method_of
from dislab.report.figures import (
    COLUMN,
    MOST_PANELS,
    curves_figure,
    drawing,
    loss_terms,
    part_figures,
    picture,
    scored_factors,
)
from dislab.report.literature import literature
from dislab.runs import SCORES, read_scores
from dislab.runs.curves import CURVES, read_curves, term_name
from dislab.runs.published import published, without_paths
from dislab.yaml_files import read_config, yaml_text

TRAVERSALS: Final = "traversals"
PICTURES: Final = {
    "reconstructions": "Test images in the first row, their reconstructions below",
    TRAVERSALS: "Each row moves one latent",
}
"""Pictures of the run folder that a page shows, with their captions."""

_OF_CODES: Final = ("test", "validate")
_OF_TRANSFER: Final = ("test_transfer", "validate_transfer")
_OTHERS: Final = ("test_generalisation", "test_concepts", "validate_concepts")
_COLUMNS: Final = {
    "": "error",
    "/in_distribution": "error in distribution",
    "/accuracy": "accuracy",
    "/accuracy_in_distribution": "accuracy in distribution",
}
"""Column headings by the suffix of a transfer score's name."""

_SPLITS: Final = ("train", "validation", "test")
_PHONE: Final = 44
"""Letters, without gaps between columns, in a row of a table on a phone."""
_MOST_STACKED: Final = 7
"""Number of columns above which a table is a matrix, which scrolls inside itself."""

Row = list[str]


class Table(NamedTuple):
    """Column headings, and rows of text."""

    heads: Row
    rows: list[Row]
    links: Mapping[str, str] = MappingProxyType({})
    """Addresses that cells with these texts link to."""

    @property
    def stacks(self) -> bool:
        """Whether rows become blocks on a phone: too wide for it, and no matrix."""
        columns = zip(self.heads, *self.rows, strict=True)
        letters = sum(max(map(len, map(str, column))) for column in columns)
        return len(self.heads) <= _MOST_STACKED and letters > _PHONE


class PagePicture(NamedTuple):
    """An image with its caption, which is also its alternative text."""

    name: str
    address: str
    caption: str


class RunRecord(NamedTuple):
    """One run, ready to be shown.

    Attributes:
        name: Name and version, such as `factorvae/version_0`.
        facts: Names and values of basic facts such as method, data and steps.
        verdict: Sentence on which latents carry which factors; empty if that was not scored.
        owners: Latents by the factor whose own they are; None if that was not scored.
        headline: The main scores with their chance levels, which may be empty, by name.
        scores: The table of scores; None for a run that was not scored.
        bounds: The table of likelihoods, with a column for each split; None if there are none.
        blind: What each score cannot see, with the names of the scores.
        transfer: The table of transfer errors, if any.
        others: Further tables by title.
        notes: Remarks on how to interpret the numbers.
        details: The table of scores that repeat others in another form; None if there are none.
        curves: Training curves.
        panels: Figures of latents and factors.
        pictures: Images from the run folder.
        settings: The configuration as others may read it.
        versions: Versions by distribution.
    """

    name: str
    facts: dict[str, str]
    verdict: str
    owners: dict[str, int] | None
    headline: dict[str, tuple[str, str]]
    scores: Table | None
    bounds: Table | None
    blind: dict[str, str]
    transfer: Table | None
    others: dict[str, Table]
    notes: list[str]
    details: Table | None
    curves: list[PagePicture]
    panels: list[PagePicture]
    pictures: list[PagePicture]
    settings: str
    versions: dict[str, str]


def read_run(folder: Path, draw: bool = True) -> RunRecord:
    """Reads the record of a run from its folder.

    Args:
        folder: The run folder.
        draw: Whether to draw curves and read pictures.

    Raises:
        InputError: It is no run folder, or a file in it is damaged.
    """
    settings = published(read_config(folder))
    records = without_paths(read_scores(folder)) if (folder / SCORES).is_file() else {}
    scored = scored_record(records)
    transfer, owners = _first(records, _OF_TRANSFER), _owners(scored)
    return RunRecord(
        f"{settings.get('name') or 'run'}/{folder.resolve().name}",
        facts_of(settings, scored),
        verdict(scored),
        None if owners is None else {f: z for f, z in owners.items() if z is not None},
        _headline(scored),
        _scores(scored, are_details=False),
        _bounds(_mapping(scored, "scores")),
        _blind(_mapping(scored, "scores")),
        _transfer(transfer["scores"]) if transfer.get("scores") else None,
        {
            name: _plain(_mapping(records, name)["scores"])
            for name in _OTHERS
            if _mapping(records, name).get("scores")
        },
        [
            *literature(folder, settings, _mapping(scored, "scores")),
            *(str(note) for note in transfer.get("notes", [])),
            *_skipped(scored),
        ],
        _scores(scored, are_details=True),
        list(_curves(folder)) if draw else [],
        [PagePicture(n, drawing(f), about) for n, about, f in part_figures(scored)] if draw else [],
        list(_pictures(folder)) if draw else [],
        yaml_text(settings),
        {name: str(version) for name, version in sorted(_mapping(scored, "versions").items())},
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


def _mapping(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def facts_of(settings: Mapping[str, Any], scored: Mapping[str, Any]) -> dict[str, str]:
    """Names and values of basic facts such as method, data and steps.

    Args:
        settings: The complete configuration of a run.
        scored: Its record of scores; empty for none.
    """
    arguments = _mapping(_mapping(settings, "model"), "init_args")
    data, objective = _mapping(settings, "data"), class_name(settings.get("model"))
    steps = _mapping(scored, "checkpoint").get("steps")
    facts = {
        "method": method_of(settings),
        "objective": "" if method_of(settings) == objective else objective,
        "regularizers": ", ".join(
            _described(fact) for fact in _mapping(arguments, "regularizers").values()
        ),
        "encoder": _described(arguments.get("encoder")),
        "decoder": _described(arguments.get("decoder") or arguments.get("generator")),
        "latents": _text(arguments.get("latent_dim")),
        "likelihood": _text(arguments.get("likelihood")),
        "data set": _dataset_of(_mapping(data, "init_args"), _mapping(scored, "data")),
        "supervision": class_name(data),
        "steps": f"{steps:,}" if isinstance(steps, int) else "",
        "scored on": _images_of(_mapping(scored, "draw")) if _headline(scored) else "",
        "seed": _text(settings.get("seed_everything")),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _images_of(draw: Mapping[str, Any]) -> str:
    """How many images were scored, of how many, and of which split; empty for an older record."""
    count, available, split = (draw.get(name) for name in ("points", "available", "split"))
    if not isinstance(count, int) or not isinstance(available, int):
        return ""
    part = "images, training included" if split == "all" else f"images of the {split} split"
    return f"{count:,} of {available:,} {part}"


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _described(part: Any) -> str:
    """The class name of a part with its settings that are numbers, strings or booleans."""
    if not class_name(part):
        return ""
    arguments = _mapping(part, "init_args") if isinstance(part, Mapping) else {}
    settings = [f"{name} {value}" for name, value in arguments.items() if _is_plain(value)]
    return f"{class_name(part)} ({', '.join(settings)})" if settings else class_name(part)


def _dataset_of(arguments: Mapping[str, Any], recorded: Mapping[str, Any]) -> str:
    """The data set of a data module, whether it is a part or a look-alike, and its settings."""
    text = _described(_without_defaults(arguments.get("dataset")))
    source = str(_mapping(recorded, "provenance").get("source"))
    part = "a part of " if text and arguments.get("include") else ""
    return f"{part}{text}{f', {source}' if 'look-alike' in source else ''}"


def _without_defaults(dataset: Any) -> Any:
    """A data set without the arguments that are defaults of its class, if that is installed."""
    cls = None
    with suppress(InputError):
        cls = find_object(_mapping({"": dataset}, "").get("class_path"), (Dataset,))
    if cls is None:
        return dataset
    defaults = {name: item.default for name, item in signature(cls).parameters.items()}
    arguments = _mapping(dataset, "init_args")
    changed = {name: item for name, item in arguments.items() if defaults.get(name, cls) != item}
    return {**dataset, "init_args": changed}


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _headline(scored: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The primary value of each score, and its chance level."""
    values, chance = _mapping(scored, "scores"), _mapping(scored, "chance")
    names = [str(metric.get("primary")) for metric in _mapping(scored, "metrics").values()]
    return {
        label(name): (_digits(values[name]), _digits(chance.get(name)))
        for name in dict.fromkeys(names)
        if name in values
    }


def _digits(value: Any) -> str:
    if not isinstance(value, int | float):
        return "" if value is None else str(value)
    return f"{value:.0f}" if float(value).is_integer() and abs(value) > 1 else f"{value:.3f}"


def _mappings(records: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The mappings among values by name, as a record by hand has them."""
    return {name: value for name, value in records.items() if isinstance(value, Mapping)}


def _nats(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, int | float) else _digits(value)


def _scores(scored: Mapping[str, Any], are_details: bool) -> Table | None:
    """Table of scores without likelihoods, those of one family together; None for no score.

    `are_details` chooses the scores that repeat another one in another form.
    """
    scores = _mapping(scored, "scores")
    values = {
        name: value
        for name, value in scores.items()
        if not likelihood(name) and is_detail(name, scores) == are_details
    }
    if not values:
        return None
    heads, *rows = score_rows(
        values,
        _mapping(scored, "intervals"),
        _mappings(_mapping(_mapping(scored, "untrained"), "scores")),
        _mapping(scored, "chance"),
        _mappings(_mapping(scored, "baselines")),
        _digits,
    )
    rows = [[label(name), *cells] for name, *cells in rows]
    families = list(dict.fromkeys(row[0].partition(" ")[0] for row in rows))
    return Table(heads, sorted(rows, key=lambda row: families.index(row[0].partition(" ")[0])))


def _bounds(scores: Mapping[str, Any]) -> Table | None:
    """Table with a row for each likelihood, and a column for each split."""
    rows: dict[str, dict[str, str]] = {}
    for name, value in scores.items():
        if bound := likelihood(name):
            rows.setdefault(bound[0], {})[bound[1]] = _nats(value)
    splits = [split for split in _SPLITS if any(split in row for row in rows.values())]
    table = [[term, *(row.get(split, "") for split in splits)] for term, row in rows.items()]
    return Table(["nats per image", *splits], table) if table else None


def _blind(scores: Mapping[str, Any]) -> dict[str, str]:
    """Each limitation once, with the scores that it holds for."""
    names: dict[str, list[str]] = {}
    for name in map(str, scores):
        if (sentence := blind_spot(name)) and not is_detail(name, scores):
            bound = likelihood(name)
            names.setdefault(sentence, []).append(bound[0] if bound else label(name))
    return {", ".join(dict.fromkeys(listed)): sentence for sentence, listed in names.items()}


def _information(scored: Mapping[str, Any]) -> tuple[list[str], Float[Tensor, "latent factor"]]:
    """The factors that vary and the mutual information of each latent with them, if scored."""
    parts, factors = _mapping(scored, "parts"), scored_factors(scored)
    try:
        information, measured = information_of(parts), first_part(parts, INFORMATION)
    except (TypeError, ValueError):  # a record written by hand
        return [], torch.zeros(0, 0)
    if information is None or measured is None or measured.shape[1:] != (len(factors),):
        return [], torch.zeros(0, 0)
    varies = np.any(np.nan_to_num(measured) != 0, axis=0)  # nothing is known of constant factors
    told = np.nan_to_num(information[:, varies])
    return list(compress(factors, varies)), torch.from_numpy(told)


def _owners(scored: Mapping[str, Any]) -> dict[str, int | None] | None:
    """The latent of its own of each factor that varies; None if that was not scored."""
    factors, information = _information(scored)
    return dict(zip(factors, own_latents(information), strict=True)) if factors else None


def verdict(scored: Mapping[str, Any]) -> str:
    """Sentence on which factors have a latent of their own; empty if that was not scored.

    A factor without one shares its latent, if that has more than half of the information about the
    factor, or is spread, or is in no latent, as `own_latents` counts.

    Args:
        scored: The record of the scores of codes.
    """
    factors, information = _information(scored)
    if not factors:
        return ""
    owners = dict(zip(factors, own_latents(information), strict=True))
    alone = [f"{name} in z{latent}" for name, latent in owners.items() if latent is not None]
    if alone:
        verb = "has a latent of its" if len(alone) == 1 else "have a latent of their"
        text = f"{len(alone)} of {len(owners)} factors {verb} own: {', '.join(alone)}"
    else:
        text = "No factor has a latent of its own"
    rest = [name for name in factors if owners[name] is None]
    return "; ".join([text, *_without_own(rest, factors, information)]) + "."


def _without_own(
    names: Sequence[str], factors: Sequence[str], information: Float[Tensor, "latent factor"]
) -> Iterator[str]:
    """Where the factors without a latent of their own are: shared, spread, or in none."""
    largest = dict(zip(factors, information.max(dim=0).values.tolist(), strict=True))
    main = dict(zip(factors, main_latents(information), strict=True))
    together: dict[int, list[str]] = {}
    for name in names:
        if (latent := main[name]) is not None:
            together.setdefault(latent, []).append(name)
    yield from (f"{' and '.join(members)} share z{k}" for k, members in together.items())
    rest = [name for name in names if main[name] is None]
    for ending, is_there in (("spread over several latents", True), ("in none", False)):
        if members := [name for name in rest if (largest[name] > LEAST) is is_there]:
            yield f"{', '.join(members)} {'is' if len(members) == 1 else 'are'} {ending}"


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


def _plain(scores: Mapping[str, Any]) -> Table:
    return Table(
        ["score", "value"], [[str(name), _digits(score)] for name, score in scores.items()]
    )


def _skipped(scored: Mapping[str, Any]) -> list[str]:
    names: dict[str, list[str]] = {}
    for name, why in _mapping(scored, "skipped").items():
        names.setdefault(str(why), []).append(str(name))
    return [
        f"{', '.join(listed)} {'was' if len(listed) == 1 else 'were'} not taken: {why}"
        for why, listed in names.items()
    ]


def _curves(folder: Path) -> Iterator[PagePicture]:
    """Curves of the terms of the loss, one picture per term."""
    rows = read_curves(folder / CURVES).rows
    figures = ((term, curves_figure(rows, [term], COLUMN)) for term in loss_terms(rows))
    for term, figure in islice(((t, f) for t, f in figures if f is not None), MOST_PANELS):
        yield PagePicture(term_name(term), drawing(figure), "over the steps of training")


def _pictures(folder: Path) -> Iterator[PagePicture]:
    for name, caption in PICTURES.items():
        path = folder / "images" / f"{name}.png"
        if path.is_file():
            yield PagePicture(name, picture(path), caption)
