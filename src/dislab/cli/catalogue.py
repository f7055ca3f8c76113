"""Descriptions of data sets for `dislab data list`, read without importing them."""

import json
import re
from typing import Any, NamedTuple

from dislab.plugins import Plugin, available
from dislab.storage import cache_path, unreadable


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


def catalogue() -> list[Entry]:
    """Every declared data set, sorted by name.

    Raises:
        InputError: Two distributions declare one name, or the cache folder may not be read.
    """
    return [_entry(plugin) for plugin in available("datasets")]


def as_json(entries: list[Entry]) -> str:
    """The entries as JSON."""
    return json.dumps([entry._asdict() for entry in entries], indent=2, ensure_ascii=False)


def as_table(entries: list[Entry]) -> str:
    """The entries as a readable table, two lines each."""
    names = max((len(entry.name) for entry in entries), default=0)
    rows = []
    for entry in entries:
        rows.append(f"{entry.name:<{names}}  {entry.contents or entry.summary}")
        drawn = f"drawn: {entry.drawn}; " if entry.drawn else ""
        untried = "reader not tried on the published files; " if entry.untried else ""
        rows.append(f"{'':<{names}}  {drawn}{untried}{_state(entry)}; licence: {entry.licence}")
    return "\n".join([*rows, f"cache folder: {cache_path()}"])


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
