"""Many small networks of one shape, trained together in batched matrix products."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

IMAGES_AT_ONCE: Final = 4096
"""Number of images predicted together; changes no result."""


class Targets(NamedTuple):
    """Targets of the networks, the same for all runs.

    Attributes:
        numeric: Which factors are regressed, shape (factor,).
        numbers: Regression targets, 0 for classified factors, shape (factor, image).
        kinds: Target class numbers, 0 for regressed factors, shape (factor, image).
        classes: Number of classes of each factor; 0 if it is regressed.
        seen: Outputs that may be predicted: for a classified factor, those of classes that occur in
            training, shape (factor, output).
    """

    numeric: Tensor
    numbers: Tensor
    kinds: Tensor
    classes: tuple[int, ...]
    seen: Tensor


def first_layers(
    sizes: Sequence[int], classes: Sequence[int], runs: int, seeds: Sequence[int]
) -> list[Tensor]:
    """Initial weights, shape (run · factor, in, out), and biases, (run · factor, 1, out), in turn.

    All are uniform within ±1/√(number of inputs), as in `torch.nn.Linear`. All networks start from
    the same numbers, so that none depends on the others. Weights of outputs that a factor does not
    need are zero and stay zero.

    Args:
        sizes: Number of inputs, and of units of each hidden layer.
        classes: Number of classes of each factor; 0 if it is regressed, with one output.
        runs: Number of runs.
        seeds: Seeds of the layers, one per layer.
    """
    needed = [max(1, count) for count in classes]
    layers: list[Tensor] = []
    for seed, inputs, units in zip(seeds, sizes, (*sizes[1:], max(needed)), strict=True):
        widths = needed if len(layers) == 2 * (len(sizes) - 1) else [units] * len(classes)
        weights = {width: _uniform(width, inputs + 1, seed) for width in set(widths)}
        # narrower output layers are padded to a common width after the draw
        padded = [
            torch.nn.functional.pad(weights[width], (0, 0, 0, units - width)) for width in widths
        ]
        stacked = torch.stack(padded).mT.div(math.sqrt(inputs)).repeat(runs, 1, 1)
        layers += [stacked[:, :-1].contiguous(), stacked[:, -1:].contiguous()]
    return layers


def outputs(
    layers: Sequence[Tensor], codes: Float[Tensor, "run image latent"]
) -> Float[Tensor, "run factor image output"]:
    """Outputs of the networks for the standardised codes of their runs."""
    runs, images, latents = codes.shape
    factors = len(layers[0]) // runs
    hidden = codes[:, None].expand(runs, factors, images, latents).flatten(0, 1)
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        hidden = torch.baddbmm(bias, hidden, weight).relu_()
    values = torch.baddbmm(layers[-1], hidden, layers[-2])
    return values.view(runs, factors, images, -1)


def train(
    layers: Sequence[Tensor],
    codes: Float[Tensor, "run image latent"],
    targets: Targets,
    batches: Int[Tensor, "step batch"],
    learning_rate: float,
) -> list[Tensor]:
    """Trains with one Adam step per batch and a learning rate that decays to 0 as a half cosine.

    Every network trains on the same batches. Losses are summed over networks, so that gradients and
    steps equal those of separate training. Kingma and Ba (2015), https://arxiv.org/abs/1412.6980;
    Loshchilov and Hutter (2017), https://arxiv.org/abs/1608.03983, eq. 5 without restarts.
    """
    # a score computed during a model's test may run in inference mode
    with torch.inference_mode(mode=False), torch.enable_grad():
        codes = codes.clone()
        batch_targets = Targets(
            targets.numeric.clone(),
            targets.numbers.clone(),
            targets.kinds.clone(),
            targets.classes,
            targets.seen.clone(),
        )
        parameters = [layer.detach().clone().requires_grad_() for layer in layers]
        adam = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
        for step, rows in enumerate(batches.clone()):
            loss = _loss(outputs(parameters, codes[:, rows]), batch_targets, rows)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            share = (1 + math.cos(math.pi * step / len(batches))) / 2
            adam.param_groups[0]["lr"] = learning_rate * share
            adam.step()
    return [parameter.detach() for parameter in parameters]


def decided(
    layers: Sequence[Tensor], codes: Float[Tensor, "run image latent"], targets: Targets
) -> Float[Tensor, "run image factor"]:
    """Values and class numbers that the networks predict from standardised codes."""
    parts = []
    for some in torch.split(codes, IMAGES_AT_ONCE, dim=1):
        predicted = outputs(layers, some)
        best = predicted.masked_fill(~targets.seen[:, None], -torch.inf).argmax(3)
        parts.append(torch.where(targets.numeric[:, None], predicted[..., 0], best).mT)
    return torch.cat(parts, 1)


def _uniform(rows: int, columns: int, seed: int) -> Float[Tensor, "row column"]:
    return 2 * torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed)) - 1


def _loss(
    predicted: Float[Tensor, "run factor image output"],
    targets: Targets,
    rows: Int[Tensor, " image"],
) -> Float[Tensor, ""]:
    """Sum over networks of mean squared errors (regression) or cross-entropies (classification)."""
    runs = len(predicted)
    error = predicted[..., 0] - targets.numbers[:, rows]
    loss = (error.square().mean(2).sum(0) * targets.numeric).sum()
    for factor, count in enumerate(targets.classes):
        if count:
            logits = predicted[:, factor, :, :count].masked_fill(
                ~targets.seen[factor, :count], -torch.inf
            )
            classes = targets.kinds[factor, rows].repeat(runs)
            loss = loss + runs * cross_entropy(logits.flatten(0, 1), classes)
    return loss
