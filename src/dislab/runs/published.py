"""Settings and texts in the form that leaves this machine: exports, cards, pages, the Hub."""

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

_SECTIONS: Final = (
    *("name", "method", "seed_everything", "model", "data", "optimizer", "lr_scheduler"),
    *("trainer", "keep_freed_memory", "channels_last", "checkpoint", "inner_steps"),
    *("score_curves", "evaluate", "transfer", "generalisation"),
)
"""Sections of a configuration that a reader needs to repeat a run and to understand its scores."""
_OF_THE_HOST: Final = ("logger", "profiler", "plugins", "default_root_dir", "model_registry")
"""Settings of the trainer that say where a run was watched and kept."""
_CRITERIA: Final = ("monitor", "mode")
"""Texts among the settings of callbacks that a reader needs."""
_SECRET: Final = re.compile(
    r"(?i)(?:token|passw(?:or)?d|passphrase|secret|credentials?|auth(?:orization)?|"
    r"(?:api|access|private)_?key)s?$"
)
"""Matches names of settings whose text nobody else may read."""
_HIDDEN: Final = "…"
_REST: Final = r"[^\s'\"<>|]*"
_START: Final = r"(?<![\w.…\\/])"
_HOME: Final = r"(?:[A-Za-z]:)?[\\/](?:home|Users)[\\/]"
_END: Final = r"[\\/]?(?=[\s:,;)]|$)"
_TILDE: Final = r"~(?:[A-Za-z_][\w.-]*)?"
_FOLDERS: Final = re.compile(
    rf"(?P<address>\b[A-Za-z][\w+.-]+://+{_REST}|\bfile:/{_REST})"
    rf"|(?P<home>(?<=['\"]){_HOME}[^\n\\/:'\"<>|]+[\\/]?(?=['\"])"
    rf"|{_START}(?<!['\"]){_HOME}[^\s\\/:'\"<>|,;)]+{_END}|^~[\\/]?$)"
    rf"|(?<=['\"])(?:{_TILDE}|[A-Za-z]:)?[\\/]+(?:[^\n\\/:'\"<>|]+[\\/]+)+"
    rf"|{_START}(?:[A-Za-z]:)?[\\/]+(?:[^\s\\/:'\"<>|]+[\\/]+)+"
    rf"|{_START}{_TILDE}[\\/]+(?:[^\s\\/:'\"<>|]+[\\/]+)*"
)
"""Matches an address, a home folder, or the folders of an absolute path (spaces only if quoted)."""
_PATH: Final = re.compile(rf"[A-Za-z]:[\\/]|/|\\\\|{_TILDE}[\\/]")
"""Matches the start of an absolute path, whose folders may have spaces."""
_USER: Final = re.compile(r"[^/@:]*:(?!\d+/).*@|[^/@]+@")
"""Matches the user and the password of an address."""


def published(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a configuration that others may read, without paths and passwords.

    It holds the settings of model, data, training and scores. Of callbacks and strategies it has
    classes, numbers and criteria. Loggers, profilers, plugins and folders are left out.
    """
    public = {name: settings[name] for name in settings if name in _SECTIONS}
    if isinstance(public.get("trainer"), Mapping):
        trainer = public["trainer"]
        public["trainer"] = {
            name: _bare(value) for name, value in trainer.items() if name not in _OF_THE_HOST
        }
    if isinstance(public.get("checkpoint"), Mapping):
        public["checkpoint"] = _criteria(public["checkpoint"])
    cleaned: dict[str, Any] = without_paths(public)
    return cleaned


def is_published(setting: str) -> bool:
    """Whether others may read a setting, such as `model.latent_dim`.

    Args:
        setting: Its name with sections, as on the command line.
    """
    section, _, name = setting.partition(".")
    inner = name.partition(".")[0]
    return section in _SECTIONS and not (section == "trainer" and inner in _OF_THE_HOST)


def without_paths(value: Any) -> Any:
    """A copy in which paths are shortened to `…/name`, without passwords and secret settings.

    Args:
        value: A text, or texts in mappings, lists and tuples, as a configuration has them.
    """
    if isinstance(value, Mapping):
        return {
            without_paths(key): _HIDDEN if _is_secret(key, inner) else without_paths(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [without_paths(inner) for inner in value]
    if isinstance(value, tuple):
        parts = [without_paths(inner) for inner in value]
        make: Callable[..., Any] = getattr(type(value), "_make", tuple)  # also of named tuples
        return make(parts)
    return _without_paths(value) if isinstance(value, str) else value


def _bare(value: Any) -> Any:
    """A setting of the trainer: numbers and words as they are, parts without their texts."""
    if isinstance(value, list):
        return [_bare(entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    inner = value.get("init_args")
    criteria = {"init_args": _criteria(inner)} if isinstance(inner, Mapping) else {}
    return {"class_path": value.get("class_path"), **criteria}


def _criteria(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in settings.items()
        if isinstance(value, int | float) or value is None or name in _CRITERIA
    }


def _is_secret(name: Any, value: Any) -> bool:
    return isinstance(name, str) and isinstance(value, str) and bool(_SECRET.search(name))


def _without_paths(text: str) -> str:
    if not re.search(r"[/\\~]", text) or text.startswith("data:"):
        return text
    is_path = _PATH.match(text) and not re.search(r"[:;] |\n", text)
    if is_path and not _FOLDERS.fullmatch(text):
        return "…/" + re.split(r"[\\/]", text)[-1]
    return _FOLDERS.sub(_shortened, text)


def _shortened(match: re.Match[str]) -> str:
    if match["home"]:
        return _HIDDEN
    if (address := match["address"]) is None:
        return "…/"
    scheme, _, location = address.partition(":")
    if not location.startswith("//") or location.startswith("///") or scheme == "file":
        return f"…/{PurePosixPath(location).name}"
    location, question, _ = location.removeprefix("//").partition("?")
    public = _USER.sub("", location, count=1) if _USER.match(location) else location
    return f"{scheme}://{public}{'?…' if question else ''}"
