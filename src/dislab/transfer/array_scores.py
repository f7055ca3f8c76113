"""Transfer scores of plain arrays."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.naming.settings import checks_arguments
from dislab.transfer.choices import Choices, builders
from dislab.transfer.domain import Array, Domain
from dislab.transfer.images import Sizes, check_factors, check_sizes, matching, scenario_images
from dislab.transfer.predictor_errors import score_scenarios, tested_on
from dislab.transfer.scenario import Scenario, load_scenarios
from dislab.transfer.table import Transfer

Scenarios: TypeAlias = Sequence[str | Scenario]
"""Names of shipped scenarios, paths of YAML files, or scenarios."""


@checks_arguments
def transfer_scores(
    codes: Array,
    factors: Array,
    space: FactorSpace,
    scenarios: Scenarios,
    predictors: "Choices" = None,
    labels: int = 10_000,
    tested: int = 5_000,
    seed: int = 0,
    others: Mapping[str, Domain] | None = None,
) -> Transfer:
    """Errors of predictors under the distribution shifts of scenarios, for codes of one encoder.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, section 4. Circular factors are
    predicted as plain numbers, without wrap-around.

    Args:
        codes: Codes with one row per image and one column per latent.
        factors: Value numbers 0, 1, 2, … with one row per image and one column per factor.
        space: The factors and their values, to which the conditions of scenarios refer.
        scenarios: Names of shipped scenarios, paths of YAML files, or scenarios.
        predictors: Class names of plugins, settings such as `Ridge.penalty=0.1`, classes, partials
            of classes, or a dictionary of any of these by names of your own; boosted trees and an
            MLP unless given.
        labels: Number of training images of a predictor; fewer if not available.
        tested: Number of test images of each distribution; fewer if not available.
        seed: Seed of the draw of images, and of predictors without a seed of their own.
        others: Codes of the same encoder and factors of another data set, by the name of each
            scenario that tests on one.

    Raises:
        InputError: The arrays, a scenario, a predictor or a number cannot be used; the message
            says why.
    """
    if codes.ndim != 2:
        raise InputError(
            f"codes have shape (image, latent), not {tuple(codes.shape)}; for several runs there "
            "is transfer_scores_of_runs"
        )
    return transfer_scores_of_runs(
        codes, factors, space, scenarios, predictors, labels, tested, seed, others
    )[0]


@checks_arguments
def transfer_scores_of_runs(
    codes: Array,
    factors: Array,
    space: FactorSpace,
    scenarios: Scenarios,
    predictors: "Choices" = None,
    labels: int = 10_000,
    tested: int = 5_000,
    seed: int = 0,
    others: Mapping[str, Domain] | None = None,
) -> list[Transfer]:
    """Transfer scores of several encoders of the same images, with predictors fitted together.

    Args:
        codes: Shape (run, image, latent).
        factors: As for `transfer_scores`, the same for all runs.
        space: As for `transfer_scores`.
        scenarios: As for `transfer_scores`.
        predictors: As for `transfer_scores`.
        labels: As for `transfer_scores`.
        tested: As for `transfer_scores`.
        seed: As for `transfer_scores`.
        others: As for `transfer_scores`, with codes of shape (run, image, latent).

    Raises:
        InputError: As for `transfer_scores`.
    """
    sizes = Sizes(labels, tested, seed)
    check_sizes(sizes)
    bank = Domain(codes, factors, space).checked()
    chosen = load_scenarios(scenarios)
    _check_wanted(chosen, others or {})
    domains = {
        name: domain.checked(runs=len(bank.codes)) for name, domain in (others or {}).items()
    }
    images = []
    for scenario in chosen:
        check_factors(scenario, space)
        tests = tested_on(scenario, bank, domains)
        trainable = matching(scenario, space, np.asarray(bank.factors), scenario.train)
        testable = matching(scenario, tests.space, np.asarray(tests.factors), scenario.test)
        images.append(scenario_images(scenario, trainable, testable, sizes))
    return score_scenarios(bank, images, builders(predictors, seed), domains, sizes)


def _check_wanted(chosen: Sequence[Scenario], others: Mapping[str, Domain]) -> None:
    """Rejects codes of another data set that no scenario needs."""
    needed = [scenario.name for scenario in chosen if scenario.dataset]
    if unwanted := [name for name in others if name not in needed]:
        raise InputError(
            f"there are codes of another data set for {', '.join(unwanted)}; of the scenarios "
            f"chosen, those that test on another one are {', '.join(needed) or 'none'}; leave the "
            "codes out, or choose the scenario"
        )
