"""Check of predictors."""

import pickle

import torch
from torch import Tensor

from dislab.base import Predictor, PredictorBuilder
from dislab.functional.random import device_generator
from dislab.testing._claims import CPU, must, random_states, refuses


def check_predictor(build: PredictorBuilder, images: int = 400) -> None:
    """Checks that a predictor fits each factor and run independently and deterministically.

    It must also be restorable from its state dict. On codes that are linear in the factors, with
    little noise, it predicts numeric factors better than their mean and categorical ones better
    than the most frequent class. It handles a constant latent, a constant factor and a single
    image; it rejects codes with NaN and predictions before `fit`. It leaves its inputs and the
    global random states unchanged.

    Args:
        build: The class, or a partial of it.
        images: Number of training images.
    """
    codes, targets = _training_data(2 * images, device_generator(CPU, 0))
    known, wanted = codes[:, :images], targets[:images]
    asked, truth = codes[:, images:], targets[images:]
    before, states = (known.clone(), wanted.clone(), asked.clone()), random_states()
    predictor = build(5, (0, 3, 0))
    refuses(lambda: predictor.predict(asked), "it refuses to predict before it has learnt")
    found = _learnt(predictor, known, wanted, asked)
    must(found.shape == (2, images, 3), "predictions have shape (run, image, factor)")
    must(found.dtype == codes.dtype, "predictions are typed as codes are")
    must(states == random_states(), "it draws from a generator of its own")
    for one, other in zip(before, (known, wanted, asked), strict=True):
        must(torch.equal(one, other), "it leaves codes and targets alone")
    _check_accuracy(found, wanted, truth)
    again = _learnt(build(5, (0, 3, 0)), known, wanted, asked)
    must(torch.equal(found, again), "it learns the same every time")
    _learnt(predictor, known + 1, wanted.flip(0), asked)
    with torch.inference_mode():
        again = _learnt(predictor, known.clone(), wanted.clone(), asked.clone())
    must(torch.equal(found, again), "it learns from scratch, in inference mode too")
    stored = pickle.loads(pickle.dumps(predictor))
    must(torch.equal(found, stored.predict(asked)), "it survives pickling")
    few = predictor.predict(asked[:, :7])
    must(_alike(few, found[:, :7]), "a prediction depends on no other image")
    _check_independence(build, (known, wanted, asked), found)
    _check_scarce_data(build, known, wanted, asked)


def _training_data(images: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Codes of two runs with a constant last latent; targets: numeric, categorical, numeric."""
    hidden = torch.rand(images, 3, generator=generator)
    kind = (3 * hidden[:, 1]).floor().clamp(max=2)
    targets = torch.stack([hidden[:, 0], kind, hidden[:, 2]], 1)
    axes, _ = torch.linalg.qr(torch.randn(2, 4, 3, generator=generator))
    mixed = hidden @ axes.mT
    noisy = mixed + 0.01 * torch.randn(2, images, 4, generator=generator)
    return torch.cat([noisy, torch.full((2, images, 1), 0.1)], 2), targets


def _learnt(predictor: Predictor, known: Tensor, wanted: Tensor, asked: Tensor) -> Tensor:
    predictor.fit(known, wanted)
    return predictor.predict(asked)


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether predictions agree up to rounding, which seldom changes a class."""
    return bool(torch.isclose(one, other, rtol=0, atol=1e-3).double().mean() > 0.97)


def _check_accuracy(found: Tensor, wanted: Tensor, truth: Tensor) -> None:
    for factor in (0, 2):
        error = (found[..., factor] - truth[:, factor]).abs().mean(1)
        least = (truth[:, factor] - wanted[:, factor].mean()).abs().mean() / 2
        must(bool((error < least).all()), "its errors are less than half those of the mean")
    kinds = found[..., 1]
    must(
        set(torch.unique(kinds).tolist()) <= {0.0, 1.0, 2.0}, "a kind is predicted as class number"
    )
    right = (kinds == truth[:, 1]).double().mean(1)
    must(bool((right > 0.5).all()), "kinds are predicted better than by chance")


def _check_independence(
    build: PredictorBuilder, data: tuple[Tensor, Tensor, Tensor], found: Tensor
) -> None:
    known, wanted, asked = data
    for run in range(2):
        own = slice(run, run + 1)
        alone = _learnt(build(5, (0, 3, 0)), known[own], wanted, asked[own])
        must(_alike(alone, found[own]), f"run {run} is learnt alike without the other one")
    for factor, classes in enumerate((0, 3, 0)):
        column = slice(factor, factor + 1)
        alone = _learnt(build(5, (classes,)), known, wanted[:, column], asked)
        must(_alike(alone, found[..., column]), f"factor {factor} is learnt alike by itself")


def _check_scarce_data(
    build: PredictorBuilder, known: Tensor, wanted: Tensor, asked: Tensor
) -> None:
    still = wanted.clone()
    still[:, 0], still[:, 1] = 0.3, 2
    found = _learnt(build(5, (0, 3, 0)), known, still, asked + 2)
    number = bool(torch.isclose(found[..., 0], found.new_tensor(0.3), atol=1e-5).all())
    must(number, "of a factor with one value that value is predicted")
    must(bool((found[..., 1] == 2).all()), "of a kind with one class that class is predicted")
    found = _learnt(build(5, (0, 3, 0)), known[:, :1], wanted[:1], asked)
    must(bool(torch.isclose(found, wanted[:1], atol=1e-5).all()), "one image is enough")
    predictor = build(5, (0, 3, 0))
    broken = known.clone()
    broken[1, 3, 2] = torch.nan
    refuses(lambda: predictor.fit(broken, wanted), "it refuses to learn from codes with NaN")
    predictor.fit(known, wanted)
    refuses(lambda: predictor.predict(broken), "it refuses to predict from codes with NaN")
    refuses(lambda: predictor.predict(known[..., :4]), "it refuses codes of another length")
