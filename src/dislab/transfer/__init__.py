"""Out-of-distribution transfer: scenarios, and the scores of predictors in them.

`transfer_of` is imported on first access, so that scores of plain arrays need no Lightning.
"""

from typing import TYPE_CHECKING

from dislab.transfer.array_scores import transfer_scores, transfer_scores_of_runs
from dislab.transfer.domain import Domain
from dislab.transfer.scenario import Scenario, load_scenario, load_scenarios, made_for, shipped
from dislab.transfer.table import Transfer

if TYPE_CHECKING:
    from dislab.transfer.run import transfer_of

__all__ = [
    "Domain",
    "Scenario",
    "Transfer",
    "load_scenario",
    "load_scenarios",
    "made_for",
    "shipped",
    "transfer_of",
    "transfer_scores",
    "transfer_scores_of_runs",
]


def __getattr__(name: str) -> object:
    """Imports the function that needs Lightning on first access."""
    if name != "transfer_of":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dislab.transfer.run import transfer_of

    return transfer_of


def __dir__() -> list[str]:
    return [*__all__]
