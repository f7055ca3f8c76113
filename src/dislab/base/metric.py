"""Contract of the scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torchmetrics
from jaxtyping import Float, Int
from torch import Tensor
from torchmetrics.utilities import dim_zero_cat

from dislab.factors import FactorSpace


class Metric(torchmetrics.Metric, ABC):
    """A score of codes against the factors that made the images.

    It keeps references to what `update` receives; `compute` scores all of it at once. Processes
    are not synchronised: codes are gathered once, before any score sees them.

    Args:
        space: The factors behind the images.
    """

    is_differentiable = False
    full_state_update = False
    codes: list[Tensor]
    factors: list[Tensor]

    def __init__(self, space: FactorSpace) -> None:
        super().__init__(sync_on_compute=False)
        self.space = space
        self.add_state("codes", default=[], dist_reduce_fx="cat")
        self.add_state("factors", default=[], dist_reduce_fx="cat")

    def update(
        self, codes: Float[Tensor, "batch latent"], factors: Int[Tensor, "batch factor"]
    ) -> None:
        """Adds a batch.

        Args:
            codes: Codes, for most scores the posterior means.
            factors: Positions: value numbers, one column a factor of the space.
        """
        self.codes.append(codes)
        self.factors.append(factors)

    @abstractmethod
    def compute(self) -> dict[str, Tensor]:
        """Scalars are the score's values, vectors and matrices its per-factor parts, by name."""

    def seen(self) -> tuple[Float[Tensor, "all latent"], Int[Tensor, "all factor"]]:
        """Everything that `update` received, in order."""
        return dim_zero_cat(self.codes), dim_zero_cat(self.factors)


MetricBuilder = Callable[[FactorSpace], Metric]
"""Makes a score from the factors behind the images."""
