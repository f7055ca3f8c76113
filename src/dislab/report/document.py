"""Self-contained HTML files, with a content security policy that blocks everything external."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import jinja2

from dislab.errors import InputError
from dislab.storage import atomic, minus_signs

EXPLORER_SCRIPTS: Final = ("elements.js", "decoder.js", "explorer.js")
"""Scripts of the latent explorer; they read the data `explorers`."""
_MARK: Final = b'<meta name="generator" content="dislab report">'
_TITLE: Final = re.compile(r"<title>(.*?) · dislab</title>", re.DOTALL)
_EXPLORER: Final = 'class="explorer"'
"""Text that a page has once for each of its explorers."""
_UNBROKEN: Final = re.compile(
    r"(?<=\d,) (?=[−\d.]+\])|(?<=\d) (?=±)|(?<=±) |(?<=\d) (?=(?:%|nats|s|min|h)(?:\W|$))"
)
"""Spaces inside of an interval in brackets, around `±` and before a unit."""
_HEAD: Final = 200
"""Bytes at the start of a page in which its mark stands."""
_ASSETS: Final = files("dislab.report") / "assets"


def document(
    template: str, scripts: Sequence[str], content: Mapping[str, Any], data: Mapping[str, Any]
) -> str:
    """Text of an HTML file that makes no requests and runs only the named scripts.

    Args:
        template: A template in `assets/` that extends `base.html`.
        scripts: Scripts in `assets/`, in order.
        content: Variables of the template, including `title`; texts are escaped.
        data: Data for the scripts: each entry becomes an element with that id, containing JSON.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["json"] = _json
    environment.filters["typeset"] = _typeset
    script, style = "".join(map(asset, scripts)), asset("page.css")
    return environment.get_template(template).render(
        **content,
        data=data,
        policy=_policy(script, style),
        script=script,
        style=style,
    )


def write_document(text: str, path: Path, is_whole: bool) -> None:
    """Writes a page; keeps one of the same title with more explorers if the new one is not whole.

    Args:
        text: Result of `document`.
        path: The HTML file, which is replaced atomically.
        is_whole: Whether the models and data of all explorers were found.

    Raises:
        InputError: The page is kept, or the file cannot be written.
    """
    if not is_whole and path.is_file():
        before = path.read_text(encoding="utf-8", errors="replace")
        if title_of(before) == title_of(text) and text.count(_EXPLORER) < before.count(_EXPLORER):
            raise InputError(
                f"{path} is kept: it has an explorer that the new page would lack, as a model or "
                "its data were not found; name another file (--out), or remove that one first"
            )
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _typeset(text: str) -> str:
    """The text with typographic minus signs; no line breaks intervals, `±` and units."""
    return _UNBROKEN.sub("\u00a0", minus_signs(text))


def title_of(text: str) -> str:
    """The title of a page that `document` made; empty without one."""
    return html.unescape("".join(_TITLE.findall(text)[:1]))


def is_page(path: Path) -> bool:
    """Whether a file is a page that `document` made."""
    with path.open("rb") as file:
        return _MARK in file.read(_HEAD)


def asset(name: str) -> str:
    """Text of an asset file.

    Args:
        name: A template, script or style in `assets/`, such as `page.css`.
    """
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """Content security policy: one script, one style, and embedded images only."""
    return (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; "
        f"style-src 'sha256-{_digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(value: Any) -> str:
    """JSON in which no text can close the enclosing element."""
    text = json.dumps(value, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
