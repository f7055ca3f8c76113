"""Contract of the representation of a trained method: codes, posteriors, decoded images."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from dislab.base._array_inputs import taking_arrays
from dislab.base.parts import Posterior
from dislab.errors import InputError
from dislab.functional.streams import Stream


class Representation(ABC):
    """Encode images into codes, and decode latents into images.

    A concrete class implements `codes`, and overrides the other methods that it supports.
    """

    has_codes: ClassVar[bool] = True
    """Whether the method makes codes; a method without an encoder makes none and is not scored."""

    @abstractmethod
    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The representation that scores and predictors read, in float32.

        Args:
            image: Pixels in [0, 1].

        Raises:
            InputError: The method makes no codes (`has_codes` is False), or expects images of
                another shape or dtype.
        """

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x), if the method has them.

        Args:
            image: Pixels in [0, 1].

        Raises:
            InputError: The method has no posterior, or expects images of another shape or dtype.
        """
        raise InputError(f"{type(self).__name__} has no posterior over its latents")

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of latents, pixels in [0, 1], if the method has a decoder.

        Args:
            z: Latent vectors.

        Raises:
            InputError: The method has no decoder, or the latents do not fit it.
        """
        raise InputError(f"{type(self).__name__} has no decoder")

    def pixel_loss(
        self,
        z: Float[Tensor, "batch latent"],
        image: Float[Tensor, "batch channel height width"],
    ) -> Float[Tensor, ""]:
        """−log p(x|z) in nats per image, averaged over the batch, if the method has a likelihood.

        Args:
            z: Latent vectors.
            image: Pixels in [0, 1].

        Raises:
            InputError: The method has no likelihood of pixels, or the latents or images do not fit
                it.
        """
        raise InputError(f"{type(self).__name__} has no likelihood of pixels")

    @taking_arrays
    def reconstruct(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Reconstructions of images, pixels in [0, 1]: the decoded means of their posteriors.

        Args:
            image: Pixels in [0, 1].

        Raises:
            InputError: The method has no posterior or no decoder.
        """
        return self.decode(self.encode(image).mean)

    def render(
        self, factors: Int[Tensor, "batch factor"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of factors, pixels in [0, 1], if the method renders images from true factors.

        Args:
            factors: Positions: value numbers.

        Raises:
            InputError: The method does not render from true factors, or a position does not exist.
        """
        raise InputError(f"{type(self).__name__} does not draw from true factors")

    def generate(self, count: int, stream: Stream) -> Float[Tensor, "batch channel height width"]:
        """Images of latents drawn from the method's own prior, pixels in [0, 1].

        A method with posteriors and the standard normal prior need not override it.

        Args:
            count: Number of images.
            stream: Source of the random numbers, on its device.

        Raises:
            InputError: The method has no prior of its own, or the number is negative.
        """
        raise InputError(f"{type(self).__name__} has no prior of its own")

    def code_values(self, steps: int) -> list[Float[Tensor, " step"]]:
        """The values of each code in a latent traversal, if the method's codes are bounded.

        Args:
            steps: Number of values per continuous code.

        Raises:
            InputError: The codes are not bounded, or `steps` is 0.
        """
        raise InputError(f"the codes of {type(self).__name__} are not bounded")
