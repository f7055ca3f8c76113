"""Plain data that name classes: what is made of them, and what is neither imported nor called."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NewType, Optional

import pytest
import torch
from torch import nn

from dislab.base import (
    DataModule,
    Dataset,
    Decoder,
    Encoder,
    EncoderBuilder,
    Metric,
    Objective,
    Predictor,
    Regularizer,
    RegularizerBuilder,
)
from dislab.datasets import GaussianBlob
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.naming.classes import ForeignNameError, find_class, known_bases, packages
from dislab.naming.rebuilding import arguments_of, built_part, check_names
from dislab.regularizers import KL

Alias = NewType("Alias", Encoder)
MLP = "dislab.encoders.mlp_encoder.MLPEncoder"


class Nested(Encoder):
    """An encoder that is built from others."""

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        outputs: int,
        inner: EncoderBuilder = MLPEncoder,
        size: int = 3,
    ) -> None:
        super().__init__()

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image


class Base:
    def __init__(self, hidden: Encoder) -> None:
        self.hidden = hidden


class Places(Base):
    """Every way to ask for a part."""

    def __init__(  # type: ignore[no-untyped-def]  # one argument has no type
        self,
        builder: EncoderBuilder | None = None,
        listed: list[EncoderBuilder] | None = None,
        named: dict[str, RegularizerBuilder] | None = None,
        pair: tuple[EncoderBuilder, RegularizerBuilder] | None = None,
        instance: Dataset | None = None,
        cls: type[nn.Module] = nn.ReLU,
        activation: Callable[[torch.Tensor], torch.Tensor] = torch.relu,
        alias: Optional[Alias] = None,  # noqa: UP045  # as older code has it
        text: str = "",
        text_or_builder: str | EncoderBuilder = "",
        anything: Any = None,
        module: ModuleType | None = None,
        untyped=None,
        shape: tuple[int, ...] = (1,),
        **further: Any,
    ) -> None:
        super().__init__(**further)


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that importing the module `evil_part` would write."""
    path = tmp_path / "marker"
    source = f"open({str(path)!r}, 'w').close()\nfrom dislab.base import Encoder\n"
    (tmp_path / "evil_part.py").write_text(source + "class Part(Encoder): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return path


SYSTEM = {"class_path": "os.system", "init_args": {"command": "true"}}
PLACES: dict[str, Callable[[object], dict[str, Any]]] = {
    "builder": lambda bad: {"builder": bad},
    "listed": lambda bad: {"listed": [MLP, bad]},
    "named.kl": lambda bad: {"named": {"kl": bad}},
    "pair": lambda bad: {"pair": [MLP, bad]},
    "instance": lambda bad: {"instance": bad},
    "activation": lambda bad: {"activation": bad},
    "alias": lambda bad: {"alias": bad},
    "text_or_builder": lambda bad: {"text_or_builder": bad},
    "hidden": lambda bad: {"hidden": bad},
    "untyped": lambda bad: {"untyped": bad},
    "builder.inner": lambda bad: {
        "builder": {"class_path": f"{__name__}.Nested", "init_args": {"inner": bad}}
    },
    "builder.more": lambda bad: {
        "builder": {"class_path": f"{__name__}.Nested", "dict_kwargs": {"more": bad}}
    },
}
BAD = {
    "a function": SYSTEM,
    "a function by its name": "os.system",
    "a function in text": '{class_path: os.system, init_args: {command: "true"}}',
    "an escaped key": '{"class\\u005fpath": "os.system"}',
    "a module with an effect": {"class_path": "evil_part.Part"},
    "such a module by its name": "evil_part.Part",
    "a function of torch": {"class_path": "torch.hub.load", "init_args": {"repo_or_dir": "x"}},
    "a function of dislab": {"class_path": "dislab.storage.sha256", "init_args": {"path": "x"}},
    "a class of the standard library": {"class_path": "subprocess.Popen"},
    "no name": {"class_path": 3},
    "dots": {"class_path": "..os"},
    "an attribute of a part": {"class_path": f"{MLP}.forward"},
}


@pytest.mark.every(4)
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_part_is_neither_imported_nor_called(
    place: str, bad: object, marker: Path
) -> None:
    stored = PLACES[place](bad)
    for read in (check_names, arguments_of):
        with pytest.raises(ForeignNameError, match=f"^{place} names "):
            read(Places, stored)
    assert not marker.exists()
    assert "evil_part" not in sys.modules


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"builder": {"class_path": "dislab.regularizers.KL"}}, "builder names .*is no Encoder of"),
        ({"builder": "dislab.regularizers.KL"}, "builder names .*is no Encoder"),
        ({"builder": {"class_path": "KL"}}, "builder names KL, which is no Encoder"),
        ({"named": {"kl": {"class_path": MLP}}}, "named.kl names .*is no Regularizer"),
        ({"cls": "os.system"}, "cls names os.system"),
        ({"cls": "dislab.base.DataModule"}, "cls names .*is no Module"),
        ({"anything": SYSTEM}, "anything names os.system"),
        ({"anything": {"deep": [SYSTEM]}}, "anything.deep names os.system"),
        ({"anything": "{class_path: os.system}"}, "anything names os.system"),
        ({"module": "evil_part"}, "module names evil_part, and a file may not name modules"),
        ({"builder": {"class_path": MLP, "ready": True}}, "builder was a ready MLPEncoder"),
    ],
)
def test_other_groups_and_places_are_refused(
    stored: dict[str, Any], message: str, marker: Path
) -> None:
    with pytest.raises(ForeignNameError, match=message):
        arguments_of(Places, stored)
    assert not marker.exists()


def test_nothing_is_made_before_all_names_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MLPEncoder, "__init__", lambda *_, **__: pytest.fail("was made"))
    with pytest.raises(ForeignNameError):
        arguments_of(Places, {"alias": {"class_path": MLP}, "builder": SYSTEM})


@pytest.mark.parametrize(
    "stored",
    [
        {"text": "os.system"},
        {"text": "{class_path: os.system}"},
        {"text_or_builder": "runs/a/version_0"},
        {"text_or_builder": "no_such_module_here.ckpt"},
        {"anything": "os.system"},
        {"anything": {"note": "os.system"}},
        {"untyped": "model.ckpt"},
        {"untyped": "resnet18.a1_in1k"},
    ],
)
def test_texts_that_name_nothing_stay_texts(stored: dict[str, Any]) -> None:
    check_names(Places, stored)
    (name, value), *_ = stored.items()
    assert arguments_of(Texts, stored)[name] == value


class Texts:
    def __init__(  # type: ignore[no-untyped-def]  # one argument has no type
        self,
        text: str = "",
        text_or_builder: str | EncoderBuilder = "",
        anything: Any = None,
        untyped=None,
    ) -> None: ...


@pytest.mark.parametrize("name", [MLP, "dislab.encoders.MLPEncoder", "MLPEncoder"])
def test_parts_come_back_as_builders(name: str) -> None:
    class Owner:
        def __init__(
            self,
            builder: EncoderBuilder,
            named: dict[str, RegularizerBuilder],
            shape: tuple[int, ...],
        ) -> None: ...

    arguments = arguments_of(
        Owner,
        {
            "builder": {"class_path": name, "init_args": {"hidden": [5]}},
            "named": {"kl": {"class_path": "KL", "init_args": {"beta": 2}}, "plain": KL},
            "shape": [1, 2],
        },
    )
    builder, kl = arguments["builder"], arguments["named"]["kl"]
    assert isinstance(builder, partial)
    assert builder.func is MLPEncoder
    assert builder.keywords["hidden"] == (5,)
    assert kl.keywords["beta"] == 2.0
    assert arguments["named"]["plain"] is KL
    assert arguments["shape"] == (1, 2)


def test_builders_inside_builders_come_back() -> None:
    inner = {"class_path": MLP, "init_args": {"hidden": [7]}}
    outer = {"class_path": f"{__name__}.Nested", "init_args": {"inner": inner}}

    class Owner:
        def __init__(self, builder: EncoderBuilder) -> None: ...

    builder = arguments_of(Owner, {"builder": outer})["builder"]
    assert builder.func is Nested
    assert builder.keywords["inner"].keywords["hidden"] == (7,)


class Schedule:
    """A type of a plugin's own."""


class Linear(Schedule): ...


def test_types_of_a_plug_in_and_of_a_base_class_are_known() -> None:
    class Owner:
        def __init__(self, schedule: Schedule, encoder: EncoderBuilder = MLPEncoder) -> None: ...

    class Leaf(Owner):
        def __init__(self, size: int = 1, **settings: Any) -> None:
            super().__init__(**settings)

    for cls in (Owner, Leaf):
        check_names(cls, {"schedule": {"class_path": f"{__name__}.Linear"}})
        with pytest.raises(ForeignNameError, match=r"schedule names .*is no Schedule"):
            check_names(cls, {"schedule": {"class_path": MLP}})
        with pytest.raises(ForeignNameError, match=r"encoder names .*is no Encoder"):
            check_names(cls, {"encoder": {"class_path": f"{__name__}.Linear"}})


def test_a_default_that_is_a_function_may_be_stored_by_its_name() -> None:
    check_names(Places, {"activation": "torch.relu"})
    with pytest.raises(ForeignNameError):
        check_names(Places, {"activation": "torch.sigmoid"})


def test_a_class_is_made_with_its_arguments() -> None:
    blob = built_part(Dataset, {"class_path": "GaussianBlob", "init_args": {}}, "data")
    assert type(blob) is GaussianBlob
    with pytest.raises(ForeignNameError, match=r"data names os\.system"):
        built_part(Dataset, SYSTEM, "data")
    with pytest.raises(InputError, match="data is 3; it holds class_path and init_args"):
        built_part(Dataset, 3, "data")


def test_classes_are_found_where_parts_are() -> None:
    assert find_class(f"{__name__}.Nested", (Encoder,), "encoder") is Nested
    assert find_class("torch.optim.Adam", (torch.optim.Optimizer,), "x") is torch.optim.Adam
    own = {"a.<locals>.B": Nested}
    assert find_class("a.<locals>.B", (Encoder,), "encoder", own) is Nested
    with pytest.raises(ForeignNameError, match="x names KL"):
        find_class("KL", (Encoder,), "x")
    assert find_class("KL", (Regularizer,), "x") is KL
    assert {"dislab", "torch", "lightning"} <= set(packages())


HELD = "".join(f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 8)}]\n" for i in range(1, 9))
ITSELF: list[Any] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("b0: &b0 [x]\n" + HELD, "aliases of this value and others add more than 10,000 values"),
        ("&a [*a]", "an alias stands for a value that holds the alias"),
        ("[" * 100 + "]" * 100, "more than 64 lists and mappings lie inside each other"),
        (ITSELF, "hold themselves, or are nested too deeply"),
    ],
)
def test_nesting_without_end_is_refused_at_once(value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_names(Places, {"listed": value})


@pytest.mark.parametrize("name", ["torch.utils.model_dump.__main__.main", "dislab.__main__.main"])
def test_a_program_is_not_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, name.rpartition(".")[0], raising=False)
    with pytest.raises(ForeignNameError, match="which is no Encoder"):
        find_class(name, (Encoder,), "encoder")
    assert name.rpartition(".")[0] not in sys.modules


class Counted:
    """A class whose settings are called like methods of jsonargparse's namespaces."""

    def __init__(self, values: int = 3, items: float = 0.5) -> None:
        self.values, self.items = values, items


def test_settings_may_be_called_like_methods_of_the_parser() -> None:
    assert arguments_of(Counted, {"values": 4}) == {"values": 4, "items": 0.5}


@pytest.mark.parametrize(
    "base",
    [Dataset, DataModule, Encoder, Decoder, Regularizer, Objective, Metric, Predictor],
)
def test_an_argument_without_a_type_may_name_a_part_of_every_group(base: type) -> None:
    part = type("Part", (base,), {})
    assert find_class(f"{__name__}.Part", known_bases(), "part", {f"{__name__}.Part": part}) is part
