"""Accuracy of abstract reasoning on codes, pixels and true factors."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_choice, check_count
from dislab.functional.random import host_generator, mix
from dislab_downstream.matrices import Answers, Matrices, check_sizes, draw_matrices
from dislab_downstream.observations import Observations
from dislab_downstream.relation_network import RelationNetwork

Source = Literal["codes", "pixels", "factors"]
"""Input of the relation network: codes, images through a small convolutional network that is
trained with it, or one-hot codes of the true factors."""

BATCH: Final = 32
"""Matrices of a training step."""


class Task(NamedTuple):
    """Matrices whose panels are images of a model's data.

    Attributes:
        matrices: The matrices; those to test on come last.
        sizes: Number of values of each factor in `matrices`.
        states: State numbers of the panels, shape (matrix, 14).
        test: Number of matrices to test on.
    """

    matrices: Matrices
    sizes: tuple[int, ...]
    states: Indices
    test: int


def draw_task(
    observations: Observations,
    train: int,
    test: int = 2_000,
    factors: Sequence[str] = (),
    values: int = 4,
    answers: Answers = "easy",
    seed: int = 0,
) -> Task:
    """Draws matrices of the images of a model's data.

    A factor with more than `values` values takes every n-th of them, so that panels are easy to
    tell apart. Other factors keep their first value.

    Args:
        observations: Result of `of_run` or `of_arrays`.
        train: Number of matrices to learn from.
        test: Number of matrices to test on.
        factors: Names of the factors that take part; all that vary unless given.
        values: Largest number of values of a factor.
        answers: Origin of wrong answers; see `draw_matrices`.
        seed: Seed of the draw.

    Raises:
        InputError: A factor does not exist or has fewer than three values, a combination of values
            has no image, or a number is too small.
    """
    check_count("train", train, 1)
    check_count("test", test, 1)
    check_count("values", values, 3)
    space = observations.space
    columns = [space.column(name) for name in dict.fromkeys(factors)]
    columns = columns or [column for column, size in enumerate(space.sizes) if size > 1]
    sizes = tuple(min(space.sizes[column], values) for column in columns)
    check_sizes(sizes, answers, [space.names[column] for column in columns])
    matrices = draw_matrices(sizes, train + test, seed, answers)
    positions = np.zeros((*matrices.panels.shape[:2], len(space.sizes)), np.int64)
    for row, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        positions[..., column] = matrices.panels[..., row] * space.sizes[column] // size
    states = space.find(positions)
    if (states < 0).any():
        raise InputError(
            f"{(states < 0).mean():.0%} of the panels are combinations of factor values that have "
            "no image; name factors whose combinations all exist"
        )
    return Task(matrices, sizes, states, test)


def reasoning(
    observations: Observations,
    samples: Sequence[int] = (100, 1_000, 10_000),
    source: Source = "codes",
    test: int = 2_000,
    steps: int = 600,
    factors: Sequence[str] = (),
    values: int = 4,
    answers: Answers = "easy",
    seed: int = 0,
) -> dict[int, float]:
    """Accuracy of a relation network on new matrices, by the number of training matrices.

    A network is trained for each number, with Adam, a rate of 0.001 and batches of 32 matrices; the
    codes are frozen. A random choice has an accuracy of 1/6.

    Van Steenkiste et al. (2019), https://arxiv.org/abs/1905.12506, who train on new matrices in
    each step instead.

    Args:
        observations: Result of `of_run` or `of_arrays`.
        samples: Numbers of training matrices.
        source: Input of the relation network.
        test: Number of matrices to test on.
        steps: Steps of training.
        factors: Names of the factors that take part; all that vary unless given.
        values: Largest number of values of a factor.
        answers: Origin of wrong answers; see `draw_matrices`.
        seed: Seed of matrices, initial weights and batches.

    Raises:
        InputError: As for `draw_task`, a number is too small, or there are no pixels.
    """
    check_choice("source", source, get_args(Source))
    check_count("steps", steps, 1)
    if not samples:
        raise InputError("samples is empty; give numbers of training matrices, such as 100")
    for count in samples:
        check_count("samples", count, 1)
    task = draw_task(observations, max(samples), test, factors, values, answers, seed)
    table, rows = _table(observations, task, source)
    right = torch.from_numpy(task.matrices.right)
    return {
        count: _accuracy(table, rows, right, count, task.test, steps, mix(seed, count))
        for count in sorted(set(samples))
    }


def _table(
    observations: Observations, task: Task, source: Source
) -> tuple[Float[Tensor, "state *feature"], Tensor]:
    """Features of the different panels, and the row of each panel, shape (matrix, 14)."""
    unique, first, rows = np.unique(task.states, return_index=True, return_inverse=True)
    numbers = torch.from_numpy(rows.reshape(task.states.shape))
    if source == "factors":
        panels = torch.from_numpy(task.matrices.panels.reshape(-1, len(task.sizes))[first])
        hot = [nn.functional.one_hot(*part) for part in zip(panels.T, task.sizes, strict=True)]
        return torch.cat(hot, 1).float(), numbers
    if source == "pixels":
        if observations.images is None:
            raise InputError("there are no images, only codes; source is codes or factors")
        return torch.from_numpy(observations.images(unique)), numbers
    codes: npt.NDArray[Any] = observations.codes(unique).astype(np.float64)
    spread = codes.std(0)
    codes = (codes - codes.mean(0)) / np.where(spread > 0, spread, 1.0)
    return torch.from_numpy(codes).float(), numbers


class _Network(nn.Module):
    """A relation network, after a convolutional one if panels are images."""

    def __init__(self, features: torch.Size) -> None:
        super().__init__()
        self.embed: nn.Module = nn.Identity()
        width = features[0]
        if len(features) == 3:
            channels = (features[0], 32, 32, 64, 64)
            convolutions = [
                part
                for ends in pairwise(channels)
                for part in (nn.Conv2d(*ends, 4, 2, 1), nn.ReLU())
            ]
            self.embed = nn.Sequential(*convolutions, nn.Flatten())
            width = self.embed(torch.zeros(1, *features)).shape[1]
        self.relations = RelationNetwork(width)

    def forward(self, panels: Float[Tensor, "matrix 14 *feature"]) -> Float[Tensor, "matrix 6"]:
        embedded = self.embed(panels.flatten(0, 1)).unflatten(0, panels.shape[:2])
        logits: Tensor = self.relations(embedded)
        return logits


def _accuracy(
    table: Tensor, rows: Tensor, right: Tensor, count: int, test: int, steps: int, seed: int
) -> float:
    """Accuracy on the last `test` matrices after training on the first `count`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _Network(table.shape[1:])
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    generator = host_generator(seed)
    for _ in range(steps):
        batch = torch.from_numpy(generator.integers(count, size=BATCH))
        loss = nn.functional.cross_entropy(network(table[rows[batch]]), right[batch])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        chosen = [network(table[part]).argmax(1) for part in torch.split(rows[-test:], 250)]
    return float((torch.cat(chosen) == right[-test:]).double().mean())
