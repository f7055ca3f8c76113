"""Every objective trains on the device: the host never waits, and the weights are the host's."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.conformance.test_objectives import (
    DESCRIBED,
    IMAGES,
    NETWORKS,
    OBJECTIVES,
    ON_RUNS,
    SHAPE,
    SYMBOLS,
    save,
)
from tests.conformance.test_regularizers import CASES
from tests.gpu.place import StepsWithoutWaiting, to_host, trainer
from tests.simulated.device import DEVICE, HostWaitsError, MixedDevicesError
from torch.utils.data import DataLoader

from dislab.base import Objective, Terms
from dislab.errors import InputError
from dislab.objectives import SCAN, VAE, BetaVAEDAE, DenoisingAutoencoder, Recombinator
from dislab.regularizers import KL

HOST = torch.device("cpu")


def fitted(build: Any, batch: Any, device: torch.device, folder: Path) -> Objective:
    """An objective after two steps; on the device none of them may make the host wait."""
    torch.manual_seed(0)
    model: Objective = build()
    torch.manual_seed(1)
    watched = [] if device == HOST else [StepsWithoutWaiting()]
    loader: Any = DataLoader([batch] * 2, batch_size=None)  # type: ignore[arg-type]
    runner = trainer(device, folder, callbacks=watched, max_steps=2, limit_val_batches=1)
    runner.fit(model, loader, loader)
    assert runner.global_step == 2
    return model


def check_training(build: Any, batch: Any, folder: Path) -> None:
    host, device = (fitted(build, batch, place, folder) for place in (HOST, DEVICE))
    assert {value.device for value in device.to(DEVICE).state_dict().values()} == {DEVICE}
    expected = host.state_dict()
    for name, value in device.state_dict().items():
        torch.testing.assert_close(to_host(value), expected[name], msg=name)


@pytest.mark.parametrize(
    ("build", "batch"),
    [
        pytest.param(build, batch, id=f"{name}-{number}-{type(batch).__name__}")
        for name, (builds, batches) in OBJECTIVES.items()
        for number, build in enumerate(builds)
        for batch in batches
    ],
)
def test_objectives(build: Any, batch: Any, tmp_path: Path) -> None:
    check_training(build, batch, tmp_path)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_a_vae_on_a_run_of_an_autoencoder(likelihood: Any, tmp_path: Path) -> None:
    dae = save(DenoisingAutoencoder(SHAPE, *NETWORKS, bottleneck=5), tmp_path / "dae")
    build = partial(BetaVAEDAE, SHAPE, 3, *NETWORKS, dae, likelihood=likelihood)
    check_training(build, IMAGES, tmp_path)


def test_symbols_on_a_vision_run(tmp_path: Path) -> None:
    vision = save(VAE(SHAPE, 100, 3, *NETWORKS, {"kl": KL}), tmp_path / "vision")
    build = partial(SCAN, SHAPE, SYMBOLS, vision)
    check_training(build, DESCRIBED, tmp_path)
    scan = save(build(), tmp_path / "scan")
    check_training(partial(Recombinator, SHAPE, SYMBOLS, scan), DESCRIBED, tmp_path)


def test_no_objective_is_left_out() -> None:
    assert set(OBJECTIVES).isdisjoint(ON_RUNS)
    assert {"BetaVAEDAE", "Recombinator", "SCAN"} == ON_RUNS


@pytest.mark.parametrize("build", CASES)
def test_regularizers(build: Any, tmp_path: Path) -> None:
    regularizers = {"kl": KL, "other": build}
    check_training(partial(VAE, SHAPE, 100, 3, *NETWORKS, regularizers), IMAGES, tmp_path)


def test_noise_that_the_encoder_sees(tmp_path: Path) -> None:
    build = partial(VAE, SHAPE, 100, 3, *NETWORKS, {"kl": KL}, input_noise=(0.1, 0.1))
    check_training(build, IMAGES, tmp_path)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (lambda loss: loss * (2 if loss > 0 else 1), HostWaitsError),
        (lambda loss: loss * torch.tensor(2.0, device=loss.device), HostWaitsError),
        # in the first step, whose errors name the part
        (lambda loss: (loss * torch.ones(1)).mean(), InputError),
    ],
)
def test_a_careless_step_is_noticed(
    fault: Any, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    well = VAE.losses

    def losses(self: VAE, *given: Any) -> Terms:
        terms = well(self, *given)
        return Terms(fault(terms.loss), terms.log)

    monkeypatch.setattr(VAE, "losses", losses)
    with pytest.raises(error) as raised:
        fitted(partial(VAE, SHAPE, 100, 3, *NETWORKS, {"kl": KL}), IMAGES, DEVICE, tmp_path)
    cause = raised.value if error is HostWaitsError else raised.value.__cause__
    assert isinstance(cause, HostWaitsError | MixedDevicesError)
