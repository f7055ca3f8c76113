"""Fits predictors on the images of scenarios, and measures their errors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from dislab.base import Predictor, PredictorBuilder
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.naming.builders import versions
from dislab.transfer.choices import CHANCE, built_predictor, recorded_settings
from dislab.transfer.domain import Column, Domain, columns_of, targets_of
from dislab.transfer.images import ScenarioImages, Sizes
from dislab.transfer.scenario import Scenario
from dislab.transfer.table import Transfer


def score_scenarios(
    bank: Domain,
    images: Sequence[ScenarioImages],
    predictors: Mapping[str, PredictorBuilder],
    others: Mapping[str, Domain],
    sizes: Sizes,
) -> list[Transfer]:
    """Returns one result per run; scenarios with equal training images share fitted predictors.

    Args:
        bank: Checked codes and factors of training.
        images: The images of each scenario, as rows of the domains.
        predictors: Builders of the predictors, by the user's names.
        others: Checked codes and factors of other data sets, by the names of scenarios.
        sizes: Requested numbers of images, for the record.

    Raises:
        InputError: A scenario leaves no factor to predict, or a predictor cannot be built.
    """
    teams: dict[bytes, _Team] = {}
    results = [
        Transfer(
            {},
            {},
            {},
            {},
            _provenance(bank, sizes),
            [n for scenario_images in images for n in scenario_images.notes],
        )
        for _ in range(len(bank.codes))
    ]
    for scenario_images in tqdm(
        images, desc="transfer", unit=" scenarios", leave=False, disable=None
    ):
        key = scenario_images.train.tobytes()
        if key not in teams:
            teams[key] = _fitted(scenario_images, bank, predictors)
        tests = tested_on(scenario_images.scenario, bank, others)
        _judge(scenario_images, teams[key], bank, tests, results)
    for result in results:
        for team in teams.values():
            result.predictors.update(team.settings)
    return results


def tested_on(scenario: Scenario, bank: Domain, others: Mapping[str, Domain]) -> Domain:
    """The domain of the test images of a scenario."""
    if not scenario.dataset:
        return bank
    if scenario.name not in others:
        raise InputError(
            f"scenario {scenario.name} tests on {scenario.dataset}; give codes and factors of its "
            f"images as others: {{{scenario.name!r}: Domain(…)}}, or leave the scenario out"
        )
    return others[scenario.name]


class _Team(NamedTuple):
    """Predictors fitted to the same images.

    Attributes:
        columns: Targets.
        constant: Factors that are constant in these images.
        typical: Median, or most frequent class, of each target in these images, shape (target,).
        predictors: Fitted predictors by name.
        settings: Settings of the predictors by name.
    """

    columns: list[Column]
    constant: list[str]
    typical: Tensor
    predictors: dict[str, Predictor]
    settings: dict[str, dict[str, Any]]


def _fitted(
    images: ScenarioImages, bank: Domain, predictors: Mapping[str, PredictorBuilder]
) -> _Team:
    columns, constant = columns_of(bank.space, np.asarray(bank.factors)[images.train])
    if not columns:
        raise InputError(
            f"scenario {images.scenario.name}: {', '.join(constant)} took one value only in the "
            f"{len(images.train):,} images to learn from, and no other factor is left; widen train"
        )
    columns_of_targets = targets_of(columns, bank, images.train)
    targets = torch.stack([target for target in columns_of_targets if target is not None], 1)
    codes = _rows(bank, images.train)
    team = _Team(columns, constant, _typical(columns, targets), {}, {})
    for name, build in predictors.items():
        classes = tuple(column.classes for column in columns)
        predictor = built_predictor(build, codes.shape[2], classes)
        predictor.fit(codes, targets.to(codes))
        team.predictors[name] = predictor
        team.settings[name] = recorded_settings(build, predictor)
    return team


def _typical(columns: Sequence[Column], targets: Tensor) -> Tensor:
    """Best prediction without codes: medians of numeric targets, and the most frequent classes."""
    return torch.stack(
        [
            target.mode().values if column.classes else target.quantile(0.5)
            for column, target in zip(columns, targets.unbind(1), strict=True)
        ]
    )


def _judge(
    images: ScenarioImages, team: _Team, bank: Domain, tests: Domain, results: Sequence[Transfer]
) -> None:
    """Adds the errors in one scenario to the result of each run."""
    scenario = images.scenario
    sources = {
        "in_distribution": (bank, images.held_back),
        "error": (tests, images.test),
    }
    truths = {key: targets_of(team.columns, *where) for key, where in sources.items()}
    there = {
        column.factor.name
        for column, truth in zip(team.columns, truths["error"], strict=True)
        if truth is not None
    }
    trained = dict.fromkeys(column.factor.name for column in team.columns)
    absent = [name for name in trained if name not in there]
    counted = _counted(scenario, team, absent)
    for result in results:
        result.parts[scenario.name] = {}
        result.scenarios[scenario.name] = {
            **scenario.record(),
            "images": images.counts,
            "constant": team.constant,
            "absent": absent,
        }
    predicted = {
        name: {key: predictor.predict(_rows(*where)) for key, where in sources.items()}
        for name, predictor in team.predictors.items()
    }
    predicted[CHANCE] = {
        key: team.typical.expand(len(results), len(rows), -1) for key, (_, rows) in sources.items()
    }
    for name, values in predicted.items():
        agreements = {key: _agreement(values[key], truths[key]) for key in sources}
        for run, result in enumerate(results):
            part = _part(team.columns, {key: table[run] for key, table in agreements.items()})
            result.parts[scenario.name][name] = part
            result.values.update(_means(f"{scenario.name}/{name}", scenario, part, counted))
    for result in results:
        result.notes.extend(_no_better(scenario.name, list(team.predictors), result.values))


def _no_better(scenario: str, names: Sequence[str], values: Mapping[str, float]) -> list[str]:
    """A note on predictors that are no better than chance."""
    chance = values.get(f"{scenario}/{CHANCE}")
    if chance is None:
        return []
    idle = [name for name in names if values[f"{scenario}/{name}"] >= chance]
    if not idle:
        return []
    return [
        f"{scenario}: no better than chance, which errs by {chance:.3f}, under the shift: "
        f"{', '.join(idle)}"
    ]


def _counted(scenario: Scenario, team: _Team, absent: Sequence[str]) -> list[str]:
    """Names of the factors that enter the means."""
    left_out = {*scenario.shifted, *absent}
    trained = dict.fromkeys(column.factor.name for column in team.columns)
    counted = [name for name in trained if name not in left_out]
    if not counted:
        raise InputError(
            f"scenario {scenario.name}: no factor is left for the mean: "
            f"{', '.join(scenario.shifted) or 'none'} shifts, {', '.join(team.constant) or 'none'} "
            f"is constant in training, and the test has no {', '.join(absent) or 'others'}; "
            "leave fewer out"
        )
    return counted


def _agreement(predicted: Tensor, truths: Sequence[Tensor | None]) -> Tensor:
    """Mean absolute difference and share of equal values, shape (run, target, 2).

    Both are NaN for a target that the images lack.
    """
    predicted = predicted.detach().double().cpu()
    missing = torch.full((len(predicted), 2), torch.nan, dtype=torch.float64)
    rows = []
    for index, truth in enumerate(truths):
        if truth is None:
            rows.append(missing)
            continue
        distance = (predicted[..., index] - truth).abs()
        rows.append(torch.stack([distance.mean(1), (distance == 0).double().mean(1)], 1))
    return torch.stack(rows, 1)


def _part(
    columns: Sequence[Column], agreements: Mapping[str, Tensor]
) -> dict[str, dict[str, float]]:
    """Errors and accuracies of one run and one predictor, by factor."""
    part: dict[str, dict[str, float]] = {
        key: {} for key in ("error", "in_distribution", "accuracy", "accuracy_in_distribution")
    }
    for index, column in enumerate(columns):
        for key, table in agreements.items():
            distance, equal = table[index].tolist()
            if np.isnan(equal):
                continue
            name = column.factor.name
            if column.classes:
                part["accuracy" if key == "error" else f"accuracy_{key}"][name] = equal
            else:
                part[key][name] = distance
    return part


def _means(
    name: str,
    scenario: Scenario,
    part: Mapping[str, Mapping[str, float]],
    counted: Sequence[str],
) -> dict[str, float]:
    fewer = [factor for factor in counted if factor not in scenario.also_without]
    without = f"/without_{'_'.join(scenario.also_without)}"
    means = {
        name: _mean(part["error"], counted),
        f"{name}/in_distribution": _mean(part["in_distribution"], counted),
    }
    if len(fewer) < len(counted):
        means[f"{name}{without}"] = _mean(part["error"], fewer)
        means[f"{name}{without}/in_distribution"] = _mean(part["in_distribution"], fewer)
    for key in ("accuracy", "accuracy_in_distribution"):
        means[f"{name}/{key}"] = _mean(part[key], counted)
    return {key: value for key, value in means.items() if value is not None}


def _mean(table: Mapping[str, float], names: Sequence[str]) -> float | None:
    """Mean of the named entries; None if the table has none of them."""
    errors = [table[name] for name in names if name in table]
    return sum(errors) / len(errors) if errors else None


def _rows(domain: Domain, rows: Indices) -> Tensor:
    codes = domain.codes
    assert isinstance(codes, Tensor)
    return codes[:, torch.from_numpy(rows).to(codes.device)]


def _provenance(bank: Domain, sizes: Sizes) -> dict[str, Any]:
    return {
        **sizes._asdict(),
        "runs": len(bank.codes),
        "latents": bank.codes.shape[2],
        "factors": dict(zip(bank.space.names, bank.space.sizes, strict=True)),
        "versions": versions(),
    }
