"""Scenarios on the data of a trainer: which states they need, and what their codes say."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jsonargparse
import lightning.pytorch as pl
import numpy as np

from dislab import plugins
from dislab.base import DataModule, Dataset, Objective, PredictorBuilder
from dislab.base.named_classes import find_class
from dislab.base.rebuilding import arguments_of
from dislab.callbacks._encoding import encode_states
from dislab.datamodules import SingleData
from dislab.errors import InputError
from dislab.factors import UNLABELLED, Indices
from dislab.transfer.domain import Domain
from dislab.transfer.encoder_check import check_encoder
from dislab.transfer.plan import Plan, Sizes, check_names, of_scenario, plan
from dislab.transfer.scenario import Scenario
from dislab.transfer.scoring import score_plans
from dislab.transfer.transfer import Transfer


def planned(
    data: DataModule, others: Mapping[str, DataModule], scenarios: Sequence[Scenario], sizes: Sizes
) -> list[Plan]:
    """The states of each scenario, once the run is known to suit it.

    Args:
        data: Where the encoder was trained, and predictors are.
        others: Where the scenarios are tested that name another data set, by their names.
        scenarios: The scenarios.
        sizes: How many states are wanted.

    Raises:
        InputError: A scenario cannot be had from these data, or contradicts what the encoder was
            trained on.
    """
    space, states, seen = data.factors, data.indices("all"), data.indices("train")
    if space.names == (UNLABELLED,):
        raise InputError(
            f"transfer compares codes with factors, and {type(data.dataset).__name__} has none; "
            "give it a table of factors, or leave the scenarios out"
        )
    plans = []
    for scenario in scenarios:
        check_names(scenario, space)
        tests = others.get(scenario.name, data)
        with of_scenario(scenario):
            trainable = _within(states, space.where(scenario.train), "train")
            there = states if tests is data else tests.indices("all")
            testable = _within(there, tests.factors.where(scenario.test), "test")
        check_encoder(scenario, space, seen, trainable, tests.factors, testable)
        plans.append(plan(scenario, trainable, testable, sizes))
    return plans


def other_data(data: DataModule, scenario: Scenario) -> DataModule:
    """The other data set that a scenario tests on, with images as the run has them.

    A setting `side` that the scenario leaves open is that of the run's images; so is `path`, where
    it is the same kind of data set.

    Args:
        data: The data of the run.
        scenario: The scenario.

    Raises:
        InputError: There is no such data set, it has no such setting, its images have another
            shape, or the encoder was trained on it.
    """
    with of_scenario(scenario):
        dataset = _dataset(data.dataset, scenario)
        resize: Any = getattr(data, "resize", None)
        colour: Any = getattr(data, "colour", "keep")
        other = SingleData(dataset, 1, validation=0.0, test=0.0, resize=resize, colour=colour)
        if other.image_shape != data.image_shape:
            raise InputError(
                f"images of {scenario.dataset} are {_shape(other)}, and those of the run "
                f"{_shape(data)}; give the run's side in the scenario, or train with resize"
            )
    return other


def transfer_of(
    trainer: pl.Trainer,
    data: DataModule,
    others: Mapping[str, DataModule],
    module: Objective,
    plans: Sequence[Plan],
    predictors: Mapping[str, PredictorBuilder],
    sizes: Sizes,
    batch_size: int,
) -> Transfer:
    """What predictors of an objective's codes make of some scenarios; each image is encoded once.

    Args:
        trainer: The trainer at work.
        data: The data of the run.
        others: The other data sets, by the names of scenarios.
        module: The objective.
        plans: The states of each scenario.
        predictors: Makes the predictors, by the user's names.
        sizes: What the plans were drawn with.
        batch_size: Images encoded at a time.
    """
    own = [states for one in plans for states in (one.train, one.held)]
    own += [one.test for one in plans if one.scenario.name not in others]
    union = np.unique(np.concatenate(own))
    bank = _encoded(trainer, data, module, union, batch_size)
    domains, rows = {}, []
    for one in plans:
        test = np.searchsorted(union, one.test)
        if (other := others.get(one.scenario.name)) is not None:
            domains[one.scenario.name] = _encoded(trainer, other, module, one.test, batch_size)
            test = np.arange(len(one.test))
        train, held = np.searchsorted(union, one.train), np.searchsorted(union, one.held)
        rows.append(one._replace(train=train, held=held, test=test))
    return score_plans(bank, rows, predictors, domains, sizes)[0]


def _encoded(
    trainer: pl.Trainer, data: DataModule, module: Objective, states: Indices, batch_size: int
) -> Domain:
    found = encode_states(trainer, data, module, states, batch_size, with_kl=False)
    values = data.dataset.values(states)
    # predictors that learn on a device find their codes there
    return Domain(found.codes.to(module.device), found.factors, data.factors, values).checked()


def _dataset(own: Dataset, scenario: Scenario) -> Dataset:
    cls: Any = (
        find_class(scenario.dataset, (Dataset,), "dataset")
        if "." in scenario.dataset
        else plugins.load("datasets", scenario.dataset)
    )
    name = cls.__name__
    same = type(own) is cls
    if same and all(getattr(own, key, None) == one for key, one in scenario.settings.items()):
        raise InputError(
            f"it tests on {name}, which this encoder was trained on; train one on other data, or "
            "leave the scenario out"
        )
    taken = {"side": own.image_shape[1]}
    if same and hasattr(own, "path"):
        taken["path"] = own.path
    takes = inspect.signature(cls).parameters
    known = {key: one for key, one in taken.items() if key in takes}
    try:
        # parsed, so that a misspelt setting or choice is a message
        dataset: Dataset = cls(**arguments_of(cls, {**known, **scenario.settings}))
    except InputError:
        raise
    except (jsonargparse.ArgumentError, ValueError) as error:
        said = " ".join(str(error).split())[:300]
        raise InputError(f"{name} cannot be made with {dict(scenario.settings)}: {said}") from error
    return dataset


def _within(states: Indices, matching: Indices, what: str) -> Indices:
    both = np.intersect1d(states, matching, assume_unique=True)
    if not len(both):
        raise InputError(
            f"{what} matches none of the {len(states):,} states that the data module includes; "
            "widen it, or include more states"
        )
    return both


def _shape(data: DataModule) -> str:
    return "×".join(map(str, data.image_shape))
