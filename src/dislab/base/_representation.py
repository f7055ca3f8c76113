"""Contract of the representation of a trained method: codes, posteriors, decoded images."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from dislab.base.parts import Posterior
from dislab.errors import InputError
from dislab.functional.streams import Stream


class Representation(ABC):
    """Encoding of images into codes, and decoding of latents into images.

    A concrete class implements `codes`, and overrides the other methods that it supports.
    """

    has_codes: ClassVar[bool] = True
    """Whether the method has codes; a method without an encoder has none and is not scored."""

    @abstractmethod
    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The representation that scores and predictors read, in float32.

        Args:
            image: Pixels in [0, 1].

        Raises:
            InputError: The method makes no codes of images, and its `has_codes` says so; or it was
                made for images of another shape or kind of number.
        """

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x), of a method that has them.

        Args:
            image: Pixels in [0, 1].

        Raises:
            InputError: The method has no posterior, or was made for images of another shape or
                kind of number.
        """
        raise InputError(f"{type(self).__name__} has no posterior over its latents")

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of latents, pixels in [0, 1], of a method that has a decoder.

        Args:
            z: Latent vectors.

        Raises:
            InputError: The method has no decoder, or other latents.
        """
        raise InputError(f"{type(self).__name__} has no decoder")

    def pixel_loss(
        self,
        z: Float[Tensor, "batch latent"],
        image: Float[Tensor, "batch channel height width"],
    ) -> Float[Tensor, ""]:
        """−log p(x|z) in nats per image, mean over the batch, of a method with such a likelihood.

        Args:
            z: Latent vectors.
            image: Pixels in [0, 1].

        Raises:
            InputError: The method has no likelihood of pixels, or other latents or images.
        """
        raise InputError(f"{type(self).__name__} has no likelihood of pixels")

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
        """Mean images of factors, pixels in [0, 1], of a method that draws from true factors.

        Args:
            factors: Positions: value numbers.

        Raises:
            InputError: The method does not draw from true factors, or a position does not exist.
        """
        raise InputError(f"{type(self).__name__} does not draw from true factors")

    def generate(self, count: int, stream: Stream) -> Float[Tensor, "batch channel height width"]:
        """Images of latents drawn from a prior that is the method's own, pixels in [0, 1].

        A method with posteriors and the standard normal prior needs none.

        Args:
            count: Number of images.
            stream: Source of the numbers; they live on its device.

        Raises:
            InputError: The method has no prior of its own, or the number is negative.
        """
        raise InputError(f"{type(self).__name__} has no prior of its own")

    def code_values(self, steps: int) -> list[Float[Tensor, " step"]]:
        """The values that a picture moves each code through, of a method whose codes are bounded.

        Args:
            steps: Number of values of a continuous code.

        Raises:
            InputError: The codes are not bounded, or `steps` is 0.
        """
        raise InputError(f"the codes of {type(self).__name__} are not bounded")
