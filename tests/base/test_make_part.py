"""Owners of parts refuse classes that do not take what they pass, in one sentence."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from jsonargparse import ArgumentParser
from torch import Tensor, nn

from dislab.base import Encoder, ImageShape, Metric, Predictor, Regularizer
from dislab.base.parts import make_encoder, make_part
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.metrics import evaluate
from dislab.objectives import VAE, AdaGVAE
from dislab.regularizers import KL
from dislab.testing import check_encoder


class NoConstructor(Regularizer):
    def forward(self, posterior: Any, z: Any, draws: Any, step: Any) -> Any:
        return z


class TakesNothing(NoConstructor):
    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()


class NeedsWeight(NoConstructor):
    def __init__(self, latent_dim: int, train_size: int, weight: float) -> None:
        super().__init__()


class OfCodesAlone(Regularizer):
    def __init__(self, latent_dim: int, train_size: int) -> None:
        super().__init__()

    def forward(self, z: Tensor) -> Any:  # type: ignore[override]
        return z


class OfCodesAndFactors(Metric):
    def score(self, codes: Any, factors: Any) -> Any:  # type: ignore[override]
        return codes


class Foreign(nn.Module):
    def __init__(self, latent_dim: int, train_size: int) -> None:
        super().__init__()


FAULTS = [
    (NoConstructor, "NoConstructor has no constructor; give it an __init__ that takes latent_dim"),
    (
        TakesNothing,
        "TakesNothing.__init__ takes weight; it must take latent_dim and train_size before ",
    ),
    (NeedsWeight, "NeedsWeight.__init__ requires weight; it must take latent_dim and train_size "),
    (OfCodesAlone, "OfCodesAlone.forward takes z; it must take posterior, z, draws, step"),
    (Foreign, "Foreign is no dislab.base.Regularizer; give a class that derives from it"),
    (Regularizer, "Regularizer is a base class; give a class that derives from it"),
]


@pytest.mark.parametrize(("cls", "message"), [FAULTS[1], FAULTS[3]])
def test_a_part_of_a_configuration_is_named_like_one_from_python(cls: Any, message: str) -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--part", type=Callable[[int, int], Regularizer])
    parsed = parser.parse_args([f"--part={__name__}.{cls.__name__}"])
    build = parser.instantiate_classes(parsed).part
    with pytest.raises(InputError, match=re.escape(message)):
        make_part(Regularizer, build, latent_dim=3, train_size=12)


def test_a_score_with_other_inputs_is_told_why() -> None:
    codes = np.random.default_rng(0).normal(size=(2000, 3))
    factors = (codes[:, :2] > 0).astype(int)
    with pytest.raises(
        InputError, match=r"^OfCodesAndFactors.score requires factors; it must take bank"
    ):
        evaluate(codes, factors, [OfCodesAndFactors])


@pytest.mark.parametrize("method", [VAE, AdaGVAE])
@pytest.mark.parametrize(("cls", "message"), FAULTS)
def test_a_regularizer_that_cannot_be_made_is_told_why(cls: Any, message: str, method: Any) -> None:
    settings = {"encoder": MLPEncoder, "decoder": MLPDecoder, "latent_dim": 3}
    with pytest.raises(InputError, match=re.escape(message)):
        method(image_shape=(1, 8, 8), train_size=12, regularizers={"r": cls}, **settings)


class Listed(Encoder):
    """Hides its layers in the way that the setting names."""

    def __init__(self, image_shape: ImageShape, outputs: int, way: str = "list") -> None:
        super().__init__()
        layer = nn.Linear(64, outputs)
        self.layers: Any = {
            "list": [layer],
            "dict": {"a": layer},
            "tuple": (layer.weight,),
            "deep": [[], {"a": [layer]}],
            "nested": nn.Sequential(nn.Identity()),
            "both": [layer],
            "frozen": [layer.requires_grad_(way != "frozen")],
            "ModuleList": nn.ModuleList([layer]),
        }[way]
        if way == "nested":
            vars(self.layers)["hidden"] = [layer]
        if way == "both":
            self.layer = layer

    def forward(self, image: Tensor) -> Tensor:
        return image


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("list", "Listed.layers holds layers in a list, where neither training nor checkpoints"),
        ("dict", "Listed.layers holds layers in a dict, .* use torch.nn.ModuleDict"),
        ("tuple", "Listed.layers holds layers in a tuple, .* torch.nn.ModuleList or Sequential"),
        ("deep", "Listed.layers holds layers in a list"),
        ("nested", "Sequential.hidden holds layers in a list"),
        ("both", ""),
        ("frozen", ""),
        ("ModuleList", ""),
    ],
)
def test_trainable_layers_that_pytorch_does_not_see_are_refused(way: str, message: str) -> None:
    build = partial(Listed, way=way)
    if not message:
        make_encoder(build, (1, 8, 8), 3)
        return
    with pytest.raises(InputError, match=message):
        make_encoder(build, (1, 8, 8), 3)
    with pytest.raises(AssertionError, match=message):
        check_encoder(build, (1, 8, 8))


class Exchanged(Encoder):
    def __init__(self, latent_dim: int, channels: int = 3) -> None:
        super().__init__()

    def forward(self, image: Tensor) -> Tensor:
        return image


def test_leading_arguments_of_another_meaning_are_named() -> None:
    message = r"Exchanged.latent_dim is \(1, 8, 8\); .* must take image_shape and outputs before"
    with pytest.raises(InputError, match=message):
        make_encoder(Exchanged, (1, 8, 8), 3)  # type: ignore[arg-type]


def test_settings_that_are_given_are_no_fault() -> None:
    sizes = {"latent_dim": 3, "train_size": 9}
    make_part(Regularizer, partial(NeedsWeight, weight=2.0), **sizes)
    with pytest.raises(TypeError, match=r"'betta' \(did you mean beta\?\)"):
        make_part(Regularizer, partial(KL, betta=2.0), **sizes)  # type: ignore[call-arg]


@pytest.mark.parametrize("base", [Encoder, Metric, Predictor])
def test_every_contract_names_a_class_of_another_one(base: type) -> None:
    with pytest.raises(InputError, match=rf"^KL is no dislab\.base\.{base.__name__}; give"):
        make_part(base, KL, latent_dim=3, train_size=9)
