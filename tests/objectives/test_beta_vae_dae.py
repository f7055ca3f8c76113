import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch

from dislab.base import DataModule, ImageBatch, Objective
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import BetaVAEDAE, DenoisingAutoencoder, GroundTruthDecoder
from dislab.objectives.beta_vae_dae import feature_distance
from dislab.runs import load_run

NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
Save = Callable[[Objective, str], str]


@pytest.fixture
def dae(save: Save) -> str:
    torch.manual_seed(0)
    return save(DenoisingAutoencoder((1, 8, 8), *NETWORKS, bottleneck=5), "dae")


def batch_of(data: DataModule) -> ImageBatch:
    return ImageBatch(data.images(torch.arange(4)), torch.zeros(4, 2, dtype=torch.int64))


def test_the_loss_is_a_distance_of_features_plus_beta_kl(dae: str, data: DataModule) -> None:
    model = BetaVAEDAE((1, 8, 8), 3, *NETWORKS, dae, beta=2.0).double()
    image = batch_of(data).image.double()
    noise = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).double()
    mean, log_var = model.encoder(image).chunk(2, 1)
    drawn = model.decoder(mean + (log_var / 2).exp() * noise).sigmoid()
    network = load_run(dae).double()
    apart = network.codes(drawn) - network.codes(image)
    kl = 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum() / 4
    batch = batch_of(data)._replace(image=image)
    loss, log = model.losses(batch, {"noise": noise}, torch.tensor(0))
    torch.testing.assert_close(log["reconstruction"], 0.5 * (apart**2).sum() / 4)
    torch.testing.assert_close(loss, 0.5 * (apart**2).sum() / 4 + 2 * kl)


def test_pixels_beyond_black_and_white_are_pulled_back(dae: str, data: DataModule) -> None:
    """A reading that cuts them off would leave them without a gradient, and so there for good."""
    model = BetaVAEDAE((1, 8, 8), 3, *NETWORKS, dae, likelihood="gaussian")
    last = list(model.decoder.parameters())[-1]
    last.data.fill_(-5.0)
    assert model.decode(torch.zeros(1, 3)).eq(0).all()
    draws = model.draw(4, Stream(0))
    model.losses(batch_of(data), draws, torch.tensor(0)).loss.backward()  # type: ignore[no-untyped-call]
    assert last.grad is not None
    assert last.grad.ne(0).all()


def test_the_frozen_network_stays_as_it_is(dae: str, data: DataModule) -> None:
    model = BetaVAEDAE((1, 8, 8), 3, *NETWORKS, dae)
    before = {name: value.clone() for name, value in model.features.state_dict().items()}
    optimizer: Any = model.configure_optimizers()
    trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
    frozen = {id(p) for p in model.features.parameters()}
    assert not trained & frozen
    assert len(trained) == len(list(model.encoder.parameters())) * 2
    draws = model.draw(4, Stream(0))
    model.losses(batch_of(data), draws, torch.tensor(0)).loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    for name, value in model.features.state_dict().items():
        assert torch.equal(value, before[name]), name
    model.train()
    assert not any(part.training for part in model.features.modules())
    assert model.encoder.training


def test_a_frozen_discriminator_is_not_trained_either(
    save: Save, make_vae: Callable[[], Objective]
) -> None:
    model = BetaVAEDAE((1, 8, 8), 3, *NETWORKS, save(make_vae(), "factorvae"))
    optimizer: Any = model.configure_optimizers()
    assert len(optimizer.param_groups) == 1


@pytest.mark.slow
def test_the_run_needs_no_other_folder(
    dae: str, data: DataModule, save: Save, tmp_path: Path
) -> None:
    model = BetaVAEDAE((1, 8, 8), 3, *NETWORKS, dae)
    run = save(model, "whole")
    shutil.rmtree(dae)
    loaded = load_run(run)
    draws = model.draw(4, Stream(0))
    first, second = (one.losses(batch_of(data), draws, torch.tensor(0)) for one in (model, loaded))
    assert torch.equal(first.loss, second.loss)
    again = load_run(save(loaded, "again"))
    assert torch.equal(again.losses(batch_of(data), draws, torch.tensor(0)).loss, first.loss)


def test_a_run_that_does_not_fit_is_refused(dae: str, save: Save) -> None:
    with pytest.raises(InputError, match=r"dae run was trained on images of 1×8×8, .* 3×8×8"):
        BetaVAEDAE((3, 8, 8), 3, *NETWORKS, dae)
    with pytest.raises(
        InputError, match=r"the dae run cannot be used: .*nowhere is no run: it does not exist"
    ):
        BetaVAEDAE((1, 8, 8), 3, *NETWORKS, "nowhere")
    with pytest.raises(InputError, match=r"; train it first: dislab fit --config dae$"):
        BetaVAEDAE((1, 8, 8), 3, *NETWORKS, "runs/dae/version_0")
    decoder = GroundTruthDecoder((1, 8, 8), ("x", "y"), (4, 4), NETWORKS[1])
    with pytest.raises(InputError, match="is of GroundTruthDecoder, which has no codes"):
        BetaVAEDAE((1, 8, 8), 3, *NETWORKS, save(decoder, "gt"))
    with pytest.raises(InputError, match="beta is -1"):
        BetaVAEDAE((1, 8, 8), 3, *NETWORKS, dae, beta=-1.0)


@pytest.mark.slow
def test_training_lowers_the_distance(dae: str, data: DataModule) -> None:
    torch.manual_seed(0)
    optimizer: Any = partial(torch.optim.Adam, lr=1e-2)
    model = BetaVAEDAE((1, 8, 8), 3, *NETWORKS, dae, beta=0.0, optimizer=optimizer)
    runner = partial(
        pl.Trainer,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        limit_val_batches=0,
    )
    image = data.images(torch.arange(16))
    batch = ImageBatch(image, torch.zeros(16, 2, dtype=torch.int64))
    draws = model.draw(16, Stream(0))

    def distance() -> float:
        with torch.no_grad():
            return model.losses(batch, draws, torch.tensor(0)).loss.item()

    before = distance()
    runner(max_steps=60).fit(model, data)
    assert distance() < 0.5 * before


def test_the_distance_is_half_the_square_summed_and_averaged() -> None:
    first = torch.tensor([[1.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    second = torch.tensor([[0.0, 4.0], [0.0, 3.0]], dtype=torch.float64)
    assert feature_distance(first, second).item() == 0.5 * (5 + 9) / 2
