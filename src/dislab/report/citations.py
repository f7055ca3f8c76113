"""BibTeX of what a run uses: dislab, and the papers of its method, data and scores."""

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import metadata, version
from importlib.resources import files
from typing import Any, Final

from dislab import plugins
from dislab.naming.classes import class_name

_REFERENCES: Final = files("dislab.report") / "references.bib"
_GROUPS: Final = {
    "objectives": "method",
    "regularizers": "regularizer",
    "datasets": "data set",
    "metrics": "score",
}
"""What parts are in the words of a paper, by their group."""
_ENTRY: Final = re.compile(r"^@\w+\{.*?^\}", re.MULTILINE | re.DOTALL)
_URL: Final = re.compile(r"https?://[^\s,)>`'\"{}]*[^\s,)>`'\"{}.;:]")
_DISLAB: Final = """\
@software{{dislab,
  title = {{dislab: disentangled representation learning with PyTorch Lightning}},
  author = {{{{The dislab developers}}}},
  version = {{{version}}},
  year = {{2026}},
  url = {{{url}}}
}}"""

_SOURCE: Final = "@misc{{{name},\n  title = {{{name}}},\n  url = {{{url}}}\n}}"


def citations(settings: Mapping[str, Any]) -> dict[str, str]:
    """BibTeX entries for a run, by URL: dislab first, then method, data and scores.

    The sources are the addresses in the docstrings of the parts. An address without an entry in
    `references.bib`, such as that of a plug-in, becomes a `@misc` entry, unless the part has
    others with one.

    Args:
        settings: The configuration of the run.
    """
    return {url: entry for url, entry, _ in _cited(settings)}


def uses(settings: Mapping[str, Any]) -> dict[str, list[str]]:
    """The parts of a run that each entry of `citations` is cited for, such as `DCI (score)`.

    Args:
        settings: The configuration of the run.
    """
    parts: dict[str, list[str]] = {}
    for url, _, part in _cited(settings):
        parts.setdefault(url, []).append(part)
    return parts


def _cited(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Address and entry of each source, and the part that it is of."""
    url = metadata("dislab")["Project-URL"].partition(", ")[2]
    yield "", _DISLAB.format(version=version("dislab"), url=url), "dislab (software)"
    yield from sources(_parts(settings))


def sources(parts: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Address and BibTeX entry of each source, and the part that it is of.

    Args:
        parts: Kind and name of each part, with the text that names its sources.
    """
    entries = {_URL.search(entry)[0]: entry for entry in references()}  # type: ignore[index]
    for kind, name, text in parts:
        urls = list(dict.fromkeys(url.rstrip("/") for url in _URL.findall(text)))
        listed = [url for url in entries if url.rstrip("/") in urls]
        for url in listed:
            yield url, entries[url], f"{name} ({kind})"
        if not listed:
            for url in urls:
                yield url, _SOURCE.format(name=name, url=url), f"{name} ({kind})"


def references() -> list[str]:
    """The entries of `references.bib`."""
    return _ENTRY.findall(_REFERENCES.read_text(encoding="utf-8"))


def _parts(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Kinds and names of the parts of a configuration, with the texts that name their sources."""
    groups = {group: {plugin.name for plugin in plugins.available(group)} for group in _GROUPS}
    evaluate = settings.get("evaluate")
    scores = evaluate.get("metrics") if isinstance(evaluate, Mapping) else None
    classes = list(_classes([settings.get("model"), settings.get("data"), scores]))
    for group, names in groups.items():
        for name in dict.fromkeys(classes):
            if name in names:
                cls = plugins.load(group, name)
                yield _GROUPS[group], name, f"{cls.__doc__} {getattr(cls, 'citation', '')}"


def _classes(value: Any) -> Iterator[str]:
    """Class names in settings, at any depth."""
    if isinstance(value, Mapping):
        if "class_path" in value:
            yield class_name(value)
        for setting in value.values():
            yield from _classes(setting)
    elif isinstance(value, list):
        for setting in value:
            yield from _classes(setting)
    elif isinstance(value, str):
        yield class_name(value)
