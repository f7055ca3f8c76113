"""Selectivities: whether an action changes the codes along one direction only."""

from typing import Final, Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.functional.runtime import full_precision

Selectivity = Literal[
    "absolute", "signed", "cosine", "dot_prod", "relu_dot_prod", "gaussian", "attribute"
]
"""Names of the selectivities; their formulas are in `selectivity_of`."""

Form = Literal["plain", "log", "ratio"]
"""The selectivity, its logarithm, or the logarithm of its ratio to the mean over policies."""

UNBOUNDED: Final = ("cosine", "dot_prod", "relu_dot_prod", "attribute")
"""Selectivities that grow with the scale of the codes, so that only the form `ratio` is bounded."""

EPSILON: Final = 1e-3
"""Constant added to the total change, so that a move without effect has a selectivity of 0."""

_LOG_FLOOR: Final = 1e-2
_RATIO_FLOOR: Final = 1e-3
_MEAN_FLOOR: Final = 1e-5


@full_precision
def selectivity_of(
    change: Float[Tensor, "batch action latent"],
    direction: Float[Tensor, "batch policy latent"],
    kind: Selectivity,
    width: float = 1.0,
    epsilon: float = EPSILON,
) -> Float[Tensor, "batch policy action"]:
    """Selectivity A(Δ, φ) of each action for each policy, dimensionless.

    With the change Δ = h′ − h of the codes, and the direction φ of a policy:

        absolute       |Δ·φ| / (‖Δ‖₁ + ε)
        signed          Δ·φ  / (‖Δ‖₁ + ε)
        cosine         ‖Δ‖₂ + Δ·φ/‖φ‖₂
        dot_prod       |Δ·φ|
        relu_dot_prod  max(Δ·φ, 0)
        gaussian       exp(−‖Δ − φ‖₂² / 2σ²)

    `absolute` with unit vectors φ is sel(s, a, k) of Bengio et al. (2017),
    https://arxiv.org/abs/1703.07718; `gaussian` is A of Thomas et al. (2018),
    https://arxiv.org/abs/1802.09484. The names from `cosine` on are those of the authors' code,
    except `attribute`, which is `attrsel` there; it needs a network and is not computed here.
    `signed` of the authors' code divides by the sum of max(Δ, 0) instead.

    Args:
        change: Change of the codes by each action.
        direction: Direction of each policy.
        kind: Name of the selectivity.
        width: σ of `gaussian`, in units of the codes.
        epsilon: ε, in units of the codes.
    """
    along = torch.einsum("ban,bkn->bka", change, direction)
    total = change.abs().sum(2)[:, None] + epsilon
    if kind == "absolute":
        return along.abs() / total
    if kind == "signed":
        return along / total
    if kind == "cosine":
        return _length(change)[:, None] + along / _length(direction)[:, :, None]
    if kind == "dot_prod":
        return along.abs()
    if kind == "relu_dot_prod":
        return along.relu()
    if kind == "gaussian":
        apart = (change[:, None] - direction[:, :, None]).square().sum(3)
        return torch.exp(-apart / (2 * width**2))
    if kind == "attribute":
        raise NotImplementedError("the objective computes it with its network")
    assert_never(kind)


@full_precision
def reward_of(
    selectivity: Float[Tensor, "batch policy action"], form: Form
) -> Float[Tensor, "batch policy action"]:
    """Reward, whose expectation is maximised.

    `log` is log(max(A, 0) + 0.01), equation 2 of Bengio et al. (2017) with a floor; `ratio` is
    log(0.001 + A / E_φ′[A]), Thomas et al. (2017), https://arxiv.org/abs/1708.01289, with the
    floors of the authors' code and the mean over the policies of an image as the expectation.

    Args:
        selectivity: Result of `selectivity_of`.
        form: Name of the form.
    """
    if form == "plain":
        return selectivity
    positive = selectivity.relu()
    if form == "log":
        return torch.log(positive + _LOG_FLOOR)
    if form == "ratio":
        mean = (positive + _MEAN_FLOOR).mean(1, keepdim=True)
        return torch.log(_RATIO_FLOOR + positive / mean)
    assert_never(form)


def _length(vectors: Float[Tensor, "batch row latent"]) -> Float[Tensor, "batch row"]:
    """Euclidean norm, with a gradient of 0 at 0."""
    return (vectors.square().sum(2) + 1e-12).sqrt()
