"""Scores as a table for a terminal, their names in words, and what they do not see."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final

from dislab.plugins import available, letters
from dislab.storage import text_table

_FORMS: Final = {
    "train": "on training images",
    "unweighted": "unweighted",
    "nrmse": "NRMSE, lower is better",
    "normalized": "normalised",
}
"""Suffixes of scalars that repeat another score in another form, each in words."""
_DETAIL: Final = re.compile(rf"_({'|'.join(_FORMS)})$")
_LIKELIHOOD: Final = re.compile(
    r"(elbo|reconstruction|kl|explained_variance)(?:_(sample|mean))?_(train|validation|test)"
)
"""Matches names of likelihoods, which have a value for each split."""
_WORDS: Final = {
    "dci_hgbt": "DCI",  # other learners are named
    "factor_vae": "FactorVAE",
    "beta_vae": "β-VAE",
    "active_units": "Active units (KL above 0.01 nats)",
    "num_active": "latents that vary",
    "r2": "R²",
    "svc": "SVC",
    "rf": "RF",
    "gbt": "GBT",
    "knn": "KNN",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "infom": "InfoM",
    "infoe": "InfoE",
    "infoc": "InfoC",
    "elbo": "ELBO",
    "explained_variance": "Explained variance of pixels, mean codes (share)",
    "kl": "KL",
    "udr": "UDR",
}
"""Names of the field for parts of names of scores."""
_WORD: Final = re.compile(rf"(?<![a-z0-9])({'|'.join(_WORDS)})(?![a-z0-9])")
_ENDS: Final = ("", "_train", "_validation", "_test")
_COUNT: Final = re.compile(r"(?:^|[._/])(?:active_units|num_active|informative)$")
"""Matches names of scores that count latents."""
_ACRONYM: Final = re.compile(r"[A-Z]{2,}(?![a-z])")

_ABBREVIATED: Final = {
    "DCI": "disentanglement, completeness, informativeness",
    "DCIES": "DCI with explicitness and size",
    "ELBO": "evidence lower bound",
    "IRS": "interventional robustness score",
    "JEMMIG": "joint entropy minus mutual information gap",
    "KL": "Kullback–Leibler divergence of the posterior from the prior",
    "MCC": "mean correlation coefficient",
    "MIG": "mutual information gap",
    "OMES": "overlap and multiple encodings score",
    "RDC": "randomised dependence coefficient",
    "SAP": "separated attribute predictability",
    "UDR": "unsupervised disentanglement ranking",
}

_DEFINED: Final = {
    "elbo": "evidence lower bound, minus the sum of the reconstruction and the KL, where a sample "
    "of the posterior is decoded; nats per image.",
    "elbo_mean": "minus the sum of the reconstruction and the KL, where the mean of the posterior "
    "is decoded; no bound on the likelihood, as nothing is sampled; nats per image.",
    "reconstruction": "negative log-likelihood of an image, summed over its pixels, where a sample "
    "of the posterior is decoded; nats per image.",
    "reconstruction_mean": "negative log-likelihood of an image, summed over its pixels, where the "
    "mean of the posterior is decoded; nats per image.",
    "kl": "Kullback–Leibler divergence of the posterior from the prior; nats per image.",
    "explained_variance": "share of the variance of pixels that images decoded from means explain.",
    "active_units": "number of latents whose KL, a mean over images, is above 0.01 nats.",
    "num_active": "number of latents that vary enough to count in the FactorVAE score.",
}
"""Definitions of the scores that no part makes, and of counts, by name without the split."""

FACTOR_VAE: Final = "factor_vae"
"""What the names of FactorVAE scores start with."""
LARGE: Final = 100
"""Score from which on one decimal is shown, as of losses in nats."""
OF_STILL: Final = "no latent varies enough"
"""What stands in place of a level, or behind a score, where `is_of_no_latent`."""
_FEW: Final = 250
"""Number of images below which scores are called rough."""
_SPREAD: Final = "Does not see whether a factor is spread over several latents"
_MIXED: Final = "Does not see whether a latent carries several factors"
_ARRANGED: Final = "Measures how well factors can be predicted, not how latents share them"
_UNSUPERVISED: Final = "Uses no factors; inactive latents look independent"

_BLIND_SPOTS: Final = (
    (r"mig_sup\w*", f"{_SPREAD}, nor a factor that no latent carries."),
    (r"dcimig\w*", f"{_SPREAD}."),
    (r"jemmig\w*", "Rewards collapse: constant codes get about half, useful ones with noise less."),
    (r"sap_svc\w*", f"{_MIXED}; depends on the unit and the origin of the codes."),
    (r"d?mig\w*|sap_\w+", f"{_MIXED}; where two latents tell as much of a factor, its gap is 0."),
    (r"dci_\w+_disentanglement", f"{_SPREAD}, nor how well factors can be predicted."),
    (r"dci_\w+_completeness\w*", f"{_MIXED}, nor how well factors can be predicted."),
    (r"dci_\w+_informativeness_train", "Taken on training images: shows overfitting only."),
    (r"dci_\w+_informativeness\w*|explicitness\w*|infoe\w*", f"{_ARRANGED}."),
    (r"downstream_\w+", f"{_ARRANGED}."),
    (r"factor_vae_score\w*", f"{_SPREAD}: each latent is tested alone."),
    (r"beta_vae_score\w*", f"{_SPREAD}: the classifier combines all latents."),
    (r"modularity\w*|infom_\w+", f"{_SPREAD}, nor a factor that no latent carries."),
    (r"infoc_\w+", f"{_MIXED}."),
    (r"irs\w*", f"{_SPREAD}, nor a factor that no latent carries; a noise latent lowers it."),
    (r"mcc_(linear_)?pairs_\w+", "Leaves factors without a latent out: one factor of ten gets 1."),
    (r"mcc_\w+|rdc", "Compares one latent per factor; other latents do not count."),
    (r"omes\w*", "Does not see noise in the codes of a factor; noise counts as every factor."),
    (r"gaussian_\w+|mean_pairwise_mi", f"{_UNSUPERVISED}."),
    (r"active_units|num_active", "Counts active latents, whatever they carry."),
    (
        r"(elbo|reconstruction|kl|explained_variance)_\w+",
        "Measures how well images are modelled, not the factors.",
    ),
)
"""Patterns of names of scores, each with what these scores do not see."""


def score_table(
    values: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    untrained: Mapping[str, Mapping[str, Any]],
    chance: Mapping[str, float] = MappingProxyType({}),
    baselines: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> str:
    """The scores in words in aligned columns, one line per score; see `score_rows`.

    Scalars that repeat another score in another form, such as its value on the training part, are
    left out.

    Args:
        values: Scalars by name.
        intervals: Bounds of intervals by name.
        untrained: Mean and standard deviation of each score over untrained models.
        chance: The chance level of each score that has one.
        baselines: Scores of other codes of the same images, by column name.
    """
    chosen = {k: v for k, v in values.items() if not is_detail(k, values)}
    rows = score_rows(chosen, intervals, untrained, chance, baselines, "{:.4f}".format, values)
    rows[1:] = [[label(name), *row] for name, *row in rows[1:]]
    return "\n".join(text_table(rows, numbers=True))


def score_rows(
    values: Mapping[str, Any],
    intervals: Mapping[str, Any],
    untrained: Mapping[str, Any],
    chance: Mapping[str, Any],
    baselines: Mapping[str, Mapping[str, Any]],
    text: Callable[[Any], str],
    counts: Mapping[str, Any] = MappingProxyType({}),
) -> list[list[str]]:
    """Column headings, and one row per score; columns without any number are left out.

    Args:
        values: Scalars by name.
        intervals: Bounds of intervals by name.
        untrained: Mean and standard deviation of each score over untrained models.
        chance: The chance level of each score that has one.
        baselines: Scores of other codes of the same images, by column name.
        text: Formats a number that is no count.
        counts: Scalars by name with the numbers of latents, if `values` lack them.
    """

    def shown(name: str, value: Any) -> str:
        return count_text(value) if is_count(name, value) else text(value)

    columns: dict[str, dict[str, str]] = {"value": {k: shown(k, v) for k, v in values.items()}}
    columns["value"] |= {
        name: f"{columns['value'][name]} ({OF_STILL})"
        for name in values
        if is_of_no_latent(name, counts or values)
    }
    if intervals:
        columns["interval"] = {
            name: f"[{shown(name, ends[0])}, {shown(name, ends[1])}]"
            for name, ends in intervals.items()
            if ends
        }
    if chance:
        columns["chance"] = {k: shown(k, v) for k, v in chance.items() if v is not None}
    if untrained:
        columns["untrained"] = {
            name: spread_text(spread, partial(shown, name)) for name, spread in untrained.items()
        }
        means = {name: spread.get("mean") for name, spread in untrained.items()}
        columns["untrained"] |= {
            name: OF_STILL for name in untrained if is_of_no_latent(name, means)
        }
    for column, scores in baselines.items():
        columns[column] = {
            k: OF_STILL if is_of_no_latent(k, scores) else shown(k, v)
            for k, v in scores.items()
            if v is not None
        }
    rows = [[name, *(cells.get(name, "") for cells in columns.values())] for name in values]
    return [["score", *columns], *rows]


def is_of_no_latent(name: str, values: Mapping[str, Any]) -> bool:
    """Whether a scalar is a FactorVAE score of codes in which no latent varies enough to count.

    Such a score is 0 by definition and has no chance level.

    Args:
        name: Name of the scalar.
        values: All scalars by name.

    >>> is_of_no_latent("factor_vae_score", {"factor_vae_score": 0.0, "num_active": 0.0})
    True
    """
    prefix, slash, score = name.rpartition("/")
    return score.startswith(FACTOR_VAE) and values.get(f"{prefix}{slash}num_active") == 0


def highest_of(spread: Mapping[str, Any]) -> float:
    """The mean of a score over untrained models and two standard deviations; NaN without a mean.

    A score is clearly above these models only if it is above this level.

    Args:
        spread: The `mean` and the deviation, `std`, which is missing for a single model.

    >>> highest_of({"mean": 0.5, "std": 0.25}), highest_of({"mean": 0.5, "std": None})
    (1.0, 0.5)
    """
    mean, deviation = spread.get("mean"), spread.get("std")
    if not isinstance(mean, int | float):
        return math.nan
    if not isinstance(deviation, int | float) or math.isnan(deviation):
        return float(mean)
    return float(mean + 2 * deviation)


def is_count(name: str, value: object) -> bool:
    """Whether a value is a number of latents, as that of a score or of a mean over models.

    Args:
        name: Name of the score, or of its column in a table of runs.
        value: The value.

    >>> is_count("score.active_units", 6.0), is_count("mig", 0.5)
    (True, False)
    """
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return is_number and _COUNT.search(name) is not None


def count_text(count: float) -> str:
    """A count, or the mean of counts, with at most one decimal.

    >>> count_text(6.0), count_text(5.84)
    ('6', '5.8')
    """
    return f"{round(count, 1):g}"


def score_text(name: str, value: float, mean: float | None = None) -> str:
    """A score as tables of several runs show it: three decimals, one from 100 on, counts as counts.

    Args:
        name: Name of the score, or of its column in a table of runs.
        value: The score, or a deviation.
        mean: The score whose decimals it gets; its own unless given.

    >>> score_text("score.active_units", 6.0), score_text("score.mig", 0.25)
    ('6', '0.250')
    >>> score_text("score.elbo", -994.09), score_text("score.elbo", 15.07, -994.09)
    ('-994.1', '15.1')
    """
    if is_count(name, value):
        return count_text(value)
    return f"{value:.{decimals(value if mean is None else mean)}f}"


def decimals(score: float) -> int:
    """Digits after the point of a score in tables of several runs and in sentences on them."""
    return 1 if abs(score) >= LARGE else 3


def is_detail(name: str, values: Mapping[str, object]) -> bool:
    """Whether a scalar repeats another one in another form, or counts the latents of a score.

    Args:
        name: Name of the scalar.
        values: All scalars by name.

    >>> is_detail("mig_train", {"mig": 0.5, "mig_train": 0.6})
    True
    """
    short = _DETAIL.sub("", name)
    return (short != name and short in values) or name.endswith("num_active")


def label(name: str) -> str:
    """The name of a scalar as words, with the acronyms of the scores.

    Args:
        name: Name in `scores.json`.

    >>> label("dci_hgbt_disentanglement"), label("factor_vae_score"), label("elbo_sample_test")
    ('DCI disentanglement', 'FactorVAE score', 'ELBO (test)')
    >>> label("dci_hgbt_informativeness_nrmse"), label("sap_r2"), label("beta_vae_score")
    ('DCI informativeness (NRMSE, lower is better)', 'SAP R²', 'β-VAE score')
    """
    if parts := likelihood(name):
        return f"{parts[0]} ({parts[1]})"
    form = _DETAIL.search(name)
    named = _WORD.sub(lambda match: _WORDS[match[0]], _DETAIL.sub("", name))
    words = [_acronyms().get(word, word) for word in re.split(r"[_/]", named) if word]
    text = " ".join(words) + (f" ({_FORMS[form[1]]})" if form else "")
    return text if text.startswith("β") else text[:1].upper() + text[1:]


def abbreviations(labels: Iterable[str]) -> str:
    """The abbreviations in names of scores, written out; empty if there are none.

    Args:
        labels: Names in words, as `label` returns them.

    >>> abbreviations(["MIG", "DCI disentanglement", "MIG (unweighted)"])
    'DCI: disentanglement, completeness, informativeness; MIG: mutual information gap'
    """
    words = set(re.findall(r"\w+", " ".join(labels)))
    return "; ".join(f"{word}: {text}" for word, text in _ABBREVIATED.items() if word in words)


def title(name: str) -> str:
    """The name in a configuration of a score as words.

    Args:
        name: Such as `mig`.

    >>> title("dci"), title("factor_vae")
    ('DCI', 'FactorVAE score')
    """
    return label(f"{name}_score" if name.endswith("_vae") else name)


def scored_on(count: int, available: int, split: str) -> str:
    """Which images are scored, in the words of the terminal, the sheet and the page of a run.

    Args:
        count: The number of scored images.
        available: The number of images that they are drawn from.
        split: The split of these; `all` for all splits.

    >>> scored_on(300, 400, "all")
    '300 of 400 images, training included'
    >>> scored_on(80, 80, "test")
    '80 of 80 images of the test split'
    """
    part = "images, training included" if split == "all" else f"images of the {split} split"
    return f"{count:,} of {available:,} {part}"


def images_text(count: int, scored: str = "", incomplete: int = 0, equal: int = 0) -> str:
    """The images that are scored in words, and that few images make rough scores.

    Args:
        count: Their number.
        scored: Which they are, by `scored_on`; the number alone unless given.
        incomplete: How many images are left out for want of a value of some factor.
        equal: How many files equal another one, so that training and test may share images.

    >>> images_text(10_000)
    '10,000 images'
    >>> images_text(300, "300 of 400 images, training included")
    '300 of 400 images, training included,'
    >>> images_text(300, "300 of 302 images", incomplete=2)
    '300 of 302 images (2 without a value of some factor are left out)'
    >>> images_text(300, equal=4)
    '300 images (4 equal files are among the images)'
    """
    text, remarks = scored or f"{count:,} image{'s' if count != 1 else ''}", list[str]()
    if incomplete:
        verb = "is" if incomplete == 1 else "are"
        remarks.append(f"{incomplete:,} without a value of some factor {verb} left out")
    if equal:
        remarks.append(f"{equal:,} equal files are among the images")
    if remarks:
        text += f" ({'; '.join(remarks)})"
    if count < _FEW:
        text += ", so few that scores are rough"
    return f"{text}," if ", " in text else text


def likelihood(name: str) -> tuple[str, str] | None:
    """A likelihood in words, and its split; None for other scores.

    Args:
        name: Name in `scores.json`.

    >>> likelihood("elbo_mean_test"), likelihood("mig")
    (('ELBO of mean codes, no bound', 'test'), None)
    """
    if (match := _LIKELIHOOD.fullmatch(name)) is None:
        return None
    term, codes, split = match.groups()
    words = _WORDS.get(term, term.capitalize())
    if codes != "mean":
        return words, split
    return f"{words} of mean codes{', no bound' if term == 'elbo' else ''}", split


def blind_spot(score: str) -> str:
    """Limitation of a score, in one sentence; empty for a score that is not dislab's.

    The sentences follow the definitions of the scores and the measured laws in `docs/laws.md`.

    Args:
        score: Its name in `scores.json`.
    """
    name = score.rpartition("/")[2]
    for pattern, sentence in _BLIND_SPOTS:
        if re.fullmatch(pattern, name):
            return sentence
    return ""


def definition(word: str) -> str:
    """A score that no part makes, in words and with its definition; empty for other words.

    Args:
        word: Its name in `scores.json` or in a table; letters and digits alone decide.

    >>> definition("elbo_mean_test").partition(": ")[0], definition("mig")
    ('ELBO of mean codes, no bound', '')
    """
    for name, sentence in _DEFINED.items():
        words = (likelihood(f"{name}_test") or (label(name), ""))[0]
        names = {letters(f"{form}{end}") for form in (name, words) for end in _ENDS}
        if letters(word.replace("_sample", "")) in names:
            return f"{words}: {sentence}"
    return ""


@cache
def _acronyms() -> dict[str, str]:
    """Acronyms in the class names of all scores, by their lower-case form."""
    names = " ".join(plugin.name for plugin in available("metrics"))
    return {acronym.lower(): acronym for acronym in _ACRONYM.findall(names)}


def spread_text(spread: Mapping[str, Any], text: Callable[[Any], str]) -> str:
    """Mean and standard deviation of a score over models as text; the mean alone for one model.

    Args:
        spread: The `mean` and the deviation, `std`; empty text without a mean.
        text: Formats a number.
    """
    mean, deviation = spread.get("mean"), spread.get("std")
    if mean is None:
        return ""
    is_single = not isinstance(deviation, int | float) or math.isnan(deviation)
    return text(mean) if is_single else f"{text(mean)} ± {text(deviation)}"
