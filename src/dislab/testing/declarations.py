"""Check of how parts are declared."""

from collections.abc import Sequence

from dislab.plugins import available
from dislab.testing._claims import must


def check_declared(group: str, names: Sequence[str]) -> None:
    """Checks that each class is declared under its own name, with a summary for `dislab plugins`.

    Args:
        group: The plugin group.
        names: Names of the classes.
    """
    declared = {plugin.name: plugin for plugin in available(group)}
    for name in names:
        must(name in declared, f"{name} is no entry point of dislab.{group}")
        plugin = declared[name]
        must(plugin.value.endswith(f":{name}"), f"the key of {plugin.value} is {name}")
        must(bool(plugin.summary), f"{name} has no docstring in {plugin.value}")
