"""Batches of an objective: match with its data, conversion, and checks of the first one."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from dislab.base.datamodule import DataModule, ImageBatch, fields_of
from dislab.base.failures import described, parts_named
from dislab.base.parts import Decoder, Encoder, ImageShape, Penalty, Regularizer, is_vector
from dislab.base.pixels import by, pixel_fault, shape_advice
from dislab.errors import InputError, warn
from dislab.functional.runtime import gather_rows
from dislab.plugins import load_all


def check_batches(method: str, accepted: tuple[type, ...], data: DataModule) -> None:
    """Refuses data whose batch type a method does not accept; the message names suitable ones."""
    if issubclass(data.batch_type, accepted):
        return
    fitting = [
        name
        for name, cls in load_all(("datamodules",))["datamodules"].items()
        if issubclass(getattr(cls, "batch_type", object), accepted)
    ]
    types = " or ".join(cls.__name__ for cls in accepted)
    raise InputError(
        f"{method} learns from {types}, and {type(data).__name__} delivers "
        f"{data.batch_type.__name__}; data modules that fit: {', '.join(fitting) or 'none'}"
    )


def learns_from_factors(method: type) -> bool:
    """Whether a method reads the factors of its batches: its constructor requests their sizes."""
    return "factor_sizes" in signature(method).parameters


def check_values(method: type, data: DataModule) -> None:
    """Refuses images without a value of some factor for a method that learns from factors."""
    lacking = data.factors.incomplete
    if lacking and learns_from_factors(method):
        raise InputError(
            f"{method.__name__} learns from the factors of every image, and some images have no "
            f"value of {', '.join(lacking)}; set the data set's gaps to drop"
        )


def check_batch_size(method: nn.Module, size: int) -> None:
    """Refuses training batches that are too small for a part, which compares their images."""
    for part in method.modules():
        least = getattr(part, "smallest_batch", 1)
        if size < least and part.training:  # a frozen part is not trained on these batches
            raise InputError(
                f"the batch size is {size}, and {type(part).__name__} compares the images of a "
                f"batch; set data.batch_size to at least {least}"
            )


def warn_of_train_size(method: nn.Module, data: object) -> None:
    """Warns of a part that was made for another number of training images than the data have."""
    if not isinstance(data, DataModule):
        return
    count = data.train_size
    for part in method.modules():
        size = getattr(part, "train_size", count)
        if size != count and part.training:
            warn(
                f"{type(part).__name__} was made for train_size={size}, and {described(data)} has "
                f"{count} training images; its estimates take the number that it was "
                "made for",
                UserWarning,
            )


def received(accepted: tuple[type, ...], batch: Any) -> Any:
    """Converts a batch of any loader to a batch that the method accepts.

    For a method that learns from single images, a tensor of images, alone or first in a list,
    becomes an `ImageBatch`: bytes are divided by 255, booleans become 0 and 1, and an integer
    tensor in second place becomes the factors. Any other batch is returned unchanged.
    """
    has_names = hasattr(batch, "_fields")
    parts = batch if isinstance(batch, list | tuple) else [batch]
    if has_names or ImageBatch not in accepted or not parts or not isinstance(parts[0], Tensor):
        return batch
    image = parts[0]
    if image.dtype in (torch.uint8, torch.bool):
        image = image.float().div(255 if image.dtype == torch.uint8 else 1)
    return ImageBatch(image, _positions(image, parts[1] if len(parts) > 1 else None))


def count_of(batch: Any) -> int:
    """Number of examples in a batch; 0 for an unsupported batch, which other code refuses."""
    if not isinstance(batch, tuple | list) or not batch:
        return 0
    first = batch[0]
    # len() of a tensor takes ten times as long as its shape
    return first.shape[0] if isinstance(first, Tensor) and first.ndim else len(first)


def _positions(image: Tensor, second: object) -> Tensor:
    """The factors, one row per image; no columns if the second part is not an integer tensor."""
    if (
        isinstance(second, Tensor)
        and not second.is_floating_point()
        and second.ndim in (1, 2)
        and len(second) == len(image)
    ):
        return second.long().view(len(image), -1)
    return torch.zeros(len(image), 0, dtype=torch.int64, device=image.device)


_IMAGES: Final = ("image", "second", "transform", "target", "labelled")
"""Fields of a batch that hold images."""


@contextmanager
def first_batch(
    method: nn.Module, accepted: tuple[type, ...], data: object, batch: Any, by_loader: bool
) -> Iterator[None]:
    """Checks a batch, and the output of every part during the step on this batch.

    The message names the data module or part that breaks its contract: a wrong type, shape or
    dtype, pixels outside of [0, 1], or an error in a part of another distribution.

    Args:
        method: The method that learns from the batch.
        accepted: Batch types.
        data: The data module that delivers the batch, if any.
        batch: The batch.
        by_loader: Whether a loader delivers it, rather than a caller of `losses`.
    """
    _check_batch(method, accepted, data, batch, by_loader)
    _check_likelihood(method, batch)
    hooks = [
        hook
        for name, part in method.named_modules()
        for contract, check in _CHECKS.items()
        if isinstance(part, contract)
        for hook in _checking(name, part, check)
    ]
    try:
        with parts_named(f"; the first batch is {_shapes(batch)}"):
            yield
    finally:
        for hook in hooks:
            hook.remove()


def _check_batch(
    method: nn.Module, accepted: tuple[type, ...], data: object, batch: Any, by_loader: bool
) -> None:
    loader = described(data) if isinstance(data, DataModule) else "the data loader"
    source = f"{loader} delivers" if by_loader else "the batch has"
    if not isinstance(batch, accepted):
        types = " or ".join(batch_type.__name__ for batch_type in accepted)
        start, deed = (
            (source, "return one from the loader") if by_loader else ("the batch is", "give one")
        )
        raise InputError(
            f"{start} a {type(batch).__name__}, and {type(method).__name__} learns from {types}, a "
            f"named tuple of dislab.base; {deed}"
        )
    fields = fields_of(batch)
    _check_tensors(source, batch, fields)
    for tensor in fields.values():
        if tensor.ndim == 0 or len(tensor) != len(next(iter(fields.values()))):
            raise InputError(
                f"{source} {_shapes(batch)}; every field of {type(batch).__name__} has "
                "one row per image"
            )
    shape: ImageShape | None = data.image_shape if isinstance(data, DataModule) else None
    for name in _IMAGES:
        if name in fields:
            _check_images(source, name, fields[name], shape)
            _check_shape(source, name, fields[name].shape, method)
    if "factors" in fields:
        columns = len(data.factor_names) if isinstance(data, DataModule) else None
        _check_factors(source, fields["factors"], columns)
    if "labels" in fields:
        _check_labels(source, fields["labels"])


def _check_tensors(source: str, batch: Any, fields: Mapping[str, Any]) -> None:
    for name, tensor in fields.items():
        if not isinstance(tensor, Tensor):
            none = "; without factors it is torch.zeros(len(image), 0, dtype=torch.int64)"
            raise InputError(
                f"{source} {name} as {type(tensor).__name__}; every field of "
                f"{type(batch).__name__} is a torch.Tensor{none if name == 'factors' else ''}"
            )


def check_later_batch(batch: Any) -> None:
    """Checks the pixels of a batch, unless that would wait for another device than the CPU.

    Each process checks its own rows: another one may have fewer batches.
    """
    fields = fields_of(batch)
    _check_tensors("the batch has", batch, fields)
    for name in _IMAGES:
        image = fields.get(name)
        if image is not None and (image.is_cpu or not image.is_floating_point()):
            _check_pixels("the batch has", name, image, gather=lambda rows: rows)


def _check_images(source: str, name: str, image: Tensor, shape: ImageShape | None) -> None:
    if image.ndim != 4 or (shape is not None and tuple(image.shape[1:]) != tuple(shape)):
        size = "channel, height, width" if shape is None else ", ".join(map(str, shape))
        given, advice = tuple(image.shape[1:]), ""
        if shape is not None and given == (*shape[1:], shape[0]):
            advice = f"; {shape_advice(shape, given)}"
        raise InputError(
            f"{source} {name} of shape {tuple(image.shape)}; it has shape (batch, {size}){advice}"
        )
    _check_pixels(source, name, image, gather_rows)


def _check_pixels(
    source: str, name: str, image: Tensor, gather: Callable[[Tensor], Tensor]
) -> None:
    if not image.numel():
        return
    numbers = torch.zeros(1) if image.is_complex() else image.detach().float()
    ends = gather(torch.stack(torch.aminmax(numbers))[None])
    if not has_values(ends):
        return
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    vector = is_vector(image.shape)
    if fault := pixel_fault(image.dtype, low, high, len(image), vector):
        raise InputError(f"{source} {name} whose pixels {fault}")
    if not image.is_floating_point():
        raise InputError(
            f"{source} {name} as {image.dtype}; pixels are floats in [0, 1]: convert "
            "booleans by image.float(), divide bytes by 255, or return uint8 from the data set's "
            "images, which are divided for you"
        )


def has_values(tensor: Tensor) -> bool:
    """Whether a tensor has values, which it lacks within torch's transformations, such as vmap."""
    try:
        tensor.detach().sum().item()
    except RuntimeError:
        return False
    return True


def _check_shape(source: str, name: str, shape: Sequence[int], method: nn.Module) -> None:
    taken = getattr(method, "hparams", {}).get("image_shape")
    if taken is not None and tuple(shape[1:]) != tuple(taken):
        raise InputError(
            f"{source} {name} of {by(shape[1:])}, and {type(method).__name__} was made "
            f"for {by(taken)}; {shape_advice(taken, shape[1:])}"
        )


def _check_likelihood(method: nn.Module, batch: Any) -> None:
    """Refuses a likelihood of pixels for vectors that leave [0, 1]."""
    image = fields_of(batch).get("image")
    if image is None or not is_vector(image.shape) or not image.numel():
        return
    low, high = torch.aminmax(image.detach().float())
    if low >= 0 and high <= 1:
        return
    for part in method.modules():
        if (likelihood := getattr(part, "likelihood", "gaussian")) != "gaussian":
            raise InputError(
                f"likelihood {likelihood} describes pixels in [0, 1], and the vectors of the first "
                f"batch run from {float(low):g} to {float(high):g}; set likelihood to gaussian"
            )


def _check_factors(source: str, factors: Tensor, columns: int | None) -> None:
    integral = not (
        factors.is_floating_point() or factors.is_complex() or factors.dtype == torch.bool
    )
    if integral and factors.ndim == 2 and columns in (None, factors.shape[1]):
        return
    raise InputError(
        f"{source} factors as {factors.dtype} of shape {tuple(factors.shape)}; they are "
        f"value numbers, integers of shape (batch, {'factor' if columns is None else columns}): "
        "FactorSpace.positions gives them"
    )


def _check_labels(source: str, labels: Tensor) -> None:
    if labels.is_floating_point() and labels.ndim == 2 and labels.shape[1]:
        present = labels.detach()[~labels.isnan()]
        low, high = torch.aminmax(present) if present.numel() else (0.0, 1.0)
        if low >= 0 and high <= 1:
            return
        shown = f"from {float(low):g} to {float(high):g}"
    else:
        shown = f"as {labels.dtype} of shape {tuple(labels.shape)}"
    raise InputError(
        f"{source} labels {shown}; they are floats in [0, 1] of shape (batch, label), "
        "NaN for no value: scale the values of each factor from 0 for the first to 1 for the last"
    )


def _shapes(batch: Any) -> str:
    fields = fields_of(batch) or {type(batch).__name__: batch}
    texts = (
        f"{name} {tuple(value.shape)} {value.dtype}" if isinstance(value, Tensor) else name
        for name, value in fields.items()
    )
    return ", ".join(texts).replace("torch.", "")


def _checking(
    name: str, part: nn.Module, check: Callable[[nn.Module, Tensor, Any], tuple[str, str] | None]
) -> Iterator[RemovableHandle]:
    """Forward hooks that raise an error naming the part if its output is wrong or input changed."""
    versions: list[int] = []

    def before(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        versions[:] = [] if torch.compiler.is_compiling() else _versions(inputs)

    def after(part: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        rows = next((value for value in inputs if isinstance(value, Tensor)), None)
        if rows is not None:
            owner = f"{described(part)}, {name} of the model,"
            is_compiling = torch.compiler.is_compiling()
            if not is_compiling and _versions(inputs) != versions:
                raise InputError(
                    f"{owner} changes a tensor that it receives, which others read, too; write "
                    "z = z * 2 for z.mul_(2) or z *= 2"
                )
            _refuse(check(part, rows, output), owner, rows)
            if is_compiling or not torch.is_grad_enabled():
                return
            if (lacking := lacking_gradient(part, inputs, output)) and has_values(rows):
                raise InputError(f"{owner} returns {lacking}")

    yield part.register_forward_pre_hook(before)
    yield part.register_forward_hook(after)


def _versions(inputs: tuple[Any, ...]) -> list[int]:
    """How often each tensor among the inputs, or within a posterior, was changed in place."""
    values = (each for value in inputs for each in (value if isinstance(value, tuple) else [value]))
    tensors = [value for value in values if isinstance(value, Tensor) and not value.is_inference()]
    return [tensor._version for tensor in tensors]


CUT: Final = "leave out .detach(), .data, .item(), NumPy and torch.no_grad(), which cut it off"
"""What to do about a result without a gradient."""

_LATER: Final = 10**6
"""Steps after which schedules have ended."""


def lacking_gradient(part: nn.Module, inputs: tuple[Any, ...], output: Any) -> str:
    """Which output of a part would train nothing although it should; empty if none.

    A penalty may be a constant at first if it has a gradient later, or be 0 for good by its weight.

    Args:
        part: An encoder, a decoder or a regulariser.
        inputs: What it received.
        output: What it returned for them.
    """
    trainable = any(parameter.requires_grad for parameter in part.parameters())
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    if not isinstance(output, Penalty):
        if output.requires_grad or not (trainable or tensors[0].requires_grad):
            return ""
        return (
            f"a result without a gradient, which would train nothing before it; {CUT}, and freeze "
            "weights by requires_grad_(False)"
        )
    if len(inputs) != 4:  # some are given by name
        return ""
    posterior, z, draws, step = inputs
    sources = [value for value in (*posterior, z) if value.requires_grad]
    cuts_penalty = sources and not _reaches(output.penalty, sources)
    auxiliary = output.auxiliary if trainable else None
    cuts_auxiliary = auxiliary is not None and not auxiliary.requires_grad
    if not (cuts_penalty or cuts_auxiliary):
        return ""
    devices = [z.device] if z.is_cuda else []
    try:  # a weight may be 0 now and rise later; a copy, as the part may count its calls
        with torch.random.fork_rng(devices):
            later = copy.deepcopy(part).forward(posterior, z, draws, step + _LATER)
    except Exception:  # of a part that cannot be copied, or has no such step
        return ""
    if cuts_penalty and not _reaches(later.penalty, sources, or_zero=True):
        return (
            f"a penalty without a gradient for the codes, which would not change the model; {CUT} "
            "from them"
        )
    if cuts_auxiliary and not (later.auxiliary is not None and later.auxiliary.requires_grad):
        return f"an auxiliary loss without a gradient for its own parameters; {CUT} from them"
    return ""


def _reaches(loss: Tensor, sources: list[Tensor], or_zero: bool = False) -> bool:
    """Whether a loss has a gradient for one of the sources; a loss of 0 is enough by `or_zero`."""
    if or_zero and not loss.detach().any():
        return True
    if not loss.requires_grad:
        return False
    try:
        gradients = torch.autograd.grad(loss, sources, retain_graph=True, allow_unused=True)
    except RuntimeError:  # of a compiled part, whose graph cannot be kept
        return True
    return any(gradient is not None for gradient in gradients)


def check_output(part: nn.Module, rows: Tensor, output: Any) -> None:
    """Refuses an output of an encoder, decoder or regulariser that has a wrong type or shape.

    Args:
        part: The part.
        rows: Its input of one row per image.
        output: What it returned for them.
    """
    for contract, check in _CHECKS.items():
        if isinstance(part, contract):
            _refuse(check(part, rows, output), described(part), rows)


def _refuse(wrong: tuple[str, str] | None, part: str, rows: Tensor) -> None:
    if wrong is not None:
        returned, expected = wrong
        raise InputError(
            f"{part} returns {returned} for {tuple(rows.shape)}; it must return {expected}"
        )


def _check_vectors(part: nn.Module, vectors: Tensor, output: Any) -> tuple[str, str] | None:
    expected = getattr(part, "output_shape", None) or ("output",)
    return _check_rows(expected, vectors, output)


def _check_pictures(part: nn.Module, pictures: Tensor, output: Any) -> tuple[str, str] | None:
    expected = getattr(part, "output_shape", None) or ("channel", "height", "width")
    return _check_rows(expected, pictures, output)


def _check_rows(row: tuple[int | str, ...], inputs: Tensor, output: Any) -> tuple[str, str] | None:
    sizes = ", ".join(map(str, (len(inputs), *row)))
    expected = f"a float tensor of shape ({sizes}) on {inputs.device}"
    if not isinstance(output, Tensor):
        return f"a {type(output).__name__}", expected
    fits = len(output.shape) == len(row) + 1 and all(
        isinstance(size, str) or size == length
        for size, length in zip((len(inputs), *row), output.shape, strict=True)
    )
    if fits and output.is_floating_point() and output.device == inputs.device:
        return None
    return f"{output.dtype} of shape {tuple(output.shape)} on {output.device}", expected


def _check_penalty(part: nn.Module, inputs: Tensor, output: Any) -> tuple[str, str] | None:
    expected = "a dislab.base.Penalty of scalar tensors, with the terms by name"
    if not isinstance(output, Penalty):
        return f"a {type(output).__name__}", expected
    penalty, auxiliary, terms = cast("tuple[Any, Any, Any]", output)
    if not isinstance(terms, dict):
        return f"terms as {type(terms).__name__}", expected
    scalars = {"penalty": penalty, **{f"term {name}": value for name, value in terms.items()}}
    if auxiliary is not None:
        scalars["auxiliary"] = auxiliary
    for name, value in scalars.items():
        if not isinstance(value, Tensor):
            return f"{name} as {type(value).__name__}", expected
        if value.ndim or not value.is_floating_point() or value.device != inputs.device:
            return (
                f"{name} as {value.dtype} of shape {tuple(value.shape)} on {value.device}",
                expected,
            )
    return None


_CHECKS: Final[dict[type[nn.Module], Callable[[nn.Module, Tensor, Any], Any]]] = {
    Encoder: _check_vectors,
    Decoder: _check_pictures,
    Regularizer: _check_penalty,
}
