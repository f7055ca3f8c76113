"""Total correlation, estimated by a discriminator."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.errors import InputError
from dislab.functional.checks import check_at_least, check_betas, check_count
from dislab.functional.runtime import full_precision, gather_rows, widen, world
from dislab.functional.streams import Stream

SLOPE = 0.2
"""Negative slope of the leaky ReLUs between the layers, from the paper."""


@full_precision
def permute_latents(
    z: Float[Tensor, "all latent"], permutation: Int[Tensor, "batch latent"]
) -> Float[Tensor, "batch latent"]:
    """Samples of the product of marginals: permute each latent over the images.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, algorithm 1.

    Args:
        z: Samples of the aggregate posterior.
        permutation: Source row of each latent of each sample.
    """
    return z.gather(0, permutation)


class Judgement(NamedTuple):
    """Verdict of a discriminator on codes and permuted codes.

    Attributes:
        tc: Mean log density ratio of the codes, in nats, which estimates their total correlation.
            Its gradient reaches only the codes.
        loss: Cross-entropy of the classification of both, in nats per row. Its gradient reaches
            only the discriminator.
        log_ratio: Logit 0 minus logit 1 of every row, codes first; no gradient.
    """

    tc: Float[Tensor, ""]
    loss: Float[Tensor, ""]
    log_ratio: Float[Tensor, " rows"]


def judge(
    codes: Float[Tensor, "batch latent"],
    permuted: Float[Tensor, "batch latent"],
    parameters: Sequence[Tensor],
    slope: float = SLOPE,
) -> Judgement:
    """Total correlation and the discriminator's loss, at the cost of the loss alone.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, eq. 3. Both depend on a row only through
    logit 0 minus logit 1, so their gradients at any layer are multiples of each other, row by row.
    One backward pass computes the gradient of that difference; the weights' gradients scale its
    rows by the factors of the loss, the codes' gradient by those of the total correlation. A second
    pass of the codes for the penalty would take a third longer.

    Args:
        codes: Samples of the aggregate posterior.
        permuted: Samples of the product of its marginals; they get no gradient.
        parameters: Weight and bias of each linear layer in turn; the last layer has two units;
            leaky ReLUs are between the layers.
        slope: Negative slope of the leaky ReLUs.
    """
    rows = torch.cat([codes, permuted.detach()])
    device = rows.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        rows, parameters = rows.to(dtype), [parameter.to(dtype) for parameter in parameters]
    apply: Any = _Judge.apply  # untyped in torch
    tc, loss, log_ratio, *_ = apply(rows, len(codes), slope, *parameters)
    return Judgement(tc, loss, log_ratio)


class _Judge(torch.autograd.Function):
    """Means and gradients, computed by hand; outputs include what `setup_context` saves."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rows: Tensor, count: int, slope: float, *parameters: Tensor) -> tuple[Tensor, ...]:
        """Both means, the log ratios, and the outputs of the ReLUs."""
        inner, (weight, bias) = parameters[:-2], parameters[-2:]
        hidden: list[Tensor] = []
        values = rows
        for inner_weight, inner_bias in zip(inner[::2], inner[1::2], strict=True):
            values = F.leaky_relu(F.linear(values, inner_weight, inner_bias), slope)
            hidden.append(values)
        logits = widen(F.linear(values, weight, bias))
        log_ratio = logits[:, 0] - logits[:, 1]
        loss = -F.logsigmoid(_signs(log_ratio, count) * log_ratio).mean()
        return log_ratio[:count].mean(), loss, log_ratio, *hidden

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Saves the tensors that the gradients need."""
        rows, count, slope, *parameters = inputs
        _, _, log_ratio, *hidden = output
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(log_ratio, *hidden)
        ctx.save_for_backward(log_ratio, rows, *hidden, *parameters)
        ctx.count = count
        ctx.slope = slope
        ctx.layers = len(hidden) + 1

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """The gradient of `tc` for the rows, and of the loss for the parameters."""
        of_tc, of_loss = gradients[:2]
        log_ratio, *saved = ctx.saved_tensors
        inputs, parameters, count = saved[: ctx.layers], saved[ctx.layers :], ctx.count
        size = len(log_ratio)
        signs = _signs(log_ratio, count)
        share = None
        if of_loss is not None:
            share = (-signs * torch.sigmoid(-signs * log_ratio) * (of_loss / size))[:, None]
        of_parameters: list[Tensor | None] = [None] * len(parameters)
        flow = torch.stack([log_ratio.new_ones(size), -log_ratio.new_ones(size)], 1)
        flow = flow.to(parameters[-1].dtype)
        for layer in reversed(range(ctx.layers)):
            if share is not None:
                layer_flow = (flow * share).to(flow.dtype)
                of_parameters[2 * layer] = layer_flow.T @ inputs[layer]
                of_parameters[2 * layer + 1] = layer_flow.sum(0)
            flow = (flow if layer else flow[:count]) @ parameters[2 * layer]
            if layer:
                flow = torch.where(inputs[layer] > 0, flow, ctx.slope * flow)
        of_rows = None
        if of_tc is not None:
            of_codes = flow * (of_tc / count)
            of_rows = F.pad(of_codes, (0, 0, 0, size - count)).to(inputs[0].dtype)
        return of_rows, None, None, *of_parameters


def _signs(log_ratio: Tensor, count: int) -> Tensor:
    """1 for codes, −1 for permuted ones."""
    return torch.where(torch.arange(len(log_ratio), device=log_ratio.device) < count, 1.0, -1.0)


@final
class TotalCorrelation(Regularizer):
    """Total correlation estimated by a discriminator's density ratio (FactorVAE).

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, eq. 2 and 3, algorithm 2. Use it together
    with `KL`. Logit 0 stands for codes from the aggregate posterior, logit 1 for codes from the
    product of its marginals. The discriminator is updated in the same step as the model, with its
    own optimiser settings; its loss gives no gradient to the codes, and the penalty gives no
    gradient to the discriminator.

    Departures from the paper: both updates of a step are simultaneous, and the permuted codes
    come from the same batch, as Locatello et al. (2019), https://arxiv.org/abs/1811.12359, do;
    `batches` set to `two` takes them from the other half of a double batch.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        gamma: Weight of the total correlation; 35 is the paper's best for dSprites.
        width: Units of each hidden layer of the discriminator.
        depth: Number of its hidden layers.
        lr: Its learning rate at the start of a schedule.
        betas: Its Adam coefficients; the optimiser must be a variant of Adam.
        batches: `one` permutes the batch itself; `two` takes the even rows of a batch as codes and
            permutes the odd ones, so that the two are independent; an unpaired last row is ignored.
        slope: Negative slope of its leaky ReLUs.

    Raises:
        InputError: A setting is out of range, or there is a single latent.
    """

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        gamma: float = 35.0,
        width: int = 1000,
        depth: int = 6,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.5, 0.9),
        batches: Literal["one", "two"] = "one",
        slope: float = SLOPE,
    ) -> None:
        super().__init__()
        check_at_least("gamma", gamma, 0)
        check_count("width", width, 1)
        check_count("depth", depth, 1, most=1000)
        check_at_least("lr", lr, 0)
        check_betas(betas)
        check_at_least("slope", slope, 0)
        if latent_dim < 2:
            raise InputError("one latent has no total correlation; latent_dim must be at least 2")
        self.latent_dim = latent_dim
        self.gamma = gamma
        self.lr = lr
        self.betas = betas
        self.batches = batches
        self.slope = slope
        layers: list[nn.Module] = []
        features = latent_dim
        for _ in range(depth):
            layers += [nn.Linear(features, width), nn.LeakyReLU(slope)]
            features = width
        self.discriminator = nn.Sequential(*layers, nn.Linear(features, 2))

    @property
    def smallest_batch(self) -> int:  # type: ignore[override]
        """Two images to permute; with two batches, also two images in each process."""
        return 2 if self.batches == "one" else max(4, 2 * world()[1])

    def draw(self, count: int, stream: Stream) -> Draws:
        """For each latent, a permutation of the images whose codes are permuted."""
        size = world()[1]
        rows = count if self.batches == "one" or count < 2 else count // size // 2 * size
        return {"permutation": stream.permutations("permutation", rows, self.latent_dim)}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The discriminator's parameters with their learning rate and Adam coefficients."""
        return [{"params": list(self.parameters()), "lr": self.lr, "betas": self.betas}]

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """Gamma · E[logit 0 − logit 1], and the discriminator's cross-entropy as auxiliary loss.

        Terms: `tc` in nats, `discriminator_loss` in nats, `discriminator_accuracy` in [0, 1].
        """
        # the last batch of a split may have an odd number of rows, or a single one
        even = len(z) // 2 * 2
        codes, others = (z, z) if self.batches == "one" or not even else (z[:even:2], z[1:even:2])
        permuted = permute_latents(gather_rows(others.detach()), draws["permutation"])
        parameters = list(self.discriminator.parameters())
        tc, auxiliary, log_ratio = judge(codes, permuted, parameters, self.slope)
        right = torch.cat([log_ratio[: len(codes)] >= 0, log_ratio[len(codes) :] < 0])
        accuracy = right.to(tc.dtype).mean()
        terms = {"tc": tc, "discriminator_loss": auxiliary, "discriminator_accuracy": accuracy}
        return Penalty(self.gamma * tc, auxiliary, terms)
