"""`dislab plugins`: every part that a configuration can name."""

import json
import sys
from dataclasses import asdict
from itertools import groupby

from dislab.cli import skeleton
from dislab.cli.arguments import Parser
from dislab.plugins import GROUPS, Plugin, available


def run(args: list[str]) -> int:
    """Prints the table of plugins, or writes a new one; returns the exit status.

    Args:
        args: What follows `dislab plugins`.

    Raises:
        InputError: An option or group does not exist, or two distributions declare one name.
    """
    if args[:1] == ["new"]:
        return skeleton.run(args[1:])
    parser = Parser(
        "dislab plugins",
        description="List the parts that a configuration can name.",
        epilog="`dislab plugins new NAME` writes a package of your own; see its --help.",
    )
    parser.add_argument("group", nargs="*", help=f"show these groups only: {', '.join(GROUPS)}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(args)
    plugins = [plugin for group in options.group or GROUPS for plugin in available(group)]
    if options.json:
        rows = [{**asdict(plugin), "summary": plugin.summary} for plugin in plugins]
        json.dump(rows, sys.stdout, indent=2)
        print()
    else:
        print(_table(plugins))
    return 0


def _table(plugins: list[Plugin]) -> str:
    names = max((len(plugin.name) for plugin in plugins), default=0)
    origins = {plugin: f"{plugin.distribution} {plugin.version}" for plugin in plugins}
    width = max(map(len, origins.values()), default=0)
    blocks: list[str] = []
    for group, members in groupby(plugins, key=lambda plugin: plugin.group):
        rows = [
            f"  {plugin.name:<{names}}  {origins[plugin]:<{width}}  {plugin.summary}"
            for plugin in members
        ]
        blocks.append("\n".join([group, *rows]))
    return "\n\n".join(blocks)
