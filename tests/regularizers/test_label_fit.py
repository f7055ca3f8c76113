"""LabelFit against numpy, its schedules, and its refusals."""

from typing import Any

import numpy as np
import pytest
import torch

from dislab.base import Posterior
from dislab.errors import InputError
from dislab.regularizers import LabelFit
from dislab.regularizers.label_fit import label_covariance

LABELS = torch.rand(8, 3, generator=torch.Generator().manual_seed(2))


def loss_of(posterior: Posterior, step: int = 0, **settings: Any) -> dict[str, float]:
    part = LabelFit(4, 100, **settings)
    out = part(posterior, posterior.mean, {"labels": LABELS}, torch.tensor(step))
    values = {"penalty": out.penalty, **out.terms}
    return {name: float(value.detach()) for name, value in values.items()}


def test_losses_equal_numpy(posterior: Posterior) -> None:
    mean, y = posterior.mean.detach().double().numpy(), LABELS.double().numpy()
    p = 1 / (1 + np.exp(-mean[:, :3]))
    covariance = (mean - mean.mean(0)).T @ (y - y.mean(0)) / 8
    np.fill_diagonal(covariance, 0)
    numbers = np.rint(y * 9).astype(int)
    logits = -((mean[:, :3, None] - np.linspace(-2, 2, 10)) ** 2)
    chosen = np.take_along_axis(logits, numbers[..., None], 2)[..., 0]
    expected = {
        "cross_entropy": -(y * np.log(p) + (1 - y) * np.log(1 - p)).sum(1).mean(),
        "squared_error": ((p - y) ** 2).sum(1).mean(),
        "covariance": (covariance**2).sum(),
        "embedding": (np.log(np.exp(logits).sum(2)) - chosen).sum(1).mean(),
    }
    for loss, value in expected.items():
        out = loss_of(posterior, gamma=3.0, loss=loss)
        assert out["loss"] == pytest.approx(value, rel=1e-4)
        assert out["penalty"] == pytest.approx(3 * value, rel=1e-4)


def test_the_covariance_with_a_factor_is_that_of_the_images_with_its_value() -> None:
    generator = torch.Generator().manual_seed(4)
    mean, labels = torch.randn(9, 3, generator=generator), torch.rand(9, 2, generator=generator)
    labels[:4, 0], labels[7, 1] = torch.nan, torch.nan
    expected = 0.0
    for latent, factor in ((1, 0), (2, 0), (0, 1), (2, 1)):
        has = ~labels[:, factor].isnan()
        pair = torch.stack([mean[has, latent], labels[has, factor]]).double()
        expected += np.cov(pair.numpy(), bias=True)[0, 1] ** 2
    assert label_covariance(mean, labels).item() == pytest.approx(expected)


def test_the_covariance_of_two_processes_is_that_of_one(
    posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = loss_of(posterior, loss="covariance")
    every = {4: posterior.mean, 3: LABELS}  # by number of columns
    monkeypatch.setattr(
        "dislab.regularizers.label_fit.gather_rows", lambda rows: every[rows.shape[1]]
    )
    part = LabelFit(4, 100, loss="covariance")
    for rows in (slice(0, 4), slice(4, 8)):
        own = Posterior(posterior.mean[rows], posterior.log_var[rows])
        out = part(own, own.mean, {"labels": LABELS[rows]}, torch.tensor(0))
        assert out.penalty.item() == pytest.approx(whole["penalty"])


@pytest.mark.parametrize(
    ("schedule", "gammas"),
    [("fixed", [2, 2, 2]), ("annealed", [0, 1, 2]), ("fine_tuned", [0, 0, 2])],
)
def test_schedules(posterior: Posterior, schedule: str, gammas: list[float]) -> None:
    settings: dict[str, Any] = {"gamma": 2.0, "schedule": schedule, "steps": 10}
    assert [loss_of(posterior, step, **settings)["gamma"] for step in (0, 5, 10)] == gammas


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": -1.0}, "gamma is -1"),
        ({"loss": "l2"}, "loss"),
        ({"schedule": "late"}, "schedule"),
        ({"steps": -1}, "steps is -1"),
        ({"values": 1}, "values is 1"),
    ],
)
def test_refuses_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LabelFit(4, 100, **settings)


def test_refuses_a_factor_without_a_latent(posterior: Posterior) -> None:
    few = Posterior(posterior.mean[:, :2], posterior.log_var[:, :2])
    with pytest.raises(InputError, match="3 factors have labels, and the model has 2 latents"):
        loss_of(few)
