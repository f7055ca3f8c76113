"""Many small networks of one shape, trained side by side in batched products."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

IMAGES_AT_ONCE: Final = 4096
"""Images that are predicted together; changes no result."""


class Lesson(NamedTuple):
    """Targets of the networks, the same for all runs.

    Attributes:
        number: Which factors are numbers, shape (factor,).
        numbers: Target numbers, 0 for a kind, shape (factor, image).
        kinds: Target class numbers, 0 for a number, shape (factor, image).
        classes: Number of classes of each factor; 0 for a number.
        seen: Outputs of a network that may win: for a kind those of classes that some image has,
            shape (factor, output).
    """

    number: Tensor
    numbers: Tensor
    kinds: Tensor
    classes: tuple[int, ...]
    seen: Tensor


def first_layers(
    sizes: Sequence[int], classes: Sequence[int], runs: int, seeds: Sequence[int]
) -> list[Tensor]:
    """Weights and biases before training, in turn: (run · factor, in, out), (run · factor, 1, out).

    All are uniform within ±1/√(number of inputs), as those of `torch.nn.Linear`. Every network
    starts from the same numbers, and so does not depend on the others. Outputs that a factor does
    not need are zero and stay so.

    Args:
        sizes: Number of inputs, and of units of each hidden layer.
        classes: Number of classes of each factor; 0 for a number, which has one output.
        runs: Number of runs.
        seeds: Seeds of the layers, one each.
    """
    needed = [max(1, count) for count in classes]
    layers: list[Tensor] = []
    for seed, inputs, units in zip(seeds, sizes, (*sizes[1:], max(needed)), strict=True):
        widths = needed if len(layers) == 2 * (len(sizes) - 1) else [units] * len(classes)
        drawn = {width: _uniform(width, inputs + 1, seed) for width in set(widths)}
        # the rows of narrower outputs are padded, after they are drawn, to one width for all
        whole = [
            torch.nn.functional.pad(drawn[width], (0, 0, 0, units - width)) for width in widths
        ]
        stacked = torch.stack(whole).mT.div(math.sqrt(inputs)).repeat(runs, 1, 1)
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
    made = torch.baddbmm(layers[-1], hidden, layers[-2])
    return made.view(runs, factors, images, -1)


def train(
    layers: Sequence[Tensor],
    codes: Float[Tensor, "run image latent"],
    lesson: Lesson,
    batches: Int[Tensor, "step batch"],
    learning_rate: float,
) -> list[Tensor]:
    """The layers after one step of Adam a batch, with a rate that falls to 0 along half a cosine.

    Every network trains on the same batches. Losses are added over networks, so that gradients and
    steps are those of each network alone. Kingma and Ba (2015), https://arxiv.org/abs/1412.6980;
    Loshchilov and Hutter (2017), https://arxiv.org/abs/1608.03983, eq. 5 without restarts.
    """
    # a score that is computed while a model is tested may run in inference mode
    with torch.inference_mode(mode=False), torch.enable_grad():
        codes = codes.clone()
        own = Lesson(
            lesson.number.clone(),
            lesson.numbers.clone(),
            lesson.kinds.clone(),
            lesson.classes,
            lesson.seen.clone(),
        )
        parameters = [layer.detach().clone().requires_grad_() for layer in layers]
        adam = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
        for step, rows in enumerate(batches.clone()):
            loss = _loss(outputs(parameters, codes[:, rows]), own, rows)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            share = (1 + math.cos(math.pi * step / len(batches))) / 2
            adam.param_groups[0]["lr"] = learning_rate * share
            adam.step()
    return [parameter.detach() for parameter in parameters]


def decided(
    layers: Sequence[Tensor], codes: Float[Tensor, "run image latent"], lesson: Lesson
) -> Float[Tensor, "run image factor"]:
    """Numbers and class numbers that the networks predict from standardised codes."""
    parts = []
    for some in torch.split(codes, IMAGES_AT_ONCE, dim=1):
        made = outputs(layers, some)
        best = made.masked_fill(~lesson.seen[:, None], -torch.inf).argmax(3)
        parts.append(torch.where(lesson.number[:, None], made[..., 0], best).mT)
    return torch.cat(parts, 1)


def _uniform(rows: int, columns: int, seed: int) -> Float[Tensor, "row column"]:
    return 2 * torch.rand(rows, columns, generator=torch.Generator().manual_seed(seed)) - 1


def _loss(
    made: Float[Tensor, "run factor image output"], lesson: Lesson, rows: Int[Tensor, " image"]
) -> Float[Tensor, ""]:
    """Sum over networks of the mean squared errors of numbers and cross-entropies of kinds."""
    runs = len(made)
    error = made[..., 0] - lesson.numbers[:, rows]
    loss = (error.square().mean(2).sum(0) * lesson.number).sum()
    for factor, count in enumerate(lesson.classes):
        if count:
            logits = made[:, factor, :, :count].masked_fill(
                ~lesson.seen[factor, :count], -torch.inf
            )
            wanted = lesson.kinds[factor, rows].repeat(runs)
            loss = loss + runs * cross_entropy(logits.flatten(0, 1), wanted)
    return loss
