from collections.abc import Callable
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import pytest
import torch

from dislab.base import DataModule, Objective
from dislab.callbacks import Samples
from dislab.errors import InputError
from dislab.functional.streams import Stream

MakeTrainer = Callable[..., pl.Trainer]


def test_latents_come_from_the_standard_normal_prior(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    drawn: list[np.ndarray],
) -> None:
    runner = trainer(callbacks=[Samples(rows=2, columns=3, seed=7)])
    runner.test(objective, datamodule=data, verbose=False)
    z = Stream(7).of("samples").normal("latents", 6, 3)
    with torch.no_grad():
        expected = objective.decode(z).view(2, 3, 1, 8, 8)
    np.testing.assert_allclose(drawn[0], expected, atol=1e-6)
    assert (tmp_path / "run/images/samples.png").is_file()


def test_a_prior_of_the_methods_own_comes_first(
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    drawn: list[np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def generate(module: Objective, count: int, stream: Stream) -> torch.Tensor:
        return stream.uniform("image", count, 1, 8, 8)

    monkeypatch.setattr(type(objective), "generate", generate)
    trainer(callbacks=[Samples(1, 4)]).test(objective, datamodule=data, verbose=False)
    own = Stream(0).of("samples").uniform("image", 4, 1, 8, 8)
    np.testing.assert_array_equal(drawn[0][0], own)


@pytest.mark.parametrize("method", ["without_codes", "without_decoder", "codes_and_decoder"])
def test_a_method_without_prior_or_decoder_is_left_alone(
    method: str,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("INFO"):
        runner = trainer(callbacks=[Samples()])
        runner.test(request.getfixturevalue(method), datamodule=data, verbose=False)
    lacks = "prior" if method == "codes_and_decoder" else "decoder"
    [line] = [one for one in caplog.messages if one.startswith("Samples: nothing to draw")]
    assert line.endswith(f"has no {lacks}")
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize("name", ["rows", "columns"])
def test_no_images_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is 0"):
        Samples(**{name: 0})
