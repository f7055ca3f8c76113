"""Unfairness of predictions from codes."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Int

from dislab.base import PredictorBuilder
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator
from dislab.predictors import GradientBoosting
from dislab_downstream.observations import MOST_VALUES, Observations

LEAST_IMAGES: Final = 10
"""Fewest images to learn from, and fewest of an intervention."""


class Unfairness(NamedTuple):
    """Unfairness of predictions.

    Attributes:
        pairs: Unfairness in [0, 1] by the predicted and the sensitive factor.
        accuracy: Share of right predictions of images that nothing was learnt from, averaged over
            the predicted factors. A constant prediction is fair.
    """

    pairs: dict[tuple[str, str], float]
    accuracy: float

    @property
    def mean(self) -> float:
        """Mean over pairs."""
        return float(np.mean(list(self.pairs.values())))


def total_variation(predictions: Int[np.ndarray, "value image"]) -> float:
    """Mean over values of the total variation between p(ŷ | do(s = c)) and p(ŷ), in [0, 1].

    p(ŷ) is the mean of p(ŷ | do(s = c)) over the values c of the sensitive factor s.

    Args:
        predictions: Predicted classes; row c is of images whose sensitive factor was set to its
            value c.

    Raises:
        InputError: There are fewer than two values, or no images.
    """
    if len(predictions) < 2 or not predictions.size:
        raise InputError(
            f"predictions have shape {predictions.shape}; they need two values of the sensitive "
            "factor, and an image"
        )
    shares = np.stack([(predictions == label).mean(1) for label in np.unique(predictions)], 1)
    return float(np.abs(shares - shares.mean(0)).sum(1).mean() / 2)


def unfairness(
    observations: Observations,
    targets: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    train: int = 5_000,
    test: int = 500,
    predictor: PredictorBuilder = GradientBoosting,
    seed: int = 0,
) -> Unfairness:
    """Unfairness of the prediction of each target for each sensitive factor.

    A predictor learns each target from codes. In `test` images the sensitive factor is set to each
    of its values in turn, while all other factors stay, and `total_variation` compares the
    predictions. An image is left out if one of these combinations does not exist.

    Locatello et al. (2019), https://arxiv.org/abs/1905.13662, section 4; there the trees are
    scikit-learn's `GradientBoostingClassifier`, and `test` is 100.

    Args:
        observations: Result of `of_run` or `of_arrays`.
        targets: Names of the factors to predict; all with 2 to 100 values unless given.
        sensitive: Names of the factors to intervene on; likewise.
        train: Number of images to learn from; at most two thirds of all.
        test: Number of images of each intervention.
        predictor: Makes the predictor of the targets.
        seed: Seed of the draws.

    Raises:
        InputError: A factor does not exist, is constant or has more than 100 values, there is no
            pair of factors, or there are too few images.
    """
    check_count("train", train, LEAST_IMAGES)
    check_count("test", test, LEAST_IMAGES)
    space = observations.space
    predicted = _columns(space, targets, "target")
    changed = _columns(space, sensitive, "sensitive")
    if not any(target != other for target in predicted for other in changed):
        raise InputError(
            "there is no pair of a target and another sensitive factor; name different ones with "
            f"2 to {MOST_VALUES} values each"
        )
    learnt, held_out = _draw(space, train, test, seed)
    blocks = [_intervened(space, column, test, seed) for column in changed]
    states = np.concatenate([learnt, held_out, *(block.ravel() for block in blocks)])
    codes = torch.from_numpy(observations.codes(states)).double()[None]
    model = predictor(codes.shape[2], tuple(space.sizes[column] for column in predicted))
    labels = torch.from_numpy(space.positions(states)[:, predicted])
    model.fit(codes[:, : len(learnt)], labels[: len(learnt)].double())
    results = model.predict(codes[:, len(learnt) :])[0].long().numpy()
    right = results[: len(held_out)] == labels[len(learnt) :][: len(held_out)].numpy()
    parts = np.split(results, np.cumsum([len(held_out), *(block.size for block in blocks)]))[1:-1]
    pairs = {
        (space.names[target], space.names[column]): total_variation(
            part[:, row].reshape(block.shape)
        )
        for row, target in enumerate(predicted)
        for column, block, part in zip(changed, blocks, parts, strict=True)
        if target != column
    }
    return Unfairness(pairs, float(right.mean()))


def _columns(space: FactorSpace, names: Sequence[str], role: str) -> list[int]:
    """Columns of the named factors, or of all with a suitable number of values."""
    for name in names:
        size = len(space[name])
        if size < 2:
            raise InputError(
                f"the {role} factor {name} has a single value in these images, so that nothing "
                "can be learnt about it; leave it out"
            )
        if size > MOST_VALUES:
            raise InputError(
                f"the {role} factor {name} has {size:,} values; the most is {MOST_VALUES}"
            )
    if names:
        return [space.column(name) for name in dict.fromkeys(names)]
    return [column for column, size in enumerate(space.sizes) if 2 <= size <= MOST_VALUES]


def _draw(space: FactorSpace, train: int, test: int, seed: int) -> tuple[Indices, Indices]:
    """States to learn from, and others."""
    states = host_generator(seed, 0).permutation(len(space))
    train = min(train, 2 * len(space) // 3)
    if train < LEAST_IMAGES:
        raise InputError(
            f"there are {len(space)} images with different factors; {2 * LEAST_IMAGES} are needed "
            "to learn from some and to test on others"
        )
    return states[:train], states[train : train + test]


def _intervened(space: FactorSpace, column: int, test: int, seed: int) -> Indices:
    """States of images for every value of a factor, shape (value, image)."""
    states = host_generator(seed, 1, column).permutation(len(space))
    for count in (4 * test, len(space)):  # all are tried only if combinations are rare
        positions = np.repeat(space.positions(states[:count])[None], space.sizes[column], 0)
        positions[..., column] = np.arange(space.sizes[column])[:, None]
        found = space.find(positions)
        complete = found[:, (found >= 0).all(0)][:, :test]
        if complete.shape[1] == test:
            break
    if complete.shape[1] < LEAST_IMAGES:
        raise InputError(
            f"only {complete.shape[1]} images exist with every value of the sensitive factor "
            f"{space.names[column]} and the same other factors; {LEAST_IMAGES} are needed"
        )
    return complete
