"""The aggregate posterior q(z): estimates from a batch, and a discriminator of its marginals."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dislab.functional.gaussians import log_density, standard_log_density
from dislab.functional.precision import full_precision, widen

Estimator = Literal["mws", "mss", "mws-unnormalised"]
"""How q(z) is estimated from a minibatch: weighted, stratified, or weighted without constants."""

ROWS_AT_ONCE = 256
"""Rows of the (batch, batch, latent) tensor that are built together."""

SLOPE = 0.2
"""Of the leaky rectifiers between the layers, in the paper."""


class Decomposition(NamedTuple):
    """The terms of E[KL(q(z|x) ‖ p(z))], in nats per image, batch averaged.

    Attributes:
        index_code_mi: Mutual information of image number and code.
        total_correlation: KL from the aggregate posterior to the product of its marginals.
        dimension_wise_kl: Sum over latents of KL from the marginal to the prior.
    """

    index_code_mi: Tensor
    total_correlation: Tensor
    dimension_wise_kl: Tensor


@full_precision
def decompose_kl(
    z: Float[Tensor, "batch latent"],
    mean: Float[Tensor, "all latent"],
    log_var: Float[Tensor, "all latent"],
    estimator: Estimator,
    train_size: int,
    first_row: int = 0,
) -> Decomposition:
    """Minibatch estimates whose sum is the sampled KL divergence.

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 2 and appendix C.

    Args:
        z: One sample of each of this process's posteriors.
        mean: Means of the posteriors of the global batch.
        log_var: Log variances of the posteriors of the global batch.
        estimator: How q(z) is estimated.
        train_size: Number of training images.
        first_row: Number of this process's first row in the global batch.
    """
    own = slice(first_row, first_row + len(z))
    log_q_zx = log_density(z, mean[own], log_var[own]).sum(1)
    weights = log_weights(len(mean), train_size, estimator, z)[own]
    joint, marginals = [], []
    for start in range(0, len(z), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        pairs = log_density(z[rows, None], mean[None], log_var[None])
        weight = weights[rows]
        joint.append(torch.logsumexp(pairs.sum(2) + weight, dim=1))
        marginals.append(torch.logsumexp(pairs + weight[:, :, None], dim=1).sum(1))
    log_q_z, log_prod_q_zj = torch.cat(joint), torch.cat(marginals)
    log_p_z = standard_log_density(z).sum(1)
    return Decomposition(
        (log_q_zx - log_q_z).mean(),
        (log_q_z - log_prod_q_zj).mean(),
        (log_prod_q_zj - log_p_z).mean(),
    )


def log_weights(
    count: int, train_size: int, estimator: Estimator, like: Float[Tensor, "..."]
) -> Float[Tensor, "all all"]:
    """Log weight of posterior j in the estimate of q(z_i), of one global batch.

    The stratified weights of a batch of M + 1 images out of N are 1/M, but 1/N for an image's own
    posterior and (N − M)/(N·M) for its cyclic successor, so that each row sums to one; a single
    image weighs one.

    Args:
        count: Images in the global batch.
        train_size: Number of training images N.
        estimator: How q(z) is estimated.
        like: Gives the device and the floating-point type.
    """
    weights = torch.zeros(count, count, device=like.device, dtype=like.dtype)
    if estimator == "mws-unnormalised":
        return weights
    if estimator == "mws":
        return weights - math.log(count * train_size)
    if count == 1:
        return weights  # the batch has a single posterior to estimate q(z) from
    others = count - 1
    row = torch.arange(count, device=like.device)[:, None]
    rest = max(train_size - others, 0) / (train_size * others)
    weights = weights - math.log(others)
    # not by indexing, for which a number is first sent to a card
    weights.scatter_(1, (row + 1) % count, math.log(rest) if rest else -math.inf)
    return weights.scatter_(1, row, -math.log(train_size))


@full_precision
def permute_latents(
    z: Float[Tensor, "all latent"], permutation: Int[Tensor, "batch latent"]
) -> Float[Tensor, "batch latent"]:
    """Samples of the product of marginals: each latent taken from another image.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, algorithm 1.

    Args:
        z: Samples of the aggregate posterior.
        permutation: Which row each latent of each result comes from.
    """
    return z.gather(0, permutation)


class Judgement(NamedTuple):
    """Verdict of a discriminator on codes and permuted codes.

    Attributes:
        tc: Mean log ratio of the codes, in nats: their total correlation. Its gradient reaches the
            codes only.
        loss: Cross-entropy of the classification of both, in nats per row. Its gradient reaches the
            discriminator only.
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
    """Total correlation and the discriminator's loss, for the price of the loss alone.

    Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, eq. 3. Both depend on a row through logit 0
    minus logit 1 only, so their gradients at any layer are multiples of each other, row by row. One
    backward pass carries the gradient of that difference; each weight's gradient takes the rows
    with the factors of the loss, the codes' gradient with those of the total correlation. Judging
    the codes a second time for the penalty would cost a third more.

    Args:
        codes: Samples of the aggregate posterior.
        permuted: Samples of the product of its marginals; they get no gradient.
        parameters: Weight and bias of each linear layer in turn, the last of two units; between
            them are leaky rectifiers.
        slope: Of these for negative values.
    """
    rows = torch.cat([codes, permuted.detach()])
    device = rows.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        rows, parameters = rows.to(dtype), [parameter.to(dtype) for parameter in parameters]
    apply: Any = _Judge.apply  # without types of its own
    tc, loss, log_ratio, *_ = apply(rows, len(codes), slope, *parameters)
    return Judgement(tc, loss, log_ratio)


class _Judge(torch.autograd.Function):
    """Means and gradients by hand; results include all tensors that `setup_context` keeps."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rows: Tensor, count: int, slope: float, *parameters: Tensor) -> tuple[Tensor, ...]:
        """Both means, the log ratios, and the results of the rectifiers."""
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
        """Keeps the tensors that the gradients need."""
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
        """The gradient of tc for the rows, that of the loss for the parameters."""
        of_tc, of_loss = gradients[:2]
        log_ratio, *kept = ctx.saved_tensors
        inputs, parameters, count = kept[: ctx.layers], kept[ctx.layers :], ctx.count
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
                own = (flow * share).to(flow.dtype)
                of_parameters[2 * layer] = own.T @ inputs[layer]
                of_parameters[2 * layer + 1] = own.sum(0)
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
