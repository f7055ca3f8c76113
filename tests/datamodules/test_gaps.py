"""Images without a value of some factor: they train, and nothing uses the values they lack."""

from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from PIL import Image

from dislab import plugins
from dislab.base import Posterior
from dislab.base.datamodule import drawable
from dislab.datamodules import SingleData
from dislab.datasets import FolderDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.factors import MISSING
from dislab.objectives import VAE, BottleneckGenerator, GroundTruthDecoder
from dislab.plans import PlannedData
from dislab.plans.few_labels import LABELLED
from dislab.plans.index_plans import TrainBatches, TrainingProgress
from dislab.regularizers import KL, LabelFit
from dislab.regularizers.label_fit import LabelLoss
from dislab.runs.codes import write_codes
from dislab.testing import check_datamodule, check_dataset

COUNT = 60
NEEDED: dict[str, dict[str, Any]] = {"ClampedData": {"groups": {"size": ["size"]}}}
LABELS: dict[str, dict[str, Any]] = {"without": {}, "with": {"few_labels": {"count": 4}}}
LOSSES: tuple[LabelLoss, ...] = ("cross_entropy", "squared_error", "covariance", "embedding")


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderDataset:
    """Sixty images; every third has no size, every fourth no kind, and the last five no row."""
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    folder.mkdir()
    lines = ["file,size,kind"]
    for number in range(COUNT):
        Image.new("L", (8, 8), 4 * number).save(folder / f"{number:02}.png")
        size = "" if number % 3 == 0 else number % 4 + 1
        kind = "NA" if number % 4 == 0 else ("cup", "pen")[number % 2]
        lines.append(f"{number:02}.png,{size},{kind}")
    (folder / "factors.csv").write_text("\n".join(lines[:-5]) + "\n")
    dataset = FolderDataset(str(folder), gaps="keep")
    dataset.prepare()
    return dataset


def numbers(dataset: FolderDataset, states: Any) -> set[int]:
    """Numbers of the images behind states."""
    return {int(dataset.files[state][:2]) for state in states}


def trainer(steps: int = 3, **settings: Any) -> pl.Trainer:
    quiet: dict[str, Any] = {"logger": False, "enable_checkpointing": False}
    quiet |= {"enable_progress_bar": False, "enable_model_summary": False}
    return pl.Trainer(accelerator="cpu", max_steps=steps, limit_val_batches=1, **quiet, **settings)


LACKING = {n for n in range(COUNT) if n % 3 == 0 or n % 4 == 0 or n >= COUNT - 5}


def test_images_without_values_only_train(photos: FolderDataset) -> None:
    data = SingleData(photos, batch_size=8, validation=0.2, test=0.2)
    parts = {
        split: numbers(photos, data.indices(split))
        for split in ("train", "validation", "test", "all")
    }
    assert parts["all"] == set(range(COUNT))
    assert parts["train"] >= LACKING
    assert parts["validation"]
    assert parts["test"]
    assert photos.factors.incomplete == ("size", "kind")
    for split in ("train", "all"):
        shown = numbers(photos, drawable(data, split))
        assert shown == parts[split] - LACKING  # what scores and pictures draw from


def test_no_value_is_no_value(photos: FolderDataset) -> None:
    space = photos.factors
    states = np.arange(len(space))
    missing = space.positions(states) == MISSING
    assert np.array_equal(np.isnan(space.values(space.positions(states))), missing)
    assert np.array_equal(np.isnan(space.places(space.positions(states))), missing)
    cups = space.where({"kind": "cup", "size": [3, 1]})
    assert numbers(photos, cups) == {
        n for n in range(COUNT - 5) if n % 3 and n % 4 and n % 2 == 0 and n % 4 + 1 in (1, 3)
    }
    for column, factor in enumerate(space.factors):
        values: tuple[Any, ...] = factor.values
        for position, value in enumerate(values):  # the last one too
            having = np.flatnonzero(space.positions(states)[:, column] == position)
            assert np.array_equal(space.where({factor.name: value}), having)
    assert np.array_equal(space.index(space.positions(states)), states)
    assert numbers(photos, space.complete(states)) == set(range(COUNT)) - LACKING


def test_labels_are_the_values_that_exist(photos: FolderDataset) -> None:
    data = SingleData(
        photos, few_labels={"count": None, "validation": 0.0}, batch_size=8, validation=0.2
    )
    labels = data.labels("train")
    assert labels is not None
    positions = photos.factors.positions(labels.states)[:, :2]
    assert np.array_equal(np.isnan(labels.values), positions == MISSING)
    assert not np.isnan(labels.values).all(1).any()
    present = positions != MISSING
    ranks = positions / (np.array([4, 2]) - 1)
    assert np.allclose(labels.values[present], ranks[present])
    sizes = SingleData(
        photos,
        few_labels={"count": None, "validation": 0.0, "factors": ["size"]},
        batch_size=8,
        validation=0.2,
    )
    all_sizes = sizes.labels("train")
    assert all_sizes is not None
    assert not np.isnan(all_sizes.values).any()
    with pytest.raises(InputError, match=r"the training split has \d\d images with labels"):
        SingleData(photos, few_labels={"count": 58}, batch_size=8, validation=0.2)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_missing_label_adds_nothing_and_has_no_gradient(loss: LabelLoss) -> None:
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(7, 3, generator=generator).requires_grad_()
    labels = torch.rand(7, 2, generator=generator)
    labels[2, 0] = labels[4, 1] = torch.nan
    fit = LabelFit(3, 100, gamma=1.0, loss=loss)
    posterior, step = Posterior(mean, torch.zeros_like(mean)), torch.tensor(0)
    penalty = fit(posterior, mean, {"labels": labels}, step).penalty
    penalty.backward()
    assert mean.grad is not None
    assert mean.grad.isfinite().all()
    if loss == "covariance":
        # each covariance is over the images with that value
        covariances = []
        for factor, other in ((0, (1, 2)), (1, (0, 2))):
            rows = ~labels[:, factor].isnan()
            centred = labels[rows, factor] - labels[rows, factor].mean()
            covariances += [(mean[rows, k] @ centred / rows.sum()).square() for k in other]
        assert penalty.item() == pytest.approx(torch.stack(covariances).sum().item(), rel=1e-4)
        return
    assert mean.grad[2, 0] == mean.grad[4, 1] == 0
    one_by_one = 0.0
    for factor in range(2):
        rows = ~labels[:, factor].isnan()
        single = Posterior(mean[rows][:, [factor]].detach(), torch.zeros(int(rows.sum()), 1))
        alone = LabelFit(1, 100, gamma=1.0, loss=loss)
        draws = {"labels": labels[rows][:, [factor]]}
        one_by_one += alone(single, single.mean, draws, step).penalty.item() * rows.sum().item() / 7
    assert penalty.item() == pytest.approx(one_by_one, rel=1e-5)


def test_own_images_with_gaps_conform(photos: FolderDataset) -> None:
    check_dataset(photos)
    settings: dict[str, Any] = {"batch_size": 8, "validation": 0.2, "test": 0.2}
    check_datamodule(lambda: SingleData(photos, **settings))
    check_datamodule(lambda: SingleData(photos, few_labels={"count": 20}, **settings))


def test_other_data_modules_refuse_gaps(photos: FolderDataset) -> None:
    modules = {
        plugin.name: plugins.load("datamodules", plugin.name)
        for plugin in plugins.available("datamodules")
    }
    planned = {name: cls for name, cls in modules.items() if issubclass(cls, PlannedData)}
    taking = {name for name, cls in planned.items() if cls.takes_gaps}
    assert "SingleData" in taking
    assert {"PairedData", "ClampedData", "CompositionData"} <= planned.keys() - taking
    for name in planned.keys() - taking:
        with pytest.raises(InputError, match="some images have no value of size, kind"):
            planned[name](photos, batch_size=8, validation=0.2, **NEEDED.get(name, {}))


@pytest.mark.parametrize("labels", [*LABELS])
@pytest.mark.parametrize("settings", [{}, {"validation": 0.2, "test": 0.2}])
def test_images_of_which_none_has_all_values_are_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: str, settings: dict[str, Any]
) -> None:
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "halves"
    folder.mkdir()
    lines = ["file,size,kind"]
    for number in range(12):
        Image.new("L", (8, 8), 9 * number).save(folder / f"{number:02}.png")
        lines.append(f"{number:02}.png," + (f"{number % 4},", ",cup", ",pen")[number % 3])
    (folder / "factors.csv").write_text("\n".join(lines) + "\n")
    dataset = FolderDataset(str(folder), gaps="keep")
    dataset.prepare()
    with pytest.raises(InputError, match="none of the 12 images has a value of every factor"):
        SingleData(dataset, batch_size=2, **LABELS[labels], **settings)
    sizes = FolderDataset(str(folder), factors=["size"], gaps="keep")
    sizes.prepare()
    data = SingleData(sizes, batch_size=2, validation=0.0, test=0.0, **LABELS[labels])
    assert len(data.indices("train")) == 12


def test_methods_and_correlations_that_need_every_value_refuse(photos: FolderDataset) -> None:
    data = SingleData(photos, batch_size=8, validation=0.2)
    decoder = partial(MLPDecoder, hidden=(8,))
    names, sizes = data.factor_names, data.factor_sizes
    for method in (GroundTruthDecoder, BottleneckGenerator):
        model = method(data.image_shape, names, sizes, decoder)
        with pytest.raises(InputError, match=f"{method.__name__} learns from the factors of every"):
            trainer().fit(model, datamodule=data)
    correlation: Any = {"factors": ["size", "kind"], "strength": 0.2}
    with pytest.raises(InputError, match="correlation names kind, size, of which some images"):
        SingleData(photos, batch_size=8, validation=0.2, correlation=correlation)


def test_codes_of_images_without_values_are_stored_without_factors(
    photos: FolderDataset, tmp_path: Path
) -> None:
    data = SingleData(photos, batch_size=8, validation=0.2)
    for states in (drawable(data, "all"), np.arange(COUNT)):
        codes = np.zeros((len(states), 2), np.float32)
        write_codes(tmp_path / "codes.npz", data, states, codes, None)
        with np.load(tmp_path / "codes.npz") as stored:
            assert ("factors" in stored) == (len(states) < COUNT)


def test_draws_do_not_depend_on_gaps(photos: FolderDataset) -> None:
    few = SingleData(photos, few_labels={"count": 20}, batch_size=8, validation=0.2)
    none = SingleData(photos, batch_size=8, validation=0.2)
    plans = [data._plan_of("train") for data in (few, none)]
    drawn = [plan.draw(np.random.default_rng(3), 8, 0).states for plan in plans]
    assert np.array_equal(drawn[0][0], np.asarray(drawn[1]).reshape(-1))


@pytest.mark.slow
def test_weight_zero_equals_training_without_labels(photos: FolderDataset) -> None:
    weights = []
    settings: dict[str, Any] = {"batch_size": 8, "validation": 0.2}
    few = SingleData(photos, few_labels={"count": 20}, **settings)
    cases: list[tuple[PlannedData, dict[str, Any]]] = [
        (SingleData(photos, **settings), {}),
        (few, {"labels": partial(LabelFit, gamma=0.0)}),
        (few, {"labels": LabelFit}),
    ]
    for data, labels in cases:
        regularizers = {"kl": KL, **labels}
        torch.manual_seed(1)
        networks = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
        model = VAE((1, 8, 8), data.train_size, 3, *networks, regularizers=regularizers)
        trainer().fit(model, datamodule=data)
        weights.append(torch.cat([part.flatten() for part in model.parameters()]))
    assert torch.equal(weights[0], weights[1])
    assert weights[2].isfinite().all()
    assert not torch.equal(weights[0], weights[2])


def few(photos: FolderDataset, loss: LabelLoss) -> tuple[SingleData, VAE]:
    data = SingleData(photos, few_labels={"count": 20}, batch_size=8, validation=0.2)
    torch.manual_seed(1)
    networks = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
    labels = partial(LabelFit, loss=loss, schedule="annealed", steps=4)
    regularizers: dict[str, Any] = {"kl": KL, "labels": labels}
    return data, VAE((1, 8, 8), data.train_size, 3, *networks, regularizers=regularizers)


def weights(model: VAE) -> torch.Tensor:
    return torch.cat([part.detach().flatten() for part in model.parameters()])


@pytest.mark.every(4)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_resumed_run_equals_an_uninterrupted_one(
    photos: FolderDataset, loss: LabelLoss, tmp_path: Path
) -> None:
    data, uninterrupted = few(photos, loss)
    trainer(6).fit(uninterrupted, datamodule=data)
    data, model = few(photos, loss)
    first = trainer(3)
    first.fit(model, datamodule=data)
    first.save_checkpoint(tmp_path / "half.ckpt")
    assert not torch.equal(weights(model), weights(uninterrupted))
    data, model = few(photos, loss)
    torch.manual_seed(9)
    trainer(6).fit(model, datamodule=data, ckpt_path=tmp_path / "half.ckpt", weights_only=False)
    assert torch.equal(weights(model), weights(uninterrupted))


@pytest.mark.parametrize("loss", LOSSES)
def test_mixed_precision_trains_with_missing_labels(photos: FolderDataset, loss: LabelLoss) -> None:
    trained = []
    for precision in ("32-true", "bf16-mixed"):
        data, model = few(photos, loss)
        start = weights(model)
        trainer(6, precision=precision).fit(model, datamodule=data)
        trained.append(weights(model) - start)
    exact, mixed = trained
    assert mixed.isfinite().all()
    # Adam moves each weight by about the learning rate a step, in the direction of most gradients
    assert torch.cosine_similarity(exact, mixed, dim=0) > 0.9


@pytest.mark.parametrize("loss", LOSSES)
def test_two_processes_share_the_labelled_batch(photos: FolderDataset, loss: LabelLoss) -> None:
    data, _ = few(photos, loss)
    plan, progress = data._plan_of("train"), TrainingProgress(5)
    whole, *parts = (
        TrainBatches(plan, 8, rank, world, progress, photos.factors).states_of(3)
        for rank, world in ((0, 1), (0, 2), (1, 2))
    )
    assert np.array_equal(whole.states, np.concatenate([part.states for part in parts], -1))
    labels = [torch.from_numpy(part.labels[LABELLED]) for part in (whole, *parts)]
    assert torch.equal(torch.cat(labels[1:]).nan_to_num(-1), labels[0].nan_to_num(-1))
    assert labels[0].isnan().any()
    if loss == "covariance":
        return  # gathers the rows of all processes before it compares them
    generator, fit = torch.Generator().manual_seed(0), LabelFit(3, 100, loss=loss)
    mean = torch.randn(8, 3, generator=generator)
    penalties = [
        fit(Posterior(rows, rows), rows, {"labels": rows_labels}, torch.tensor(0)).penalty.item()
        for rows, rows_labels in zip((mean, mean[:4], mean[4:]), labels, strict=True)
    ]
    assert penalties[0] == pytest.approx((penalties[1] + penalties[2]) / 2, rel=1e-5)
