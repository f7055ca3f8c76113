"""Type checks of constructor arguments against their annotations, for every part."""

import functools
import inspect
import math
import os
import reprlib
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
import numpy.typing as npt

from dislab import plugins
from dislab.errors import InputError, lacks_memory, suggestion

Class = TypeVar("Class", bound=type)
P = ParamSpec("P")
R = TypeVar("R")

_NAMES: Final[dict[object, str]] = {
    int: "a whole number",
    float: "a finite number",
    str: "text",
    bool: "true or false",
    types.NoneType: "null",
}
_LARGEST: Final = 2**63 - 1
"""Largest integer that an array can hold."""
_ARRAY_LIKE: Final = frozenset(get_args(npt.ArrayLike))
"""What numpy makes an array of, whose types say little in a message."""
_LEADING: Final = {
    "decoder": "ConvDecoder64",
    "encoder": "ConvEncoder64",
    "image_shape": "data.image_shape",
    "regularizers": "{'kl': KL}",
    "space": "dataset.factors",
    "train_size": "data.train_size",
}
"""Examples of arguments without default, as messages write them."""
_SET_BY_BASES: Final = {"register_module": "_modules", "prepare_data": "prepare_data_per_node"}
"""Attributes that constructors of PyTorch and Lightning set, by a method of their classes."""
_SHORT: Final = reprlib.Repr()
_SHORT.maxlevel = 2


def checks_settings(cls: Class) -> Class:
    """Makes the constructor of a class refuse arguments that do not fit their annotations.

    Numbers must be finite, and whole if the annotation is `int`; a `Literal` allows only its own
    values; None is allowed only if the annotation includes it. Other classes are checked by
    `isinstance`. A part that does not fit into memory is refused, too. The signature is unchanged.

    Args:
        cls: The class, which is changed in place; a class without its own constructor is unchanged.
    """
    init = cls.__dict__.get("__init__")
    if init is None or not inspect.isfunction(init):
        return cls
    signature = inspect.signature(init)
    annotations = functools.cache(lambda: get_type_hints(init))

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        plugins.check_methods(type(self))
        filled_in = getattr(self, "filled_in", 0)
        arguments = _bound(signature, type(self).__name__, (self, *args), kwargs, filled_in)
        for name, value in list(arguments.items())[1:]:
            check_kind(f"{type(self).__name__}.{name}", value, annotations().get(name, Any))
        try:
            init(self, *args, **kwargs)
        except InputError as error:
            setting, _, fault = str(error).partition(" is ")
            if not fault or setting not in signature.parameters:
                raise
            raise InputError(f"{type(self).__name__}.{error}") from error
        except (MemoryError, RuntimeError, ValueError) as error:
            if not lacks_memory(error):
                raise
            raise InputError(_too_large(type(self).__name__, arguments)) from error
        for method, attribute in _SET_BY_BASES.items():
            if hasattr(self, method) and attribute not in vars(self):
                raise InputError(
                    f"{type(self).__name__}.__init__ does not call super().__init__(); call it "
                    "first"
                )

    cls.__init__ = checked  # type: ignore[misc]
    return cls


def checks_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a public function refuse arguments that do not fit their annotations.

    Kinds are those of `checks_settings`. A list may also be an array or a column of a table.

    Args:
        function: A function with annotations.
    """
    signature = inspect.signature(function)

    # without that of the result, which may not be importable here
    kinds = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    named, names = (
        types.SimpleNamespace(__annotations__=kinds),
        inspect.unwrap(function).__globals__,
    )
    annotations = functools.cache(lambda: get_type_hints(named, names))

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in _bound(signature, function.__name__, args, kwargs).items():
            annotation = annotations().get(name, Any)
            # not of images, which are no list of anything
            is_list = hasattr(value, "tolist") and getattr(value, "ndim", 1) <= 2
            if is_list and not _fits(value, annotation):
                value = value.tolist()
            check_kind(name, value, annotation)
        return function(*args, **kwargs)

    return checked


def checks_fields(cls: Class) -> Class:
    """Makes a named tuple say how it is written if it gets other fields.

    Args:
        cls: The named tuple.
    """
    fields, defaults = cls._fields, cls._field_defaults  # type: ignore[attr-defined]
    kinds = get_type_hints(cls)
    shown = [f"{name}{' or None' * _takes_none(kinds[name])}" for name in fields]
    make = cls.__new__

    @functools.wraps(make)
    def checked(kind: type, *args: Any, **kwargs: Any) -> Any:
        try:
            return make(kind, *args, **kwargs)
        except TypeError:
            unknown = next((word for word in kwargs if word not in fields), None)
            missing = [
                name for name in fields[len(args) :] if name not in kwargs and name not in defaults
            ]
            if unknown is not None:
                fault = f"has no field {unknown!r}{suggestion(unknown, fields)}"
            elif missing:
                fault = f"lacks {' and '.join(missing)}"
            else:
                fault = f"got {len(args) + len(kwargs)} values for {len(fields)} fields"
            name = cls.__name__
            raise InputError(f"{name} {fault}; write {name}({', '.join(shown)})") from None

    cls.__new__ = checked  # type: ignore[method-assign,assignment]
    return cls


def _takes_none(annotation: Any) -> bool:
    return types.NoneType in get_args(annotation)


def _bound(
    signature: inspect.Signature,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    filled_in: int = 0,
) -> dict[str, Any]:
    """The arguments of a call by name, or a TypeError that names what was called.

    Its owner passes a part the first `filled_in` arguments after `self`.
    """
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    unknown = next((word for word in kwargs if word not in signature.parameters), None)
    if unknown is not None and inspect.Parameter.VAR_KEYWORD not in kinds:
        hint = suggestion(unknown, signature.parameters) or _owner(
            unknown, kwargs[unknown], signature
        )
        raise TypeError(f"{name}() got an unexpected keyword argument {unknown!r}{hint}")
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        leading = list(signature.parameters)[1 : filled_in + 1]
        hint = ""
        if any(word not in kwargs and str(error).endswith(repr(word)) for word in leading):
            given = [f"{k}={_short(value)}" for k, value in kwargs.items() if k not in leading]
            first = [f"{word}={_LEADING.get(word, '…')}" for word in leading]
            if leading == ["space"]:
                first = [_LEADING["space"]]
            setting = ", ".join(given) or "setting=value"
            hint = (
                f"; write {name}({', '.join(first + given)}), or, as an argument of what fills "
                f"these in, {_builder_hint(name, setting)}"
            )
        elif not filled_in:
            bound = signature.bind_partial(*args, **kwargs).arguments
            missing = [
                f"{word}={_LEADING.get(word, '…')}"
                for word, parameter in signature.parameters.items()
                if word not in bound and parameter.default is parameter.empty
            ]
            has_example = any(not example.endswith("=…") for example in missing)
            hint = f"; give {', '.join(missing)}" if has_example else ""
        raise TypeError(f"{name}() {error}{hint}") from None


def _owner(word: str, value: object, signature: inspect.Signature) -> str:
    """Which part has a setting that its owner lacks, and how to give it; else all settings."""
    parameters = signature.parameters
    if word in ("learning_rate", "lr") and "optimizer" in parameters:
        return f": give optimizer=partial(torch.optim.Adam, lr={_short(value)})"
    for name, parameter in parameters.items():
        kind = parameter.annotation
        is_mapping = get_origin(kind) is dict
        made = _result(get_args(kind)[-1] if is_mapping else kind)
        group = f"{made.__name__.lower()}s" if made else ""
        if made is None or group not in plugins.PARTS:
            continue
        parts = {part.name for part in plugins.available(group) if part.distribution == "dislab"}
        classes = (plugins.load(group, part) for part in parts)
        takers = [cls.__name__ for cls in classes if word in inspect.signature(cls).parameters]
        if takers:
            takers.sort(key=lambda cls: (not cls.endswith(made.__name__), len(cls), cls))
            part = f"partial({takers[0]}, {word}={_short(value)})"
            given = f"{{{takers[0].lower()!r}: {part}}}" if is_mapping else part
            return f", a setting of {' and '.join(takers)}: give {name}={given}"
    names = [name for name in parameters if name != "self"]
    return f"; its settings are {', '.join(names)}"


def _builder_hint(name: str, setting: str = "setting=value") -> str:
    return f"give {name} itself, or partial({name}, {setting})"


def _short(value: object) -> str:
    """A setting in a message; an ellipsis for an object."""
    return _SHORT.repr(value) if isinstance(value, str | int | float | list | tuple) else "…"


class Part:
    """What encoders, data sets, scores and all other parts share: checks of their settings."""

    filled_in: ClassVar[int] = 0
    """Number of leading constructor arguments that the owner of the part passes."""

    def __init_subclass__(cls) -> None:
        """Makes every constructor refuse settings of the wrong type."""
        super().__init_subclass__()
        if Part not in cls.__bases__:  # constructors of the contracts are called by checked ones
            checks_settings(cls)

    def __init__(self) -> None:
        """Refuses methods that take other arguments than those of the contract."""
        plugins.check_methods(type(self))
        super().__init__()


def subclasses(*bases: type) -> Iterator[type]:
    """Classes, and all those that are imported and derive from them.

    Args:
        bases: The classes.
    """
    for base in bases:
        yield base
        yield from subclasses(*type.__subclasses__(base))


def check_kind(name: str, value: Any, annotation: Any) -> None:
    """Refuses a value that does not fit an annotation.

    Args:
        name: The setting's name.
        value: Value to check.
        annotation: The setting's type.

    Raises:
        InputError: The value has another type, a number is not finite or too large, or a word is
            not among the allowed ones.
    """
    if _fits(value, annotation):
        return
    text = _described(value)
    if choices := _choices(annotation):
        hint = suggestion(value, choices) if isinstance(value, str) else ""
        raise InputError(f"{name} is {text}{hint}; choose one of {', '.join(choices)}")
    if is_number(value, Integral) and not -_LARGEST <= value <= _LARGEST:
        raise InputError(f"{name} is {text}, which is too large for any number here")
    hint = _part_named(value, annotation) or _remedy(value, annotation)
    raise InputError(f"{name} is {text}; it must be {_allowed(annotation)}{hint}")


def _described(value: object) -> str:
    """A value in a few words: text, numbers and lists as they are, objects by their class."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    plain = (str, bytes, os.PathLike, int, float, complex, list, tuple, dict, types.NoneType)
    return (
        _SHORT.repr(value) if isinstance(value, plain) else f"an object of {type(value).__name__}"
    )


def _remedy(value: object, annotation: Any) -> str:
    """What to give in place of a class or an object, if the other one is wanted."""
    wanted = next(filter(None, map(_result, _alternatives(annotation))), None)
    if wanted is not None and _is_instance(value, wanted):
        return f"; {_builder_hint(type(value).__name__)}"
    for cls in subclasses(wanted) if wanted is not None and isinstance(value, str) else ():
        if cls.__name__ == value:
            return f"; in Python import the class: from {cls.__module__} import {value}"
    if isinstance(value, type) and _fits_class(value, annotation):
        return f"; make one: {value.__name__}(…)"
    if "DataModule" in _allowed(annotation) and any(map(_is_dataset, type(value).__mro__)):
        return "; dislab.datamodules.SingleData makes one of a data set"
    if _takes_array(annotation) and any(map(_is_run, type(value).__mro__)):
        return "; run.encode() gives the codes and factors of a run: evaluate(run.encode())"
    if _takes_array(annotation) and any(map(_is_model, type(value).__mro__)):
        return "; model.codes(images) gives codes, and open_run(RUN).encode() those of a run"
    if "Dataset" in _allowed(annotation):
        if hasattr(value, "shape"):
            return "; dislab.datasets.ArrayDataset makes one of arrays"
        if any(map(_is_torch_dataset, type(value).__mro__)):
            return "; dislab.datasets.TorchDataset makes one of a torch data set"
    return _remedy_inside(value, annotation)


def _is_dataset(cls: type) -> bool:
    return cls.__name__ == "Dataset" and cls.__module__.startswith("dislab.base")


def _is_run(cls: type) -> bool:
    return cls.__name__ == "OpenRun" and cls.__module__.startswith("dislab.runs")


def _is_model(cls: type) -> bool:
    return cls.__name__ == "Objective" and cls.__module__.startswith("dislab.base")


def _takes_array(annotation: Any) -> bool:
    """Whether an annotation allows everything that numpy makes an array of."""
    return bool(_ARRAY_LIKE) and _ARRAY_LIKE.issubset(_alternatives(annotation))


def _is_torch_dataset(cls: type) -> bool:
    return cls.__name__ == "Dataset" and cls.__module__.startswith("torch.utils.data")


def _remedy_inside(value: object, annotation: Any) -> str:
    """What to give in place of a wrong element of a mapping or a list, or of a whole mapping."""
    for kind in _alternatives(annotation):
        origin, arguments = get_origin(kind), get_args(kind)
        if not (isinstance(origin, type) and issubclass(origin, Mapping | Sequence) and arguments):
            continue
        is_mapping, wanted = issubclass(origin, Mapping), arguments[-1]
        elements = value.values() if isinstance(value, Mapping) else value
        if isinstance(value, Mapping) == is_mapping and isinstance(elements, Iterable):
            wrong = next((inner for inner in elements if not _fits(inner, wanted)), None)
            return _part_named(wrong, wanted) or _remedy(wrong, wanted)
        if is_mapping and (cls := _made_by(value, _result(wanted))):
            return f"; give a mapping such as {{{cls.lower()!r}: {cls}}}"
    return ""


def _made_by(value: object, wanted: type | None) -> str:
    """Name of the class that a builder, an object, or the first one of a list belongs to."""
    first = value[0] if isinstance(value, list | tuple) and value else value
    made = first.func if isinstance(first, functools.partial) else first
    cls = made if isinstance(made, type) else type(made)
    return cls.__name__ if wanted is not None and issubclass(cls, wanted) else ""


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The types of a union; any other type alone."""
    if get_origin(annotation) in (Union, types.UnionType):
        return get_args(annotation)
    return (annotation,)


def _result(annotation: Any) -> type | None:
    """The class that a `Callable` makes; None for other annotations."""
    if get_origin(annotation) is not Callable:
        return None
    made = get_args(annotation)[-1]
    return made if isinstance(made, type) and made is not Any else None


def _fits_class(value: type, annotation: Any) -> bool:
    """Whether an object of a class would fit an annotation."""
    return any(
        isinstance(kind, type) and kind is not Any and issubclass(value, kind)
        for kind in _alternatives(annotation)
    )


def _part_named(value: object, annotation: Any) -> str:
    """A hint at the class of a part whose name stands in place of the class or an object of it.

    A misspelt name is compared with those of the parts that the annotation allows.
    """
    if not isinstance(value, str):
        return ""
    parts = [part for group in plugins.PARTS for part in plugins.available(group)]
    part = next((part for part in parts if part.name == value), None)
    if part is None:
        kinds = [_result(kind) or kind for kind in _alternatives(annotation)]
        groups = {f"{kind.__name__.lower()}s" for kind in kinds if isinstance(kind, type)}
        return suggestion(value, [part.name for part in parts if part.group in groups])
    module = part.value.partition(":")[0]
    package = ".".join(module.split(".")[:2]) if module.startswith("dislab.") else module
    return f"; in Python import the class: from {package} import {value}"


def is_number(value: object, kind: type) -> bool:
    """Whether a value is a number of a type; `True` and `False` are not.

    Args:
        value: Value to check.
        kind: `numbers.Integral` or `numbers.Real`.
    """
    return isinstance(value, kind) and not isinstance(value, bool)


def _fits(value: Any, annotation: Any) -> bool:
    """Whether a type annotation allows a value; unknown annotations allow every value."""
    if annotation is Any:  # Any is a class since Python 3.11
        return True
    if annotation in (None, types.NoneType):
        return value is None
    if annotation is bool:
        return isinstance(value, bool | np.bool_)
    if annotation is int:
        return is_number(value, Integral) and bool(abs(value) <= _LARGEST)
    if annotation is float:
        return is_number(value, Real) and bool(abs(value) < math.inf)
    if annotation is str:
        return isinstance(value, str | os.PathLike)
    if is_typeddict(annotation):
        hints = get_type_hints(annotation)
        return isinstance(value, Mapping) and all(
            _fits(inner, hints.get(key, Any)) for key, inner in value.items()
        )
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return any(_fits(value, inner) for inner in arguments)
    if origin is Literal:
        return any(type(value) is type(inner) and value == inner for inner in arguments)
    if origin is Callable:
        made = _result(annotation)
        return callable(value) and not (made and _is_instance(value, made))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        keys, values = arguments
        return isinstance(value, Mapping) and all(
            _fits(key, keys) and _fits(inner, values) for key, inner in value.items()
        )
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _fits_sequence(value, origin, arguments)
    if isinstance(origin, type):
        return _is_instance(value, origin) and not isinstance(value, str)
    return not isinstance(annotation, type) or _is_instance(value, annotation)


def _fits_sequence(value: Any, origin: type, arguments: tuple[Any, ...]) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    if origin is tuple and Ellipsis not in arguments:
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    return all(_fits(inner, arguments[0]) for inner in value)


def _is_instance(value: object, cls: type) -> bool:
    try:
        return isinstance(value, cls)
    except TypeError:  # a protocol that does not support isinstance
        return True


def _choices(annotation: Any) -> list[str]:
    """The values of a `Literal`; empty for other annotations."""
    return (
        [str(choice) for choice in get_args(annotation)]
        if get_origin(annotation) is Literal
        else []
    )


def _allowed(annotation: Any) -> str:
    """The values that an annotation allows, in words."""
    if annotation in _NAMES:
        return _NAMES[annotation]
    if choices := _choices(annotation):
        return f"one of {', '.join(choices)}"
    if is_typeddict(annotation):
        return f"a mapping with {', '.join(get_type_hints(annotation))}"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        words = dict.fromkeys(map(_allowed, arguments))
        if _takes_array(annotation):
            others = (kind for kind in arguments if kind not in _ARRAY_LIKE)
            words = dict.fromkeys(["an array", *map(_allowed, others)])
        return " or ".join(sorted(words, key=lambda word: "each" in word))  # lists end a sentence
    if origin is Callable:
        makes = getattr(arguments[-1], "__name__", "part")
        return "a class" if makes == "Any" else f"a class that makes {_article(makes)}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a mapping of names to {_allowed(arguments[1])}"
    if origin is tuple and Ellipsis not in arguments:
        return f"a list of {len(arguments)}, each {_allowed(arguments[0])}"
    if isinstance(origin, type) and issubclass(origin, Sequence) and arguments[0] is Any:
        return "a list"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return f"a list, each {_allowed(arguments[0])}"
    return _article(getattr(annotation, "__name__", str(annotation)))


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOU' else 'a'} {noun}"


def _too_large(part: str, arguments: Mapping[str, Any]) -> str:
    """The message for a part that needs too much memory; it names the part's largest setting."""
    sizes = {
        name: max(map(int, value if isinstance(value, list | tuple) else [value]), default=0)
        for name, value in arguments.items()
        if _fits(value, int | Sequence[int])
    }
    largest = max(sizes, key=lambda name: sizes[name], default="")
    text = f".{largest} is {reprlib.repr(arguments[largest])}" if sizes else " is too large"
    return f"{part}{text}; there is not enough memory for that, choose a smaller number"
