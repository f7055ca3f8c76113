from pathlib import Path
from typing import Any, ClassVar

import jsonargparse
import numpy as np
import pytest
import torch

from dislab.base import DataModule, Dataset, ImageBatch
from dislab.datamodules import SingleData
from dislab.datamodules.single_data import SinglePlan
from dislab.datasets import DSprites, FolderDataset, GaussianBlob
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.plans.index_plans import Drawn, TrainBatches, TrainingProgress
from dislab.plans.loaders import Numbers, Source

WORLD = "dislab.plans.planned_data.world"
"""The function that counts the processes."""

KEPT = [181, 215, 244, 238, 183, 207, 287, 179]
"""States that training drew first when streams were last changed."""


def draws(count: int, steps: int, seed: int = 5, rank: int = 0, world: int = 1) -> list[np.ndarray]:
    states = SinglePlan(np.arange(100, 100 + count))
    batches = TrainBatches(states, 64, rank, world, TrainingProgress(seed))
    return [batches.states_of(step).states for step in range(steps)]


def test_images_take_state_numbers_of_any_kind() -> None:
    data = SingleData(GaussianBlob(places=16))
    data.prepare_data()
    images = data.images(torch.tensor([3, 1]))
    for states in ([3, 1], np.array([3, 1]), (3, 1)):
        assert torch.equal(data.images(states), images)
    wrong: Any
    for wrong in ([256], np.array([-1]), torch.tensor([256])):
        with pytest.raises(InputError, match="they run from 0 to 255"):
            data.images(wrong)
    with pytest.raises(InputError, match="it is a list or an array of whole numbers"):
        data.images(np.array([0.5]))


def test_draws_are_those_of_the_stream() -> None:
    """A block of 64 steps of 64 is one draw, which a device could make as well."""
    for block, steps in enumerate(np.split(np.stack(draws(200, 128)), 2)):
        stream = Stream(5, block).of("training states")
        assert np.array_equal(steps, 100 + stream.integers("0", 200, 64, 64).numpy())
    assert draws(200, 1)[0][:8].tolist() == KEPT


def test_draws_are_uniform_and_with_replacement() -> None:
    drawn = np.concatenate(draws(50, 1000))
    assert drawn.min() == 100
    assert drawn.max() == 149
    counts = np.bincount(drawn - 100)
    # chi-squared with 49 degrees of freedom: mean 49, standard deviation 9.9
    assert ((counts - 1280) ** 2 / 1280).sum() == pytest.approx(49, abs=40)


def test_draws_depend_on_seed_and_step_alone() -> None:
    first, again, other = draws(50, 3), draws(50, 3), draws(50, 3, seed=6)
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize(("count", "block"), [(64, 64), (1500, 2), (5000, 1)])
def test_steps_may_be_asked_for_in_any_order(count: int, block: int, tiny: Dataset) -> None:
    """Steps are drawn in blocks; which one is drawn first, or again, makes no difference."""

    def made() -> TrainBatches:
        states = SinglePlan(np.arange(300))
        return TrainBatches(states, count, progress=TrainingProgress(5), space=tiny.factors)

    steps = [*range(3), *range(block - 1, block + 2), 4 * block]
    whole = made()
    in_order = {step: whole.states_of(step).states for step in sorted(steps)}
    again = made()
    for step in [*reversed(steps), *steps]:
        drawn = again.states_of(step)
        assert np.array_equal(drawn.states, in_order[step])
        assert np.array_equal(drawn.states, made().states_of(step).states)
        assert drawn.positions is not None
        assert np.array_equal(drawn.positions, tiny.factors.positions(drawn.states))
    different = {in_order[step].tobytes() for step in steps}
    assert len(different) == len(set(steps))


def test_a_seed_that_is_loaded_draws_anew() -> None:
    batches = TrainBatches(SinglePlan(np.arange(300)), 64, progress=TrainingProgress(5))
    before = batches.states_of(3).states
    batches.progress.seed = 6
    assert not np.array_equal(batches.states_of(3).states, before)
    batches.progress.seed = 5
    assert np.array_equal(batches.states_of(3).states, before)


@pytest.mark.parametrize("world", [2, 4])
def test_ranks_share_the_batch_of_one(world: int) -> None:
    shares = [draws(50, 3, rank=rank, world=world) for rank in range(world)]
    for whole, *parts in zip(draws(50, 3), *shares, strict=True):
        assert {len(part) for part in parts} == {64 // world}
        assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("world", [1, 2, 3])
def test_processes_share_the_states_of_prediction(
    world: int, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = SingleData(tiny, batch_size=8, eval_batch_size=4, test=0.1)
    loaders = []
    for rank in range(world):
        monkeypatch.setattr(WORLD, lambda rank=rank: (rank, world))
        loaders.append(data.predict_dataloader())
    batches = [list(loader) for loader in loaders]
    assert [len(loader) for loader in loaders] == [len(some) for some in batches]
    seen = torch.cat([batch.states for some in batches for batch in some])
    assert torch.equal(seen, torch.from_numpy(data.indices("test")))


def test_plans_are_told_the_number_of_the_first_batch() -> None:
    class Recording:
        calls: ClassVar[list[tuple[int, int]]] = []

        def draw(
            self, generator: np.random.Generator, count: int, step: int, batches: int = 1
        ) -> Drawn:
            self.calls.append((step, batches))
            return Drawn(np.zeros(count * batches, np.int64))

    batches = TrainBatches(Recording(), 1024)  # 4096 examples at once
    for step in (0, 3, 4, 9):
        batches.states_of(step)
    assert Recording.calls == [(0, 4), (4, 4), (8, 4)]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_carry_states_positions_and_images(num_workers: int, tiny: Dataset) -> None:
    batches = TrainBatches(SinglePlan(np.arange(300)), 8)
    before = torch.get_rng_state()
    loaded = list(Source(tiny, batches, True).batches(range(2, 5), num_workers))
    assert torch.equal(torch.get_rng_state(), before)
    for step, batch in zip(range(2, 5), loaded, strict=True):
        assert np.array_equal(batch.states.numpy(), batches.states_of(step).states)
        assert np.array_equal(batch.positions.numpy(), tiny.factors.positions(batch.states.numpy()))
        assert batch.image is not None
        assert torch.equal(batch.image, tiny.images(batch.states))


@pytest.mark.parametrize("with_images", [True, False])
def test_delivered_images_show_their_states(with_images: bool, tiny: Dataset) -> None:
    data = SingleData(tiny)
    states = torch.tensor([7, 299, 7])
    positions = torch.from_numpy(tiny.factors.positions(states.numpy()))
    image = tiny.images(states) if with_images else None
    batch = data.on_after_batch_transfer(Numbers(states, positions, image), 0)
    assert isinstance(batch, ImageBatch)
    assert batch.image.dtype == torch.float32
    assert torch.equal(
        (batch.image[:, 0, 0, :2] * 255).round(), torch.tensor([[0.0, 7], [1, 43], [0, 7]])
    )
    assert torch.equal(batch.factors, positions)
    assert torch.equal(batch.image, data.images(states))


def test_pixels_reach_one(dsprites_like: Dataset) -> None:
    image = SingleData(dsprites_like).images(torch.arange(4))
    assert set(image.flatten().tolist()) == {0.0, 1.0}


@pytest.fixture
def dsprites_like(tiny: Dataset, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """The tiny set with pixels 0 and 255 only."""
    gather = type(tiny).gather
    monkeypatch.setattr(
        type(tiny), "gather", lambda *args: (gather(*args) > 0).to(torch.uint8) * 255
    )
    return tiny


def test_constructing_reads_nothing(tiny: Any) -> None:
    data = SingleData(tiny, include={"shape": "dot"}, validation=0.0, test=0.0)
    assert data.train_size == 100
    assert data.image_shape == (1, 8, 8)
    assert data.factors is tiny.factors
    assert (tiny.prepared, tiny.asked) == (0, [])
    data.prepare_data()
    assert tiny.prepared == 1


@pytest.mark.parametrize(("steps", "expected"), [(None, 210 // 32), (17, 17)])
def test_length_of_an_epoch(steps: int | None, expected: int, tiny: Dataset) -> None:
    data = SingleData(tiny, batch_size=32, steps_per_epoch=steps)
    data.setup("fit")
    loader = data.train_dataloader()
    assert len(loader) == (expected if steps else data.train_size // 32)
    assert len(list(loader)) == len(loader)


def test_epochs_continue_the_draws(tiny: Dataset) -> None:
    torch.manual_seed(11)
    data = SingleData(tiny, batch_size=8, steps_per_epoch=3)
    data.setup("fit")
    loader = data.train_dataloader()
    seen = [batch.states.numpy() for _ in range(2) for batch in loader]
    batches = TrainBatches(data.plan("train"), 8, progress=TrainingProgress(11))
    assert np.array_equal(seen, [batches.states_of(step).states for step in range(6)])
    assert loader.state_dict() == data.state_dict() == {"seed": 11, "step": 6}


@pytest.mark.parametrize("num_workers", [0, 2])
def test_loaded_state_continues_the_draws(num_workers: int, tiny: Dataset) -> None:
    def loader(seed: int) -> Any:
        torch.manual_seed(seed)
        data = SingleData(tiny, batch_size=8, steps_per_epoch=6, num_workers=num_workers)
        data.setup("fit")
        return data.train_dataloader()

    first = loader(1)
    whole = [batch.states.numpy() for batch in first]
    stopped = loader(1)
    iterator = iter(stopped)
    seen = [next(iterator).states.numpy() for _ in range(2)]
    resumed = loader(2)
    resumed.load_state_dict(stopped.state_dict())
    seen += [batch.states.numpy() for _, batch in zip(range(4), resumed, strict=False)]
    assert np.array_equal(seen, whole)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; it must be a whole number of at least 1"),
        ({"eval_batch_size": -1}, "eval_batch_size is -1; it must be a whole number of at least 1"),
        ({"steps_per_epoch": 0}, "steps_per_epoch is 0; it must be a whole number of at least 1"),
        ({"num_workers": -1}, "num_workers is -1; it must be a whole number of at least 0"),
        ({"validation": -0.1}, "validation -0.1 and test 0.05 are fractions"),
        ({"validation": 0.5, "test": 0.5}, "leave some for training"),
        ({"batch_size": 300}, r"batch_size 300 exceeds the 2\d\d that train; set bat"),
        ({"include": {"place": {"min": 30}}}, "factor place"),
        ({"hold_out": {"place": {"min": 0}}}, "hold_out matches them all"),
    ],
)
def test_refuses_wrong_settings(settings: dict[str, Any], message: str, tiny: Dataset) -> None:
    with pytest.raises(InputError, match=message):
        SingleData(tiny, **settings)


def test_refuses_more_processes_than_the_batch_or_a_split_has(
    tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = SingleData(tiny, batch_size=9, test=0.01, split_seed=1)
    count = len(data.indices("test"))
    monkeypatch.setattr(WORLD, lambda: (0, 3 * count + 1))
    with pytest.raises(InputError, match="batch_size 9 counts the images of all processes"):
        data.setup("fit")
    data.setup("test")  # no batch is shared
    assert len(data.test_dataloader()) == 1
    with pytest.raises(InputError, match=f"test split has {count} states for"):
        data.predict_dataloader()


def test_configuration_file(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        """
        data:
          class_path: dislab.datamodules.SingleData
          init_args:
            dataset: dislab.datasets.DSprites
            include: {shape: [square], posX: {min: 0.5}}
            hold_out: {orientation: {min: 1, max: 2.5}, scale: 0.5}
        """
    )
    parser = jsonargparse.ArgumentParser()
    parser.add_argument("--config", action="config")
    parser.add_subclass_arguments(DataModule, "data")
    parsed = parser.parse_args(["--config", str(config), "--data.batch_size=32"])
    data = parser.instantiate(parsed).data
    assert isinstance(data, SingleData)
    assert isinstance(data.dataset, DSprites)
    assert data.batch_size == 32
    # 6 scales, 40 orientations, 16 columns, 32 rows are included; of these 1 scale and the
    # orientations 7 to 15 are held out
    assert len(data.indices("test")) == 9 * 16 * 32
    assert len(data.indices("all")) == 6 * 40 * 16 * 32


def test_default_splits_of_dsprites() -> None:
    data = SingleData(DSprites())
    sizes = {split: len(data.indices(split)) for split in ("train", "validation", "test", "all")}
    assert sizes["all"] == 737_280
    assert sizes["test"] == pytest.approx(0.05 * 737_280, rel=0.03)
    assert sizes["validation"] == pytest.approx(0.01 * 737_280, rel=0.05)
    assert data.train_size == sizes["train"]


def test_data_print_what_they_hold(tiny: Dataset, tmp_path: Path) -> None:
    space = tiny.factors
    part = SingleData(GaussianBlob(places=16), include={"posX": {"max": 0.4}}, resize=32)
    assert repr(part).endswith(", of which 112 images of 1×32×32 are used>")
    said = repr(SingleData(tiny))
    assert said == str(SingleData(tiny)) == f"<SingleData of {tiny!r}>"
    assert f"{type(tiny).__name__}: {len(space)} images of " in said
    assert f"{space.names[-1]} {space.sizes[-1]}>" in said
    assert repr(FolderDataset(str(tmp_path / "missing"))) == "<FolderDataset, not prepared>"
