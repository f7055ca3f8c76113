"""`dislab plugins`: lists the parts that a configuration can name."""

import json
import sys
from dataclasses import asdict
from itertools import groupby

from dislab.cli import skeleton
from dislab.cli.arguments import Parser
from dislab.cli.messages import foreign_base
from dislab.plugins import GROUPS, Plugin, available, faults, load
from dislab.storage import text_table


def run(args: list[str]) -> int:
    """List the parts that a configuration can name; write a package of new ones.

    Parts of other distributions are imported, so that the table shows those that cannot be used.
    """
    if args[:1] == ["new"]:
        return skeleton.run(args[1:])
    parser = Parser(
        "dislab plugins",
        description="List the parts that a configuration can name.",
        epilog="`dislab plugins new NAME` writes a package of your own; see its --help.",
        example="dislab plugins metrics",
    )
    parser.add_argument("group", nargs="*", help=f"show these groups only: {', '.join(GROUPS)}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(args)
    plugins = [plugin for group in options.group or GROUPS for plugin in available(group)]
    errors = _errors(plugins)
    if options.json:
        rows = [
            {**asdict(plugin), "summary": plugin.summary, "error": errors.get(plugin)}
            for plugin in plugins
        ]
        json.dump(rows, sys.stdout, indent=2)
        print()
    else:
        print(_table(plugins, errors))
    return 0


def _errors(plugins: list[Plugin]) -> dict[Plugin, str]:
    """Import errors of other distributions' parts; does not import dislab's own parts."""
    others = [plugin for plugin in plugins if plugin.distribution != "dislab"]
    errors = faults(others)
    for plugin in others:
        if plugin not in errors and (
            fault := foreign_base(plugin.group, load(plugin.group, plugin.name))
        ):
            errors[plugin] = fault
    return errors


def _table(plugins: list[Plugin], errors: dict[Plugin, str]) -> str:
    def note(plugin: Plugin) -> str:
        return f"cannot be used: {errors[plugin]}" if plugin in errors else plugin.summary

    rows = iter(
        text_table(
            (f"  {plugin.name}", f"{plugin.distribution} {plugin.version}", note(plugin))
            for plugin in plugins
        )
    )
    return "\n\n".join(
        "\n".join([group, *(next(rows) for _ in members)])
        for group, members in groupby(plugins, key=lambda plugin: plugin.group)
    )
