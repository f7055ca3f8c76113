"""Derivatives of the logistic and the softmax loss."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def logit_gradients(
    logits: Float[Tensor, "image kind"], labels: Int[Tensor, " image"]
) -> Float[Tensor, "2 image kind"]:
    """First and second derivatives of the negative log-likelihood by each logit.

    With p the probability of a kind they are p, less one for the label, and p·(1 − p). Where p
    is close to one, 1 − p is computed as the sum of the other probabilities, not as a difference.

    Args:
        logits: One column a kind, or only that of the second kind of two.
        labels: Numbers of kinds.
    """
    column = labels[:, None]
    if logits.shape[1] == 1:
        other, own = torch.sigmoid(-logits), torch.sigmoid(logits)
        return torch.stack([torch.where(column == 1, -other, own), own * other])
    result = logits.new_empty((2, *logits.shape))
    first, second = result
    torch.softmax(logits, 1, out=first)
    own = first.gather(1, column)
    rest = first.scatter_(1, column, 0.0).sum(1, keepdim=True)
    torch.addcmul(first, first, first, value=-1.0, out=second)
    second.scatter_(1, column, own * rest)
    first.scatter_(1, column, -rest)
    return result
