"""Which images have labels, what the labels are, and that the other images stay the same."""

from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from tests.cases import builds, own

from dislab.base import Dataset, Objective
from dislab.datamodules import CompositionData, PairedData, SingleData, SymbolData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.metrics import evaluate
from dislab.objectives import VAE, AdaGVAE
from dislab.plans import FewLabels
from dislab.regularizers import KL, LabelFit

LABELS: dict[str, Any] = {"few_labels": {"count": 9}}


def batches(data: Any, split: str = "train", count: int = 4) -> list[Any]:
    torch.manual_seed(5)
    data.setup("fit")
    loaders = {"train": data.train_dataloader, "test": data.test_dataloader}
    raw = [batch for _, batch in zip(range(count), loaders[split](), strict=False)]
    return [data.on_after_batch_transfer(batch, 0) for batch in raw]


def test_a_few_images_have_labels(tiny: Dataset) -> None:
    data = SingleData(tiny, few_labels={"count": 20}, batch_size=64)
    shown = {
        tuple(row) for batch in batches(data, count=20) for row in batch.labelled.labels.tolist()
    }
    rest = {tuple(row) for batch in batches(data, "test") for row in batch.labelled.labels.tolist()}
    assert (len(shown), len(rest), len(shown & rest)) == (18, 2, 0)
    assert data.label_names == ("shape", "angle", "place")


def test_labels_are_the_ranks_of_the_values_of_the_labelled_images(
    tiny: Dataset, shown: Any
) -> None:
    data = SingleData(
        tiny, few_labels={"count": None}, include={"place": {"max": 4.0}}, batch_size=16
    )
    sizes = np.array([2, 4, 4])
    for batch in batches(data):
        ranks = tiny.factors.positions(shown(batch.labelled.image))
        assert np.allclose(batch.labelled.labels, ranks / sizes)
        assert np.array_equal(batch.factors, tiny.factors.positions(shown(batch.image)))


@pytest.mark.parametrize("kind", [SingleData, PairedData, CompositionData])
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_other_images_stay_the_same(tiny: Dataset, kind: Any, split: str) -> None:
    few, none = (kind(tiny, batch_size=8, few_labels=few) for few in ({"count": 9}, None))
    for first, second in zip(batches(few, split), batches(none, split), strict=True):
        assert type(first) is type(second)
        assert len(first.labelled.image) == len(first.image)
        for part, same in zip(first[:-1], second[:-1], strict=True):
            assert torch.equal(part, same)


def test_samples_show_the_same_images(tiny: Dataset) -> None:
    few, none = (SingleData(tiny, batch_size=8, **few) for few in (LABELS, {}))
    samples = [next(iter(data.sample_loader("test", 7, 3))).positions for data in (few, none)]
    assert torch.equal(samples[0][0], samples[1])


def test_errors_of_labels(tiny: Dataset) -> None:
    def labels(**settings: Any) -> np.ndarray:
        few: Any = {"count": None, "validation": 0.0, **settings}
        labels = SingleData(tiny, few_labels=few).labels("train")
        assert labels is not None
        return labels.values

    exact = labels()
    assert np.unique(labels(bins=5)[:, 2]).tolist() == [0, 0.25, 0.5, 0.75, 1]
    flipped = labels(errors=0.1)[:, 2] != exact[:, 2]
    assert 0.03 < flipped.mean() < 0.18
    permuted = labels(permuted=True)[:, 2]
    pairs = {*zip(exact[:, 2].tolist(), permuted.tolist(), strict=True)}
    assert len(pairs) == 20
    assert np.unique(permuted).tolist() == np.unique(exact[:, 2]).tolist()
    assert np.array_equal(labels(factors=["place"])[:, 0], exact[:, 2])


def choice(data: Any, split: str = "train") -> Any:
    """The labelled images of a split: state numbers and labels."""
    labels = data.labels(split)
    assert labels is not None
    return labels


def test_the_seed_draws_labelled_images_errors_and_orders(tiny: Dataset) -> None:
    def drawn(seed: int, **settings: Any) -> list[list[Any]]:
        few: Any = {"seed": seed, **settings}
        data = SingleData(tiny, few_labels=few)
        return [part.tolist() for part in choice(data)]

    for settings in (
        {"count": 20},
        {"count": None, "errors": 0.5},
        {"count": 20, "permuted": True},
    ):
        torch.manual_seed(1)
        first = drawn(3, **settings)
        torch.manual_seed(2)
        assert drawn(3, **settings) == first
        states, labels = drawn(4, **settings)
        assert states != first[0]
        assert labels != first[1]
    few, many = drawn(3, count=20), drawn(3, count=20, errors=0.5)
    assert few[0] == many[0]  # errors change no choice of images


def test_labelled_images_follow_the_correlation_of_the_training_split(tiny: Dataset) -> None:
    pair: Any = {"factors": ["place", "angle"], "strength": 0.1}
    data = SingleData(tiny, few_labels={"count": 60}, correlation=pair)
    for split in ("train", "validation"):
        states = choice(data, split).states
        place, angle = (tiny.factors.positions(states)[:, [2, 1]] / [19, 4]).T
        assert np.abs(place - angle).mean() < 0.15, split  # 0.35 without correlation


def test_labelled_images_take_turns_in_evaluation(tiny: Dataset, shown: Any) -> None:
    few: FewLabels = {"count": 12, "validation": 0.5}
    data = SingleData(tiny, few_labels=few, test=0.1, eval_batch_size=4)
    states = np.concatenate([shown(batch.labelled.image) for batch in batches(data, "test", 9)])
    expected = choice(data, "test").states
    assert len(states) > 2 * len(expected)
    assert np.array_equal(states, np.resize(expected, len(states)))


def test_a_wrong_label_is_any_value_of_its_factor(tiny: Dataset) -> None:
    """All values are equally likely, however often the labelled images have them."""
    pair: Any = {"factors": ["shape", "place"], "strength": 0.3}
    include: Any = {"place": {"max": 9}}  # most of these places go with the first shape
    few: FewLabels = {"count": 60, "errors": 1.0, "validation": 0.0, "factors": ["shape"]}
    right: FewLabels = {**few, "errors": 0.0}
    data = [
        [
            SingleData(tiny, include=include, correlation=pair, few_labels={**labels, "seed": seed})
            for seed in range(20)
        ]
        for labels in (right, few)
    ]
    exact, wrong = (np.mean([choice(each).values for each in kind]) for kind in data)
    assert exact < 0.4
    assert wrong == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": 301}, "few_labels.count is 301, and the training split has"),
        ({"count": 1}, "few_labels.count is 1"),
        ({"validation": 1.0}, "few_labels.validation 1.0"),
        ({"errors": -0.1}, "few_labels.errors is -0.1"),
        ({"errors": 1.1}, "few_labels.errors 1.1"),
        ({"bins": 1}, "few_labels.bins is 1"),
        ({"seed": -1}, "few_labels.seed is -1"),
        ({"factors": []}, "names at least one factor"),
        ({"factors": ["place", "place"]}, "each once"),
        ({"factors": ["colour"]}, "colour"),
        ({"labels": 9}, "no setting labels; it has count, validation, seed"),
    ],
)
def test_refuses_bad_settings(tiny: Dataset, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SingleData(tiny, batch_size=8, few_labels=settings)  # type: ignore[arg-type]


def test_refuses_a_factor_with_one_value(tiny: Dataset) -> None:
    few: FewLabels = {"count": 9, "factors": ["shape"]}
    with pytest.raises(InputError, match="single value"):
        SingleData(tiny, 8, {"shape": "dot"}, validation=0.1, few_labels=few)


def test_refuses_batches_that_hold_no_labels(tiny: Dataset) -> None:
    with pytest.raises(InputError, match="SymbolBatch, which holds no labels"):
        SymbolData(tiny, batch_size=8, few_labels={"count": 9})


def test_refuses_a_nuisance_factor(repeated: Dataset) -> None:
    with pytest.raises(InputError, match="only tells images apart"):
        SingleData(
            repeated, few_labels={"count": 5, "factors": ["instance"]}, batch_size=4, validation=0.1
        )


BLOB: dict[str, Any] = {"dataset": GaussianBlob(16), "resize": 16, "batch_size": 64}


def blank(
    kind: Any = VAE, latent_dim: int = 3, train_size: int = 200, **regularizers: Any
) -> Objective:
    """A model before its first step."""
    torch.manual_seed(1)
    model: Objective = kind(
        image_shape=(1, 16, 16),
        train_size=train_size,
        latent_dim=latent_dim,
        encoder=partial(MLPEncoder, hidden=(32,)),
        decoder=partial(MLPDecoder, hidden=(32,)),
        regularizers={"kl": KL, **regularizers},
        optimizer=partial(torch.optim.Adam, lr=3e-3),
    )
    return model


def trainer(steps: int, **settings: Any) -> pl.Trainer:
    quiet: dict[str, Any] = {"logger": False, "enable_checkpointing": False}
    quiet |= {"enable_progress_bar": False, "enable_model_summary": False, "barebones": False}
    return pl.Trainer(accelerator="cpu", max_steps=steps, limit_val_batches=1, **quiet, **settings)


def fitted(
    data: Any, kind: Any = VAE, steps: int = 5, latent_dim: int = 3, **regularizers: Any
) -> Objective:
    model = blank(kind, latent_dim, **regularizers)
    trainer(steps).fit(model, datamodule=data)
    return model


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "data"), [(VAE, SingleData), (AdaGVAE, PairedData)])
def test_weight_zero_equals_the_run_without_labels(kind: Any, data: Any) -> None:
    zero = partial(LabelFit, gamma=0.0)
    settings = {**BLOB, "validation": 0.1}
    labelled = fitted(data(**settings, few_labels={"count": 20}), kind, labels=zero)
    expected = fitted(data(**settings), kind).state_dict()
    for name, value in labelled.state_dict().items():
        assert torch.equal(value, expected[name]), name


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(own("regularizers")))
def test_labels_beside_every_regularizer_resume_to_the_bit(name: str, tmp_path: Path) -> None:
    other = {} if name == "LabelFit" else {"other": builds("regularizers", name)[0]}
    states = []
    for steps, path in ((4, None), (2, None), (4, str(tmp_path / "two.ckpt"))):
        data = SingleData(**BLOB, few_labels={"count": 20})
        model = blank(train_size=data.train_size, **other, labels=LabelFit)
        runner = trainer(steps)
        runner.fit(model, datamodule=data, ckpt_path=path)
        states.append(model.state_dict())
        if steps == 2:
            runner.save_checkpoint(tmp_path / "two.ckpt")
    whole, _, resumed = states
    for part, value in whole.items():
        assert torch.equal(resumed[part], value), part
        assert value.isfinite().all(), part


@pytest.mark.parametrize("precision", ["bf16-mixed", "64-true"])
def test_labels_in_other_precisions(precision: Any) -> None:
    model = blank(labels=LabelFit)
    trainer(3, precision=precision).fit(
        model, datamodule=SingleData(**BLOB, few_labels={"count": 20})
    )
    assert all(part.isfinite().all() for part in model.parameters())


@pytest.mark.parametrize(("kind", "data"), [(VAE, SingleData), (AdaGVAE, PairedData)])
def test_a_fit_to_labels_needs_labels(kind: Any, data: Any) -> None:
    with pytest.raises(InputError, match=r"the batches have none; set data\.few_labels"):
        fitted(data(**BLOB, validation=0.1), kind, labels=LabelFit)


@pytest.mark.slow
def test_only_true_labels_put_each_factor_into_its_latent() -> None:
    images = SingleData(**BLOB)
    states = images.indices("all")
    factors = images.factors.positions(states)
    ranks, follows, gaps = {}, {}, {}
    labels: dict[str, FewLabels] = {
        "true": {"count": None},
        "random": {"count": None, "errors": 1.0},
        "permuted": {"count": None, "permuted": True},
    }
    for name, few in labels.items():
        data = SingleData(**BLOB, few_labels=few)
        model = fitted(data, steps=1000, labels=partial(LabelFit, gamma=1000.0))
        codes = model.codes(images.images(torch.from_numpy(states))).detach().numpy()
        ranks[name] = [abs(spearmanr(codes[:, k], factors[:, k])[0]) for k in range(2)]
        gaps[name] = evaluate(codes, factors, metrics=["MIG"])["mig"]
        trained = data.labels("train")
        assert trained is not None
        rows = np.searchsorted(states, trained.states)
        follows[name] = [spearmanr(codes[rows, k], trained.values[:, k])[0] for k in range(2)]
    assert min(ranks["true"]) > 0.95
    # another latent may hold the factors too, so that the gap is below that of the factors
    assert gaps["true"] > 0.4
    assert max(ranks["random"]) < 0.3
    assert gaps["random"] < 0.2
    # the latents follow the order of the labels, which is not that of the values
    assert min(follows["permuted"]) > 0.95
    assert max(ranks["permuted"]) < 0.5


@pytest.mark.slow
def test_a_latent_for_each_of_all_labels_nearly_reaches_the_gap_of_the_factors() -> None:
    images = SingleData(**BLOB)
    states = images.indices("all")
    factors = images.factors.positions(states)
    assert evaluate(factors.astype(np.float32), factors, metrics=["MIG"])["mig"] == pytest.approx(1)
    data = SingleData(**BLOB, few_labels={"count": None, "validation": 0.0})
    labels = partial(LabelFit, gamma=1000.0)
    model = fitted(data, VAE, steps=2000, latent_dim=2, labels=labels)
    # the sigmoid of a latent estimates the label; the latent itself has bins of unequal shares
    codes = model.codes(images.images(torch.from_numpy(states))).sigmoid().detach().numpy()
    assert evaluate(codes, factors, metrics=["MIG"])["mig"] > 0.9
