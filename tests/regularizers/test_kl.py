import pytest
import torch

from dislab.base import Posterior
from dislab.errors import InputError
from dislab.functional.losses import kl_per_latent
from dislab.regularizers import KL, CapacityKL


def test_kl_sums_latents_and_averages_the_batch(posterior: Posterior) -> None:
    total = kl_per_latent(*posterior).sum() / 8
    penalty, auxiliary, terms = KL(4, 100, beta=3.0)(posterior, posterior.mean, {}, torch.tensor(0))
    torch.testing.assert_close(penalty, 3 * total)
    torch.testing.assert_close(terms["kl"], total)
    assert auxiliary is None


@pytest.mark.parametrize(("step", "share"), [(0, 0.0), (25, 0.25), (100, 1.0), (500, 1.0)])
def test_beta_rises_over_the_warm_up(posterior: Posterior, step: int, share: float) -> None:
    regularizer = KL(4, 100, beta=4.0, warmup_steps=100)
    penalty, _, terms = regularizer(posterior, posterior.mean, {}, torch.tensor(step))
    torch.testing.assert_close(penalty, 4 * share * terms["kl"])


def test_capacity_takes_the_distance_of_the_batch_mean() -> None:
    """Divergences of 0 + 1 and 4 + 1 nats at a capacity of 3: their mean is at it, each 2 away."""
    posterior = Posterior(torch.tensor([[0.0, 2.0], [8.0, 2.0]]).sqrt(), torch.zeros(2, 2))
    regularizer = CapacityKL(2, 100, gamma=10.0, capacity=6.0, steps=100)
    penalty, _, terms = regularizer(posterior, posterior.mean, {}, torch.tensor(50))
    assert terms["capacity"].item() == pytest.approx(3.0)
    assert penalty.item() == pytest.approx(0.0, abs=1e-5)
    before, _, _ = regularizer(posterior, posterior.mean, {}, torch.tensor(0))
    assert before.item() == pytest.approx(30.0, rel=1e-5)  # 3 nats above a capacity of 0
    later, _, _ = regularizer(posterior, posterior.mean, {}, torch.tensor(1000))
    assert later.item() == pytest.approx(30.0, rel=1e-5)


@pytest.mark.parametrize("settings", [{"beta": -1.0}, {"warmup_steps": -1}, {"beta": float("nan")}])
def test_kl_refuses_settings(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        KL(4, 100, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"gamma": -1.0}, {"capacity": -1.0}, {"steps": -1}])
def test_capacity_kl_refuses_settings(settings: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        CapacityKL(4, 100, **settings)  # type: ignore[arg-type]
