"""Applies scenarios to the data of a run: draws their images, and prepares other data sets."""

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import jsonargparse
import numpy as np

from dislab import plugins
from dislab.base import DataModule, Dataset
from dislab.datamodules import SingleData
from dislab.errors import InputError, one_line
from dislab.factors import UNLABELLED, Indices
from dislab.naming.classes import find_class
from dislab.naming.rebuilding import arguments_of
from dislab.transfer.images import (
    ScenarioImages,
    Sizes,
    check_encoder,
    check_factors,
    of_scenario,
    scenario_images,
)
from dislab.transfer.scenario import Scenario


class Shifts(NamedTuple):
    """Scenarios on the data of a run, checked against the training of its encoder.

    Attributes:
        data: Training data of the encoder and the predictors.
        others: Data of the scenarios that test on another data set, by name of the scenario.
        images: State numbers of each scenario.
        sizes: Requested numbers of images, and the seed of the draws.
    """

    data: DataModule
    others: dict[str, DataModule]
    images: list[ScenarioImages]
    sizes: Sizes

    def tested(self, images: ScenarioImages) -> DataModule:
        """Data module with the test images of a scenario."""
        return self.others.get(images.scenario.name, self.data)


def shifts_of(data: DataModule, scenarios: Sequence[Scenario], sizes: Sizes) -> Shifts:
    """Draws the images of each scenario, and prepares the other data sets.

    Raises:
        InputError: These data lack what a scenario needs, or the encoder's training contradicts
            it.
    """
    space, seen = data.factors, data.indices("train")
    states = space.complete(data.indices("all"))
    if space.names == (UNLABELLED,):
        raise InputError(
            f"transfer compares codes with factors, and {type(data.dataset).__name__} has none; "
            "give it a table of factors, or leave the scenarios out"
        )
    others = {shift.name: other_data(data, shift) for shift in scenarios if shift.dataset}
    for module in others.values():
        module.dataset.prepare()
    shifts = Shifts(data, others, [], sizes)
    for scenario in scenarios:
        check_factors(scenario, space)
        tests = others.get(scenario.name, data)
        with of_scenario(scenario):
            trainable = _within(states, space.where(scenario.train), "train")
            there = states if tests is data else tests.factors.complete(tests.indices("all"))
            testable = _within(there, tests.factors.where(scenario.test), "test")
        check_encoder(scenario, space, seen, trainable, tests.factors, testable)
        shifts.images.append(scenario_images(scenario, trainable, testable, sizes))
    return shifts


def other_data(data: DataModule, scenario: Scenario) -> DataModule:
    """The other data set that a scenario tests on, with images in the format of the run.

    If the scenario does not set `side`, it is that of the run's images; likewise `path`, if both
    data sets have the same class.

    Raises:
        InputError: There is no such data set, it has no such setting, its images have another
            shape, or the encoder was trained on it.
    """
    with of_scenario(scenario):
        dataset = _dataset(data.dataset, scenario)
        resize: Any = getattr(data, "resize", None)
        colour: Any = getattr(data, "colour", "keep")
        module = SingleData(dataset, 1, validation=0.0, test=0.0, resize=resize, colour=colour)
        if module.image_shape != data.image_shape:
            raise InputError(
                f"images of {scenario.dataset} are {_shape(module)}, and those of the run "
                f"{_shape(data)}; give the run's side in the scenario, or train with resize"
            )
    return module


def _dataset(trained: Dataset, scenario: Scenario) -> Dataset:
    cls: Any = (
        find_class(scenario.dataset, (Dataset,), "dataset")
        if "." in scenario.dataset
        else plugins.load("datasets", scenario.dataset)
    )
    name = cls.__name__
    same = type(trained) is cls
    if same and all(
        getattr(trained, key, None) == value for key, value in scenario.settings.items()
    ):
        raise InputError(
            f"it tests on {name}, which this encoder was trained on; train one on other data, or "
            "leave the scenario out"
        )
    inherited = {"side": trained.image_shape[1]}
    if same and hasattr(trained, "path"):
        inherited["path"] = trained.path
    takes = inspect.signature(cls).parameters
    settings = {key: value for key, value in inherited.items() if key in takes}
    try:
        # parsed, so that a misspelt setting or choice gives an error message
        dataset: Dataset = cls(**arguments_of(cls, {**settings, **scenario.settings}))
    except InputError:
        raise
    except (jsonargparse.ArgumentError, ValueError) as error:
        reason = one_line(error)[:300]
        raise InputError(
            f"{name} cannot be made with {dict(scenario.settings)}: {reason}"
        ) from error
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
