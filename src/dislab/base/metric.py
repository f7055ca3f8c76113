"""Contract of the scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from dislab.errors import explained
from dislab.factors import FactorSpace
from dislab.functional.code_bank import CodeBank, checked

try:
    import torchmetrics
except RuntimeError as error:
    raise explained(error) from error


class Metric(torchmetrics.Metric, ABC):
    """A score of codes against the factors that made the images.

    It keeps references to what `update` receives; `compute` checks all of it once and hands it to
    `score`, which a concrete class implements. Scores that are computed together share one checked
    bank of codes. Processes are not synchronised: codes are gathered once, before any score sees
    them.

    Args:
        space: The factors behind the images.
    """

    is_differentiable = False
    full_state_update = False
    least: ClassVar[int] = 2
    """The fewest images that the score can do with."""
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
    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        """Scalars are the score's values, vectors and matrices its per-factor parts, by name.

        Args:
            bank: Checked codes and factors.
        """

    def compute(self) -> dict[str, Tensor]:
        """What `score` makes of everything that `update` received.

        Raises:
            InputError: The codes or factors cannot be scored; the message says why.
        """
        return self.score(checked(self.codes, self.factors, self.space, least=self.least))


MetricBuilder = Callable[[FactorSpace], Metric]
"""Makes a score from the factors behind the images."""
