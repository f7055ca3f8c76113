"""Every objective trains on the device: the host never waits, and the weights are the host's."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases
from tests.gpu.place import StepsWithoutWaiting, to_host, trainer
from tests.simulated.device import DEVICE, HostWaitsError, MixedDevicesError
from torch.utils.data import DataLoader

from dislab.base import ImageBatch, Objective, Terms
from dislab.errors import InputError
from dislab.objectives import VAE

HOST = torch.device("cpu")
VAE_CASE = cases.builds("objectives", "VAE")[0]
IMAGES = cases.BATCHES[ImageBatch]._replace(labelled=cases.LABELLED)


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


@pytest.mark.parametrize(("build", "batch"), cases.objectives(likelihoods=False))
def test_objectives(build: Any, batch: Any, tmp_path: Path) -> None:
    check_training(cases.ready(build, tmp_path), batch, tmp_path)


@pytest.mark.parametrize("build", cases.cases("regularizers"))
def test_regularizers(build: Any, tmp_path: Path) -> None:
    regularizers = {"kl": cases.FILLED["regularizers"]["kl"], "other": build}
    check_training(partial(VAE_CASE, regularizers=regularizers), IMAGES, tmp_path)


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
        fitted(VAE_CASE, IMAGES, DEVICE, tmp_path)
    cause = raised.value if error is HostWaitsError else raised.value.__cause__
    assert isinstance(cause, HostWaitsError | MixedDevicesError)
