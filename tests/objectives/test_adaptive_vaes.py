from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dislab.base import DataModule, Draws, PairBatch, TransitionBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.losses import kl_per_latent
from dislab.functional.streams import Stream
from dislab.objectives import AdaGVAE, AdaMLVAE
from dislab.regularizers import KL, TotalCorrelation
from dislab.testing import check_objective

STEP = torch.tensor(5)
METHODS = [AdaGVAE, AdaMLVAE]


def make(method: Any, latents: int = 4, regularizers: Any = None, **settings: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return method(
            (1, 8, 8),
            16,
            latents,
            partial(MLPEncoder, hidden=(16,)),
            partial(MLPDecoder, hidden=(16,)),
            regularizers or {"kl": partial(KL, beta=3.0)},
            **settings,
        )


def pairs(count: int = 6, factors: int = 3) -> PairBatch:
    generator = torch.Generator().manual_seed(1)
    image, second = torch.rand(2, count, 1, 8, 8, generator=generator)
    positions = torch.zeros(count, factors, dtype=torch.int64)
    moved = torch.arange(count) % factors
    changed = F.one_hot(moved, factors).bool()
    return PairBatch(image, second, positions, positions + changed, changed)


def drawn(model: Any, count: int = 6) -> Draws:
    draws: Draws = model.draw(count, Stream(2))
    return draws


def expected(model: Any, batch: PairBatch, draws: Draws, shared: Tensor | None) -> Tensor:
    """The loss, pair by pair and latent by latent, with the averages written out."""
    total = torch.zeros(())
    for pair in range(len(batch.image)):
        sides = [model.encode(image[pair : pair + 1]) for image in (batch.image, batch.second)]
        means = [list(side.mean[0]) for side in sides]
        variances = [list(side.log_var[0].exp()) for side in sides]
        divergence = []
        for j in range(model.latent_dim):
            (m1, m2), (v1, v2) = ([rows[side][j] for side in (0, 1)] for rows in (means, variances))
            there = 0.5 * ((v1 + (m1 - m2) ** 2) / v2 - 1 + (v2 / v1).log())
            back = 0.5 * ((v2 + (m1 - m2) ** 2) / v1 - 1 + (v1 / v2).log())
            divergence.append((there + back) / 2)
        threshold = (min(divergence) + max(divergence)) / 2
        for j in range(model.latent_dim):
            below = bool(divergence[j] < threshold)
            if not (below if shared is None else bool(shared[pair, j])):
                continue
            (m1, m2), (v1, v2) = ([rows[side][j] for side in (0, 1)] for rows in (means, variances))
            if isinstance(model, AdaGVAE):
                mean, variance = (m1 + m2) / 2, (v1 + v2) / 2
            else:
                mean, variance = (m1 / v1 + m2 / v2) / (1 / v1 + 1 / v2), 2 / (1 / v1 + 1 / v2)
            for side in (0, 1):
                means[side][j], variances[side][j] = mean, variance
        for side, image in enumerate((batch.image, batch.second)):
            mean, variance = torch.stack(means[side]), torch.stack(variances[side])
            z = mean + variance.sqrt() * draws[f"{('first', 'second')[side]}.noise"][pair]
            logits = model.decoder(z[None])
            target = image[pair : pair + 1]
            pixels = F.binary_cross_entropy_with_logits(logits, target, reduction="sum")
            kl = kl_per_latent(mean[None], variance.log()[None]).sum()
            total = total + (pixels + 3 * kl) / (2 * len(batch.image))
    return total


@pytest.mark.parametrize("method", METHODS)
def test_the_loss_is_the_mean_over_both_images_with_shared_latents_averaged(method: Any) -> None:
    model, batch = make(method), pairs()
    draws = drawn(model)
    terms = model.losses(batch, draws, STEP)
    torch.testing.assert_close(terms.loss, expected(model, batch, draws, None))
    torch.testing.assert_close(terms.loss, terms.log["reconstruction"] + 3 * terms.log["kl/kl"])
    assert 0 < terms.log["shared"] < model.latent_dim


@pytest.mark.parametrize("method", METHODS)
def test_known_labels_share_the_latents_of_unchanged_factors(method: Any) -> None:
    model, batch = make(method, latents=3, labels="known"), pairs()
    draws = drawn(model)
    loss = model.losses(batch, draws, STEP).loss
    torch.testing.assert_close(loss, expected(model, batch, draws, ~batch.changed))
    small = make(method, latents=2, labels="known")
    with pytest.raises(InputError, match="set latent_dim to at least 3"):
        small.losses(batch, drawn(small), STEP)


@pytest.mark.parametrize("method", METHODS)
def test_without_labels_the_changed_factors_are_not_looked_at(method: Any) -> None:
    model, batch = make(method), pairs()
    draws = drawn(model)
    loss = model.losses(batch, draws, STEP).loss
    lying = batch._replace(changed=~batch.changed, factors=batch.factors + 1)
    assert torch.equal(model.losses(lying, draws, STEP).loss, loss)
    transitions = TransitionBatch(*batch[:5], torch.zeros(6, dtype=torch.int64))
    assert torch.equal(model.losses(transitions, draws, STEP).loss, loss)


@pytest.mark.parametrize("method", METHODS)
def test_the_two_images_change_places_freely_under_the_symmetric_divergence(method: Any) -> None:
    model, batch = make(method), pairs()
    draws = drawn(model)
    swapped = {f"{side}.noise": draws[f"{other}.noise"] for side, other in (SWAP, SWAP[::-1])}
    turned = batch._replace(image=batch.second, second=batch.image)
    loss = model.losses(batch, draws, STEP).loss
    torch.testing.assert_close(model.losses(turned, swapped, STEP).loss, loss)


SWAP = ("first", "second")


def test_the_forward_divergence_may_share_other_latents() -> None:
    batch = pairs(60)
    counts = []
    for kl in ("forward", "symmetric"):
        model = make(AdaGVAE, kl=kl)
        with torch.no_grad():  # far apart in variance, where the directions differ
            model.encoder.network[-1].weight.mul_(8)
        counts.append(model.losses(batch, drawn(model, 60), STEP).log["shared"])
    assert counts[0] != counts[1]


@pytest.mark.parametrize("method", METHODS)
def test_regularizers_with_a_critic_serve_both_images(method: Any) -> None:
    critic = partial(TotalCorrelation, width=8, depth=1)
    model, batch = make(method, regularizers={"kl": KL, "tc": critic}), pairs()
    draws = drawn(model)
    assert {"first.noise", "first.tc.permutation", "second.tc.permutation"} <= draws.keys()
    loss, log = model.losses(batch, draws, STEP)
    torch.testing.assert_close(loss, log["objective"] + log["tc/discriminator_loss"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("settings", [{}, {"kl": "forward", "labels": "known"}])
def test_conforms(method: Any, settings: Any) -> None:
    parts = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
    regularizers = {"kl": KL, "tc": partial(TotalCorrelation, width=8, depth=1)}
    noise = {"input_noise": (0.1, 0.1), "likelihood": "discretized"}
    build = partial(method, (1, 8, 8), 100, 4, *parts, regularizers, **settings, **noise)
    check_objective(build, pairs())


@pytest.mark.parametrize("method", METHODS)
def test_single_images_are_refused_before_training(
    method: Any, data: DataModule, tmp_path: Path
) -> None:
    quiet: Any = {"logger": False, "enable_checkpointing": False, "enable_model_summary": False}
    run = pl.Trainer(default_root_dir=tmp_path, accelerator="cpu", max_steps=1, **quiet)
    message = f"{method.__name__} learns from PairBatch or TransitionBatch, and SquareData delivers"
    with pytest.raises(InputError, match=message):
        run.fit(make(method), datamodule=data)


@pytest.mark.parametrize("method", METHODS)
def test_half_precision_networks_keep_averages_and_losses_wide(method: Any) -> None:
    model, batch = make(method, likelihood="discretized"), pairs()
    draws = drawn(model)
    wide = model.losses(batch, draws, STEP).loss
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model.losses(batch, draws, STEP).loss
    assert mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, wide, rtol=0.02, atol=0)


@pytest.mark.parametrize("method", METHODS)
def test_arguments_that_cannot_be(method: Any) -> None:
    with pytest.raises(InputError, match="latent_dim is 0"):
        make(method, latents=0)
    with pytest.raises(InputError, match=f"{method.__name__} needs a regulariser"):
        method((1, 8, 8), 16, 3, MLPEncoder, MLPDecoder, {})
    with pytest.raises(InputError, match="input_noise is -1"):
        make(method, input_noise=(-1.0, 0.0))
