"""Information-maximising generative adversarial network."""

from collections.abc import Sequence
from typing import Any, Literal, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor
from torch.func import functional_call

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageBatch,
    ImageShape,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import check_betas
from dislab.functional.games import discriminator_loss, draw_codes, generator_loss, recovered
from dislab.functional.streams import Stream
from dislab.objectives._games import GameObjective, check_codes, images_of_draws


@final
class InfoGAN(GameObjective):
    """InfoGAN: a generator whose codes can be predicted from its images.

    The critic's first output classifies images as real or generated; the other outputs are the
    parameters of Q(c|x), so that Q shares all layers but the last. `ConvCritic` with
    `recognition_hidden` gives Q an additional layer of its own, as in the paper for MNIST. The
    codes of an image are the prediction of Q: one column per code, the most probable value number
    of a categorical code and the mean of a continuous code.

    Chen et al. (2016), https://arxiv.org/abs/1606.03657, eq. 6. Departures: generator and critic
    are updated simultaneously, from the same generated images, instead of alternately, so that one
    optimiser suffices; the generator's loss is non-saturating.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        generator: Makes the generator, which reads noise, one-hot codes and continuous codes.
        critic: Makes the discriminator and Q.
        noise_dim: Length of the noise.
        categorical: Number of values of each categorical code.
        continuous: Number of continuous codes, uniform between −1 and 1.
        weight_categorical: Weight of the categorical codes' mutual information.
        weight_continuous: Weight of the continuous codes' mutual information.
        std: Whether Q's standard deviations are 1 or learned.
        generator_lr: Learning rate of the generator.
        critic_lr: Learning rate of the discriminator and Q.
        betas: Adam's coefficients, for both.
        noise: Standard normal, or uniform between −1 and 1, as in the authors' code.
        optimizer: Makes the optimiser, a variant of Adam; None is Adam.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are no codes, one has a single value, a number is out of range, or a part
            refuses its settings.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        generator: DecoderBuilder,
        critic: EncoderBuilder,
        noise_dim: int = 62,
        categorical: Sequence[int] = (10,),
        continuous: int = 2,
        weight_categorical: float = 1.0,
        weight_continuous: float = 1.0,
        std: Literal["fixed", "learned"] = "fixed",
        generator_lr: float = 1e-3,
        critic_lr: float = 2e-4,
        betas: tuple[float, float] = (0.5, 0.999),
        noise: Literal["normal", "uniform"] = "normal",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        rates = {"generator_lr": generator_lr, "critic_lr": critic_lr}
        weights = {
            "weight_categorical": weight_categorical,
            "weight_continuous": weight_continuous,
        }
        check_codes(noise_dim, categorical, continuous, {**rates, **weights})
        check_betas(betas)
        self.image_shape = image_shape
        self.noise_dim = noise_dim
        self.noise: Literal["normal", "uniform"] = noise
        self.categorical = tuple(categorical)
        self.continuous = continuous
        self.weights = (weight_categorical, weight_continuous)
        self.rates = (generator_lr, critic_lr)
        self.betas = betas
        outputs = sum(categorical) + continuous * (2 if std == "learned" else 1)
        self.generator = make_decoder(
            generator, noise_dim + sum(categorical) + continuous, image_shape
        )
        self.critic = make_encoder(critic, image_shape, 1 + outputs)

    def draw(self, count: int, stream: Stream) -> Draws:
        """Noise, and codes drawn from their prior."""
        if self.noise == "normal":
            noise = stream.normal("noise", count, self.noise_dim)
        else:
            noise = 2 * stream.uniform("noise", count, self.noise_dim) - 1
        return {"noise": noise, **draw_codes(count, self.categorical, self.continuous, stream)}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """The losses of both players, each including the mutual information that it maximises.

        The log holds `generator` and `discriminator` losses in nats, and the lower bounds of the
        mutual information in nats: `information/categorical`, at most log of the number of values,
        and `information/continuous`, which for each code lies between −0.393 (no information) and
        −0.226 (perfect prediction) if Q's standard deviations are fixed at 1.
        """
        category, continuous = draws["category"], draws["continuous"]
        fake = images_of_draws(self.generator, draws, self.categorical)
        frozen = {name: parameter.detach() for name, parameter in self.critic.named_parameters()}
        passed = functional_call(self.critic, frozen, (fake,))
        deceived = generator_loss(passed[:, 0])
        bound = self._information(passed, category, continuous)
        judged = self.critic(torch.cat([batch.image, fake.detach().to(batch.image.dtype)]))
        real, generated = judged.split([len(batch.image), len(fake)])
        tells = discriminator_loss(real[:, 0], generated[:, 0])
        loss = deceived + tells - bound - self._information(generated, category, continuous)
        bounds = recovered(passed.detach()[:, 1:], category, continuous, self.categorical)
        log = {
            "generator": deceived,
            "discriminator": tells,
            "information/categorical": bounds.categorical,
            "information/continuous": bounds.continuous,
        }
        return Terms(loss, log)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The parameters of generator and critic, with their learning rates."""
        parts = (self.generator, self.critic)
        return [
            {"params": list(part.parameters()), "lr": rate, "betas": self.betas}
            for part, rate in zip(parts, self.rates, strict=True)
        ]

    def _information(
        self,
        outputs: Float[Tensor, "batch output"],
        category: Int[Tensor, "batch categorical"],
        continuous: Float[Tensor, "batch continuous"],
    ) -> Float[Tensor, ""]:
        bounds = recovered(outputs[:, 1:], category, continuous, self.categorical)
        return self.weights[0] * bounds.categorical + self.weights[1] * bounds.continuous
