"""Prediction with multilayer perceptrons."""

from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Predictor
from dislab.codes.inputs import Standard, check_codes, check_training_data, standard
from dislab.codes.learners.stacked_networks import Targets, decided, first_layers, train
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.random import device_generator, mix

NETWORKS_AT_ONCE: Final = 512
"""Number of networks trained together on an accelerator; a CPU gains nothing from several runs."""


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
        """Learn from scratch, on the device of the codes.

        Args:
            codes: Codes of the same images in each run.
            targets: Values in [0, 1] or class numbers, one column per factor.

        Raises:
            InputError: Codes or targets have wrong shapes or values, or are not finite.
        """
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
        """Values, which may lie outside of [0, 1], or class numbers; only classes that `fit` saw.

        Args:
            codes: Codes of the same images in each run, on any device.

        Raises:
            InputError: `fit` has not been called, or codes have a wrong shape or are not finite.
        """
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
