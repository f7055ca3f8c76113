"""VAE that transfers a factor from one image to another."""

from typing import ClassVar, Final, Literal, assert_never, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn

from dislab.base import (
    CompositionBatch,
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageShape,
    Objective,
    Posterior,
    RegularizerBuilder,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.errors import InputError
from dislab.functional.checks import MOST_LATENTS, check_at_least, check_count
from dislab.functional.losses import Likelihood, kl_per_latent, sample
from dislab.functional.networks import perceptron
from dislab.functional.streams import Stream
from dislab.functional.symbols import one_hot
from dislab.objectives._inputs import check_as_many, check_numbers
from dislab.objectives._pairs import penalize_pair
from dislab.objectives._variational import (
    Pixels,
    build_further_regularizers,
    checked_images,
    checked_rows,
    draw_regularizers,
    labelled_posteriors,
    posterior_of,
    with_auxiliary,
)

Mixing = Literal["linear", "linear_code", "interpolation", "interpolation_code", "mlp"]
"""Ways to mix the codes of reference and transform into the code of the result."""

_HIDDEN = 100

_SIDES: Final = ("reference", "transform")
"""Names of the draws of the two images."""


@final
class CompositionVAE(Objective):
    """VAE that gives a reference image the value of a transform image in the action's factor.

    One encoder gives the posteriors of both images; a mixer maps the two samples and the one-hot
    action to one code, from which the decoder reconstructs the target. Codes are the posterior
    means of single images.

    The mixers: `linear` adds a linear map of (z_reference, action) and one of (z_transform,
    action), without biases; `interpolation` moves each latent from reference to transform by a
    fraction that depends on the action; `mlp` has three hidden layers of 100. These are from the
    paper's text. From the authors' code are `linear_code`, whose two maps have biases, and
    `interpolation_code`, whose fractions are the sigmoid of a linear map of (z_reference,
    z_transform, action), so that they also depend on the images.

    Montero et al. (2021), https://openreview.net/forum?id=qbH974jKUVy, §2.3 and appendix, and
    https://github.com/mmrl/disent-and-gen; their best mixer is linear. The text gives neither the
    parametrisation of the fractions nor the activation of the `mlp`; here these are a sigmoid of
    one number for each action and latent, and ReLU. The MLP of their code is left out: it
    normalises over the batch, so that a result would depend on the other images of the batch.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        action_names: Names of the actions; the command line takes them from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        mixing: Way to mix the codes.
        beta: Weight of the KL divergence of both posteriors from the prior; in the paper, the task
            is not learned with values above 1.
        likelihood: Distribution of the pixels around the decoder's output.
        regularizers: Makes further regularisers, by their names in the log, such as a fit to
            labels; each is averaged over references and transforms. None unless given.
        train_size: Size of the training set, for regularisers; the command line takes it from the
            data.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: The actions or latents are missing, beta is negative, or a part refuses its
            settings.
    """

    batch_types: ClassVar[tuple[type, ...]] = (CompositionBatch,)
    code_noise: ClassVar[tuple[str, ...] | None] = _SIDES

    def __init__(
        self,
        image_shape: ImageShape,
        action_names: tuple[str, ...],
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        mixing: Mixing = "linear",
        beta: float = 1.0,
        likelihood: Likelihood = "bernoulli",
        regularizers: dict[str, RegularizerBuilder] | None = None,
        train_size: int | None = None,
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("latent_dim", latent_dim, 1, MOST_LATENTS)
        check_at_least("beta", beta, 0)
        self.actions = _counted(action_names)
        self.action_names = tuple(action_names)
        self.image_shape = image_shape
        self.latent_dim = latent_dim
        self.mixing: Mixing = mixing
        self.beta = beta
        self.pixels = Pixels(likelihood)
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.mixer = _mixer(mixing, latent_dim, self.actions)
        self.regularizers = build_further_regularizers(
            regularizers, latent_dim, train_size, "CompositionVAE"
        )

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise, and draws of the regularisers, for references and transforms."""
        draws = {side: stream.normal(side, count, self.latent_dim) for side in _SIDES}
        for side in _SIDES:
            rows = draw_regularizers(count, self.regularizers, stream.of(side))
            draws |= {f"{side}.{name}": row for name, row in rows.items()}
        return draws

    def losses(self, batch: CompositionBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood of the targets plus beta times the KL of both posteriors.

        Penalties and auxiliary losses of further regularisers are added.
        """
        reference, transform = self.encode(batch.image), self.encode(batch.transform)
        z = [sample(*reference, draws["reference"]), sample(*transform, draws["transform"])]
        output = self.decoder(self.mix(z[0], z[1], batch.action))
        reconstruction = self.pixels(output, batch.target)
        kl = kl_per_latent(*reference).sum(1).mean() + kl_per_latent(*transform).sum(1).mean()
        objective = reconstruction + self.beta * kl
        log = {"reconstruction": reconstruction, "kl": kl}
        if not self.regularizers:
            return Terms(objective, log)
        labelled = labelled_posteriors(self, self.regularizers, batch.labelled)
        penalty, auxiliary, terms = penalize_pair(
            self.regularizers, reference, transform, z, draws, step, labelled, _SIDES
        )
        return Terms(with_auxiliary(objective + penalty, auxiliary), log | terms)

    def mix(
        self,
        reference: Float[Tensor, "batch latent"],
        transform: Float[Tensor, "batch latent"],
        action: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch latent"]:
        """Mix codes of reference and transform into codes of the results.

        Args:
            reference: Codes of the reference images.
            transform: Codes of the transform images.
            action: Numbers of the actions.

        Raises:
            InputError: The codes have another number of latents than the method, or different
                numbers of rows.
        """
        check_as_many({"reference": reference, "transform": transform, "action": action})
        for name, rows in (("reference", reference), ("transform", transform)):
            checked_rows(self, name, rows, self.latent_dim, "latent")
        chosen = one_hot(action, self.actions).to(reference.dtype)
        if self.mixing == "interpolation":
            fraction: Tensor = self.mixer(chosen).sigmoid()
            return reference + fraction * (transform - reference)
        if self.mixing == "interpolation_code":
            mask: Tensor = self.mixer(torch.cat((reference, transform, chosen), dim=1)).sigmoid()
            return transform + mask * (reference - transform)
        mixed: Tensor = self.mixer(torch.cat((reference, chosen, transform, chosen), dim=1))
        return mixed

    def compose(
        self,
        reference: Float[Tensor, "batch channel height width"],
        transform: Float[Tensor, "batch channel height width"],
        action: Int[Tensor, " batch"],
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of the results, pixels in [0, 1], from posterior means.

        Args:
            reference: Images to change, pixels in [0, 1].
            transform: Images that provide the factor, likewise.
            action: Numbers of the actions.

        Raises:
            InputError: The images have another shape or different numbers of rows, or an action
                does not exist.
        """
        check_numbers("action", action, self.action_names)
        z = self.mix(self.codes(reference), self.codes(transform), action)
        return self.pixels.mean(self.decoder(z))

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x), in float32 or wider."""
        return posterior_of(self.encoder(checked_images(self, image, self.image_shape)))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors."""
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of codes mixed with themselves under the first action, pixels in [0, 1].

        Such a composition should give the reference itself, for any action.
        """
        z = checked_rows(self, "z", z, self.latent_dim, "latent")
        first = torch.zeros(z.shape[0], dtype=torch.int64, device=z.device)
        return self.pixels.mean(self.decoder(self.mix(z, z, first)))


def _counted(action_names: tuple[str, ...]) -> int:
    if not action_names:
        raise InputError(
            "CompositionVAE got no action names; use a data module that has some, such as "
            "CompositionData"
        )
    return len(action_names)


def _mixer(mixing: Mixing, latents: int, actions: int) -> nn.Module:
    both = 2 * (latents + actions)
    if mixing == "linear":
        return nn.Linear(both, latents, bias=False)
    if mixing == "linear_code":
        return _SumOfMaps(latents + actions, latents)
    if mixing == "interpolation":
        return nn.Linear(actions, latents, bias=False)
    if mixing == "interpolation_code":
        return nn.Linear(2 * latents + actions, latents)
    if mixing == "mlp":
        return perceptron(both, 3 * (_HIDDEN,), latents)
    assert_never(mixing)


class _SumOfMaps(nn.Module):
    """A linear map of the first half of a vector plus a linear map of the second half."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.reference = nn.Linear(inputs, outputs)
        self.transform = nn.Linear(inputs, outputs)

    def forward(self, both: Float[Tensor, "batch input"]) -> Float[Tensor, "batch latent"]:
        first, second = both.chunk(2, dim=1)
        mixed: Tensor = self.reference(first) + self.transform(second)
        return mixed
