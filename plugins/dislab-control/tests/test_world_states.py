from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.testing import check_datamodule, check_dataset, check_declared
from dislab_control import ActionData, WorldStates, world_of

SMALL: list[dict[str, Any]] = [
    {"world": "GridObjects", "settings": {"cells": 5}},
    {"world": "GridObjects", "settings": {"cells": 4, "objects": 3, "size": 2, "colours": "grey"}},
    {"world": "GridMaze", "settings": {"cells": 9, "objects": 2, "size": 1}},
    {"world": "GridMaze", "settings": {"scale": 2}},
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("settings", SMALL)
def test_it_conforms(settings: dict[str, Any]) -> None:
    check_dataset(WorldStates(**settings))
    check_declared("datasets", ["WorldStates"])


@pytest.mark.parametrize("settings", SMALL)
def test_every_state_is_there_with_its_image(settings: dict[str, Any]) -> None:
    dataset = WorldStates(**settings)
    dataset.prepare()
    world = world_of(settings["world"], settings["settings"])
    index = np.arange(len(dataset.factors))
    values = dataset.values(index)
    starts = {world.start(np.random.default_rng(seed)).tobytes() for seed in range(2000)}
    assert starts <= {value.tobytes() for value in values}
    rendered = torch.from_numpy(world.draw(values)).permute(0, 3, 1, 2)
    assert torch.equal(dataset.images(torch.from_numpy(index)), rendered)


@pytest.mark.parametrize("settings", SMALL)
def test_actions_are_the_steps_of_the_world(settings: dict[str, Any]) -> None:
    dataset = WorldStates(**settings)
    data = ActionData(dataset, batch_size=4)
    world = world_of(settings["world"], settings["settings"])
    # of each square: up, down, left, right
    names = [
        f"{axis}{square}{sign}" for square in range(2) for axis, sign in ("y-", "y+", "x-", "x+")
    ]
    index = np.arange(len(dataset.factors))
    values = dataset.values(index)
    after = data.following(index)
    blocked = 0
    for action, name in enumerate(names):
        if name not in data.action_names:
            continue
        stepped = world.step(values, np.full(len(index), action), []).states
        row = after[data.action_names.index(name)]
        assert np.array_equal(dataset.values(row), stepped)
        blocked += int((row == index).sum())
    assert blocked > 0


@pytest.mark.parametrize("settings", SMALL[:3])
def test_the_data_module_conforms(settings: dict[str, Any]) -> None:
    def build() -> ActionData:
        return ActionData(WorldStates(**settings), batch_size=8, validation=0.1, test=0.2)

    check_datamodule(build)
    check_declared("datamodules", ["ActionData"])


def test_a_batch_shows_every_action_and_no_image_of_another_split_in_training() -> None:
    data = ActionData(WorldStates(settings={"cells": 5}), batch_size=64, test=0.3)
    data.prepare_data()
    data.setup("fit")
    batch = data.on_after_batch_transfer(next(iter(data.train_dataloader())), 0)
    assert batch.after.shape == (64, 8, 3, 5, 5)
    assert batch.changed.shape == (64, 8, 4)
    assert set(batch.changed.sum(2).unique().tolist()) == {0, 1}
    seen = data.factors.index(batch.after_factors.flatten(0, 1).numpy())
    assert set(seen) <= set(data.indices("train"))
    assert torch.equal(batch.after.flatten(0, 1), data.images(torch.from_numpy(seen)))
    blocked = ~batch.changed.any(2)
    assert torch.equal(batch.after[blocked], batch.image[:, None].expand_as(batch.after)[blocked])
    tested = data.on_after_batch_transfer(next(iter(data.test_dataloader())), 0)
    beyond = data.factors.index(tested.after_factors.flatten(0, 1).numpy())
    assert set(beyond) - set(data.indices("test"))


@pytest.mark.parametrize("settings", SMALL)
def test_states_with_equal_images_share_a_split(settings: dict[str, Any]) -> None:
    dataset = WorldStates(**settings)
    dataset.prepare()
    index = np.arange(len(dataset.factors))
    images = dataset.images(torch.from_numpy(index)).flatten(1).numpy()
    first: dict[bytes, int] = {}
    for state, image in enumerate(images):
        first.setdefault(image.tobytes(), state)
    expected = [first[image.tobytes()] for image in images]
    assert dataset.canonical(index).tolist() == expected
    assert (len(first) < len(index)) == ("colours" in (settings["settings"] or {}))


def test_a_correlation_decides_the_draws() -> None:
    correlated = {"factors": ["x0", "x1"], "strength": 0.05}
    world = WorldStates(settings={"cells": 6})
    data = ActionData(world, correlation=correlated, batch_size=256)
    moves = data.plan("train").draw(np.random.default_rng(0), 2000, 0)
    first = world.values(moves.states[0])
    assert np.corrcoef(first[:, 0], first[:, 2])[0, 1] > 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"world": "SeekAvoid"}, "SeekAvoid has no list of all states; choose GridObjects"),
        ({"settings": {"objects": 3}}, "GridObjects has 1,771,561 states .* at most 1,000,000"),
        ({"settings": {"cell": 3}}, r"no setting 'cell' \(did you mean cells\?\)"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WorldStates(**settings)
