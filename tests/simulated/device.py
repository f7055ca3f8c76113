"""An accelerator made of Python: tensors of the device `sim` compute on the host, under its rules.

PyTorch lets a backend without a name be one in Python (`PrivateUse1`). A tensor of it is a wrapper
of a host tensor, which is hidden from everyone else. As a CUDA card does, the device refuses to mix
its tensors with those of the host, and it makes the host wait in some operations: `no_waiting`
refuses these. The backend belongs to the whole process and cannot be taken away.

Known differences from a card: arithmetic, strides and random numbers are the host's; autocast does
nothing; `x[mask] = value` with a single value is never a wait, though it is on a card when that
value lies there.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, Protocol

import torch
from torch import Tensor
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

DEVICE: Final = torch.device("privateuseone", 0)
"""The device; its name is `sim:0` once `install` was called."""

_HOST: Final = torch.device("cpu")
_ATEN: Final = torch.ops.aten
_LIBRARY: Final[Any] = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]

_INDEXING: Final = {
    _ATEN.index.Tensor,
    _ATEN.index_put.default,
    _ATEN.index_put_.default,
    _ATEN._index_put_impl_.default,
}
_TAKES_HOST_SCALARS: Final = {
    _ATEN.fill.Tensor,
    _ATEN.fill_.Tensor,
    _ATEN.masked_fill.Tensor,
    _ATEN.masked_fill_.Tensor,
}
"""Operations, besides those of single elements, that read a number from the host."""
_WAITS: Final = {
    _ATEN._linalg_check_errors.default,
    _ATEN._linalg_eigh.default,
    _ATEN._linalg_svd.default,
    _ATEN._local_scalar_dense.default,
    _ATEN._unique2.default,
    _ATEN.bincount.default,
    _ATEN.equal.default,
    _ATEN.linalg_lstsq.default,
    _ATEN.masked_select.default,
    _ATEN.nonzero.default,
    _ATEN.repeat_interleave.Tensor,
    _ATEN.unique_consecutive.default,
    _ATEN.unique_dim.default,
}
"""Operations whose outcome, or its size, the host has to know before it can go on."""

waits: Final[list[str]] = []
"""Names of the functions in which the host waited, in order; emptied before each test."""
_forbidden = [False]


class Recorder(Protocol):
    """Someone who follows all operations of the device."""

    def keep(self, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Is called before an operation, with tensors of the host."""

    def note(self, func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> None:
        """Is called after it, with its result."""


recordings: Final[list[Recorder]] = []
"""Those that are at work."""


class MixedDevicesError(RuntimeError):
    """An operation on tensors of both host and device."""


class HostWaitsError(RuntimeError):
    """An operation for which the host has to wait, where it must not."""


@contextmanager
def no_waiting() -> Iterator[None]:
    """Refuses everything that makes the host wait for the device."""
    before, _forbidden[0] = _forbidden[0], True
    try:
        yield
    finally:
        _forbidden[0] = before


class DeviceTensor(Tensor):
    """A tensor of the device."""

    host: Tensor

    @staticmethod
    def __new__(cls, host: Tensor) -> "DeviceTensor":
        made: DeviceTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            host.shape,
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=DEVICE,
        )
        made.host = host
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if _is_composite(func):  # in inference mode nobody has taken it apart before
            return func.decompose(*args, **(kwargs or {}))
        return _run(func, args, kwargs or {})

    @property
    def data(self) -> Tensor:
        return torch.Tensor.data.__get__(self)  # type: ignore[attr-defined,no-any-return]

    @data.setter
    def data(self, other: Tensor) -> None:
        torch.Tensor.data.__set__(self, other)  # type: ignore[attr-defined]
        self.host = other.host if isinstance(other, DeviceTensor) else other

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"{self.host!r} on {DEVICE}"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)

    def data_ptr(self) -> int:
        return self.host.data_ptr()

    def __deepcopy__(self, memo: Any) -> Tensor:
        memo[id(self)] = copied = self.detach().clone().requires_grad_(self.requires_grad)
        return copied

    def tolist(self) -> Any:
        _wait("tolist")
        return self.host.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError(f"can't convert {DEVICE} device type tensor to numpy")

    def __array__(self, dtype: Any = None) -> Any:
        raise TypeError(f"can't convert {DEVICE} device type tensor to numpy")

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Is stored as bytes of the device: reading them elsewhere needs a `map_location`."""
        host = self.host.detach().clone(memory_format=torch.contiguous_format)
        stored = host.untyped_storage()
        stored.of_device = True  # type: ignore[attr-defined]
        typed = torch.storage.TypedStorage(  # type: ignore[no-untyped-call]
            wrap_storage=stored, dtype=host.dtype, _internal=True
        )
        state: Any = (typed, 0, tuple(host.shape), host.stride(), self.requires_grad, {})
        return torch._utils._rebuild_tensor_v2, state


class DeviceGenerator(torch.Generator):
    """Random numbers of host or device; PyTorch makes none for a backend in Python."""

    _home: torch.device
    _cdata: int
    _of_device: Final[set[int]] = set()
    """Addresses, for an operation receives another Python object than it was called with."""

    def __new__(cls, device: Any = _HOST) -> "DeviceGenerator":
        made = super().__new__(cls)
        made._home = torch.device(device)
        (cls._of_device.discard if made._home.type == "cpu" else cls._of_device.add)(made._cdata)
        return made

    def __init__(self, device: Any = _HOST) -> None:
        pass

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self._home

    @classmethod
    def serves(cls, generator: Any) -> bool:
        """Whether a generator is of the device."""
        return generator._cdata in cls._of_device


class _Module(_DummyBackendModule):
    """The functions that PyTorch needs in `torch.sim`."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


def install() -> None:
    """Makes the device known to this process, unless it is."""
    if torch.Generator is DeviceGenerator:
        return
    _setup_privateuseone_for_python_backend("sim", backend_module=_Module())
    for name in torch._C._dispatch_get_all_op_names():
        operator = _factory(name)
        if operator is not None:
            _LIBRARY.impl(name.removeprefix("aten::"), _making(operator), "PrivateUse1")
    _LIBRARY.impl("_copy_from", _copy_from, "PrivateUse1")
    torch.Generator = DeviceGenerator  # type: ignore[misc]
    torch.serialization.register_package(0, _tag, _restored)


@functools.cache
def _is_composite(operator: Any) -> bool:
    name = operator.name()
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")


def _factory(name: str) -> Any:
    """The operator of that name if it makes a tensor on a device out of none."""
    if not name.startswith("aten::"):
        return None
    packet, _, overload = name.removeprefix("aten::").partition(".")
    try:
        operator = getattr(getattr(_ATEN, packet), overload or "default")
    except AttributeError:
        return None
    if _is_composite(operator):
        return None
    arguments = operator._schema.arguments
    makes = any(one.name == "device" for one in arguments)
    return operator if makes and not any("Tensor" in str(one.type) for one in arguments) else None


def _making(operator: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: _run(operator, args, kwargs)


def _wait(what: str) -> None:
    if _forbidden[0]:
        raise HostWaitsError(f"the host waits for the device in {what}")
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in ("tests", "torch"):
        frame = frame.f_back
    waits.append(f"{frame.f_globals['__name__']}.{frame.f_code.co_name}")


def _done(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of an operation on the host's tensors; a recording notes the operation."""
    for recording in recordings:
        recording.keep(func, args, kwargs)
    out = func(*args, **kwargs)
    for recording in recordings:
        recording.note(func, args, kwargs, out)
    return out


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = list(tensors_in((args, kwargs)))
    if func in (_ATEN._to_copy.default, _ATEN.copy_.default):
        return _transfer(func, args, kwargs)
    _check_places(func, given, args, kwargs)
    if func in _WAITS or (func in _INDEXING and _indexing_waits(func, args)):
        _wait(str(func))
    out = _done(func, _hosted(args), _hosted(kwargs))
    if torch.Tag.inplace_view in func.tags:
        with torch._C._DisableTorchDispatch():
            func(*args, **kwargs)  # the wrapper takes the new shape too
    known = {id(one.host): one for one in given if isinstance(one, DeviceTensor)}
    # also in inference mode a view of a tensor that can have gradients can have them
    outside = torch.is_inference_mode_enabled() and _is_view(func) and not given[0].is_inference()
    with torch.inference_mode(False) if outside else nullcontext():
        return _on_device(out, known)


@functools.cache
def _is_view(operator: Any) -> bool:
    returned = operator._schema.returns
    return any(one.alias_info is not None and not one.alias_info.is_write for one in returned)


def _check_places(func: Any, given: list[Tensor], args: Any, kwargs: dict[str, Any]) -> None:
    generator = kwargs.get("generator")
    generator = next((one for one in args if isinstance(one, torch.Generator)), generator)
    if generator is not None and not DeviceGenerator.serves(generator):
        raise MixedDevicesError(f"{func} draws on {DEVICE} from a generator of the host")
    strangers = [one for one in given if not isinstance(one, DeviceTensor)]
    if not strangers or len(strangers) == len(given):
        return
    if func in _INDEXING and isinstance(args[0], DeviceTensor):
        values = strangers if len(args) < 3 else [one for one in strangers if one is not args[2]]
        if len(values) == len(strangers) or args[2].ndim == 0:
            if values:
                _wait(f"{func} with indices on the host")
            return
    scalars = torch.Tag.pointwise in func.tags or func in _TAKES_HOST_SCALARS
    if scalars and not any(one.ndim for one in strangers):
        return
    shapes = ", ".join(f"{tuple(one.shape)} on {one.device}" for one in given)
    raise MixedDevicesError(f"{func} mixes tensors of host and device: {shapes}")


def _indexing_waits(func: Any, args: Any) -> bool:
    """Whether rows are picked by a mask, or a single value is put where indices say.

    For a card, Python keeps a number on the host until then; with a mask it is a fill, which takes
    it from there.
    """
    masks = [one for one in args[1] if one is not None and one.dtype in (torch.bool, torch.uint8)]
    if func is _ATEN.index.Tensor:
        return bool(masks)
    values: int = args[2].numel()
    return bool(masks) == (values != 1)


def _transfer(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A copy, which may cross between host and device."""
    if func is _ATEN.copy_.default:
        target, source, *rest = args
        _copy_from(source, target, *rest, **kwargs)
        return target
    [source] = args
    asked = kwargs.get("device")
    target = source.device if asked is None else asked
    if target.type != source.device.type:
        _cross(str(func), target.type == "cpu", kwargs.get("non_blocking", False))
    if target.type != "cpu" and source.device.type != "cpu":
        return DeviceTensor(_done(func, (source.host,), {**kwargs, "device": _HOST}))
    copied = func(_hosted(source), **{**kwargs, "device": _HOST})
    return copied if target.type == "cpu" else DeviceTensor(copied)


def _copy_from(source: Tensor, target: Tensor, non_blocking: bool = False) -> Tensor:
    if source.device.type != target.device.type:
        _cross("copy_", target.device.type == "cpu", non_blocking)
    _done(_ATEN.copy_.default, (_hosted(target), _hosted(source)), {})
    return target


def _cross(func: str, to_host: bool, later: bool) -> None:
    if recordings:
        raise HostWaitsError(f"{func} reads or writes memory of the host in a recording")
    if to_host or not later:
        _wait(f"{func} from {'device to host' if to_host else 'host to device'}")


def tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def _hosted(value: Any) -> Any:
    if isinstance(value, DeviceTensor):
        return value.host
    if isinstance(value, torch.device):
        return _HOST
    if isinstance(value, list | tuple):
        return type(value)(_hosted(one) for one in value)
    if isinstance(value, dict):
        return {name: _hosted(one) for name, one in value.items()}
    return value


def _on_device(value: Any, known: dict[int, DeviceTensor]) -> Any:
    if isinstance(value, Tensor):
        same = known.get(id(value))
        if same is None:
            return DeviceTensor(value)
        if same.shape != value.shape:
            raise NotImplementedError(f"{DEVICE} does not resize a tensor in place")
        return same
    if isinstance(value, list | tuple):
        return type(value)(_on_device(one, known) for one in value)
    return value


def _tag(storage: Any) -> str | None:
    return str(DEVICE) if getattr(storage, "of_device", False) else None


def _restored(storage: Any, location: str) -> Any:
    if location == str(DEVICE):
        raise RuntimeError(f"a file with tensors of {location} is read without map_location")
    return None
