"""Contract of the representation of a trained method, and checks of the images that it encodes."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, Final, cast

import lightning.pytorch as pl
import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from lightning.pytorch.trainer.states import TrainerStatus
from torch import Tensor

from dislab.base._batches import received
from dislab.base.parts import Posterior, is_vector
from dislab.base.pixels import check_pixels
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.functional.streams import Stream
from dislab.naming.settings import is_number


def takes_arrays(cls: type) -> None:
    """Lets an objective's methods accept NumPy arrays and bytes, and refuse pixels out of range.

    An array is converted to the device of the weights, and to their dtype unless it has positions;
    bytes of images, in a tensor too, are divided by 255. `losses` takes batches of any loader
    instead.
    """
    for name, taking in _TAKING.items():
        method = cls.__dict__.get(name)
        if callable(method) and not getattr(method, "__isabstractmethod__", False):
            setattr(cls, name, taking(method))


def _taking_images(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of images that also accepts arrays and bytes, and refuses pixels out of range."""

    @functools.wraps(method)
    def taking(self: Any, image: Any) -> Any:
        if isinstance(image, np.ndarray):
            check_pixels("images", [image], is_vector(image.shape))
            with torch.no_grad():
                return method(self, _fractions(image, self))
        if not hasattr(image, "ndim"):
            raise InputError(
                f"{method.__name__} of {type(self).__name__} takes images as one array or tensor "
                f"of shape (image, channel, height, width), not {type(image).__name__}; "
                "numpy.stack makes one of a list of arrays"
            )
        if isinstance(image, Tensor):
            _check_range(self, image)
            image = _fractions(image, self)
        return method(self, image)

    return taking


def _taking_latents(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of latents that also accepts NumPy arrays."""

    @functools.wraps(method)
    def taking(self: Any, z: Any) -> Any:
        return _called(method, self, z, "fiub", "latents as one array or tensor of numbers")

    return taking


def _taking_positions(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of factors that also accepts NumPy arrays."""

    @functools.wraps(method)
    def taking(self: Any, factors: Any) -> Any:
        return _called(
            method, self, factors, "iu", "positions of factors as one array or tensor of integers"
        )

    return taking


def _without_gradients(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose tensors are results to look at."""

    @functools.wraps(method)
    def taking(self: Any, *args: Any, **settings: Any) -> Any:
        with torch.no_grad():
            return method(self, *args, **settings)

    return taking


def _taking_streams(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of random numbers that also accepts a seed, and refuses torch's generators."""

    @functools.wraps(method)
    def taking(self: Any, count: Any, stream: Any) -> Any:
        if isinstance(count, Stream):
            raise InputError("draw takes the number of images first: draw(count, stream)")
        return method(self, count, self.prior_stream(stream))

    return taking


def _taking_batches(method: Callable[..., Any]) -> Callable[..., Any]:
    """A loss that, without a trainer, also accepts batches of any loader, and a step as an int.

    The first batch is checked as a trainer checks its own, later ones for their pixels.
    """

    @functools.wraps(method)
    def taking(self: Any, batch: Any, draws: Any, step: Any) -> Any:
        if torch.compiler.is_compiling() or _is_in_trainer(self):
            return method(self, batch, draws, step)
        batch = received(self.batch_types, batch)
        step = step if isinstance(step, Tensor) else torch.tensor(step, device=self.device)
        draws = _NamedDraws(type(self).__name__, draws)
        with self.checked_first("plain", batch), _computing_losses(self):
            draws.check_rows(self.code_noise or (), len(batch[0]))
            return method(self, batch, draws, step)

    return taking


@contextmanager
def _computing_losses(model: Any) -> Iterator[None]:
    """In which a method may add noise to images before it encodes them."""
    before = model.computes_losses  # a loss may call that of its base class
    model.computes_losses = True
    try:
        yield
    finally:
        model.computes_losses = before


class _NamedDraws(dict[str, Tensor]):
    """Draws of a loss, which say what they lack.

    Args:
        method: Name of the class whose loss takes them.
        draws: Tensors by name.

    Raises:
        InputError: They are no mapping; later, there is no such name.
    """

    def __init__(self, method: str, draws: Any) -> None:
        self._method = method
        if not isinstance(draws, Mapping):
            raise self._refusal(f"are {type(draws).__name__}, not tensors by their names")
        super().__init__(draws)

    def check_rows(self, names: Sequence[str], examples: int) -> None:
        """Refuses draws of other than one row for each example of the batch."""
        for name in names:
            if len(self[name]) != examples:
                rows = f"have {len(self[name])} rows of {name!r}, and the batch has {examples}"
                raise self._refusal(rows)

    def __missing__(self, name: str) -> Tensor:
        """Refuses a name that is missing."""
        names = ", ".join(map(repr, self)) or "nothing"
        raise self._refusal(f"lack {name!r}; they have {names}")

    def _refusal(self, fault: str) -> InputError:
        remedy = "its draw(count, stream) makes all, for as many examples as the batch has"
        return InputError(f"draws of {self._method} {fault}; {remedy}")


def _called(
    method: Callable[..., Any], model: pl.LightningModule, rows: Any, kinds: str, allowed: str
) -> Any:
    """Calls a method of a model with rows, from an array of these kinds or a tensor.

    Raises:
        InputError: The rows are no tensor, and no array of these kinds.
    """
    if isinstance(rows, np.ndarray) and rows.dtype.kind in kinds:
        with torch.no_grad():
            return method(model, _tensor(rows, model, "f" in kinds))
    if not isinstance(rows, Tensor):
        given = f"an array of {rows.dtype}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise InputError(
            f"{method.__name__} of {type(model).__name__} takes {allowed}, one row for each image, "
            f"not {given}; numpy.array makes one of a list"
        )
    return method(model, rows)


def _tensor(array: npt.NDArray[Any], model: pl.LightningModule, is_real: bool = True) -> Tensor:
    """A copy of an array on the device of a model: in the dtype of the weights, or as int64."""
    # torch takes no swapped bytes and no long double
    native = np.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
    dtype = model.dtype if is_real else torch.int64
    return torch.tensor(array.astype(native), device=model.device).to(dtype)


def _fractions(image: npt.NDArray[Any] | Tensor, model: pl.LightningModule) -> Tensor:
    """Pixels of an array, or of a tensor of bytes or booleans, as fractions."""
    if isinstance(image, Tensor):
        if image.dtype not in (torch.uint8, torch.bool):
            return image
        pixels = image.to(model.dtype)
    else:
        pixels = _tensor(image, model)
    return pixels / 255 if image.dtype in (np.uint8, torch.uint8) else pixels


_TAKING: Final = {
    "codes": _taking_images,
    "encode": _taking_images,
    "reconstruct": _taking_images,
    "decode": _taking_latents,
    "render": _taking_positions,
    "generate": _without_gradients,
    "draw": _taking_streams,
    "losses": _taking_batches,
}
"""What lets each method of an objective accept what users have."""


def _check_range(model: pl.LightningModule, image: Tensor) -> None:
    """Checks pixels outside of losses, in which an objective may add noise to images.

    A trainer checks its first batch, and does not wait for the values of others.
    """
    checked = model.checks_pixels and not model.computes_losses
    if not checked or torch.compiler.is_compiling() or _is_in_trainer(model):
        return
    try:
        check_pixels("images", [image], is_vector(image.shape))
    except RuntimeError:  # within torch's transformations, such as vmap, tensors have no values
        return


def _is_in_trainer(model: pl.LightningModule) -> bool:
    try:
        return model.trainer.state.status == TrainerStatus.RUNNING
    except RuntimeError:  # no trainer
        return False


class Representation(ABC):
    """Encode images into codes, and decode latents into images.

    `codes`, `encode`, `reconstruct`, `decode` and `render` also take NumPy arrays, and then return
    tensors without gradients; bytes of images, in tensors too, are divided by 255. Of tensors, they
    return tensors with gradients to the weights, as training needs, so that `.numpy()` needs
    `torch.no_grad()` around them or `.detach()` before it. `generate`, and all methods of a model
    of `open_run`, return tensors without gradients. All are of the dtype of the weights, float32
    unless they were trained in double precision.

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

        They have gradients to latents and weights, unless these need none or latents are an array.

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

    @_taking_images
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

    def prior_stream(self, stream: Stream | int | None) -> Stream:
        """The source of random numbers of `generate` and `draw`, on the device of the model.

        Args:
            stream: A seed, None for 0, or a stream, which is returned itself.

        Raises:
            InputError: It is something else.
        """
        if isinstance(stream, Stream):
            return stream
        if stream is not None and not is_number(stream, Integral):
            raise InputError(
                f"stream is an object of {type(stream).__name__}; give a seed such as 1, or a "
                "dislab.functional.streams.Stream"
            )
        return Stream(stream or 0, device=cast("pl.LightningModule", self).device).of("samples")

    @_without_gradients
    def generate(
        self, count: int, stream: Stream | int | None = None
    ) -> Float[Tensor, "batch channel height width"]:
        """Images of latents drawn from the prior of the method, pixels in [0, 1].

        The prior of a method with posteriors and a decoder is standard normal, unless it overrides
        this method. The numbers do not depend on the device or the number of processes, and the
        images have no gradients.

        Args:
            count: Number of images.
            stream: A seed, or a source of the random numbers on the device of the model; the
                seed 0, that of the callback `Samples`, unless given.

        Raises:
            InputError: The method has no prior, no decoder or no `latent_dim`, or the number is
                negative.
        """
        check_count("count", count, 0)
        name = type(self).__name__
        if type(self).encode is Representation.encode:
            raise InputError(f"{name} has no prior of its own")
        latents = getattr(self, "latent_dim", None)
        if latents is None:
            raise InputError(f"{name} has no latent_dim, the number of its latents: set it")
        return self.decode(self.prior_stream(stream).normal("latents", count, latents))

    def code_values(self, steps: int) -> list[Float[Tensor, " step"]]:
        """The values of each code in a latent traversal, if the method's codes are bounded.

        Args:
            steps: Number of values per continuous code.

        Raises:
            InputError: The codes are not bounded, or `steps` is 0.
        """
        raise InputError(f"the codes of {type(self).__name__} are not bounded")
