import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.testing import check_dataset
from dislab_control import WorldFrames, world_of

CONFIG = Path(__file__).parents[1] / "src/dislab_control/configs/seek_avoid.yaml"
WRONG = "{domain: sauce}"
SMALL: list[dict[str, Any]] = [
    {"world": "GridObjects", "settings": {"cells": 8}, "images": 300},
    {"world": "GridMaze", "settings": {"colours": "grey", "scale": 2}, "images": 60},
    {"world": "SeekAvoid", "settings": {"domain": "target"}, "images": 100},
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("settings", SMALL)
def test_it_conforms(settings: dict[str, Any]) -> None:
    check_dataset(WorldFrames(**settings))


@pytest.mark.parametrize("settings", SMALL)
def test_an_image_is_that_of_the_exact_factors(settings: dict[str, Any]) -> None:
    dataset = WorldFrames(**settings)
    dataset.prepare()
    index = np.arange(settings["images"])
    world = world_of(settings["world"], settings["settings"])
    assert dataset.factors.names == world.names
    rendered = torch.from_numpy(world.draw(dataset.values(index))).permute(0, 3, 1, 2)
    assert torch.equal(dataset.images(torch.from_numpy(index)), rendered)


def test_fewer_images_are_the_first_ones_and_another_seed_has_others() -> None:
    many, few = (WorldFrames("SeekAvoid", images=count) for count in (200, 150))
    reseeded = WorldFrames("SeekAvoid", images=150, seed=1)
    values = [dataset.values(np.arange(150)) for dataset in (many, few, reseeded)]
    assert np.array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])


def test_episodes_end_after_their_length() -> None:
    settings: dict[str, Any] = {"cells": 100, "objects": 1, "length": 2}
    dataset = WorldFrames("GridObjects", settings, images=1000)
    values = dataset.values(np.arange(1000))
    # without new episodes, 64 copies that move by one cell would stay near their starts
    starts = {tuple(state // 10) for state in values}
    assert len(starts) > 80


def test_a_world_with_too_few_states_is_refused() -> None:
    with pytest.raises(InputError, match="images is 10, but random actions led to 9 different"):
        len(WorldFrames("GridObjects", {"cells": 4, "objects": 1}, images=10).factors)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"world": "SeekAvoyd"}, r"world is 'SeekAvoyd' \(did you mean SeekAvoid\?\)"),
        ({"settings": {"domain": "sauce"}}, r"domain is 'sauce' \(did you mean source\?\)"),
        ({"images": 0}, "images is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WorldFrames(**settings)


@pytest.mark.slow
def test_a_model_learns_from_the_frames_by_the_command_line(tmp_path: Path) -> None:
    small = [
        "--data.dataset.init_args.images=300",
        "--data.init_args.batch_size=16",
        "--trainer.max_steps=3",
        "--trainer.val_check_interval=3",
    ]
    done = dislab("fit", f"--config={CONFIG}", *small, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("runs/seek_avoid/*/checkpoints/last.ckpt"))


@pytest.mark.slow
def test_a_domain_that_does_not_exist_is_one_line_on_the_terminal(tmp_path: Path) -> None:
    done = dislab(
        "fit", f"--config={CONFIG}", f"--data.dataset.init_args.settings={WRONG}", folder=tmp_path
    )
    assert done.returncode == 2
    assert "domain is 'sauce' (did you mean source?); choose one of" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    assert not list(tmp_path.glob("runs/*"))


def dislab(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "dislab", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
