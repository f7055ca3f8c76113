"""HTML files that open from disk: a template, behind a policy that lets nothing else in."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import jinja2

EXPLORER_SCRIPTS: Final = ("elements.js", "decoder.js", "explorer.js")
"""Scripts of the latent explorer; they read the data `explorers`."""
_ASSETS: Final = files("dislab.report") / "assets"


def document(
    template: str, scripts: Sequence[str], content: Mapping[str, Any], data: Mapping[str, Any]
) -> str:
    """The text of an HTML file that makes no request and runs no script but the named ones.

    Args:
        template: A template in `assets/` that extends `base.html`.
        scripts: Scripts in `assets/`, in their order.
        content: What the template shows, its `title` among it; texts are escaped.
        data: What the scripts read: each entry becomes an element of that id, which holds JSON.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["json"] = _json
    script, style = "".join(map(asset, scripts)), asset("page.css")
    return environment.get_template(template).render(
        **content,
        data=data,
        policy=_policy(script, style),
        script=script,
        style=style,
    )


def asset(name: str) -> str:
    """The text of a file of the pages.

    Args:
        name: A template, script or style in `assets/`, such as `page.css`.
    """
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """What a browser may do with the page: run one script, use one style, show its own images."""
    return (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; "
        f"style-src 'sha256-{_digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _json(value: Any) -> str:
    """JSON that no text inside can end the element with."""
    text = json.dumps(value, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
