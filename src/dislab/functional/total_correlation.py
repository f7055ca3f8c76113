"""Total correlation of the aggregate posterior q(z), by minibatch estimates or a discriminator."""

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
"""Minibatch estimator of q(z): stratified, weighted, or weighted without its constants."""

ROWS_AT_ONCE = 256
"""Number of rows of the (batch, batch, latent) tensor computed together."""

SLOPE = 0.2
"""Negative slope of the leaky ReLUs between the layers, from the paper."""


class Decomposition(NamedTuple):
    """The terms of E[KL(q(z|x) ‖ p(z))], in nats per image, averaged over the batch.

    Attributes:
        index_code_mi: Mutual information of image index and code.
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
    """Minibatch estimates of three terms whose sum is the sampled KL divergence.

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 2 and appendix C.

    Args:
        z: One sample of each of this process's posteriors.
        mean: Means of the posteriors of the global batch.
        log_var: Log variances of the posteriors of the global batch.
        estimator: How q(z) is estimated.
        train_size: Number of training images.
        first_row: Number of this process's first row in the global batch.
    """
    batch = slice(first_row, first_row + len(z))
    log_q_zx = log_density(z, mean[batch], log_var[batch]).sum(1)
    weights = log_weights(len(mean), train_size, estimator, z)[batch]
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
    """Log weights of posterior j in the estimate of q(z_i), for one global batch.

    For a batch of M + 1 of N images, the stratified weights are 1/N for an image's own posterior,
    (N − M)/(N·M) for its cyclic successor, and 1/M for all others, so that each row sums to one; a
    single image has weight one.

    Args:
        count: Images in the global batch.
        train_size: Number of training images N.
        estimator: How q(z) is estimated.
        like: Tensor with the device and dtype of the result.
    """
    weights = torch.zeros(count, count, device=like.device, dtype=like.dtype)
    if estimator == "mws-unnormalised":
        return weights
    if estimator == "mws":
        return weights - math.log(count * train_size)
    if count == 1:
        return weights  # a single posterior estimates q(z)
    others = count - 1
    row = torch.arange(count, device=like.device)[:, None]
    remainder = max(train_size - others, 0) / (train_size * others)
    weights = weights - math.log(others)
    # not by indexing, which first copies a number to the device
    weights.scatter_(1, (row + 1) % count, math.log(remainder) if remainder else -math.inf)
    return weights.scatter_(1, row, -math.log(train_size))


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
