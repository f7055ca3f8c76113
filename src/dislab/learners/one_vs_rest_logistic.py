"""Logistic regressions of many yes-or-no questions at once."""

from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dislab.errors import InputError

ITERATIONS: Final = 100
HALVINGS: Final = 30
TOLERANCE: Final = 1e-8
NUMBERS_AT_ONCE: Final = 4_000_000
"""Products of two latents held in memory together; bounds the memory, changes no result."""


@final
class OneVsRestLogistic:
    """Logistic regressions on the same codes, one a question, solved together by Newton steps.

    Each minimises the sum of its log-losses plus half the squared weights over C, with a free
    intercept: the problem of scikit-learn's `LogisticRegression(C=…)` for two labels.

    Args:
        C: Inverse of the penalty's strength, as in scikit-learn.
    """

    def __init__(self, C: float = 1.0) -> None:  # noqa: N803, the name in the literature
        self.C = C
        self._weights: Tensor | None = None

    def fit(
        self, codes: Float[Tensor, "image latent"], answers: Bool[Tensor, "image question"]
    ) -> "OneVsRestLogistic":
        """Itself, fitted.

        Args:
            codes: Codes to learn from, of similar scales.
            answers: One column a question, each with both answers.

        Raises:
            InputError: A question has one answer only.
        """
        if not (answers.any(0) & ~answers.all(0)).all():
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        inputs, truth = _with_one(codes), answers.T.to(torch.float64).contiguous()
        penalty = torch.full_like(inputs[0], 1 / self.C)
        penalty[-1] = 0.0
        share = truth.mean(1)
        weights = torch.zeros(len(truth), inputs.shape[1]).to(inputs)
        weights[:, -1] = (share / (1 - share)).log()
        left = torch.arange(len(truth), device=inputs.device)  # the questions not solved yet
        logits, answer = weights @ inputs.T, truth
        for _ in range(ITERATIONS):
            own = weights[left]
            value = _objective(answer, penalty, own, logits)
            step, slope = _newton(inputs, answer, penalty, own, logits)
            going = -slope > TOLERANCE * value
            if not going.any():
                break
            left, answer = left[going], answer[going]
            own, value, step, slope = own[going], value[going], step[going], slope[going]
            weights[left], logits = _moved(inputs, answer, penalty, own, value, step, slope)
        self._weights = weights.T
        return self

    def logits(self, codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image question"]:
        """Logarithms of the odds of a yes.

        Args:
            codes: Codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        if self._weights is None:
            raise InputError("call fit(codes, answers) first")
        return _with_one(codes) @ self._weights


def _with_one(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "image input"]:
    wide = codes.double()
    return torch.cat([wide, torch.ones_like(wide[:, :1])], dim=1)


def _objective(
    truth: Float[Tensor, "question image"],
    penalty: Float[Tensor, " input"],
    weights: Float[Tensor, "question input"],
    logits: Float[Tensor, "question image"],
) -> Float[Tensor, " question"]:
    losses = torch.nn.functional.softplus(logits).sum(1) - torch.linalg.vecdot(truth, logits)
    value: Tensor = losses + (penalty * weights.square()).sum(1) / 2
    return value


def _newton(
    inputs: Float[Tensor, "image input"],
    truth: Float[Tensor, "question image"],
    penalty: Float[Tensor, " input"],
    weights: Float[Tensor, "question input"],
    logits: Float[Tensor, "question image"],
) -> tuple[Float[Tensor, "question input"], Float[Tensor, " question"]]:
    """The Newton step of each question, and by how much its objective falls along it."""
    chance = torch.sigmoid(logits)
    gradient = (chance - truth) @ inputs + penalty * weights
    doubt = chance.mul_(1 - chance)
    width = inputs.shape[1]
    rows, columns = torch.triu_indices(width, width, device=inputs.device)
    upper = torch.zeros(len(truth), len(rows)).to(inputs)
    at_once = max(1, NUMBERS_AT_ONCE // len(rows))
    for part, own in zip(
        torch.split(inputs, at_once), torch.split(doubt, at_once, dim=1), strict=True
    ):
        upper = upper + own @ (part.T[rows] * part.T[columns]).T
    curvature = torch.zeros(len(truth), width, width).to(inputs)
    curvature[:, rows, columns] = upper
    curvature[:, columns, rows] = upper
    # a latent that stands still has no curvature but the penalty's; the intercept not even that
    curvature = curvature + torch.diag(penalty + 1e-12)
    step = -torch.linalg.solve(curvature, gradient[..., None])[..., 0]
    return step, (step * gradient).sum(1)


def _moved(
    inputs: Float[Tensor, "image input"],
    truth: Float[Tensor, "question image"],
    penalty: Float[Tensor, " input"],
    weights: Float[Tensor, "question input"],
    value: Float[Tensor, " question"],
    step: Float[Tensor, "question input"],
    slope: Float[Tensor, " question"],
) -> tuple[Float[Tensor, "question input"], Float[Tensor, "question image"]]:
    """Weights and logits after the step, halved for each question until it helps."""
    moved = weights + step
    logits = moved @ inputs.T
    share = torch.ones_like(value)
    for _ in range(HALVINGS):
        reached = _objective(truth, penalty, moved, logits)
        short = (reached > value + 1e-4 * share * slope).nonzero().flatten()
        if not len(short):
            break
        share[short] = share[short] / 2
        moved[short] = weights[short] + share[short, None] * step[short]
        logits[short] = moved[short] @ inputs.T
    return moved, logits
