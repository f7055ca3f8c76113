r"""Formulas of pages: a fence ```` ```math ```` holds LaTeX and becomes MathML as pages are built.

Browsers draw MathML by themselves, so that no script and nothing from elsewhere is needed.
"""

import re
from html import escape
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger

log = get_plugin_logger("formulas")

PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2}
PARTS |= {"msubsup": 3, "munderover": 3}
ENVIRONMENTS = {"split", "align*", "cases", "array"}
CLOSING = set(")]}|‖′")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Has pages and docstrings read ```` ```math ```` as a formula."""
    fence = {"name": "math", "class": "formula", "format": formula}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]
    return config


def formula(source: str, language: str, css_class: str, *_: Any, **__: Any) -> str:
    """The HTML of a fence; a fault is a warning, which ends a strict build, and shows the LaTeX."""
    try:
        inside = typeset(source)
    except ValueError as error:
        log.warning(f"a formula cannot be typeset: {error}; the formula is:\n{source}")
        inside = f"<pre>{escape(source)}</pre>"
    return f'<div class="{css_class}">{inside}</div>'


def typeset(latex: str) -> str:
    """MathML of LaTeX.

    Raises:
        ValueError: latex2mathml does not know something in it. That library passes over most
            mistakes, so its result is checked.
    """
    plain = re.sub(r"\\.", "", latex)  # without commands, and so without \{ and \}
    if plain.count("{") != plain.count("}"):
        raise ValueError(f"{plain.count('{')} braces open and {plain.count('}')} close")
    unknown = set(re.findall(r"\\begin\{(.*?)\}", latex)) - ENVIRONMENTS
    if unknown:
        raise ValueError(f"unknown environment {min(unknown)}, known: {sorted(ENVIRONMENTS)}")
    try:
        root = ElementTree.fromstring(convert(latex, xmlns="", display="block"))
    except ElementTree.ParseError as error:
        raise ValueError("& outside an environment, or & or < in a text") from error
    except Exception as error:  # those of latex2mathml have no class in common
        raise ValueError(f"{type(error).__name__} {error}".strip()) from error
    for part in list(root.iter()):
        if "\\" in (part.text or ""):
            raise ValueError(f"unknown command {part.text}")
        if len(part) != PARTS.get(part.tag, len(part)):
            raise ValueError("a fraction, root, or sub- or superscript lacks a part")
        if part.tag == "mi" and part.text == "~":  # what latex2mathml makes of \sim
            part.tag, part.text = "mo", "∼"
        if part.tag in ("mrow", "mtd"):
            _space(part)
    return ElementTree.tostring(root, encoding="unicode")


def _space(row: ElementTree.Element) -> None:
    """Sets a space after log and its like, and none after a sign, as LaTeX does."""
    for left, right in list(pairwise(row)):
        if left.tag == "mi" and len(left.text or "") > 1 and right.tag != "mo":
            thin = ElementTree.Element("mspace", width="0.167em")
            row.insert(list(row).index(right), thin)
        if left.tag == "mo" and right.text == "−" and left.text not in CLOSING:
            right.set("form", "prefix")
