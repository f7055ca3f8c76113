"""Prediction with multilayer perceptrons."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from dislab.base import Predictor
from dislab.codes.inputs import Standard, check_codes, check_training_data, standard
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.random import device_generator, mix

NETWORKS_AT_ONCE: Final = 512
"""Number of networks trained together on an accelerator; a CPU gains nothing from several runs."""

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


@final
class MLP(Predictor):
    """A multilayer perceptron for each factor and run, trained together in batched products.

    Networks share no weights, but start from the same ones and see the same batches. Codes and
    regression targets are standardised; constant latents are ignored. Factors with 0 classes are
    regressed with squared errors, others classified with the cross-entropy over the classes that
    occur in training. Hidden units are ReLUs. Adam's learning rate decays to 0 as a half cosine, so
    that a few hundred steps suffice for any number of images.

    Args:
        latent_dim: Number of latents.
        classes: Number of classes of each factor; 0 for regression of a number in [0, 1].
        layers: Number of hidden layers.
        width: Units of each hidden layer.
        steps: Number of steps of Adam, each on one batch.
        batch_size: Images in a batch, drawn without repetition until all have been seen; all images
            if there are fewer.
        learning_rate: Learning rate of the first step.
        seed: Seed of the initial weights and of the batches.

    Raises:
        InputError: A setting is too small.
    """

    def __init__(
        self,
        latent_dim: int,
        classes: tuple[int, ...],
        layers: int = 2,
        width: int = 256,
        steps: int = 600,
        batch_size: int = 256,
        learning_rate: float = 0.005,
        seed: int = 0,
    ) -> None:
        check_count("layers", layers, 1, most=1000)
        check_count("width", width, 1)
        check_count("steps", steps, 1, most=10_000_000)
        check_count("batch_size", batch_size, 1)
        check_at_least("learning_rate", learning_rate, 0)
        self.latent_dim = latent_dim
        self.classes = tuple(classes)
        self.layers = layers
        self.width = width
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.seed = seed
        self._networks: list[list[Tensor]] = []
        nothing = torch.empty(0)
        self._targets = Targets(nothing, nothing, nothing, self.classes, nothing)
        self._standard = Standard(nothing, nothing)
        self._centre = self._scale = nothing

    def fit(
        self,
        codes: Float[Tensor, "run image latent"],
        targets: Float[Tensor, "image factor"],
    ) -> None:
        """Learn from scratch, on the device of the codes."""
        check_training_data(codes, targets, self.latent_dim, self.classes)
        codes, targets = codes.detach(), targets.to(codes.device)
        self._standard = standard(codes)
        prepared = self._prepared(targets)
        batches = self._batches(len(targets)).to(codes.device)
        sizes = (self.latent_dim, *[self.width] * self.layers)
        self._networks = []
        seeds = [mix(self.seed, layer) for layer in range(len(sizes))]
        for some in torch.split(self._standard.of(codes).float(), self._runs_at_once(codes)):
            layers = first_layers(sizes, self.classes, len(some), seeds)
            layers = [layer.to(codes.device) for layer in layers]
            self._networks.append(train(layers, some, prepared, batches, self.learning_rate))
        # the targets are no longer needed
        nothing = torch.empty(0)
        self._targets = prepared._replace(numbers=nothing, kinds=nothing)

    @torch.no_grad()
    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Values, which may be outside of [0, 1], or class numbers; only classes that `fit` saw."""
        check_codes(codes, self.latent_dim, len(self._standard.centre))
        inputs = self._standard.of(codes).float()
        runs = [len(layers[0]) // len(self.classes) for layers in self._networks]
        parts = [
            decided(layers, some, self._targets)
            for layers, some in zip(self._networks, torch.split(inputs, runs), strict=True)
        ]
        return (torch.cat(parts).double() * self._scale + self._centre).to(codes)

    def _prepared(self, targets: Float[Tensor, "image factor"]) -> Targets:
        """Targets of the networks: standardised numbers, and unchanged class numbers."""
        numeric = torch.tensor([count == 0 for count in self.classes], device=targets.device)
        wide = targets.double()
        # constant targets get spread 0, so that their value is predicted exactly
        same = (targets == targets[:1]).all(0)
        spread = torch.where(same, 0.0, wide.std(0, correction=0))
        self._centre = torch.where(numeric, torch.where(same, wide[0], wide.mean(0)), 0.0)
        self._scale = torch.where(numeric, spread, 1.0)
        standardised = (wide - self._centre) / torch.where(spread > 0, spread, 1.0)
        kinds = torch.where(numeric, 0, targets.long())
        seen = torch.zeros(
            len(self.classes), max(1, *self.classes), dtype=torch.bool, device=targets.device
        )
        seen.scatter_(1, kinds.T, value=True)
        numbers = torch.where(numeric, standardised, 0.0)
        return Targets(
            numeric, numbers.T.float().contiguous(), kinds.T.contiguous(), self.classes, seen
        )

    def _batches(self, images: int) -> Tensor:
        """Images of each step: concatenated random orders of all images, cut into batches."""
        size = min(self.batch_size, images)
        orders = -(-self.steps * size // images)
        source = device_generator(
            torch.device("cpu"), self.seed, self.layers + 1
        )  # seeds after those of the layers
        order = torch.cat([torch.randperm(images, generator=source) for _ in range(orders)])
        return order[: self.steps * size].view(self.steps, size)

    def _runs_at_once(self, codes: Tensor) -> int:
        together = 1 if codes.device.type == "cpu" else NETWORKS_AT_ONCE
        return max(1, together // len(self.classes))
