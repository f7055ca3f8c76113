"""Check of predictors."""

import pickle

import torch
from torch import Tensor

from dislab.base import Predictor, PredictorBuilder
from dislab.functional.random import device_generator
from dislab.testing._claims import (
    CPU,
    must,
    must_be,
    must_equal,
    must_have,
    must_keep_states,
    part_from,
    random_states,
    refuses,
)


def check_predictor(build: PredictorBuilder, images: int = 400) -> None:
    """Checks that a predictor fits each factor and run independently and deterministically.

    It also survives pickling and takes other numbers of latents and factors. On codes that are
    linear in the factors, with little noise, it predicts numeric factors better than their mean and
    categorical ones better than the most frequent class. It handles a constant latent, a constant
    factor and a single image; it rejects codes with NaN and predictions before `fit`. It leaves its
    inputs and the global random states unchanged.

    Args:
        build: The class, or a partial of it.
        images: Number of training images.
    """
    codes, targets = _training_data(2 * images, device_generator(CPU, 0))
    train, train_targets = codes[:, :images], targets[:images]
    test, truth = codes[:, images:], targets[images:]
    before, states = (train.clone(), train_targets.clone(), test.clone()), random_states()
    predictor = part_from(Predictor, build, latents=5, classes=(0, 3, 0))
    refuses(lambda: predictor.predict(test), "it refuses to predict before it has learnt")
    predicted = _predicted(predictor, train, train_targets, test)
    must_be(predicted, Tensor, "predict returns")
    must_have(predicted, (2, images, 3), "predictions (run, image, factor) have")
    must(predicted.dtype == codes.dtype, f"predictions are {codes.dtype}, not {predicted.dtype}")
    must_keep_states(states, "it draws from a generator of its own")
    for copy, original in zip(before, (train, train_targets, test), strict=True):
        must_equal(original, copy, "it leaves codes and targets alone")
    _check_accuracy(predicted, train_targets, truth)
    again = _predicted(build(5, (0, 3, 0)), train, train_targets, test)
    must_equal(again, predicted, "it learns the same every time from the same codes")
    _predicted(predictor, train + 1, train_targets.flip(0), test)
    with torch.inference_mode():
        again = _predicted(predictor, train.clone(), train_targets.clone(), test.clone())
    must_equal(again, predicted, "it learns from scratch at each fit, in inference mode too")
    stored = pickle.loads(pickle.dumps(predictor))
    must_equal(stored.predict(test), predicted, "it predicts the same after pickling")
    few = predictor.predict(test[:, :7])
    _must_be_alike(few, predicted[:, :7], "a prediction depends on no other image of the call")
    _check_independence(build, (train, train_targets, test), predicted)
    _check_scarce_data(build, train, train_targets, test)


def _training_data(images: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Codes of two runs with a constant last latent; targets: numeric, categorical, numeric."""
    hidden = torch.rand(images, 3, generator=generator)
    kind = (3 * hidden[:, 1]).floor().clamp(max=2)
    targets = torch.stack([hidden[:, 0], kind, hidden[:, 2]], 1)
    axes, _ = torch.linalg.qr(torch.randn(2, 4, 3, generator=generator))
    mixed = hidden @ axes.mT
    noisy = mixed + 0.01 * torch.randn(2, images, 4, generator=generator)
    return torch.cat([noisy, torch.full((2, images, 1), 0.1)], 2), targets


def _predicted(predictor: Predictor, train: Tensor, train_targets: Tensor, test: Tensor) -> Tensor:
    predictor.fit(train, train_targets)
    return predictor.predict(test)


def _must_be_alike(first: Tensor, second: Tensor, claim: str) -> None:
    """Refuses predictions that differ by more than rounding, which seldom changes a class."""
    share = float(torch.isclose(first, second, rtol=0, atol=1e-3).double().mean())
    must(share > 0.97, f"{claim}; {1 - share:.0%} of the predictions differ")


def _check_accuracy(predicted: Tensor, train_targets: Tensor, truth: Tensor) -> None:
    for factor in (0, 2):
        error = (predicted[..., factor] - truth[:, factor]).abs().mean(1)
        least = (truth[:, factor] - train_targets[:, factor].mean()).abs().mean() / 2
        must(
            bool((error < least).all()),
            "its errors are less than half those of the mean, on codes that are linear in the "
            f"factors; those of factor {factor} are {error.max():.3g}, and half of those of the "
            f"mean {least:.3g}",
        )
    kinds = predicted[..., 1]
    others = sorted(set(torch.unique(kinds).tolist()) - {0.0, 1.0, 2.0})
    must(
        not others,
        f"a kind of three classes is predicted as class number 0, 1 or 2, not {others[:1]}",
    )
    right = (kinds == truth[:, 1]).double().mean(1)
    must(
        bool((right > 0.5).all()),
        f"kinds are predicted better than by chance, right in more than half of the images, not "
        f"in {right.min():.0%}",
    )


def _check_independence(
    build: PredictorBuilder, data: tuple[Tensor, Tensor, Tensor], predicted: Tensor
) -> None:
    train, train_targets, test = data
    for run in range(2):
        separate = slice(run, run + 1)
        alone = _predicted(build(5, (0, 3, 0)), train[separate], train_targets, test[separate])
        claim = f"run {run} is learnt alike without the other one"
        _must_be_alike(alone, predicted[separate], claim)
    fewer = _predicted(build(3, (0,)), train[..., :3], train_targets[:, :1], test[..., :3])
    must_have(fewer, (2, len(test[0]), 1), "predictions of one factor from three latents have")
    for factor, classes in enumerate((0, 3, 0)):
        column = slice(factor, factor + 1)
        alone = _predicted(build(5, (classes,)), train, train_targets[:, column], test)
        _must_be_alike(alone, predicted[..., column], f"factor {factor} is learnt alike by itself")


def _check_scarce_data(
    build: PredictorBuilder, train: Tensor, train_targets: Tensor, test: Tensor
) -> None:
    still = train_targets.clone()
    still[:, 0], still[:, 1] = 0.3, 2
    predicted = _predicted(build(5, (0, 3, 0)), train, still, test + 2)
    for column, value in ((0, 0.3), (1, 2.0)):
        constant = torch.full_like(predicted[..., column], value)
        claim = f"of a factor with the single value {value} that value is predicted"
        must_equal(predicted[..., column], constant, claim, exact=column == 1)
    predicted = _predicted(build(5, (0, 3, 0)), train[:, :1], train_targets[:1], test)
    alone = train_targets[:1].expand_as(predicted)
    claim = "one image to learn from is enough, and its values are predicted for all"
    must_equal(predicted, alone, claim, exact=False)
    predictor = build(5, (0, 3, 0))
    broken = train.clone()
    broken[1, 3, 2] = torch.nan
    refuses(lambda: predictor.fit(broken, train_targets), "it refuses to learn from codes with NaN")
    predictor.fit(train, train_targets)
    refuses(lambda: predictor.predict(broken), "it refuses to predict from codes with NaN")
    refuses(lambda: predictor.predict(train[..., :4]), "it refuses codes of another length")
