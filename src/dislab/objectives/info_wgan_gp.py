"""Information-maximising Wasserstein GAN with gradient penalty."""

from collections.abc import Sequence
from typing import Any, Literal, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor
from torch.func import functional_call
from torch.optim import Optimizer

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
from dislab.functional.checks import check_betas, check_count
from dislab.functional.games import draw_codes, gradient_penalty, recovered
from dislab.functional.runtime import widen
from dislab.functional.streams import Stream
from dislab.objectives._games import GameObjective, check_codes, images_of_draws


@final
class InfoWGANGP(GameObjective):
    """InfoGAN's codes in a Wasserstein GAN with gradient penalty.

    The critic is updated in every step, the generator in every `critic_steps`-th step; optimiser
    steps count those of the critic. The codes of an image are the prediction of Q, as in `InfoGAN`;
    Q shares all layers of the critic but the last.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, appendix (the baseline InfoWGAN-GP);
    Gulrajani et al. (2017), https://arxiv.org/abs/1704.00028, algorithm 1.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        generator: Makes the generator, which reads noise, one-hot codes and continuous codes.
        critic: Makes the critic and Q.
        noise_dim: Length of the noise.
        categorical: Number of values of each categorical code.
        continuous: Number of continuous codes, uniform between −1 and 1.
        weight: Weight λ of the mutual information.
        penalty: Weight of the gradient penalty.
        critic_steps: Number of critic steps per generator step.
        std: Whether Q's standard deviations are 1 or learned.
        lr: Learning rate.
        betas: Adam's coefficients.
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
        noise_dim: int = 5,
        categorical: Sequence[int] = (3,),
        continuous: int = 4,
        weight: float = 0.2,
        penalty: float = 10.0,
        critic_steps: int = 5,
        std: Literal["fixed", "learned"] = "fixed",
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.0, 0.9),
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_codes(
            noise_dim, categorical, continuous, {"weight": weight, "penalty": penalty, "lr": lr}
        )
        check_count("critic_steps", critic_steps, 1, most=10_000)
        check_betas(betas)
        self.image_shape = image_shape
        self.noise_dim = noise_dim
        self.categorical = tuple(categorical)
        self.continuous = continuous
        self.weight = weight
        self.penalty = penalty
        self.critic_steps = critic_steps
        self.settings = {"lr": lr, "betas": betas}
        outputs = sum(categorical) + continuous * (2 if std == "learned" else 1)
        self.generator = make_decoder(
            generator, noise_dim + sum(categorical) + continuous, image_shape
        )
        self.critic = make_encoder(critic, image_shape, 1 + outputs)

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise, codes from their prior, and the points of the gradient penalty."""
        return {
            "noise": stream.normal("noise", count, self.noise_dim),
            "mix": stream.uniform("mix", count),
            **draw_codes(count, self.categorical, self.continuous, stream),
        }

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """The losses of both players, each including the mutual information that it maximises.

        The log holds `generator` and `critic` losses, `distance`, the critic's estimate of the
        Wasserstein distance, `gradient_penalty` without its weight, and the lower bounds of the
        mutual information in nats: `information/categorical` and `information/continuous`.
        """
        category, continuous = draws["category"], draws["continuous"]
        fake = images_of_draws(self.generator, draws, self.categorical).to(batch.image.dtype)
        frozen = {name: parameter.detach() for name, parameter in self.critic.named_parameters()}
        passed = widen(functional_call(self.critic, frozen, (fake,)))
        guess = recovered(passed[:, 1:], category, continuous, self.categorical)
        generates = -passed[:, 0].mean() - self.weight * (guess.categorical + guess.continuous)
        judged = widen(self.critic(torch.cat([batch.image, fake.detach()])))
        real, generated = judged.chunk(2)
        distance = real[:, 0].mean() - generated[:, 0].mean()
        steepness = gradient_penalty(self._judge, batch.image, fake.detach(), draws["mix"])
        read = recovered(generated[:, 1:], category, continuous, self.categorical)
        criticises = (
            self.penalty * steepness - distance - self.weight * (read.categorical + read.continuous)
        )
        log = {
            "generator": generates,
            "critic": criticises,
            "distance": distance,
            "gradient_penalty": steepness,
            "information/categorical": guess.categorical,
            "information/continuous": guess.continuous,
        }
        return Terms(generates + criticises, log)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The parameters of generator and critic, with equal settings."""
        parts = (self.generator, self.critic)
        return [{"params": list(part.parameters()), **self.settings} for part in parts]

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Does not update the generator in steps of the critic alone."""
        if (self.trainer.global_step + 1) % self.critic_steps:
            for parameter in self.generator.parameters():
                parameter.grad = None  # not zero, which would change Adam's moments

    def _judge(self, image: Float[Tensor, "batch channel height width"]) -> Float[Tensor, " batch"]:
        values: Tensor = self.critic(image)[:, 0]
        return values
