"""Observations of a world: images, codes of a trained model, or true factors."""

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Final, Literal, final, get_args

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.spaces import Box

from dislab.base import Objective
from dislab.errors import InputError
from dislab.functional.checks import check_choice
from dislab.runs import load_run, rebuild
from dislab_control.world import States, World

Observation = Literal["pixels", "codes", "factors", "untrained"]
"""Images; codes of a run's model; true factors of visible objects; codes of the run's model with
initial weights."""

OBSERVATIONS: tuple[str, ...] = get_args(Observation)

_SMALLEST: Final = 36


class Observer(ABC):
    """Computes observations of states."""

    space: Box
    """Space of one observation."""

    @abstractmethod
    def observe(self, states: States) -> npt.NDArray[Any]:
        """Computes observations, one row per state.

        Args:
            states: Values of the factors.
        """


@final
class Pixels(Observer):
    """Observes images as bytes, channels first.

    Pixels of small images are repeated, as the convolutional network of stable-baselines3 needs 36
    rows and columns.

    Args:
        world: The world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        height, width, channels = world.image_shape
        self._times = math.ceil(_SMALLEST / min(height, width))
        shape = (channels, height * self._times, width * self._times)
        self.space = Box(0, 255, shape, np.uint8)

    def observe(self, states: States) -> npt.NDArray[Any]:
        """Renders images of states."""
        images = self._world.draw(states).transpose(0, 3, 1, 2)
        return np.ascontiguousarray(images.repeat(self._times, 2).repeat(self._times, 3))


@final
class Factors(Observer):
    """Observes true factors of visible objects.

    Args:
        world: The world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        example = world.seen(world.start(np.random.default_rng(0)))
        self.space = Box(-np.inf, np.inf, example.shape[1:], np.float32)

    def observe(self, states: States) -> npt.NDArray[Any]:
        """True factors of visible objects in states."""
        return self._world.seen(states)


@final
class Codes(Observer):
    """Observes codes of a frozen model, computed for all states of a step at once.

    Args:
        world: The world.
        model: The model; set to evaluation mode.
        device: Device of the model.

    Raises:
        InputError: The model has no codes, or takes images of another shape.
    """

    def __init__(self, world: World, model: Objective, device: str) -> None:
        height, width, channels = world.image_shape
        name, shape = type(model).__name__, (channels, height, width)
        if not model.has_codes:
            raise InputError(f"{name} has no codes, so no agent can learn on them")
        made_for = tuple(model.hparams.get("image_shape") or shape)
        if made_for != shape:
            raise InputError(
                f"the encoder takes images of {_shape(made_for)}, but those of the world have "
                f"{_shape(shape)} (channels, height, width); train one on WorldFrames of this world"
            )
        self._world, self._device = world, device
        self._model = model.to(device).eval().requires_grad_(False)
        with torch.random.fork_rng(devices=[]):  # the first batch initialises lazy modules
            example = self.observe(world.start(np.random.default_rng(0)))
        self.space = Box(-np.inf, np.inf, example.shape[1:], np.float32)

    @torch.no_grad()
    def observe(self, states: States) -> npt.NDArray[Any]:
        """Encodes states to codes in float32."""
        images = torch.from_numpy(self._world.draw(states)).to(self._device)
        pixels = images.permute(0, 3, 1, 2).contiguous().float() / 255
        return self._model.codes(pixels).float().cpu().numpy()


def observer(
    world: World,
    observations: str,
    encoder: str | Path | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> Observer:
    """Creates the observer of a world.

    Args:
        world: The world.
        observations: One of `OBSERVATIONS`.
        encoder: Run folder of the model; required for `codes` and `untrained`, otherwise ignored.
        seed: Seed of the initial weights for `untrained`.
        device: Device of the model.

    Raises:
        InputError: There are no such observations, the encoder is missing, is no run folder, has no
            codes, or takes images of another shape.
    """
    check_choice("observations", observations, OBSERVATIONS)
    if observations == "pixels":
        return Pixels(world)
    if observations == "factors":
        return Factors(world)
    if encoder is None:
        raise InputError(
            f"observations is {observations!r}, which needs the run of a trained model; give "
            "encoder, or choose pixels or factors"
        )
    model = load_run(encoder)
    return Codes(world, fresh(model, seed) if observations == "untrained" else model, device)


def fresh(model: Objective, seed: int) -> Objective:
    """Copies a model with newly initialised weights.

    Args:
        model: The model, on the CPU.
        seed: Seed of the weights.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return rebuild(model)


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape))
