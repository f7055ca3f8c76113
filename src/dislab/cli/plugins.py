"""`dislab plugins`: lists the parts that a configuration can name."""

import json
import sys
from dataclasses import asdict
from itertools import groupby

from dislab.cli import skeleton
from dislab.cli.arguments import Parser
from dislab.cli.messages import foreign_base, print_warning
from dislab.errors import InputError, suggestion
from dislab.plugins import (
    GROUPS,
    Plugin,
    absent,
    contested,
    declarations,
    faults,
    group_meant,
    hint_for,
    is_elsewhere,
    load,
    misspelt_groups,
)
from dislab.storage import text_table


def run(args: list[str]) -> int:
    """List the parts that a configuration can name; write a package of new ones.

    Parts of other distributions are imported, so that the table shows those that cannot be used.
    The exit status is 1 if there are any.
    """
    if args[:1] == ["new"]:
        return skeleton.run(args[1:])
    if args[1:] and set(args[0]) <= set("new") and (hint := suggestion(args[0], ["new"])):
        raise InputError(f"dislab plugins has no verb {args[0]!r}{hint}; it writes a package")
    parser = Parser(
        "dislab plugins",
        description="List the parts that a configuration can name.",
        epilog="`dislab plugins new NAME` writes a package of your own; see its --help.",
        example="dislab plugins metrics",
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="word",
        help=f"show these groups only: {', '.join(GROUPS)}; the parts of this "
        "package, such as dislab-qlae; or those with this word in name or summary",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(args)
    for fault in (*misspelt_groups(), *contested()):
        print_warning(fault)
    plugins = _with_words(options.words)
    errors = _errors(plugins)
    if options.json:
        rows = [
            {**asdict(plugin), "summary": plugin.summary, "error": errors.get(plugin)}
            for plugin in plugins
        ]
        for row in rows:
            del row["dispute"]  # which the error names
        json.dump(rows, sys.stdout, indent=2)
        print()
    else:
        print(_table(plugins, errors))
    return int(not all(map(is_elsewhere, errors)))


def _with_words(words: list[str]) -> list[Plugin]:
    """The parts of the named groups, or of all, with one of the other words if there are any.

    A package names its parts.

    Raises:
        InputError: A word is no group and no package, and no part has it in its name or summary.
    """
    words = [group if (group := group_meant(word)) in GROUPS else word for word in words]
    groups = [word for word in words if word in GROUPS] or GROUPS
    others = [word for word in words if word not in GROUPS]
    plugins = [plugin for group in groups for plugin in declarations(group)]
    if not others:
        return plugins
    texts = {
        plugin: [plugin.distribution.lower(), f"{plugin.name} {plugin.summary}".lower()]
        for plugin in plugins
    }
    chosen = []
    for word in others:
        lower = word.lower()
        package = lower.replace("_", "-")
        of_word = [p for p, (owner, text) in texts.items() if owner == package or lower in text]
        if not of_word:
            if message := absent(word):
                raise InputError(message)
            names = dict.fromkeys(plugin.distribution for plugin in plugins)
            hint = hint_for(word, ["new", *GROUPS, *names, *(plugin.name for plugin in plugins)])
            raise InputError(
                f"no plugin group or package is named {word!r}{hint}; the groups are "
                f"{', '.join(GROUPS)}; and no part of them has this word in its name or summary"
            )
        chosen += of_word
    return [plugin for plugin in texts if plugin in chosen]


def _errors(plugins: list[Plugin]) -> dict[Plugin, str]:
    """Import errors of other distributions' parts; does not import dislab's own parts."""
    others = [plugin for plugin in plugins if plugin.distribution != "dislab" or plugin.dispute]
    errors = faults(others)
    for plugin in others:
        if plugin not in errors and (
            fault := foreign_base(plugin.group, load(plugin.group, plugin.name))
        ):
            errors[plugin] = fault
    return errors


def _table(plugins: list[Plugin], errors: dict[Plugin, str]) -> str:
    def note(plugin: Plugin) -> str:
        if plugin not in errors:
            return plugin.summary
        fault = "has a wrong entry point" if is_elsewhere(plugin) else "cannot be used"
        return f"{fault}: {errors[plugin]}"

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
