"""Out-of-distribution transfer: scenarios, and the scores of predictors in them."""

from dislab.transfer.domain import Domain
from dislab.transfer.scenario import Scenario
from dislab.transfer.scenario_files import load_scenario, load_scenarios, made_for, shipped
from dislab.transfer.scores import transfer_scores, transfer_scores_of_runs
from dislab.transfer.transfer import Transfer

__all__ = [
    "Domain",
    "Scenario",
    "Transfer",
    "load_scenario",
    "load_scenarios",
    "made_for",
    "shipped",
    "transfer_scores",
    "transfer_scores_of_runs",
]
