"""Contract of predictors of factors from codes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from dislab.functional.settings import checks_settings


class Predictor(ABC):
    """Learns every factor from codes, of one run or of several runs at once.

    A concrete class takes (number of latents, number of classes of each factor) first. A factor
    with 0 classes is a number in [0, 1] and is regressed; one with more is a kind, whose targets
    are class numbers, and is classified. Nothing that it learns for one factor or one run depends
    on the other factors and runs.
    """

    engines: ClassVar[tuple[str, ...]] = ()
    """Distributions, besides torch and its own, whose version its predictions depend on."""

    def __init_subclass__(cls) -> None:
        """Lets every constructor refuse settings of the wrong kind."""
        super().__init_subclass__()
        checks_settings(cls)

    @abstractmethod
    def fit(
        self,
        codes: Float[Tensor, "run image latent"],
        targets: Float[Tensor, "image factor"],
    ) -> None:
        """Learns from scratch.

        Args:
            codes: Codes of the same images in each run.
            targets: Values in [0, 1] or class numbers, one column a factor.
        """

    @abstractmethod
    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Values, which may lie outside of [0, 1], or class numbers.

        Args:
            codes: Codes of the same images in each run, on any device.
        """


PredictorBuilder = Callable[[int, tuple[int, ...]], Predictor]
"""Makes a predictor from a number of latents and the number of classes of each factor."""
