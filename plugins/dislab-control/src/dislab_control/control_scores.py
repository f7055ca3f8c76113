"""Scores of the match between policies, or latents, and the factors that actions move."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dislab_control.selectivity import selectivity_of


class ControlTable(NamedTuple):
    """Selectivities by factor, averaged over states; blocked moves are excluded.

    Attributes:
        features: Mean selectivity of each latent over the moves of each factor, shape (latent,
            factor).
        policies: Share of each policy's moves that change each factor, times the selectivity of the
            policy's direction in these moves, shape (policy, factor).
        moves: Share of each policy's moves that change each factor, shape (policy, factor).
    """

    features: Tensor
    policies: Tensor
    moves: Tensor


def control_table(
    change: Float[Tensor, "state action latent"],
    probability: Float[Tensor, "state policy action"],
    direction: Float[Tensor, "state policy latent"],
    changed: Bool[Tensor, "state action factor"],
) -> ControlTable:
    """Computes the selectivity of latents and policies for each factor.

    The selectivity is always `absolute`, |Δ·φ| / (‖Δ‖₁ max |φ|), whichever the model was trained
    with, so that models can be compared. A policy's probabilities are normalised over the moves
    that are not blocked.

    Args:
        change: Change of the codes by each action.
        probability: Probability of each action under each policy.
        direction: Direction of each policy in the codes.
        changed: Which factor each action changes; none if it is blocked.
    """
    change, probability = change.double(), probability.double()
    effect = changed.double()
    moved = effect.sum(2).clamp(max=1)
    units = torch.eye(change.shape[2], dtype=change.dtype).expand(len(change), -1, -1)
    tiny = 1e-9
    single = selectivity_of(change, units, "absolute", epsilon=tiny)
    size = direction.double().abs().amax(2, keepdim=True).clamp(min=tiny)
    selectivity = selectivity_of(change, direction.double() / size, "absolute", epsilon=tiny)
    features = torch.einsum("sna,saf->nf", single, effect) / effect.sum((0, 1)).clamp(min=1)
    free = probability * moved[:, None]
    free = free / free.sum(2, keepdim=True).clamp(min=tiny)
    able = (moved.sum(1) > 0).sum().clamp(min=1)
    policies = torch.einsum("ska,ska,saf->kf", free, selectivity, effect) / able
    moves = torch.einsum("ska,saf->kf", free, effect) / able
    return ControlTable(features, policies, moves)


class Matched(NamedTuple):
    """Rows of a table matched to its columns.

    Attributes:
        score: Mean over factors of the entry in the matched row; 0 for a factor without a row.
        row: Row matched to each factor, −1 for none, shape (factor,).
    """

    score: float
    row: list[int]


def matched(table: Float[Tensor, "row factor"]) -> Matched:
    """Assigns rows to factors, at most one each, so that the sum of entries is largest.

    Kuhn (1955), https://doi.org/10.1002/nav.3800020109.

    Args:
        table: Selectivities, at least 0.
    """
    from scipy.optimize import linear_sum_assignment

    values = table.cpu().numpy()
    rows, factors = linear_sum_assignment(values, maximize=True)
    matches = np.full(values.shape[1], -1)
    matches[factors] = rows
    return Matched(float(values[rows, factors].sum() / values.shape[1]), matches.tolist())


def control_scores(
    table: ControlTable, single: float = 0.8, factors: list[int] | None = None
) -> dict[str, float]:
    """Scores of a table, each in [0, 1]; larger is better.

    `policy_selectivity` and `feature_selectivity` are the matched means; `single_factor` is the
    share of policies that move mainly one factor, in at least the share `single` of their moves;
    `controlled_factors` is the share of factors that such a policy moves.

    Args:
        table: Result of `control_table`.
        single: Minimum share of moves of one factor for a policy to count as moving a single one.
        factors: Columns of the factors that actions move; all unless given.
    """
    columns = list(range(table.moves.shape[1])) if factors is None else factors
    moves = table.moves[:, columns]
    pure = moves.amax(1) >= single
    reached = set(moves.argmax(1)[pure].tolist())
    return {
        "policy_selectivity": matched(table.policies[:, columns]).score,
        "feature_selectivity": matched(table.features[:, columns]).score,
        "single_factor": float(pure.double().mean()),
        "controlled_factors": len(reached) / len(columns),
    }


def shuffled(
    changed: Bool[Tensor, "state action factor"], seed: int
) -> Bool[Tensor, "state action factor"]:
    """Effects of the moves that are not blocked, shuffled independently for each state.

    Their scores are the chance level: the scores of codes and policies that are unrelated to the
    factors.

    Args:
        changed: Which factor each action changes.
        seed: Seed of the shuffling.
    """
    generator = torch.Generator().manual_seed(seed)
    blocked = ~changed.any(2)
    columns = blocked.long().argsort(dim=1, stable=True)
    lots = torch.rand(blocked.shape, generator=generator) + blocked
    permuted = torch.take_along_dim(changed, lots.argsort(1)[:, :, None], dim=1)
    return torch.empty_like(changed).scatter(1, columns[:, :, None].expand_as(changed), permuted)
