"""What classifiers and regressions made of boosted trees share."""

from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.codes.learners.boosted_logits import BoostedLogits
from dislab.errors import InputError

DEEPEST: Final = 8
"""Trees are complete, and the numbers of their leaves are bytes."""


class BoostedTrees:
    """Boosted trees that split at histogram bins, with importances.

    Args:
        rounds: Number of boosting rounds.
        depth: Largest depth of a tree, up to 8.
        rate: Shrinkage of each tree.

    Raises:
        InputError: The depth is not from 1 to 8.
    """

    def __init__(self, rounds: int = 100, depth: int = 3, rate: float = 0.1) -> None:
        if not 1 <= depth <= DEEPEST:
            raise InputError(f"the depth of trees is {depth}; it must be from 1 to {DEEPEST}")
        self.rounds = rounds
        self.depth = depth
        self.rate = rate
        self._learnt: BoostedLogits | None = None

    def importances(self) -> Float[Tensor, " latent"]:
        """Each latent's share of what all splits explain; zeros where no tree has a split.

        As in scikit-learn's `feature_importances_` of exact boosting, the squared residuals that
        the splits explain, Friedman (2001), https://doi.org/10.1214/aos/1013203451, section 8.1,
        are added up over all trees before they are normalised, so that late trees, which fit noise,
        count little.

        Raises:
            InputError: Nothing has been learnt yet.
        """
        gains = self._fitted().gain
        total = gains.sum()
        return torch.from_numpy(gains / (total if total > 0 else 1.0))

    def _fitted(self) -> BoostedLogits:
        if self._learnt is None:
            raise InputError("call fit first")
        return self._learnt
