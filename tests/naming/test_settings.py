"""Constructors refuse arguments of a kind that their annotations exclude."""

import inspect
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import pytest
import torch
from tests import cases
from torch.utils.data import TensorDataset

import dislab
from dislab import plugins
from dislab.base import (
    Encoder,
    ImageBatch,
    ImageShape,
    Penalty,
    Posterior,
    Predictor,
    Terms,
)
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import ConvEncoder64, MLPEncoder
from dislab.errors import InputError
from dislab.exports import export, pull, push
from dislab.factors import Factor, FactorSpace
from dislab.metrics import MIG
from dislab.naming.settings import check_kind, checks_arguments, checks_settings
from dislab.objectives import VAE
from dislab.plans import Drawn
from dislab.predictors import Ridge
from dislab.regularizers import KL, TotalCorrelation
from dislab.report import page_of, write_page
from dislab.runs import load_run, read_scores
from dislab.study import compare
from dislab.transfer import load_scenarios

SPACE = FactorSpace((Factor("x", (0.0, 1.0, 2.0)),))


class Band(TypedDict):
    names: list[str]
    strength: float


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, 3),
        (int, np.int64(3)),
        (int | None, None),
        (float, 3),
        (float, np.float32(0.5)),
        (bool, np.True_),
        (str, Path("a")),
        (Literal["a", 28], 28),
        (tuple[int, ...], [1, 2]),
        (tuple[float, float], (0.5, 1)),
        (Sequence[int], ()),
        (dict[str, list[str]], {"a": ["b"]}),
        (Mapping[str, int | Mapping[str, float]], {"a": 1, "b": {"min": 0.5}}),
        (Callable[[int], KL], KL),
        (Band, {"names": ["a"], "strength": 0.1}),
        (FactorSpace, SPACE),
        (Any, object()),
    ],
)
def test_a_value_of_the_kind_passes(annotation: Any, value: object) -> None:
    check_kind("size", value, annotation)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, None, "size is None; it must be a whole number"),
        (int, True, "size is True; it must be a whole number"),
        (int, 2.5, "size is 2.5; it must be a whole number"),
        (int, "3", "size is '3'; it must be a whole number"),
        (int, 2**63, "size is 9223372036854775808, which is too large"),
        (int | None, "x", "size is 'x'; it must be a whole number or null"),
        (float, float("nan"), "size is nan; it must be a finite number"),
        (float, float("inf"), "size is inf; it must be a finite number"),
        (bool, 1, "size is 1; it must be true or false"),
        (str, 3, "size is 3; it must be text"),
        (Literal["grey", "rgb"], "gray", r"size is 'gray' \(did you mean grey\?\); choose one of"),
        (Literal[1], True, "size is True; choose one of 1"),
        (tuple[int, ...], 3, "size is 3; it must be a list, each a whole number"),
        (Sequence[int], "12", "size is '12'; it must be a list, each a whole number"),
        (tuple[float, float], (1.0,), "a list of 2, each a finite number"),
        (tuple[float, float], (1.0, None), "a list of 2, each a finite number"),
        (dict[str, int], [1], "a mapping of names to a whole number"),
        (dict[str, int], {"a": None}, "a mapping of names to a whole number"),
        (Callable[[int], KL], "KL", "a class that makes a KL"),
        (Band, {"names": ["a"], "strength": None}, "a mapping with names, strength"),
        (FactorSpace, 3, "size is 3; it must be a FactorSpace"),
        (int, list(range(1000)), r"size is \[0, 1, 2, 3, 4, 5, \.\.\.\]; it must"),
    ],
)
def test_a_value_of_another_kind_is_refused(annotation: Any, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_kind("size", value, annotation)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MIG(SPACE, bins=None), r"MIG\.bins is None"),  # type: ignore[arg-type]
        (lambda: MIG(SPACE, bins=2.5), r"MIG\.bins is 2\.5"),  # type: ignore[arg-type]
        (lambda: Ridge(3, (0,), float("nan")), r"Ridge\.penalty is nan"),
        (lambda: KL(3, 10, beta=None), r"KL\.beta is None"),  # type: ignore[arg-type]
        (lambda: MLPEncoder((1, 8, 8), 3, hidden=None), r"MLPEncoder\.hidden is None"),  # type: ignore[arg-type]
    ],
)
def test_parts_check_their_constructor_arguments(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build()


def test_the_part_of_a_plugin_is_checked_as_well_and_keeps_its_signature() -> None:
    class Mean(Predictor):
        def __init__(self, latent_dim: int, classes: tuple[int, ...], weight: float = 1.0) -> None:
            self.weight = weight

        def fit(self, codes: torch.Tensor, targets: torch.Tensor) -> None: ...

        def predict(self, codes: torch.Tensor) -> torch.Tensor:
            return codes

    assert list(inspect.signature(Mean).parameters) == ["latent_dim", "classes", "weight"]
    assert Mean(2, (0,), 3).weight == 3
    with pytest.raises(InputError, match=r"Mean\.weight is 'x'; it must be a finite number"):
        Mean(2, (0,), weight="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="missing"):
        Mean(2)  # type: ignore[call-arg]


def test_a_part_that_does_not_fit_into_the_memory_is_refused_with_its_largest_setting() -> None:
    message = r"MLPEncoder\.hidden is .*1000000000.*; there is not enough memory for that"
    with pytest.raises(InputError, match=message):
        MLPEncoder((3, 512, 512), 3, hidden=(10**9,))


def test_another_error_of_a_constructor_passes() -> None:
    @checks_settings
    class Broken:
        def __init__(self, size: int) -> None:
            raise RuntimeError("a fault of the class")

    with pytest.raises(RuntimeError, match="a fault of the class"):
        Broken(3)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (dislab.open_run, (3,), "run is 3; it must be text or a Path"),
        (load_run, ([1],), r"run is \[1\]; it must be text or a Path"),
        (read_scores, (3,), "run is 3; it must be text or a Path"),
        (compare, ("runs",), "runs is 'runs'; it must be a list, each text or a Path"),
        (push, ("run", ["a"]), r"repository is \['a'\]; it must be text"),
        (pull, (3, "out"), "repository is 3; it must be text"),
        (export, (3, "out", ["onnx"]), "run is 3; it must be text or a Path"),
        (write_page, ("runs", "page.html"), "runs is 'runs'; it must be a list"),
        (page_of, ("runs",), "runs is 'runs'; it must be a list"),
        (load_scenarios, ("ood1",), "names is 'ood1'; it must be a list, each text"),
    ],
)
def test_public_functions_name_an_argument_of_a_wrong_kind(
    function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        function(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hiden": [3]}, r"MLPEncoder\(\) got an unexpected .* 'hiden' \(did you mean hidden\?\)"),
        ({}, r"MLPEncoder\(\) missing a required argument: 'image_shape'"),
    ],
)
def test_constructors_name_themselves_and_the_closest_setting(
    arguments: dict[str, Any], message: str
) -> None:
    make: Callable[..., MLPEncoder] = MLPEncoder
    with pytest.raises(TypeError, match=message):
        make(**arguments)


def _built(cls: Callable[..., Any], **settings: Any) -> Callable[[], Any]:
    return lambda: cls(**settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            _built(KL, beta=4),
            "missing a required argument: 'latent_dim'; write KL(latent_dim=…, "
            "train_size=data.train_size, beta=4), or, as an argument of what "
            "fills these in, give KL itself, or partial(KL, beta=4)",
        ),
        (_built(KL), "give KL itself, or partial(KL, setting=value)"),
        (_built(TotalCorrelation, gamma=10), "or partial(TotalCorrelation, gamma=10)"),
        (_built(ConvEncoder64), "give ConvEncoder64 itself, or partial("),
        (
            _built(ConvEncoder64, image_shape=(1, 64, 64)),
            "'outputs'; write ConvEncoder64(image_shape=data.image_shape, outputs=…), or",
        ),
        (_built(MLPDecoder, hidden=(8,)), "or partial(MLPDecoder, hidden=(8,))"),
        (_built(MIG), "'space'; write MIG(dataset.factors), or, as an argument"),
        (_built(Ridge), "give Ridge itself"),
    ],
)
def test_a_part_without_the_arguments_of_its_owner_is_answered_with_its_class(
    make: Callable[[], Any], message: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            _built(VAE, beta=4),
            "'beta', a setting of KL and DecomposedKL: give regularizers={'kl': partial(KL, beta",
        ),
        (_built(VAE, hidden=(8,)), "give encoder=partial(MLPEncoder, hidden=(8,))"),
        (_built(VAE, lr=0.1), "'lr': give optimizer=partial(torch.optim.Adam, lr=0.1)"),
        (_built(VAE, nonsense=1), "'nonsense'; its settings are image_shape, train_size, latent_"),
        (
            _built(VAE, image_shape=(1, 8, 8), train_size=9, latent_dim=2, encoder=MLPEncoder),
            "missing a required argument: 'decoder'; give decoder=ConvDecoder64, regularizers={'kl",
        ),
    ],
)
def test_a_method_says_where_a_setting_goes(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("name", cases.own("objectives"))
def test_every_method_lists_its_settings_and_what_it_lacks(name: str) -> None:
    cls = plugins.load("objectives", name)
    with pytest.raises(TypeError, match="'xyzzy'; its settings are image_shape, "):
        cls(xyzzy=1)
    with pytest.raises(TypeError, match=r"; give image_shape=data\.image_shape"):
        cls()


def test_a_missing_setting_of_the_user_is_not_filled_in() -> None:
    class Own(Encoder):
        def __init__(self, image_shape: ImageShape, outputs: int, width: int) -> None:
            super().__init__()

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            return image

    make: Callable[..., Own] = Own
    with pytest.raises(TypeError, match=r"missing a required argument: 'width'$"):
        make((1, 8, 8), 3)


def test_a_setting_inside_a_builder_is_named_with_its_class() -> None:
    make: Callable[..., Any] = MLPEncoder
    encoder = partial(make, hiden=[3])
    with pytest.raises(TypeError, match=r"MLPEncoder\(\) got .* \(did you mean hidden\?\)"):
        VAE((1, 8, 8), 10, 2, encoder, MLPDecoder, {"kl": KL})


def test_the_name_of_a_part_is_answered_with_its_class() -> None:
    data: Callable[..., Any] = SingleData
    with pytest.raises(
        InputError,
        match=r"a Dataset; in Python import the class: from dislab\.datasets import Shapes3D$",
    ):
        data("Shapes3D")


@pytest.mark.parametrize(
    ("cls", "settings", "message"),
    [
        (
            VAE,
            {"encoder": MLPEncoder((1, 8, 8), 4)},
            "VAE.encoder is an object of MLPEncoder; it must be a class that makes an Encoder; "
            "give MLPEncoder itself, or partial(MLPEncoder, setting=value)",
        ),
        (
            VAE,
            {"regularizers": {"kl": KL(2, 10)}},
            "of names to a class that makes a Regularizer; "
            "give KL itself, or partial(KL, setting=value)",
        ),
        (VAE, {"regularizers": {"kl": "KL"}}, "class: from dislab.regularizers import KL"),
        (VAE, {"regularizers": [KL]}, "a Regularizer; give a mapping such as {'kl': KL}"),
        (VAE, {"regularizers": partial(KL, beta=4)}, "; give a mapping such as {'kl': KL}"),
        (VAE, {"regularizers": KL(2, 10)}, "; give a mapping such as {'kl': KL}"),
        (
            VAE,
            {"optimizer": torch.optim.SGD([torch.zeros(1)])},
            "VAE.optimizer is an object of SGD; it must be a class that makes an Optimizer or null",
        ),
        (VAE, {"optimizer": "SGD"}, "import the class: from torch.optim.sgd import SGD"),
        (SingleData, {"dataset": "DSprite"}, "must be a Dataset (did you mean DSprites?)"),
        (VAE, {"encoder": "ConvEncoder"}, "an Encoder (did you mean ConvEncoder64?)"),
        (VAE, {"regularizers": {"kl": "kl"}}, "a Regularizer (did you mean KL?)"),
        (
            SingleData,
            {"dataset": GaussianBlob},
            "SingleData.dataset is the class GaussianBlob; it must be a Dataset; "
            "make one: GaussianBlob(…)",
        ),
        (
            SingleData,
            {"dataset": torch.zeros(3, 1, 8, 8)},
            "SingleData.dataset is an object of Tensor; it must be a Dataset; "
            "dislab.datasets.ArrayDataset makes one of arrays",
        ),
        (
            SingleData,
            {"dataset": TensorDataset(torch.zeros(3, 1, 8, 8))},
            "SingleData.dataset is an object of TensorDataset; it must be a Dataset; "
            "dislab.datasets.TorchDataset makes one of a torch data set",
        ),
    ],
)
def test_a_class_and_an_object_in_each_others_place_have_a_remedy(
    cls: Callable[..., Any], settings: dict[str, Any], message: str
) -> None:
    vae = {"image_shape": (1, 8, 8), "train_size": 10, "latent_dim": 2, "encoder": MLPEncoder}
    vae |= {"decoder": MLPDecoder, "regularizers": {"kl": KL}}
    with pytest.raises(InputError, match=re.escape(message)):
        cls(**(vae if cls is VAE else {}) | settings)


def test_lists_may_be_arrays_and_unknown_arguments_have_pythons_message() -> None:
    def first(names: Sequence[str], size: int = 1) -> str:
        return names[0]

    checked: Callable[..., str] = checks_arguments(first)
    assert checked(np.array(["a", "b"])) == "a"
    with pytest.raises(InputError, match="names is 'ab'; it must be a list, each text"):
        checked("ab")
    with pytest.raises(TypeError, match=r"first\(\) got an unexpected keyword argument 'side'"):
        checked(["a"], side=2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda x: Penalty(x, {"size": x}),  # type: ignore[call-arg]
            "Penalty lacks terms; write Penalty(penalty, auxiliary or None, terms)",
        ),
        (
            lambda x: Terms(x),  # type: ignore[call-arg]
            "Terms lacks log; write Terms(loss, log)",
        ),
        (
            lambda x: Posterior(x, logvar=x),  # type: ignore[call-arg]
            "Posterior has no field 'logvar' (did you mean log_var?); write "
            "Posterior(mean, log_var)",
        ),
        (
            lambda x: Posterior(x, x, x),  # type: ignore[call-arg]
            "Posterior got 3 values for 2 fields; write Posterior(mean, log_var)",
        ),
        (
            lambda x: Drawn(),  # type: ignore[call-arg]
            "Drawn lacks states; write Drawn(states, labels, positions or None)",
        ),
        (
            lambda x: ImageBatch(x),  # type: ignore[call-arg]
            "ImageBatch lacks factors; write ImageBatch(image, factors, labelled)",
        ),
    ],
)
def test_a_named_tuple_of_a_contract_says_how_it_is_written(
    make: Callable[[torch.Tensor], object], message: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        make(torch.ones(()))


def test_a_named_tuple_of_a_contract_stays_one() -> None:
    number = torch.ones(())
    penalty = Penalty(number, auxiliary=None, terms={"size": number})
    assert pickle.loads(pickle.dumps(penalty)) == penalty
    assert penalty._replace(terms={}) == (number, None, {})
    assert list(inspect.signature(Penalty).parameters) == ["penalty", "auxiliary", "terms"]
