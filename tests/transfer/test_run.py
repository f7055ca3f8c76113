"""Transfer scores of a model on a data module, without a trainer."""

from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch.plugins import DoublePrecision, MixedPrecision

from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE, GroundTruthDecoder
from dislab.predictors import MLP
from dislab.regularizers import KL
from dislab.transfer import Scenario, transfer_of, transfer_scores

RIGHT = Scenario("right", {"posX": {"max": 0.5}}, {"posX": {"min": 0.5}}, shifted=("posX",))
UP = Scenario("up", {"posY": {"min": 0.5}}, {"posY": {"max": 0.5}}, shifted=("posY",))


@pytest.fixture
def data() -> SingleData:
    return SingleData(GaussianBlob(places=8), 8, validation=0.1, test=0.1)


@pytest.fixture
def model(data: SingleData) -> VAE:
    return VAE(data.image_shape, data.train_size, 3, MLPEncoder, MLPDecoder, {"kl": KL})


def test_the_scores_are_those_of_the_codes_of_all_images(data: SingleData, model: VAE) -> None:
    model.train()
    found = transfer_of(model, data, [RIGHT, UP], "Ridge", labels=20, tested=10, batch_size=7)
    assert data.trainer is None
    assert model.training
    states = np.arange(64)
    with torch.no_grad():
        codes = model.eval().codes(data.images(torch.from_numpy(states)))
    positions = data.factors.positions(states)
    expected = transfer_scores(codes, positions, data.factors, [RIGHT, UP], "Ridge", 20, 10)
    assert found.values == pytest.approx(expected.values, abs=1e-6)
    assert found.parts.keys() == expected.parts.keys() == {"right", "up"}
    assert found.scenarios == expected.scenarios


def test_baselines_stand_beside_the_model(data: SingleData, model: VAE) -> None:
    sizes: dict[str, Any] = {"labels": 20, "tested": 10}
    alone = transfer_of(model, data, [RIGHT], "Ridge", **sizes)
    found = transfer_of(model, data, [RIGHT], "Ridge", baselines=["untrained", "pca"], **sizes)
    assert list(found.parts["right"]) == ["Ridge", "chance", "Ridge_untrained", "Ridge_pca"]
    assert alone.values.items() <= found.values.items()
    assert len({found.values[f"right/{name}"] for name in found.parts["right"]}) == 4


def test_codes_are_made_in_the_precision_asked_for(data: SingleData, model: VAE) -> None:
    sizes: dict[str, Any] = {"labels": 20, "tested": 10}
    whole = transfer_of(model, data, [RIGHT], "Ridge", **sizes).values["right/Ridge"]
    half = MixedPrecision("bf16-mixed", "cpu")
    rounded = transfer_of(model, data, [RIGHT], "Ridge", precision=half, **sizes)
    assert rounded.values["right/Ridge"] != whole
    assert rounded.values["right/Ridge"] == pytest.approx(whole, rel=0.2)


@pytest.mark.slow
def test_a_model_in_double_precision_is_compared_with_others_in_it(
    data: SingleData, model: VAE
) -> None:
    found = transfer_of(
        model.double(),
        data,
        [RIGHT],
        "Ridge",
        labels=20,
        tested=10,
        baselines=["untrained", "pixels", "pca"],
        precision=DoublePrecision(),
    )
    assert {"right/Ridge_untrained", "right/Ridge_pixels", "right/Ridge_pca"} <= found.values.keys()


@pytest.mark.slow
def test_predictors_learn_under_inference_mode(data: SingleData, model: VAE) -> None:
    with torch.inference_mode():
        found = transfer_of(model, data, [RIGHT], {"net": MLP}, labels=20, tested=10)
    assert "right/net" in found.values


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": 1}, "labels is 1"),
        ({"tested": 0}, "tested is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"scenarios": []}, "no scenario was chosen"),
        ({"scenarios": ["shapes3d_ood1_a"]}, "no factor is named 'object_hue'"),
        ({"predictors": "Rigde"}, "did you mean Ridge"),
    ],
)
def test_mistakes_are_refused_before_images_are_encoded(
    settings: dict[str, Any],
    message: str,
    data: SingleData,
    model: VAE,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SingleData, "images", None)
    given = {"scenarios": [RIGHT], "predictors": "Ridge"} | settings
    with pytest.raises(InputError, match=message):
        transfer_of(model, data, **given)


def test_a_model_without_codes_is_refused(data: SingleData) -> None:
    model = GroundTruthDecoder(data.image_shape, data.factor_names, data.factor_sizes, MLPDecoder)
    with pytest.raises(InputError, match="GroundTruthDecoder has no codes"):
        transfer_of(model, data, [RIGHT], "Ridge")
