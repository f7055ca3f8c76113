"""Support vector machines on one latent each."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import InputError
from dislab.learners.hinge_lines import hinge_lines, sorted_moments


@final
class LatentSVC:
    """A linear support vector machine for each latent alone, with balanced class weights.

    The squared hinge loss plus half the squared weight and intercept, one kind of label against
    the rest, with the weight of a kind inverse to its frequency: the problem that scikit-learn's
    `LinearSVC(C=…, class_weight="balanced")` solves on a single column. With one column each has
    two unknowns, and sums over sorted codes give its derivatives without a pass over the images,
    so that all latents and labels are solved together, to the optimum, by Newton steps.

    Args:
        C: Weight of the losses against the squared weight, as in scikit-learn.
    """

    def __init__(self, C: float = 0.01) -> None:  # noqa: N803, the name in the literature
        self.C = C
        self._kinds: Tensor | None = None
        self._line: Tensor | None = None

    def fit(
        self, codes: Float[Tensor, "image latent"], labels: Int[Tensor, " image"]
    ) -> "LatentSVC":
        """Itself, fitted.

        Args:
            codes: Codes to learn from.
            labels: What to predict; at least two different numbers.

        Raises:
            InputError: All labels are equal.
        """
        self._kinds, own = torch.unique(labels, return_inverse=True)
        kinds = len(self._kinds)
        if kinds < 2:
            raise InputError("a classifier needs labels of at least two kinds to learn from")
        moments = sorted_moments(codes.double(), own, kinds)
        balanced = self.C * len(own) / (kinds * torch.bincount(own).double())
        # as in liblinear: with two kinds one problem with both weights, otherwise the weight of
        # the one kind and no weight for the rest
        positive = balanced[1:] if kinds == 2 else balanced
        negative = balanced[:1] if kinds == 2 else torch.full_like(balanced, self.C)
        chosen = torch.arange(kinds, device=codes.device)[-len(positive) :]
        self._line = hinge_lines(moments, chosen, positive, negative)
        return self

    def predict(self, codes: Float[Tensor, "image latent"]) -> Int[Tensor, "image latent"]:
        """What each latent alone makes of each code.

        Args:
            codes: Codes with the latents of those learnt from.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        if self._kinds is None:
            raise InputError("call fit(codes, labels) first")
        columns = []
        for column, (weight, intercept) in zip(codes.double().T, self.lines(), strict=True):
            height = column[:, None] * weight + intercept
            winner = height.argmax(1) if len(weight) > 1 else (height[:, 0] > 0).long()
            columns.append(self._kinds[winner])
        return torch.stack(columns, dim=1)

    def lines(self) -> Float[Tensor, "latent 2 problem"]:
        """Weight and intercept of each latent's problems: one a label, or one for two labels.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        if self._line is None:
            raise InputError("call fit(codes, labels) first")
        return self._line
