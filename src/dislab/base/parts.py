"""Contracts of the parts of an objective."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from dislab.errors import InputError, suggestion
from dislab.functional.streams import Stream
from dislab.naming.settings import Part, checks_fields
from dislab.plugins import check_methods, misfit

ImageShape = tuple[int, int, int]
"""Channels, height and width of an image; (features, 1, 1) of a vector."""

Draws = dict[str, Tensor]
"""Random numbers of one step by name; the first axis of each follows the batch."""


_OF_MODULES: Final = frozenset(vars(nn.Module()))
"""Attributes in which PyTorch itself keeps parameters, layers and hooks."""


@checks_fields
class Posterior(NamedTuple):
    """Diagonal Gaussians q(z|x), one row per image, in float32 or wider.

    Attributes:
        mean: Means, shape (batch, latent).
        log_var: Natural logarithms of the variances, shape (batch, latent).
    """

    mean: Tensor
    log_var: Tensor


@checks_fields
class Penalty(NamedTuple):
    """Contribution of a regulariser to a loss.

    Attributes:
        penalty: Weighted penalty in nats per image, a scalar; it trains the model.
        auxiliary: Loss of the regulariser's own parameters, a scalar that gives the codes no
            gradient; None for a regulariser without parameters.
        terms: Scalars for the log, by name; they may be detached.
    """

    penalty: Tensor
    auxiliary: Tensor | None
    terms: dict[str, Tensor]


class Encoder(nn.Module, Part, ABC):
    """A network from images to a vector.

    The first constructor arguments of a concrete class are (image shape, number of outputs).
    """

    filled_in = 2
    output_shape: tuple[int, ...] | None = None
    """Shape of one row of the output, which `make_encoder` sets; None if unknown."""

    @abstractmethod
    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch output"]:
        """The vectors of a batch of images.

        Args:
            image: Pixels in [0, 1].
        """


class Decoder(nn.Module, Part, ABC):
    """A network from latents to the parameters of a pixel likelihood.

    The first constructor arguments of a concrete class are (number of latents, image shape).
    """

    filled_in = 2
    output_shape: tuple[int, ...] | None = None
    """Shape of one row of the output, which `make_decoder` sets; None if unknown."""

    @abstractmethod
    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Logits of a Bernoulli likelihood, or raw means of a Gaussian one.

        Args:
            z: Latent vectors.
        """


class Regularizer(nn.Module, Part, ABC):
    """A named term of a loss over codes.

    The first constructor arguments of a concrete class are (number of latents, size of the training
    set). `forward` is a pure function of parameters, batch and draws: no logging, no `.item()`, no
    Python branch on tensor values.
    """

    filled_in = 2
    smallest_batch: int = 1
    """Fewest images of a training batch, over all processes; more than 1 for a term that compares
    images with each other. Smaller batches are refused."""
    needs_labels: ClassVar[bool] = False
    """Whether it compares codes with labels: `forward` then receives the posteriors of labelled
    images, their means as `z`, and their labels in [0, 1] as the draw `labels`, shape (batch,
    label)."""

    @abstractmethod
    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """The penalty of one batch.

        Args:
            posterior: Posteriors of the batch.
            z: One sample of each posterior.
            draws: This process's rows of the result of `draw`.
            step: Optimiser steps done so far.
        """

    def draw(self, count: int, stream: Stream) -> Draws:
        """The random numbers of a step; none by default.

        Args:
            count: Images in the global batch, over all processes.
            stream: Source of the numbers, on the device of the step.
        """
        return {}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Optimiser parameter groups of the regulariser's own parameters, with their settings."""
        parameters = list(self.parameters())
        return [{"params": parameters}] if parameters else []


EncoderBuilder = Callable[[ImageShape, int], Encoder]
"""Makes an encoder from an image shape and a number of outputs."""

DecoderBuilder = Callable[[int, ImageShape], Decoder]
"""Makes a decoder from a number of latents and an image shape."""

RegularizerBuilder = Callable[[int, int], Regularizer]
"""Makes a regulariser from a number of latents and the size of the training set."""


def is_vector(shape: Sequence[int]) -> bool:
    """Whether rows of a shape are vectors, of any range, instead of images with pixels in [0, 1].

    Args:
        shape: Sizes of which the last two are height and width; both are 1 for vectors.
    """
    return tuple(shape[-2:]) == (1, 1)


def make_encoder(build: EncoderBuilder, image_shape: ImageShape, outputs: int) -> Encoder:
    """Makes an encoder and sets its `output_shape`, which is checked on the first batch of a run.

    Args:
        build: Makes it.
        image_shape: Channels, height and width.
        outputs: Number of outputs.

    Raises:
        InputError: A layer is lazy: its weights have no size before the first batch; or the shape
            has the channels last.
    """
    _check_order(image_shape)
    encoder = make_part(Encoder, build, image_shape=image_shape, outputs=outputs)
    _check_sized(encoder)
    encoder.output_shape = (outputs,)
    return encoder


def make_decoder(build: DecoderBuilder, latents: int, image_shape: ImageShape) -> Decoder:
    """Makes a decoder and sets its `output_shape`, which is checked on the first batch of a run.

    Args:
        build: Makes it.
        latents: Number of latents.
        image_shape: Channels, height and width.

    Raises:
        InputError: A layer is lazy: its weights have no size before the first batch; or the shape
            has the channels last.
    """
    _check_order(image_shape)
    decoder = make_part(Decoder, build, latent_dim=latents, image_shape=image_shape)
    _check_sized(decoder)
    decoder.output_shape = tuple(image_shape)
    return decoder


Kind = TypeVar("Kind")


def make_part(base: type, build: Callable[..., Kind], **leading: object) -> Kind:
    """Makes a part from the arguments that its owner passes, which come before its settings.

    Args:
        base: The contract that it fulfils.
        build: Makes it.
        leading: The arguments by name, in their order.

    Raises:
        InputError: The class takes other arguments, is abstract, derives from another base, does
            not call the constructor of its base, holds layers that PyTorch does not see, or a
            method of the contract, such as `forward`, takes other arguments.
    """
    maker = _maker(build)
    cls = maker.func
    name = getattr(cls, "__name__", type(cls).__name__)
    if inspect.isclass(cls):
        check_derived(cls, base)
        check_concrete(cls, base)
    first = " and ".join(leading)
    if getattr(cls, "__init__", None) is nn.Module.__init__:
        raise InputError(f"{name} has no constructor; give it an __init__ that takes {first}")
    taker = f"{name}{'.__init__' * inspect.isclass(cls)}"
    must = f"must take {first} before settings of its own"
    if fault := misfit(maker, *leading.values()):
        raise InputError(
            f"{taker} {fault}; it {must}, which have defaults or are given by "
            f"partial({name}, setting=value)"
        )
    try:
        part = build(*leading.values())
    except InputError as error:
        parameters = list(inspect.signature(maker).parameters)[: len(leading)]
        misread = [word for word in parameters if word not in leading]
        if any(str(error).startswith(f"{name}.{word} is ") for word in misread):
            raise InputError(f"{error}; {taker} {must}") from error
        raise
    if fault := _taken_by_settings(maker, list(leading)):
        raise InputError(f"{taker} {fault}; it {must}")
    check_derived(type(part), base)
    if isinstance(part, nn.Module):
        check_registered(part)
    check_methods(type(part))
    return part


def check_registered(module: nn.Module) -> None:
    """Refuses trainable layers that PyTorch does not see, for they lie in a plain list or dict.

    They would neither train nor be stored in checkpoints.

    Args:
        module: A part, or a whole method.

    Raises:
        InputError: It holds such layers; the message names them.
    """
    registered = {id(parameter) for parameter in module.parameters()}
    for inner in module.modules():
        for name, value in vars(inner).items():
            if name in _OF_MODULES:
                continue
            if any(p.requires_grad and id(p) not in registered for p in _parameters_in(value)):
                kind = type(value).__name__
                better = "ModuleDict" if isinstance(value, Mapping) else "ModuleList or Sequential"
                raise InputError(
                    f"{type(inner).__name__}.{name} holds layers in a {kind}, where neither "
                    f"training nor checkpoints see them; use torch.nn.{better}"
                )


def _parameters_in(container: object) -> Iterator[nn.Parameter]:
    """The parameters in a list or dictionary, and in those inside it."""
    elements = container.values() if isinstance(container, Mapping) else container
    if not isinstance(container, Mapping | list | tuple | set):
        return
    for element in cast("Iterable[object]", elements):
        if isinstance(element, nn.Module):
            yield from element.parameters()
        elif isinstance(element, nn.Parameter):
            yield element
        else:
            yield from _parameters_in(element)


def check_derived(cls: type, base: type) -> None:
    """Refuses a class that does not derive from a contract, and the contract itself.

    Args:
        cls: The class.
        base: The contract, such as `Encoder`.

    Raises:
        InputError: The class is no part of this kind.
    """
    if cls is base or not issubclass(cls, base):
        reason = "is a base class" if cls is base else f"is no dislab.base.{base.__name__}"
        raise InputError(f"{cls.__name__} {reason}; give a class that derives from it")


def check_concrete(cls: type, base: type) -> None:
    """Refuses a class that does not define all that its contract asks for.

    Args:
        cls: The class.
        base: The contract.

    Raises:
        InputError: It lacks methods or properties, which may be misspelt.
    """
    lacking = sorted(getattr(cls, "__abstractmethods__", ()))
    if not lacking:
        return
    further = [word for word in vars(cls) if not word.startswith("_") and not hasattr(base, word)]
    hints = {word: suggestion(word, lacking) for word in further}
    misspelt = "".join(f", and has {word}{hint}" for word, hint in hints.items() if hint)
    raise InputError(
        f"{cls.__name__} lacks {' and '.join(lacking)}{misspelt}; define it as {base.__name__} does"
    )


def _maker(build: Callable[..., Kind]) -> "partial[Kind]":
    """What makes a part, with its settings: the class that jsonargparse wraps, if it does."""
    if not isinstance(build, partial):
        return partial(build)
    for k, argument in enumerate(build.args):
        if inspect.isclass(argument):
            cls = cast("Callable[..., Kind]", argument)
            return partial(cls, *build.args[k + 1 :], **build.keywords)
    return build


def _taken_by_settings(maker: Callable[..., Any], leading: list[str]) -> str:
    """Which leading argument would become a setting, for it has a default; empty if none."""
    parameters = inspect.signature(maker).parameters.values()
    for argument, parameter in zip(leading, parameters, strict=False):
        if parameter.default is not parameter.empty and parameter.name not in leading:
            return f"takes {argument} for its setting {parameter.name}"
    return ""


def _check_order(image_shape: ImageShape) -> None:
    """Refuses (height, width, channels), the order of pictures in NumPy and in files."""
    first, height, last = image_shape
    if first == height > last and last in (1, 3, 4):
        raise InputError(
            f"image_shape is (channels, height, width); {tuple(image_shape)} has the channels "
            f"last: give ({last}, {first}, {height})"
        )


def _check_sized(part: nn.Module) -> None:
    """Refuses lazy layers: optimisers and checkpoints need all weights before the first batch."""
    for name, layer in part.named_modules():
        if any(
            isinstance(parameter, UninitializedParameter)
            for parameter in layer.parameters(recurse=False)
        ):
            raise InputError(
                f"{type(part).__name__}.{name} is a {type(layer).__name__}, whose size is unknown "
                "before the first batch; give its size, or call the part on an example in its "
                "constructor"
            )
