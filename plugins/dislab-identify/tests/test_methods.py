import math
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
import yaml
from torch.distributions import Normal, kl_divergence

from dislab.base import ImageBatch, TransitionBatch
from dislab.codes.bank import checked
from dislab.datamodules import SingleData, TransitionData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.metrics import MCC
from dislab.testing import check_datamodule, check_declared, check_objective
from dislab_identify import (
    IVAE,
    TCL,
    ContrastiveInversion,
    DrawnWorld,
    LeJEPA,
    SlowVAE,
    StepBatch,
    StepData,
)
from dislab_identify.ivae import combined
from dislab_identify.step_data import StepPlan

CONFIGS = Path(__file__).parents[1] / "src/dislab_identify/configs"
SHAPE = (4, 1, 1)
SEGMENTS: dict[str, Any] = {"factor_names": ("source0", "segment"), "factor_sizes": (9, 3)}
ENCODER = partial(MLPEncoder, hidden=(8,))
DECODER = partial(MLPDecoder, hidden=(8,))
GENERATOR = torch.Generator().manual_seed(0)
VECTORS = torch.randn(2, 6, *SHAPE, generator=GENERATOR)
FACTORS = torch.tensor([[0, 0], [1, 1], [2, 2], [3, 0], [4, 1], [5, 2]])
SINGLE = ImageBatch(VECTORS[0], FACTORS)
PAIR = StepBatch(VECTORS[0], VECTORS[1], FACTORS)
BUILDERS: dict[str, tuple[Any, Any]] = {
    "IVAE": (partial(IVAE, SHAPE, **SEGMENTS, encoder=ENCODER, decoder=DECODER), SINGLE),
    "TCL": (partial(TCL, SHAPE, **SEGMENTS, encoder=ENCODER), SINGLE),
    "SlowVAE": (
        partial(SlowVAE, SHAPE, encoder=ENCODER, decoder=DECODER, likelihood="gaussian"),
        PAIR,
    ),
    "ContrastiveInversion": (partial(ContrastiveInversion, SHAPE, encoder=ENCODER), PAIR),
    "LeJEPA": (partial(LeJEPA, SHAPE, encoder=ENCODER, directions=9), PAIR),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_methods_conform(name: str) -> None:
    build, batch = BUILDERS[name]
    check_objective(partial(build, latent_dim=3), batch)


def test_slowvae_conforms_in_the_form_of_the_code() -> None:
    build, batch = BUILDERS["SlowVAE"]
    check_objective(partial(build, latent_dim=3, form="code"), batch)


def test_the_loss_of_ivae_is_its_bound() -> None:
    """By torch's distributions, where the priors of the segments differ."""
    build, batch = BUILDERS["IVAE"]
    torch.manual_seed(0)
    model = build(latent_dim=3)
    with torch.no_grad():
        model.prior_log_var.normal_()
    draws = model.draw(6, Stream(0))
    loss, log = model.losses(batch, draws, torch.tensor(0))
    prior = model.prior_log_var[batch.factors[:, 1]]
    mean, log_var = combined(model.encode(batch.image), prior)
    posterior = Normal(mean, (0.5 * log_var).exp())
    prior_scale = (0.5 * prior).exp()
    kl = kl_divergence(posterior, Normal(torch.zeros_like(prior), prior_scale)).sum(1).mean()
    output = model.decoder(mean + posterior.stddev * draws["noise"])
    normal = -0.5 * ((batch.image - output) / 0.1).square() - math.log(0.1 * math.sqrt(2 * math.pi))
    density = normal.flatten(1).sum(1).mean()
    torch.testing.assert_close(log["kl"], kl)
    torch.testing.assert_close(loss, kl - density)


def test_they_are_declared() -> None:
    check_declared("objectives", list(BUILDERS))
    check_declared("datamodules", ["StepData"])


@pytest.mark.parametrize("name", BUILDERS)
def test_more_latents_than_features_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="latent_dim is 5, and the data have 4 features"):
        BUILDERS[name][0](latent_dim=5)


@pytest.mark.parametrize("name", ["IVAE", "TCL"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"auxiliary": "segmant"}, "did you mean segment.*no factor of the data"),
        ({"factor_sizes": (9, 1)}, "factor segment has a single value"),
    ],
)
def test_unfit_auxiliary_factors_are_refused(
    name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        BUILDERS[name][0](latent_dim=2, **settings)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("IVAE", {"variance": 0.0}, "variance is 0"),
        ("SlowVAE", {"rate": 0.0}, "rate is 0"),
        ("SlowVAE", {"form": "codes"}, "form"),
        ("SlowVAE", {"gamma": -1.0}, "gamma is -1"),
        ("ContrastiveInversion", {"exponent": 0.5}, r"exponent is 0\.5"),
        ("ContrastiveInversion", {"temperature": 0.0}, "temperature is 0"),
        ("LeJEPA", {"directions": 0}, "directions is 0"),
        ("LeJEPA", {"weight": -1.0}, "weight is -1"),
    ],
)
def test_bad_settings_are_explained(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BUILDERS[name][0](latent_dim=2, **settings)


@pytest.mark.parametrize(
    ("world", "steps"),
    [
        ({}, "laplace"),
        ({}, "ornstein_uhlenbeck"),
        ({"prior": "uniform"}, "gaussian"),
        ({"prior": "laplace"}, "generalised_normal"),
        ({"prior": "laplace"}, "autoregressive"),
    ],
)
def test_step_data_conforms(world: dict[str, Any], steps: Any) -> None:
    drawn = DrawnWorld(4, 1, 400, **world)
    check_datamodule(lambda: StepData(drawn, steps, batch_size=16))
    plan = StepData(drawn, steps, batch_size=16).plan("train")
    latents = drawn.latents
    moved = plan.moved(latents, np.random.default_rng(0))
    if steps in ("ornstein_uhlenbeck", "autoregressive"):
        assert np.allclose(np.cov(moved.T), np.cov(latents.T), atol=0.15)
        correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(moved.T, latents.T, strict=True)]
        assert np.allclose(correlations, 0.95, atol=0.02)
    else:
        assert (moved - latents).std() == pytest.approx(0.25, rel=0.15)
    assert world.get("prior") != "uniform" or np.abs(moved).max() <= 3**0.5


@pytest.mark.parametrize(
    ("dataset", "settings", "message"),
    [
        (DrawnWorld(4, 2, 200), {}, "the world has 2 segments"),
        (GaussianBlob(), {}, "in a DrawnWorld, not in GaussianBlob"),
        (DrawnWorld(4, 1, 400, "laplace"), {"steps": "ornstein_uhlenbeck"}, "keep a Gaussian"),
        (DrawnWorld(4, 1, 400), {"persistence": 1.0}, "persistence is 1"),
        (DrawnWorld(4, 1, 400), {"spread": 0.0}, "spread is 0"),
    ],
)
def test_unfit_worlds_and_steps_are_refused(
    dataset: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        StepData(dataset, **settings)


@pytest.mark.parametrize(
    ("prior", "kurtosis"), [("gaussian", 3.0), ("laplace", 6.0), ("uniform", 1.8)]
)
def test_autoregressive_noise_is_distributed_like_the_sources(prior: Any, kurtosis: float) -> None:
    drawn = DrawnWorld(2, 1, 200, prior)
    plan = StepData(drawn, "autoregressive", persistence=0.6, batch_size=16).plan("train")
    noise = plan.moved(np.zeros((200_000, 2)), np.random.default_rng(0)) / 0.8
    assert np.allclose(noise.var(axis=0), 1, atol=0.02)
    assert np.allclose((noise**4).mean(axis=0), kurtosis, rtol=0.06)


def test_too_wide_steps_are_refused() -> None:
    world = DrawnWorld(4, 1, 40, "uniform")
    plan = StepPlan(world, np.arange(40), "gaussian", 1e9, 2.0, 0.95)
    with pytest.raises(InputError, match="too wide for the box"):
        plan.moved(world.latents, np.random.default_rng(0))


def test_slowvae_learns_from_images_too() -> None:
    data = TransitionData(GaussianBlob(8), batch_size=16, validation=0.1, test=0.1)
    data.prepare_data()
    batch = data.on_after_batch_transfer(next(iter(data.train_dataloader())), 0)
    assert isinstance(batch, TransitionBatch)
    check_objective(partial(SlowVAE, data.image_shape, 3, ENCODER, DECODER), batch)


def fitted(model: Any, data: Any, steps: int) -> float:
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model.train(), data)
    states = data.indices("all")
    with torch.no_grad():
        codes = model.eval().codes(data.images(torch.from_numpy(states)))
    factors = torch.from_numpy(data.factors.positions(states))
    bank = checked([codes], [factors], data.factors, least=2)
    return float(MCC(data.factors).score(bank)["mcc_pearson"])


@pytest.mark.slow
def test_ivae_unmixes_sources_that_an_untrained_encoder_does_not() -> None:
    pl.seed_everything(0)
    data = SingleData(DrawnWorld(2, 20, 500), batch_size=256)
    encoder, decoder = partial(MLPEncoder, hidden=(50,)), partial(MLPDecoder, hidden=(50,))
    model = IVAE((2, 1, 1), data.factor_names, data.factor_sizes, 2, encoder, decoder)
    untrained = fitted(model, data, 1)
    trained = fitted(model, data, 3000)
    assert trained > max(0.85, untrained)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_configurations_say_how_to_run_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert f"dislab fit --config {path.stem}" in text
    assert yaml.safe_load(text)["name"] == path.stem
