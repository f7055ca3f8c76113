"""Named tables of a study, which `dislab study summary` writes and study pages show."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pandas as pd

from dislab.errors import InputError, suggestion
from dislab.metrics.score_table import label as words
from dislab.plugins import STAGES, declared, letters
from dislab.storage import minus_signs
from dislab.study.schedule import spelt
from dislab.study.stages import load_stage
from dislab.study.statistics import (
    comparisons,
    correlation_table,
    holm,
    model_selection,
    rank_correlations,
    seeds_needed,
    summary,
    summary_table,
    variance_shares,
)
from dislab.study.statistics._frames import AGREEMENT, LABELLED, groups, is_level, result_columns
from dislab.study.statistics.agreement import LEAST_MODELS
from dislab.study.statistics.correlations import LEAST
from dislab.study.statistics.means import Ranges
from dislab.study.statistics.selection import RANDOM, Best
from dislab.study.statistics.text import texts
from dislab.study.status import MAIN

UDR: Final = f"{AGREEMENT}udr_lasso_pooled"
"""The UDR variant of the paper."""
INFORMATIVE: Final = f"{AGREEMENT}informative"
_OF_AGREEMENT: Final = (
    " Alignment says how well a run's latents match those of the other seeds of its setting, "
    "Informative how many of its latents have a KL of more than 0.01 nats."
)

_SPLITS: Final = ("test", "validation", "train")
_BOUNDS: Final[Mapping[str, Best]] = {"elbo_sample": "highest", "reconstruction_sample": "lowest"}
_RATIOS: Final = ("generalisation.mean_ratio", "generalisation.sample_ratio")
_OF_OTHER_DRAWS: Final = re.compile(r"_(train|validation|test)$")
_NATS: Final = re.compile(
    r"(sampled/)?(gaussian_total_correlation|mean_pairwise_mi)"
    r"|(elbo|reconstruction|kl)(_sample|_mean)?_(train|validation|test)"
)
"""Matches names of scores in nats."""
_OF_COMPLETENESS: Final = re.compile(
    r"score\.(sampled/)?dci_\w*completeness(_unweighted)?(_train)?"
)
_NOTHING: Final = "no finished run has a score that varies"
_COLUMNS: Final = 3
"""Maximum number of score columns in a printed table."""
_NAMED: Final = 8
"""Number of scores that a message names."""
UNKNOWN: Final = "–"
"""Text of a setting that a run lacks."""
LEVEL: Final = 0.05
"""The corrected p below which a difference counts as supported."""
_TIE: Final = 1e-9
"""Difference of shares that is rounding, as of the shuffle of few runs that equals their order."""
_DETECT: Final = 0.05
"""Mean difference that the number of seeds in tables of comparisons is for."""
NEED: Final = f"seeds to detect {_DETECT}"
P: Final = "p (uncorrected)"
P_HOLM: Final = "p (Holm)"
LEAST_P: Final = "least possible p (uncorrected)"
"""Heads of the columns `seeds_needed`, `p`, `p_holm` and `least_p` of `comparisons`."""
_OF_NEED: Final = (
    f" *{NEED[0].upper()}{NEED[1:]}*: as many seeds find a true difference of {_DETECT}, not the "
    f"difference of the row, in 80 % of all studies, by a paired t test at level {LEVEL}; p (Holm) "
    "can be below it with them. From few seeds the number is rough."
)
_OF_OTHER_SCALES: Final = " Scores whose range is not 0 to 1 have no such number."
_LEAST_ORDERS: Final = 2_000
_MOST_ORDERS: Final = 50_000
_ORDERS_PER_ROW: Final = 25
"""Permutations per test: enough for the smallest p, times the number of rows, to be below 0.05."""
_OF_FAMILIES: Final = " In a table with another family the same test has another p."
_DEPENDENT: Final = (
    " Runs of several settings with the same seed count as independent: where the seed matters "
    "much, intervals and p are too small."
)
_COUNTED: Final = ("runs", "seeds")
"""Columns that are counts of what their names say."""
_OF_BOUNDS: Final = " ELBO and reconstruction are per image."
_OF_FEW: Final = " `100 labels`: taken on 100 labelled images."


class NothingToCompareError(InputError):
    """Raised for a study without tables, as no finished run has a score that varies."""


class NamedTable(NamedTuple):
    """One table of a study.

    Attributes:
        title: Heading of the table.
        note: Explanation of the table in a few sentences.
        table: The complete table, with the columns of its function in `dislab.study.statistics`.
        excerpts: The most important part for readers, as one or more tables, possibly with numbers
            formatted as text.
        details: What the columns mean, beyond the note; tables of one kind can have the same.
        few: The sentence of the note on too few seeds, with a space before it; empty without one.
    """

    title: str
    note: str
    table: pd.DataFrame
    excerpts: tuple[pd.DataFrame, ...]
    details: str = ""
    few: str = ""


@dataclass(frozen=True)
class StudySummary:
    """The tables of a study.

    Args:
        name: Name of the study.
        axes: Its axes; the first one counts as the method.
        runs: The given table with one row per run, without empty agreement columns.
        measures: The scores in the tables, each with the direction in which it improves.
        target: The measure to show in pictures and in excerpts of tables.
        tables: Tables by name: `means`, `comparisons_<axis>` of each axis, `rank_correlations`,
            `variance_shares` and `model_selection`.
        absent: Reasons why a table, or `UDR`, was not computed, by name.
    """

    name: str
    axes: tuple[str, ...]
    runs: pd.DataFrame
    measures: dict[str, Best]
    target: str
    tables: dict[str, NamedTable]
    absent: dict[str, str]


def summarize(
    runs: pd.DataFrame,
    name: str,
    axes: Sequence[str],
    primary: Mapping[str, Best] | None = None,
    target: str | None = None,
    trials: bool = False,
    ranges: Ranges = MappingProxyType({}),
) -> StudySummary:
    """Computes all tables of a study from a table with one row per run.

    Args:
        runs: Result of `Study.table`, with or without the columns of `Study.agreement` and of
            `Study.few_labels`.
        name: Name of the study.
        axes: Names of the columns that are axes; the first one counts as the method.
        primary: Main column `score.…` of each metric, with the direction in which it improves, as
            returned by `Study.primary_scores`; None or empty for every score of the codes.
        target: The measure to show in pictures and in excerpts of tables; None for DCI
            disentanglement if available, else the first measure.
        trials: Whether the runs are trials of a search, which are no replicates and therefore not
            compared in pairs.
        ranges: Least and largest possible value of scores, as returned by `Study.score_ranges`; the
            intervals of their means are cut there.

    Raises:
        NothingToCompareError: There is no run or no score that varies.
        InputError: The target is no measure.
    """
    absent: dict[str, str] = {}
    if UDR in runs and runs[UDR].isna().all():
        absent["UDR"] = _without_udr(runs, axes)
    runs = runs.drop(columns=[name for name in _agreement_of(runs) if runs[name].isna().all()])
    # the statistics would treat every other column as a setting
    kept, every = {*axes, "seed", "state", *result_columns(runs)}, runs
    runs = runs[[name for name in map(str, runs) if name in kept]]
    few = [name for name in map(str, runs) if name.startswith(LABELLED)]
    labelled = runs[[name for name in few if runs[name].nunique() > 1]]
    runs = runs.drop(columns=few)
    measures = measures_of(runs, primary)
    target = chosen_target(target, name, measures)
    varying = [axis for axis in axes if runs[axis].map(repr).nunique() > 1]
    if trials:
        absent["comparisons"] = "trials of a search are not replicates"
    tables: dict[str, NamedTable] = {}
    makers: dict[str, Callable[[], NamedTable]] = {
        "means": partial(_means, runs, varying, measures, target, ranges),
        **{
            f"comparisons_{text}": partial(_compared, runs, axis, varying, measures, target, ranges)
            for axis, text in slugs([] if trials else varying).items()
        },
        "rank_correlations": partial(_correlated, runs, varying, measures, target),
        "variance_shares": partial(_shares, runs, varying, measures),
        "model_selection": partial(_selected, runs, varying, measures, target, tables, labelled),
    }
    for key, make in makers.items():
        try:
            tables[key] = make()
        except InputError as error:  # too few runs, or none that can be compared
            absent[key] = str(error)
    return StudySummary(name, tuple(axes), every, measures, target, tables, absent)


def default_target(scores: Iterable[str]) -> str:
    """DCI disentanglement, or else the first of some scores.

    Args:
        scores: Their names, at least one.
    """
    names = list(scores)
    return next((name for name in names if "disentanglement" in name), names[0])


def chosen_target(target: str | None, name: str, measures: Mapping[str, Best]) -> str:
    """The measure to show: DCI disentanglement, or the first, unless given.

    Args:
        target: A measure, if one is asked for; `mig` for `score.mig`.
        name: Name of the study, for messages.
        measures: Result of `measures_of`.

    Raises:
        InputError: There is no measure, or the target is none of them.
    """
    if not measures:
        raise NothingToCompareError(
            f"{name}: {_NOTHING}; tables take two finished runs with different scores"
        )
    if target is None:
        return default_target(measures)
    if found := _meant(target, measures):
        return found
    raise InputError(
        f"{target!r} is no measure of {name}{_hint(target, measures)}; the measures "
        f"are {', '.join(_short(measures))}"
    )


def shown_scores(
    words: Sequence[str], name: str, runs: pd.DataFrame, measures: Mapping[str, Best]
) -> dict[str, Best | None]:
    """The results to show, each with the direction in which it improves, None where not known.

    A score on training images or of sampled codes improves as the score does.

    Args:
        words: Names of columns of results, in full, as `mig` for `score.mig`, or as tables show
            them, such as `dci_completeness`.
        name: Name of the study, for messages.
        runs: Result of `Study.table`.
        measures: Result of `measures_of`.

    Raises:
        InputError: A word is no result of numbers, or of no run.
    """
    results = [column for column in result_columns(runs) if not is_level(column)]
    results = [column for column in results if pd.api.types.is_numeric_dtype(runs[column])]
    results = [column for column in results if runs[column].notna().any()]
    shown: dict[str, Best | None] = {}
    for word in words:
        column = _meant(word, results)
        if column is None:
            main = ", ".join(_short(measures)[:_NAMED])
            raise InputError(
                f"{word!r} is no score of {name}{_hint(word, [*measures, *results])}; it has "
                f"{len(results)} scores, such as {main}: the columns of `dislab study table "
                "STUDY --format csv`"
            )
        plain = column.replace("score.sampled/", "score.").removesuffix("_train")
        shown[column] = measures.get(column, measures.get(plain))
    return shown


def _hint(word: str, columns: Iterable[str]) -> str:
    """` (did you mean …?)` with the score most like a word that has none."""
    names = list(columns)
    return suggestion(word, names if word.startswith("score.") else _short(names))


def _short(columns: Iterable[str]) -> list[str]:
    """Names of scores as a user writes them, such as `mig` for `score.mig`."""
    return [column.removeprefix("score.") for column in columns]


def _meant(word: str, columns: Iterable[str]) -> str | None:
    """The column with a name, whole, without its stage, or as tables show it; None if not one.

    `elbo` is the lower bound that tables show: on test images, if the study has that. The key of a
    metric, such as `sap`, stands for its score if it has one alone.
    """
    names = list(columns)
    if word in names:
        return word
    bounds = [name for name in _BOUNDS if word in (name, name.removesuffix("_sample"))]
    for bound in bounds:
        if column := _first(names, (f"score.{bound}_{split}" for split in _SPLITS)):
            return column
    forms: tuple[Callable[[str], bool], ...] = (
        lambda column: column.partition(".")[2] == word,
        lambda column: letters(label(column)) == letters(word),
        lambda column: column.startswith(f"score.{word}_"),
    )
    for is_meant in forms:
        if same := [column for column in names if is_meant(column)]:
            return same[0] if len(same) == 1 else None
    return None


def measures_of(
    runs: pd.DataFrame, primary: Mapping[str, Best] | None = None, least: int = 2
) -> dict[str, Best]:
    """Columns to analyse in the tables of a study, each with the direction in which it improves.

    These are the primary scores of the codes, evidence lower bound and reconstruction on the test
    split (or else on validation or training), the transfer errors, the ratio of the losses on
    held-out and on training states, and the `measures` of other stages. Columns with fewer than
    `least` different values are left out: with the default, those that are constant over all runs.
    """
    columns = [str(column) for column in runs if pd.api.types.is_numeric_dtype(runs[column])]
    columns = [column for column in columns if runs[column].nunique() >= least]
    scores: dict[str, Best] = {
        column: "highest" for column in columns if _is_score_of_codes(column)
    }
    if primary:
        scores = {column: primary[column] for column in columns if column in primary}
    bounds = {
        bound: end
        for name, end in _BOUNDS.items()
        if (bound := _first(columns, (f"score.{name}_{split}" for split in _SPLITS)))
    }
    transfer: dict[str, Best] = {
        column: "lowest" for column in columns if _is_transfer_error(column)
    }
    ratio = _first(columns, _RATIOS)
    of_ratio: dict[str, Best] = {ratio: "lowest"} if ratio else {}
    return scores | bounds | transfer | of_ratio | _measures_of_stages(columns)


def headline_measures(measures: Mapping[str, Best], target: str | None = None) -> list[str]:
    """The three measures to show first: the target, MIG, DCI disentanglement and FactorVAE score.

    Args:
        measures: Result of `measures_of`.
        target: The measure to begin with, if there is one.
    """
    scores = [name for name in measures if not is_bound(name)]
    main = [
        next(
            (name for name in scores if name.startswith(f"score.{start}") and _is_main(name)), None
        )
        for start in MAIN
    ]
    return list(dict.fromkeys([*filter(None, [target, *main]), *scores]))[:_COLUMNS]


def _is_main(name: str) -> bool:
    return "dci_" not in name or name.endswith("_disentanglement")


def _measures_of_stages(columns: Sequence[str]) -> dict[str, Best]:
    """Columns that their stages declare as measures, each with the direction of improvement."""
    words = dict.fromkeys(column.partition(".")[0] for column in columns)
    measures = {word: load_stage(word).measures for word in words if word in declared(STAGES)}
    ends: dict[str, Best] = {}
    for column in columns:
        word, _, name = column.partition(".")
        for pattern, end in measures.get(word, {}).items():
            if fnmatchcase(name, pattern):
                ends.setdefault(column, end)
    return ends


def nested(runs: pd.DataFrame, inner: str, outer: str) -> bool:
    """Whether of two values of the outer axis each has an inner value that the other lacks.

    An example is the regularisation strength of methods that weight different terms, even if they
    share a number: its meaning depends on the method. Methods are then compared over all strengths
    together, and strengths within each method.
    """
    keys = runs[[inner, outer]].map(repr)
    values = [set(part[inner]) for _, part in keys.groupby(outer, sort=False)]
    return any(first - second and second - first for first in values for second in values)


def averaged_over(
    runs: pd.DataFrame, axis: str, others: Sequence[str], inner: Sequence[str]
) -> str:
    """Says over what the values of an axis are averaged before they are compared; may be empty.

    An inner axis is averaged over the values that each value of the compared one has, if one of
    these has several.

    Args:
        runs: Result of `Study.table`.
        axis: The axis that is compared.
        others: The other axes that vary.
        inner: Those of them whose values depend on the compared axis, as `nested` finds.
    """
    groups = [part for _, part in runs.groupby(runs[axis].map(repr), sort=False)]
    several = [name for name in inner if any(len(values_of(part[name])) > 1 for part in groups)]
    shared = [label(name) for name in others if name not in inner]
    own = " and ".join(map(label, several))
    parts = [*shared, *([f"the values of {own} that each {label(axis)} has"] if own else [])]
    return f"averaged over {' and '.join(parts)}" if parts else ""


def values_of(settings: "pd.Series[Any]") -> list[str]:
    """The different values of a setting, numbers by size; those of runs that lack it are left out.

    >>> values_of(pd.Series([10.0, 2.0, 10.0, None]))
    ['2', '10']
    """
    settings = settings[settings.map(setting_text) != UNKNOWN]
    if pd.api.types.is_numeric_dtype(settings):
        settings = settings.sort_values()
    return list(dict.fromkeys(map(setting_text, settings)))


def slug(name: str) -> str:
    """The name of an axis or column in a form for file names: letters, digits, `-` and `_`.

    >>> slug("transfer.finger_ood2_b/MLP")
    'transfer_finger_ood2_b_MLP'
    """
    return re.sub(r"[^\w-]+", "_", name).strip("_")


def slugs(columns: Iterable[str]) -> dict[str, str]:
    """File names of the labels of axes or columns; equal ones get a digest of the column.

    >>> slugs(["score.mig", "a.b", "a_b"])
    {'score.mig': 'mig', 'a.b': 'a_b_2e7336', 'a_b': 'a_b_648fa9'}
    """
    texts = {
        column: slug(column.removeprefix("score.").removeprefix(AGREEMENT)) for column in columns
    }
    counts = Counter(text.lower() for text in texts.values())  # some disks ignore case
    return {
        column: text
        if counts[text.lower()] == 1
        else f"{text}_{sha256(column.encode()).hexdigest()[:6]}"
        for column, text in texts.items()
    }


def label(column: str) -> str:
    """The name of a column as words, with its unit if it has one; see `labels` for several columns.

    >>> label("score.dci_hgbt_disentanglement"), label("model.regularizers.kl.beta")
    ('DCI disentanglement', 'kl.beta')
    >>> label("score.elbo_sample_test"), label("score.gaussian_total_correlation")
    ('ELBO (test, nats)', 'Gaussian total correlation (nats)')
    >>> label("transfer.rooms_ood1_b/GradientBoosting")
    'Error of gradient boosting in rooms OOD1 B'
    """
    prefix, _, name = column.partition(".")
    if column.startswith(("score.", AGREEMENT, LABELLED)):
        text = words(name)
        if not _NATS.fullmatch(name):
            return text
        return f"{text.removesuffix(')')}, nats)" if text.endswith(")") else f"{text} (nats)"
    if prefix == "transfer" and "/" in name:
        return _transfer_label(*name.split("/", 2))
    if prefix in ("transfer", "generalisation"):
        return f"{prefix} {name}".replace("_", " ")
    return ".".join([part for part in column.split(".") if part != "init_args"][-2:])


def _transfer_label(scenario: str, predictor: str, of: str = "") -> str:
    """The error of a predictor in a scenario, as words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", predictor)
    method = f"of {predictor if predictor.isupper() else spaced.lower()}"
    if predictor == "chance":
        method = "by chance"
    shift = re.sub(r"ood\d \w\b", lambda name: name[0].upper(), scenario.replace("_", " "))
    return f"Error {method} in {shift}" + (f", {of.replace('_', ' ')}" if of else "")


def labels(columns: Iterable[str]) -> dict[str, str]:
    """The names of columns as words; columns that would share a name keep their own.

    >>> labels(["model.kl.beta", "model.tc.gamma", "data.kl.beta"])
    {'model.kl.beta': 'model.kl.beta', 'model.tc.gamma': 'tc.gamma', 'data.kl.beta': 'data.kl.beta'}
    """
    names = {column: label(column) for column in columns}
    counts = Counter(names.values())
    return {column: name if counts[name] == 1 else column for column, name in names.items()}


def _is_score_of_codes(column: str) -> bool:
    """Whether a column is a score of mean codes over all states, not of one split or of samples."""
    if not column.startswith("score.") or column.startswith("score.sampled/"):
        return False
    if is_level(column):
        return False
    return not _OF_OTHER_DRAWS.search(column)


def _is_transfer_error(column: str) -> bool:
    """Whether a column is `transfer.<scenario>/<predictor>`."""
    parts = column.split("/")
    return column.startswith("transfer.") and len(parts) == 2 and parts[1] != "chance"


def _first(columns: Sequence[str], names: Iterable[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _means(
    runs: pd.DataFrame, axes: list[str], measures: Mapping[str, Best], target: str, ranges: Ranges
) -> NamedTable:
    means = means_of(runs, axes, ranges)
    first = headline_measures(measures, target)
    names = list(dict.fromkeys([*first, *measures, *_agreement_of(runs)]))
    excerpts = []
    for start in range(0, len(names), _COLUMNS):
        part = means[means["score"].isin(names[start : start + _COLUMNS])]
        part = _with_scores(part, means, axes)
        excerpt = summary_table(part)
        excerpt[axes] = excerpt[axes].map(setting_text)
        shown = [name for name in [*axes, *names, "runs"] if name in excerpt]
        excerpts.append(excerpt[shown].rename(columns=labels([*axes, *names])))
    same = ""
    counts = {count for excerpt in excerpts for count in excerpt["runs"]} - {"–"}
    if len(counts) == 1 and axes:
        excerpts = [excerpt.drop(columns="runs") for excerpt in excerpts]
        same = f" In every row: {counts.pop()} runs."
    return NamedTable(
        "Means over seeds",
        "Mean ± standard deviation over the runs of a setting, with Student's 95 % interval of "
        f"the mean for three runs or more.{same}",
        means,
        tuple(excerpts),
        "An interval is cut where the range of a score ends. Where scores were compared with "
        "chance or with untrained models, the last rows have the means of these levels."
        + (_OF_BOUNDS if any(map(is_bound, names)) else "")
        + (_OF_AGREEMENT if INFORMATIVE in names else ""),
    )


def means_of(
    runs: pd.DataFrame, by: Sequence[str], ranges: Ranges, scores: Sequence[str] = ()
) -> pd.DataFrame:
    """Means of results as numbers, as `dislab.study.statistics.summary` gives them.

    Args:
        runs: Result of `Study.table`.
        by: Axes of which each combination of values has rows.
        ranges: Result of `Study.score_ranges`.
        scores: The results; all unless given.
    """
    results = [name for name in result_columns(runs) if not is_level(name)]
    ranges = {**{name: _range_of(name) for name in results}, **ranges}
    return summary(runs, list(scores) or results, by=list(by), ranges=ranges)


def _range_of(column: str) -> tuple[float | None, float | None]:
    """Least and largest possible value of results that are no primary scores of a metric."""
    if _OF_COMPLETENESS.fullmatch(column):
        return 0.0, 1.0
    if column.startswith("score.explained_variance_"):
        return None, 1.0
    if column.startswith(AGREEMENT) and column != INFORMATIVE:
        return 0.0, 1.0
    return (0.0 if column == INFORMATIVE or _is_transfer_error(column) else None), None


def _with_scores(part: pd.DataFrame, means: pd.DataFrame, axes: list[str]) -> pd.DataFrame:
    """Rows of settings with any of the part's scores; settings without any result stay too."""
    if not axes:
        return part
    counts, every = (
        rows.groupby(axes, sort=False, dropna=False)["runs"].transform("max")
        for rows in (part, means)
    )
    return part[(counts > 0) | (every[part.index] == 0)]


def _compared(
    runs: pd.DataFrame,
    axis: str,
    axes: list[str],
    measures: Mapping[str, Best],
    target: str,
    ranges: Ranges,
) -> NamedTable:
    position = axes.index(axis)
    inner = [name for name in axes[position + 1 :] if nested(runs, name, axis)]
    outer = [name for name in axes[:position] if nested(runs, axis, name)]
    scores = [name for name in measures if not is_bound(name)]
    if target not in scores:
        scores = [target, *scores]
    compare = partial(comparisons, runs.drop(columns=inner), axis, within=outer, detect=_DETECT)
    differences, alone = compare(scores), compare([target])
    scaled = [name for name in scores if ranges.get(name, _range_of(name)) == (0, 1)]
    for compared in (differences, alone):
        compared.loc[~compared["score"].isin(scaled), "seeds_needed"] = pd.NA
    part = differences[differences["score"] == target].reset_index(drop=True)
    part = part.assign(p_holm=holm(part["p"].to_numpy()), seeds_needed=alone["seeds_needed"])
    part = part[part["difference"].notna()]
    if part.empty:
        raise InputError(f"no two values of {label(axis)} have scores of one seed")
    excerpt = part[outer].map(setting_text)
    excerpt[f"difference of {label(target)}"] = [
        " − ".join(map(setting_text, pair))
        for pair in zip(part["first"], part["second"], strict=True)
    ]
    excerpt["mean [interval]"] = [_with_interval(row) for row in part.to_dict("records")]
    for name, column in {
        "seeds": "seeds",
        P: "p",
        P_HOLM: "p_holm",
        LEAST_P: "least_p",
        NEED: "seeds_needed",
    }.items():
        if part[column].notna().any():
            excerpt[name] = part[column]
    few = _of_few_seeds(part)
    if few:  # the sentence says what this column would
        excerpt = excerpt.drop(columns=LEAST_P)
    both = [P, P_HOLM] if part["p"].nunique() == 1 else []  # neither without the other
    excerpt, same = _without_constants(excerpt, ["seeds", *both, LEAST_P])
    others = [name for name in axes if name not in (axis, *outer)]
    over = averaged_over(runs, axis, others, inner)
    averaged = f", {over}" if over else ""
    intervals = "with uncorrected 95 % intervals"
    apart = (
        " An interval is of one difference alone: it may exclude 0 of a difference that is not "
        "supported."
    )
    if part["low"].isna().all():
        apart = ""
        intervals = f"without intervals, which take three seeds: here are {part['seeds'].max()}"
    supported = f" A difference is supported if p (Holm) is below {LEVEL}."
    numbers = " and numbers of seeds" * bool(part["seeds_needed"].notna().any())
    every = (
        f"; in the complete table for those of {len(scores)} scores, so that its p (Holm){numbers} "
        "can be larger"
    )
    need = ""
    if differences["seeds_needed"].notna().any():
        need = _OF_NEED + _OF_OTHER_SCALES * (len(scaled) < len(scores))
    return NamedTable(
        f"Comparisons of {label(axis)}",
        f"Differences paired by seed{averaged}, {intervals}.{few or supported}{same}",
        differences,
        (excerpt,),
        f"p is by permutation, uncorrected and corrected by Holm for the rows of {label(target)}"
        f"{every * (len(scores) > 1)}.{apart}{need}",
        few,
    )


def _of_few_seeds(differences: pd.DataFrame) -> str:
    """Sentence on comparisons whose corrected p cannot be below the level; else empty."""
    tests = int(differences["p"].notna().sum())
    few = of_few_seeds(int(differences["seeds"].max()), tests) if tests else ""
    return f" {few}." if few else ""


def setting_text(setting: Any) -> str:
    """A setting as tables show it: a dash if a run has none, and 1 for 1.0."""
    return UNKNOWN if pd.api.types.is_scalar(setting) and pd.isna(setting) else spelt(setting)


def of_few_seeds(seeds: int, tests: int, *, is_planned: bool = False) -> str:
    """Says that no corrected p of so few seeds is below the level, and how many allow one.

    It is empty if the seeds are enough.

    Args:
        seeds: Number of seeds of a comparison.
        tests: Number of comparisons that are corrected together.
        is_planned: Whether to say what to set in the study file, as nothing is trained yet.
    """
    needed = seeds_needed(0.0, level=LEVEL, tests=tests)
    if seeds >= needed:
        return ""
    few = "seeds are" if seeds > 1 else "seed is"
    what = f"any of {tests} differences" if tests > 1 else "the difference"
    remedy = f"set seeds: {needed}" if is_planned else f"{needed} seeds could"
    return f"{seeds} {few} too few to support {what}, by p (Holm) below {LEVEL}; {remedy}"


def _without_constants(
    excerpt: pd.DataFrame, names: Sequence[str], where: str = "In every row"
) -> tuple[pd.DataFrame, str]:
    """An excerpt without those of the columns that have one value, which a sentence gives."""
    excerpt = excerpt.reset_index(drop=True)
    same = [name for name in names if name in excerpt and excerpt[name].nunique(dropna=False) == 1]
    if len(excerpt) < 2 or not same:
        return excerpt, ""
    (values,) = texts(excerpt.loc[:0, same], 3).to_dict("records")
    listed = [
        f"{value} {name.removesuffix('s') if value == '1' else name}"
        if name in _COUNTED
        else f"{name} {value}"
        for name, value in values.items()
    ]
    return excerpt.drop(columns=same), minus_signs(f" {where}: {', '.join(listed)}.")


def _correlated(
    runs: pd.DataFrame, axes: list[str], measures: Mapping[str, Best], target: str
) -> NamedTable:
    names = [*measures, *_tested_agreement(runs)]
    orders = _orders(runs, axes, measures)
    correlations = rank_correlations(runs, names, by=axes[:1], orders=orders)
    if correlations["rho"].isna().all():
        raise InputError(_too_few(int(correlations["runs"].max())))
    least = min(1.0, correlations["p"].count() / (orders + 1))
    matrix = correlation_table(correlations)
    of_target = correlations[(correlations["left"] == target) | (correlations["right"] == target)]
    partner = of_target["left"].where(of_target["right"] == target, of_target["right"])
    excerpt = pd.DataFrame(
        {
            "group": of_target["group"],
            f"{label(target)} with": partner.map(label),
            "ρ [interval]": [_with_interval(row, "rho") for row in of_target.to_dict("records")],
            P_HOLM: of_target["p_holm"],
            "runs": of_target["runs"],
        }
    )
    overall = excerpt[excerpt["group"] == "all"].drop(columns="group")
    where = f"In every row of the table of {label(target)}"
    overall, same = _without_constants(overall, [P_HOLM, "runs"], where)
    names_of = labels(map(str, matrix.columns)) | labels(map(str, matrix.index))
    matrix = matrix.rename(index=names_of, columns=names_of).rename_axis("ρ")
    matrix = matrix.map("{:.2f}".format, na_action="ignore")
    within = f" and within each value of {label(axes[0])}" if axes else ""
    return NamedTable(
        "Rank correlations",
        f"Spearman's ρ over all runs{within}, with 95 % bootstrap intervals. Over all runs two "
        f"scores correlate already if settings change both.{same}",
        correlations,
        (matrix, overall),
        f"p is by permutation, corrected by Holm for the family of all {len(correlations)} pairs "
        f"and groups, and hence at least {least:.2g}.{_OF_FAMILIES}{_DEPENDENT}",
    )


def _too_few(runs: int) -> str:
    return (
        f"too few runs: a rank correlation takes {LEAST} in which both scores vary; here are {runs}"
    )


def _orders(runs: pd.DataFrame, axes: list[str], measures: Mapping[str, Best]) -> int:
    """Permutations of each test of correlations, in all tables, for all pairs of scores in them.

    A selection repeats the correlations of scores: those by few labels have to have as many.
    """
    names = len(measures) + len(_tested_agreement(runs))
    pairs = names * (names - 1) // 2
    groups = 1 + (runs[axes[0]].map(repr).nunique() if axes else 0)
    return min(max(_LEAST_ORDERS, _ORDERS_PER_ROW * groups * pairs), _MOST_ORDERS)


def _shares(runs: pd.DataFrame, axes: list[str], measures: Mapping[str, Best]) -> NamedTable:
    finished = runs[runs["state"] == "finished"]
    axes = [axis for axis in axes if finished[axis].map(repr).nunique() > 1]
    if not axes:
        raise InputError("no axis has two values, so that nothing but the seed can matter")
    shares = variance_shares(runs, axes[0], list(measures), settings=axes)
    excerpt = pd.DataFrame({"score": shares["score"].map(label)})
    names = [label(axes[0])]
    if len(axes) > 1:  # a single axis leaves nothing to the others
        names.append(label(axes[1]) if len(axes) == 2 else "other axes")
    for name, column in zip(names, ("method", "setting"), strict=False):
        excerpt[name] = shares[column]
        excerpt[f"{name} by chance below"] = [
            "–" if pd.isna(level) else f"{level:.3f}{' (not reached)' * (share <= level + _TIE)}"
            for share, level in zip(shares[column], shares[f"{column}_chance_high"], strict=True)
        ]
    excerpt = excerpt.assign(seed=shares["seed"], runs=shares["runs"])
    if shares["note"].any():
        excerpt["note"] = shares["note"]
    excerpt, same = _without_constants(excerpt, ["runs"])
    other = "".join(f"from {name}, " for name in names[1:])
    within = "".join(f", for {name} within each value of {names[0]}" for name in names[1:])
    return NamedTable(
        "What matters",
        f"Shares of each score's variance that come from {names[0]}, {other}and from the seed, the "
        "rest. A share that does not reach its level *by chance below* is no more than chance."
        f"{same}",
        shares,
        (excerpt,),
        "By chance below: the level that 95 % of the shares of shuffled runs stay below"
        f"{within}. A share above it is more than chance, if that score alone is asked about.",
    )


def _selected(
    runs: pd.DataFrame,
    axes: list[str],
    measures: Mapping[str, Best],
    target: str,
    tables: Mapping[str, NamedTable],
    labelled: pd.DataFrame,
) -> NamedTable:
    few: dict[str, Best] = {str(name): "highest" for name in labelled}
    agreement: dict[str, Best] = {
        name: "highest" for name in _tested_agreement(runs) if name != INFORMATIVE
    }
    correlations = tables["rank_correlations"].table if "rank_correlations" in tables else None
    orders = _orders(runs, axes, measures)
    select = partial(model_selection, by=axes[:1], orders=orders)
    parts = []
    for goal, end in measures.items():
        others = {**agreement, **{name: best for name, best in measures.items() if name != goal}}
        if not others or (is_bound(goal) and goal != target):
            continue
        selected = select(runs, goal, others, end, correlations=correlations)
        if few:
            selected = _joined(select(runs.join(labelled), goal, few, end), selected)
        parts.append(selected.assign(target=goal)[["target", *selected.columns]])
    if not parts:
        raise InputError("there is one score alone, so that no other one can select by it")
    selections = pd.concat(parts, ignore_index=True)
    if selections["p"].isna().all():
        raise InputError(_too_few(int(selections["runs"].max())))
    order = [*few, *agreement, *measures, RANDOM]
    tests = int(selections.loc[selections["target"] == target, "p"].count())
    excerpt, regret = _selected_overall(selections, target, order)
    excerpt, same = _without_constants(excerpt, [P_HOLM, "best", "runs"])
    return NamedTable(
        "Model selection",
        f"First: runs selected for {label(target)} by another score, over all runs; ρ is positive "
        "where the selector prefers the better runs. Then the *regret* of every selector for every "
        f"target, in the target's unit: the distance of the selected run from the best one.{same}",
        selections,
        (excerpt, regret),
        f"Intervals are 95 % bootstrap intervals; p is by {orders:,} permutations, corrected by "
        f"Holm for the family of the {tests} tests of a target, and hence at least "
        f"{min(1.0, tests / (orders + 1)):.2g}.{_OF_FAMILIES} The regret depends on the selected "
        f"run alone.{_DEPENDENT}{_OF_FEW if few else ''}",
    )


def _joined(by_few: pd.DataFrame, selected: pd.DataFrame) -> pd.DataFrame:
    """Selections by few labels and by others for one target, with p corrected for all of them."""
    rows = pd.concat([by_few[by_few["selector"] != RANDOM], selected], ignore_index=True)
    return rows.assign(p_holm=holm(rows["p"].to_numpy()))


def _selected_overall(
    selections: pd.DataFrame, target: str, order: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Runs selected for the target over all runs, and the regret of each selector by target."""
    overall = selections[selections["group"] == "all"]
    of_target = overall[overall["target"] == target]
    excerpt = pd.DataFrame(
        {
            "selector": of_target["selector"].map(label),
            "ρ [interval]": [_with_interval(row, "rho") for row in of_target.to_dict("records")],
            P_HOLM: of_target["p_holm"],
            "selected": of_target["selected"],
            "best": of_target["best"],
            "regret": of_target["regret"],
            "runs": of_target["runs"],
        }
    )
    regret = overall.pivot_table(index="selector", columns="target", values="regret", sort=False)
    regret = regret.reindex([name for name in order if name in regret.index])
    regret = regret[[name for name in order if name in regret.columns]].rename_axis(columns=None)
    regret = regret.rename(index=labels(order), columns=labels(order))
    return excerpt, regret.rename_axis("regret by selector")


def _without_udr(runs: pd.DataFrame, axes: Sequence[str]) -> str:
    """The reason why no run has a UDR."""
    with_codes = runs[runs[INFORMATIVE].notna()] if INFORMATIVE in runs else runs[:0]
    most = max((len(group) for _, group in groups(with_codes, axes)), default=0)
    return f"it needs {LEAST_MODELS} seeds of a setting with codes; the most here is {most}"


def _agreement_of(runs: pd.DataFrame) -> list[str]:
    return [str(column) for column in runs if str(column).startswith(AGREEMENT)]


def _tested_agreement(runs: pd.DataFrame) -> list[str]:
    """Columns of agreement that are tested: UDR in its pooled form alone.

    The averaged form ranks runs nearly alike, and would add a test of the same to each family.
    """
    return [name for name in _agreement_of(runs) if not name.endswith("_averaged")]


def is_bound(column: str) -> bool:
    """Whether a column is in nats, in which any two runs differ by more than 0.05."""
    return any(column.startswith(f"score.{name}_") for name in _BOUNDS)


def _with_interval(row: Mapping[Any, Any], name: str = "difference") -> str:
    if pd.isna(row[name]):
        return "–"
    value, low, high = (f"{round(row[key], 3) + 0.0:.3f}" for key in (name, "low", "high"))
    return value if pd.isna(row["low"]) else f"{value} [{low}, {high}]"
