"""The promises of torchmetrics for every metric: collections, devices, synchronisation, plots."""

import copy
import pickle
import warnings
from functools import partial
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torchmetrics import MetricCollection

from dislab.base import Metric
from dislab.base.metric import primary
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import DCI, MIG, FactorVAEScore

SPACE = FactorSpace((Factor("a", (0.0, 1.0, 2.0)), Factor("b", (0.0, 1.0, 2.0, 3.0))))
QUICK = partial(FactorVAEScore, votes_train=100, votes_test=50)
LASSO = partial(DCI, learner="lasso")
METRICS: list[Any] = [MIG, LASSO, QUICK]


def draw(images: int = 240, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(len(SPACE), (images,), generator=generator)
    factors = torch.from_numpy(SPACE.positions(index.numpy()))
    return factors + 0.3 * torch.randn(images, 2, generator=generator), factors


def filled(build: Any, *batches: tuple[Tensor, Tensor]) -> Metric:
    metric: Metric = build(SPACE)
    for codes, factors in batches:
        metric.update(codes, factors)
    return metric


def test_a_collection_gives_what_each_score_gives() -> None:
    codes, factors = draw()
    collection = MetricCollection({"m": MIG(SPACE), "d": LASSO(SPACE), "f": QUICK(SPACE)})
    for part in range(0, 240, 80):
        collection.update(codes[part : part + 80], factors[part : part + 80])
    together = collection.compute()
    expected: dict[str, Tensor] = {}
    for build in METRICS:
        expected |= filled(build, (codes, factors)).compute()
    assert together.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(together[name], value), name
    collection.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchmetrics warns of a compute before any update
        with pytest.raises(InputError, match="the score has no codes"):
            collection.compute()


def test_a_collection_keeps_equal_states_once() -> None:
    collection = MetricCollection({"m": MIG(SPACE), "fine": MIG(SPACE, bins=40), "d": LASSO(SPACE)})
    collection.update(*draw(80))
    assert list(collection.compute_groups.values()) == [["d", "fine", "m"]]
    collection.compute()
    members = [cast(Metric, one) for one in collection.values(copy_state=False)]
    assert len({id(member.codes[0]) for member in members}) == 1


@pytest.mark.parametrize("build", METRICS)
def test_states_follow_the_metric_and_survive_copies(build: Any) -> None:
    metric = filled(build, draw())
    assert [one.device.type for one in metric.to("cpu").codes] == ["cpu"]
    expected = filled(build, draw()).compute()
    for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), metric.clone()):
        assert torch.equal(other.compute()[primary(expected)], expected[primary(expected)])


@pytest.mark.gpu
@pytest.mark.parametrize("build", METRICS)
def test_states_stay_on_the_device(build: Any) -> None:
    codes, factors = draw()
    metric = filled(build, (codes.cuda(), factors.cuda()))
    assert metric.codes[0].is_cuda
    expected = filled(build, (codes, factors)).compute()
    for name, value in metric.compute().items():
        torch.testing.assert_close(value.cpu(), expected[name], equal_nan=True)


@pytest.mark.parametrize("build", METRICS)
def test_what_two_processes_hold_can_be_put_together(build: Any) -> None:
    halves = [draw(120, seed) for seed in (1, 2)]
    metric = filled(build, halves[0])

    def gather(tensor: Tensor, group: Any = None) -> list[Tensor]:
        mine = tensor.dtype == torch.int64
        return [tensor, halves[1][1 if mine else 0]]

    metric.sync(dist_sync_fn=gather, distributed_available=lambda: True)
    expected = filled(build, *halves).compute()
    found = metric.compute()
    assert torch.equal(found[primary(found)], expected[primary(expected)])


@pytest.mark.parametrize("build", METRICS)
def test_the_primary_scalar_is_drawn_within_its_bounds(build: Any) -> None:
    metric = filled(build, draw())
    result = metric.compute()
    name = primary(result)
    assert metric.higher_is_better is True
    lower, upper = metric.plot_lower_bound, metric.plot_upper_bound
    assert lower is not None
    assert upper is not None
    assert lower <= result[name].item() <= upper
    opened = plt.get_fignums()
    for given, points in (
        (None, [result[name].item()]),
        (result, [result[name].item()]),
        ([result, {name: torch.tensor(0.25)}], [result[name].item(), 0.25]),
        ([torch.tensor(0.5), torch.tensor(0.75)], [0.5, 0.75]),
    ):
        figure, axes = metric.plot(given)
        assert isinstance(figure, Figure)
        drawn = np.asarray(axes.lines[0].get_ydata(), dtype=float).ravel()
        assert drawn.tolist() == pytest.approx(points)
    assert plt.get_fignums() == opened
    given_axes = Figure().subplots()
    assert metric.plot(result, ax=given_axes)[1] is given_axes
    assert given_axes.get_ylabel() == name


def test_a_result_without_scalar_has_no_primary_one() -> None:
    with pytest.raises(
        InputError, match="none of the results is a scalar: parts; a score must return"
    ):
        primary({"parts": torch.zeros(3)})
