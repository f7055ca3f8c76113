"""Independently controllable factors."""

from typing import Any, ClassVar, Final, Literal, NamedTuple, final, get_args

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageShape,
    Objective,
    Terms,
    TransitionBatch,
    make_decoder,
    make_encoder,
)
from dislab.errors import InputError
from dislab.functional.checks import (
    MOST_LATENTS,
    check_above,
    check_at_least,
    check_choice,
    check_count,
)
from dislab.functional.losses import Likelihood, mean_image, negative_log_likelihood
from dislab.functional.runtime import gather_rows, widen
from dislab.functional.streams import Stream
from dislab_control.action_data import ActionBatch
from dislab_control.selectivity import UNBOUNDED, Form, Selectivity, reward_of, selectivity_of

Directions = Literal["latents", "both_ways", "generated"]
"""Policy k changes latent k in either direction; or n policies raise and n policies lower one
latent each; or a network generates random directions of the policies."""

Expectation = Literal["exact", "reinforce"]
"""Expectations over actions: the exact sum over all, or an estimate by one drawn per policy."""

_NOISE: Final = 3
"""Number of noise variables of a generated direction, as in the authors' code."""
_HIDDEN: Final = 64


class Behaviour(NamedTuple):
    """Policies evaluated at images.

    Attributes:
        probability: π_k(a | s), shape (batch, policy, action).
        direction: φ_k, shape (batch, policy, latent).
    """

    probability: Tensor
    direction: Tensor


@final
class IndependentlyControllableFactors(Objective):
    """Autoencoder with policies that each change one feature and leave the others unchanged.

    Minimises −log p(x|h) − λ·E_s,k E_a∼π_k[A] − entropy·E_s,k H(π_k), with codes h = f(s), a
    decoder g, K policies π_k(a|s) that share the encoder with f, and the selectivity A of the
    change of the codes; `dislab_control.selectivity` defines the selectivities by name. The mean
    over policies makes λ independent of their number; the papers sum over policies.

    Bengio et al. (2017), https://arxiv.org/abs/1703.07718, equations 1 and 2: `directions:
    latents`, `selectivity: absolute`, `form: log` (or `plain`). Thomas et al. (2017),
    https://arxiv.org/abs/1708.01289, and Thomas et al. (2018), https://arxiv.org/abs/1802.09484:
    `directions: generated`, `selectivity: gaussian`, `form: ratio`.

    With batches of `ActionData` the expectation over actions is exact, or `reinforce` draws one
    action from each policy: its gradient is the gradient of the selectivity through the codes, plus
    the score function times the selectivity, with the mean over the other images as baseline. With
    batches of `TransitionData`, whose actions are drawn uniformly, the single action is weighted by
    π_k(a) times the number of actions, as in the authors' code; these batches contain no blocked
    moves.

    Departures from the papers: any encoder and decoder; the negative log-likelihood of pixels in
    nats per image instead of half the squared error; the entropy bonus; codes are not bounded by
    tanh unless `bounded` is set; generated directions lie in the cube (−1, 1)ⁿ; no prediction of
    the next codes.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        action_names: Names of the actions; the command line takes them from the data.
        latent_dim: Number n of latents.
        encoder: Makes the encoder, with `features` outputs.
        decoder: Makes the decoder.
        features: Number of outputs of the encoder, from which codes and policies are computed.
        policies: Number K of policies; the number of latents unless given, twice that with
            `both_ways`.
        directions: `latents`, `both_ways` or `generated`.
        selectivity: Name of the selectivity.
        form: `plain`, `log` or `ratio`.
        width: σ of the selectivity `gaussian`, in units of the codes.
        weight: λ, in nats per image and unit of selectivity.
        entropy: Weight of the policies' entropy, in nats per image and nat; λ/10 unless given.
        expectation: `exact` or `reinforce`.
        bounded: Whether tanh bounds the codes.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: The data have no actions, there are more policies than directions, a weight is
            negative, a word or a number is not allowed, or a part refuses its settings.
    """

    batch_types: ClassVar[tuple[type, ...]] = (ActionBatch, TransitionBatch)
    code_noise: ClassVar[tuple[str, ...] | None] = ()

    def __init__(
        self,
        image_shape: ImageShape,
        action_names: tuple[str, ...],
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        features: int = 128,
        policies: int | None = None,
        directions: Directions = "latents",
        selectivity: Selectivity = "absolute",
        form: Form = "plain",
        width: float = 1.0,
        weight: float = 30.0,
        entropy: float | None = None,
        expectation: Expectation = "exact",
        bounded: bool = False,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("latent_dim", latent_dim, 1, MOST_LATENTS)
        check_count("features", features, 1, MOST_LATENTS)
        check_choice("expectation", expectation, get_args(Expectation))
        check_above("width", width, 0)
        check_at_least("weight", weight, 0)
        if entropy is not None:
            check_at_least("entropy", entropy, 0)
        _check_actions(action_names)
        _check_form(selectivity, form)
        self.latent_dim = latent_dim
        self.actions = len(action_names)
        self.directions: Directions = directions
        self.policies = _policies(policies, directions, latent_dim)
        self.selectivity: Selectivity = selectivity
        self.form: Form = form
        self.width = width
        self.weight = weight
        self.entropy = weight / 10 if entropy is None else entropy
        self.expectation: Expectation = expectation
        self.bounded = bounded
        self.likelihood: Likelihood = likelihood
        self.encoder = make_encoder(encoder, image_shape, features)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.latents = nn.Linear(features, latent_dim)
        self._add_policies(features)

    def _add_policies(self, features: int) -> None:
        """Creates the networks of policies, directions and attributes that the settings need."""
        if self.directions == "generated":
            self.generator = _network(features + _NOISE, self.latent_dim)
            self.policy: nn.Module = _network(features + self.latent_dim, self.actions)
        else:
            self.policy = nn.Linear(features, self.policies * self.actions)
            units = torch.eye(self.latent_dim)
            self.register_buffer(
                "units", torch.cat([units, -units])[: self.policies], persistent=False
            )
        if self.selectivity == "attribute":
            self.attribute = _network(2 * self.latent_dim, 1)

    def draw(self, count: int, stream: Stream) -> Draws:
        """Draws the noise of generated directions, and the numbers that select actions."""
        draws = {}
        if self.directions == "generated":
            draws["directions"] = stream.normal("directions", count, self.policies, _NOISE)
        if self.expectation == "reinforce":
            draws["actions"] = stream.uniform("actions", count, self.policies)
        return draws

    def losses(
        self, batch: ActionBatch | TransitionBatch, draws: Draws, step: Int[Tensor, ""]
    ) -> Terms:
        """Negative log-likelihood minus the weighted reward and entropy of the policies.

        Logs `reconstruction` and `entropy` in nats, `reward`, the expectation that is maximised,
        and `selectivity`, the expectation of the selectivity itself.
        """
        hidden = self._hidden(batch.image)
        z = self._codes(hidden)
        reconstruction = negative_log_likelihood(self.decoder(z), batch.image, self.likelihood)
        direction = self._direction(hidden, draws)
        log_policy = self._log_policy(hidden, direction)
        policy = log_policy.exp()
        if isinstance(batch, TransitionBatch):
            selectivity = self._selectivity(
                z, self._next(z, batch.image, batch.second[:, None]), direction
            )
            share = torch.take_along_dim(policy, batch.action[:, None, None], dim=2)
            weights, surrogate = self.actions * share, torch.zeros_like(share)
        elif self.expectation == "reinforce":
            action = _drawn_actions(policy, draws["actions"])
            seen = torch.take_along_dim(batch.after, action[:, :, None, None, None], dim=1)
            selectivity = self._selectivity(z, self._next(z, batch.image, seen), direction)
            # action k was drawn from policy k, and counts only for it
            weights = torch.eye(self.policies, dtype=z.dtype, device=z.device).expand_as(
                selectivity
            )
            chosen = torch.take_along_dim(log_policy, action[:, :, None], dim=2)
            surrogate = weights * chosen
        else:
            selectivity = self._selectivity(z, self._next(z, batch.image, batch.after), direction)
            weights, surrogate = policy, torch.zeros_like(policy)
        rewards = reward_of(selectivity, self.form)
        advantage = rewards.detach() - _mean_of_others(rewards.detach())
        score = (surrogate * advantage).sum(2).mean()
        reward = (weights * rewards).sum(2).mean()
        entropy = -(policy * log_policy).sum(2).mean()
        # the score function contributes to the gradient, not to the value
        maximised = reward + score - score.detach()
        loss = reconstruction - self.weight * maximised - self.entropy * entropy
        log = {
            "reconstruction": reconstruction,
            "reward": reward,
            "selectivity": (weights * selectivity).sum(2).mean(),
            "entropy": entropy,
        }
        return Terms(loss, log)

    def behaviour(
        self, image: Float[Tensor, "batch channel height width"], draws: Draws
    ) -> Behaviour:
        """Probabilities and directions of the policies.

        Args:
            image: Pixels in [0, 1].
            draws: Result of `draw`, one row per image; source of generated directions.
        """
        hidden = self._hidden(image)
        direction = self._direction(hidden, draws)
        return Behaviour(widen(self._log_policy(hidden, direction).exp()), widen(direction))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The features f(s), in float32 or wider."""
        return widen(self._codes(self._hidden(image)))

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Decodes codes to mean images, pixels in [0, 1]."""
        return mean_image(self.decoder(z), self.likelihood)

    def reconstruct(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Reconstructs images from their codes."""
        return self.decode(self.codes(image))

    def _hidden(self, image: Tensor) -> Tensor:
        return torch.relu(self.encoder(image))

    def _codes(self, hidden: Tensor) -> Tensor:
        z: Tensor = self.latents(hidden)
        return z.tanh() if self.bounded else z

    def _next(
        self,
        z: Tensor,
        image: Float[Tensor, "batch channel height width"],
        after: Float[Tensor, "batch seen channel height width"],
    ) -> Float[Tensor, "batch seen latent"]:
        """Codes of the images after actions; exactly those of the image if nothing changed."""
        codes = self._codes(self._hidden(after.flatten(0, 1))).reshape(*after.shape[:2], -1)
        # copied, because logarithms of ratios would amplify rounding differences of equal codes
        moved = (after != image[:, None]).flatten(2).any(2, keepdim=True)
        return torch.where(moved, codes, z[:, None])

    def _direction(self, hidden: Tensor, draws: Draws) -> Float[Tensor, "batch policy latent"]:
        if self.directions != "generated":
            assert isinstance(self.units, Tensor)
            return self.units.to(hidden.dtype).expand(len(hidden), *self.units.shape)
        rows = hidden[:, None].expand(-1, self.policies, -1)
        noise = draws["directions"].to(hidden.dtype)
        output: Tensor = self.generator(torch.cat([rows, noise], dim=2))
        return output.tanh()

    def _log_policy(
        self, hidden: Tensor, direction: Tensor
    ) -> Float[Tensor, "batch policy action"]:
        if self.directions == "generated":
            rows = hidden[:, None].expand(-1, self.policies, -1)
            logits = self.policy(torch.cat([rows, direction], dim=2))
        else:
            logits = self.policy(hidden).reshape(-1, self.policies, self.actions)
        return torch.log_softmax(logits, dim=2)

    def _selectivity(
        self, z: Tensor, following: Tensor, direction: Tensor
    ) -> Float[Tensor, "batch policy action"]:
        change = following - z[:, None]
        if self.selectivity != "attribute":
            return selectivity_of(change, direction, self.selectivity, self.width)
        before = self._attribute(z[:, None], direction)
        return (self._attribute(following, direction) - before).square()

    def _attribute(self, z: Tensor, direction: Tensor) -> Float[Tensor, "batch policy seen"]:
        """Attributes of codes of shape (batch, seen, latent) for each direction."""
        shape = (len(z), self.policies, z.shape[1], self.latent_dim)
        pairs = torch.cat([z[:, None].expand(shape), direction[:, :, None].expand(shape)], dim=3)
        output: Tensor = self.attribute(pairs)
        return output.squeeze(3)


def _network(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, outputs))


def _drawn_actions(
    policy: Float[Tensor, "batch policy action"], uniform: Float[Tensor, "batch policy"]
) -> Int[Tensor, "batch policy"]:
    """Action of each policy, selected by a uniform number and the cumulative probabilities."""
    below = policy.detach().cumsum(2) <= uniform[:, :, None]
    return below.sum(2).clamp(max=policy.shape[2] - 1)


def _mean_of_others(rewards: Float[Tensor, "batch *rest"]) -> Float[Tensor, "batch *rest"]:
    """Mean over all other images of the step, a baseline independent of the image's action."""
    every = gather_rows(rewards)
    return (every.sum(0) - rewards) / max(len(every) - 1, 1)


def _check_actions(names: Any) -> None:
    if len(names) < 2:
        raise InputError(
            f"the data have {len(names) or 'no'} action{'s' * (len(names) != 1)}, and policies "
            "need at least two; take ActionData or TransitionData"
        )


def _check_form(selectivity: str, form: str) -> None:
    check_choice("selectivity", selectivity, get_args(Selectivity))
    check_choice("form", form, get_args(Form))
    if selectivity in UNBOUNDED and form != "ratio":
        raise InputError(
            f"selectivity {selectivity} grows with the codes, so that its maximum is infinite; set "
            "form: ratio"
        )


def _policies(policies: int | None, directions: Directions, latents: int) -> int:
    check_choice("directions", directions, get_args(Directions))
    if directions == "generated":
        count = latents if policies is None else policies
        check_count("policies", count, 1, MOST_LATENTS)
        return count
    most = 2 * latents if directions == "both_ways" else latents
    count = most if policies is None else policies
    if not 1 <= count <= most:
        raise InputError(
            f"policies is {count}, and {latents} latents have {most} directions for them; choose 1 "
            f"to {most}, more latents, or directions: generated"
        )
    return count
