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
from dislab.codes.latent_order import (
    ACTIVE,
    LEAST,
    NAMED,
    least_information,
    main_latents,
    own_latents,
)
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

_SPLITS: Final = ("train", "validation", "test")
_PER_FACTOR: Final = "_per_factor"
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
            title: table
            for title, table in (
                ("By factor", _by_factor(scored)),
                ("Losses of the test", None if scored.get("scores") else _losses(scored)),
                *((title, _plain(_mapping(records, name))) for name, title in _OTHERS.items()),
            )
            if table is not None
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


class _Information(NamedTuple):
    """What latents know about the factors that vary.

    Attributes:
        factors: Names of the factors.
        nats: Information of each latent about each factor; 0 for latents that are not active.
        least: Nats about a factor from which on a latent carries it.
        is_collapsed: Whether no latent is active.
    """

    factors: list[str]
    nats: Float[Tensor, "latent factor"]
    least: Float[Tensor, " factor"]
    is_collapsed: bool


def _information(scored: Mapping[str, Any]) -> _Information | None:
    """What latents know about the factors that vary; None if that was not scored."""
    parts, factors = _mapping(scored, "parts"), scored_factors(scored)
    try:
        told, measured, kl = (
            information_of(parts),
            *(first_part(parts, name) for name in (INFORMATION, "kl_per_latent")),
        )
    except (TypeError, ValueError):  # a record written by hand
        return None
    if told is None or measured is None or measured.shape[1:] != (len(factors),):
        return None
    varies = np.any(np.nan_to_num(measured) != 0, axis=0)  # nothing is known of constant factors
    if not varies.any():
        return None
    told = np.nan_to_num(told[:, varies])
    is_collapsed = False
    if kl is not None and kl.shape == told.shape[:1]:
        told[kl <= NAMED] = 0  # a sample of a latent tells at most its KL
        is_collapsed = bool((kl <= ACTIVE).all())
    names = list(compress(factors, varies))
    sizes = _mapping(_mapping(scored, "sample"), "factors")
    values = [size if isinstance(size, int) and size > 0 else 1 for size in map(sizes.get, names)]
    least = least_information(torch.tensor(values, dtype=torch.float64).log())
    return _Information(names, torch.from_numpy(told), least, is_collapsed)


def _owners(scored: Mapping[str, Any]) -> dict[str, int | None] | None:
    """The latent of its own of each factor that varies; None if that was not scored."""
    if (information := _information(scored)) is None:
        return None
    return dict(
        zip(information.factors, own_latents(information.nats, information.least), strict=True)
    )


def verdict(scored: Mapping[str, Any]) -> str:
    """Sentence on which factors have a latent of their own; empty if that was not scored.

    A factor without one shares its latent, if that has more than half of the information about the
    factor, or is spread, or is in no latent, as `own_latents` counts. A latent with a KL of at most
    0.1 nats has no factor.

    Args:
        scored: The record of the scores of codes.
    """
    owners, information = _owners(scored), _information(scored)
    if owners is None or information is None:
        return ""
    if information.is_collapsed:
        return f"No latent is active: the KL of each is at most {ACTIVE} nats (posterior collapse)."
    alone = [f"{name} in z{latent}" for name, latent in owners.items() if latent is not None]
    if alone:
        verb = "has a latent of its" if len(alone) == 1 else "have a latent of their"
        text = f"{len(alone)} of {len(owners)} factors {verb} own: {', '.join(alone)}"
    else:
        text = "No factor has a latent of its own"
    rest = [name for name, latent in owners.items() if latent is None]
    return "; ".join([text, *_without_own(rest, information)]) + "."


def _without_own(names: Sequence[str], information: _Information) -> Iterator[str]:
    """Where the factors without a latent of their own are: shared, spread, or in none."""
    factors, nats, least, _ = information
    is_there = dict(
        zip(factors, ((nats.amax(0) > LEAST) & (nats.sum(0) > least)).tolist(), strict=True)
    )
    main = dict(zip(factors, main_latents(nats, least), strict=True))
    together: dict[int, list[str]] = {}
    for name in names:
        if (latent := main[name]) is not None:
            together.setdefault(latent, []).append(name)
    yield from (f"{' and '.join(members)} share z{k}" for k, members in together.items())
    rest = [name for name in names if main[name] is None]
    for ending, wanted in (("spread over several latents", True), ("in none", False)):
        if members := [name for name in rest if is_there[name] is wanted]:
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


def _plain(record: Mapping[str, Any]) -> Table | None:
    """Table of the scores of a record; None for no score."""
    scores = _mapping(record, "scores")
    rows = [[_DESCRIBED.get(name, str(name)), _digits(score)] for name, score in scores.items()]
    return Table(["score", "value"], rows) if rows else None


def _losses(scored: Mapping[str, Any]) -> Table | None:
    """Table of the test losses of a model without codes; None for no loss."""
    losses = _mapping(scored, "losses")
    rows = [[str(name).partition("/")[2], _digits(loss)] for name, loss in losses.items()]
    return Table(["loss", "value"], rows) if rows else None


def _by_factor(scored: Mapping[str, Any]) -> Table | None:
    """Table with a row for each factor and a column for each score of single factors."""
    factors, scores = scored_factors(scored), _mapping(scored, "scores")
    columns = {
        name.removesuffix(_PER_FACTOR): part
        for name, part in _mapping(scored, "parts").items()
        if str(name).endswith(_PER_FACTOR) and isinstance(part, list) and len(part) == len(factors)
    }
    shown = {name: part for name, part in columns.items() if not is_detail(name, scores)}
    cells = zip(*([_digits(value) for value in part] for part in shown.values()), strict=True)
    rows = [[name, *row] for name, row in zip(factors, cells, strict=False) if any(row)]
    return Table(["factor", *map(label, shown)], rows) if rows else None


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
