from collections.abc import Callable
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import pytest
import torch

from dislab.base import DataModule, Objective
from dislab.callbacks import Interpolations
from dislab.errors import InputError
from dislab.functional.random import host_generator

MakeTrainer = Callable[..., pl.Trainer]


@pytest.mark.parametrize("method", ["objective", "codes_and_decoder"])
def test_a_row_leads_straight_from_one_code_to_the_other(
    method: str,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    drawn: list[np.ndarray],
    request: pytest.FixtureRequest,
) -> None:
    module = request.getfixturevalue(method)
    chosen = Interpolations(pairs=2, steps=5, split="all", seed=3)
    trainer(callbacks=[chosen]).test(module, datamodule=data, verbose=False)
    states = host_generator(3).choice(np.arange(32), 4, replace=False)
    image = data.images(torch.from_numpy(states))
    with torch.no_grad():
        code = module.codes(image)
        for pair in range(2):
            one, other = code[pair], code[pair + 2]
            np.testing.assert_array_equal(drawn[0][pair, 0], image[pair])
            np.testing.assert_array_equal(drawn[0][pair, -1], image[pair + 2])
            for step in range(5):
                z = one * (1 - step / 4) + other * (step / 4)
                expected = module.decode(z[None])[0]
                np.testing.assert_allclose(drawn[0][pair, 1 + step], expected, atol=1e-6)
    assert (tmp_path / "run/images/interpolations.png").is_file()


def test_more_pairs_than_images_make_do(
    trainer: MakeTrainer, data: DataModule, objective: Objective, drawn: list[np.ndarray]
) -> None:
    runner = trainer(callbacks=[Interpolations(pairs=50, steps=2)])
    runner.test(objective, datamodule=data, verbose=False)
    assert drawn[0].shape == (6, 4, 1, 8, 8)


@pytest.mark.parametrize(
    ("method", "part"), [("without_codes", "codes"), ("without_decoder", "decoder")]
)
def test_a_method_without_codes_or_decoder_is_left_alone(
    method: str,
    part: str,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("INFO"):
        runner = trainer(callbacks=[Interpolations()])
        runner.test(request.getfixturevalue(method), datamodule=data, verbose=False)
    [line] = [one for one in caplog.messages if one.startswith("Interpolations: nothing to draw")]
    assert line.endswith(f"has no {part}")
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize(("name", "value"), [("pairs", 0), ("steps", 1)])
def test_settings_that_make_no_sense_are_refused(name: str, value: int) -> None:
    with pytest.raises(InputError, match=f"{name} is {value}"):
        Interpolations(**{name: value})  # type: ignore[arg-type]
