"""Contract of the predictors, which predict factors from codes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from dislab.naming.settings import Part


class Predictor(Part, ABC):
    """Learns every factor from codes, of one run or of several runs at once.

    The first constructor arguments of a concrete class are (number of latents, number of classes of
    each factor). A factor with 0 classes is a number in [0, 1] and is regressed; any other factor
    is classified, and its targets are class numbers. Each factor and each run is learnt
    independently of the others.
    """

    filled_in = 2
    engines: ClassVar[tuple[str, ...]] = ()
    """Distributions, besides torch and its own, whose versions affect the predictions."""

    @abstractmethod
    def fit(
        self,
        codes: Float[Tensor, "run image latent"],
        targets: Float[Tensor, "image factor"],
    ) -> None:
        """Learn from scratch.

        Args:
            codes: Codes of the same images in each run.
            targets: Values in [0, 1] or class numbers, one column per factor.

        Raises:
            InputError: Codes or targets have wrong shapes or values, or are not finite.
        """

    @abstractmethod
    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        """Predicted values, which may lie outside of [0, 1], or class numbers.

        Args:
            codes: Codes of the same images in each run, on any device.

        Raises:
            InputError: `fit` has not been called, or codes have a wrong shape or are not finite.
        """


PredictorBuilder = Callable[[int, tuple[int, ...]], Predictor]
"""Makes a predictor from a number of latents and the number of classes of each factor."""
