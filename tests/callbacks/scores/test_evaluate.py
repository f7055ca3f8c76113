import contextlib
import csv
import functools
import json
import logging
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from jsonargparse import ArgumentParser
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)
from tests.callbacks.conftest import BlockData, Correlation, Linear, quiet_trainer
from tests.processes import start_several

from dislab import plots, runs
from dislab.base import DataModule, Metric, MetricBuilder, Objective, Sample, Split
from dislab.callbacks import Evaluate, Reconstructions, Traversals
from dislab.callbacks.scores._bounds import QUANTITIES, bounds_table
from dislab.codes.bank import CodeBank, ConstantFactorWarning
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.losses import kl_per_latent
from dislab.functional.random import host_generator
from dislab.metrics import MIG
from dislab.metrics.score_table import title
from dislab.runs.baselines import _principal

MakeTrainer = Callable[..., pl.Trainer]
MakeMetric = Callable[..., Metric]


def _expected(
    data: DataModule, objective: Objective, metric: Metric, points: int, seed: int
) -> dict[str, torch.Tensor]:
    """The score computed directly on the states that the callback must draw."""
    states = host_generator(seed).choice(data.indices("all"), points, replace=False)
    with torch.no_grad():
        codes = objective.codes(data.images(torch.from_numpy(states)))
    metric.update(codes, torch.from_numpy(data.factors.positions(states)))
    scores: dict[str, torch.Tensor] = metric.compute()
    return scores


@pytest.mark.parametrize("stage", ["validate", "test"])
def test_scores_are_those_of_the_codes(
    stage: runs.ScoreStage,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    expected = _expected(data, objective, correlation(data.factors), points=24, seed=5)
    evaluate = Evaluate({"corr": correlation}, points=24, batch_size=7, seed=5)
    getattr(trainer(callbacks=[evaluate]), stage)(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")[stage]
    assert record["scores"]["correlation"] == pytest.approx(float(expected["correlation"]))
    parts = record["parts"]["correlation_per_factor"]
    np.testing.assert_allclose(parts, expected["correlation_per_factor"].numpy())
    assert set(runs.read_scores(tmp_path / "run")) == {stage}


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [0, 1])
def test_a_constant_factor_is_reported_only_if_it_varies_in_other_states(
    elsewhere: int, tmp_path: Path, trainer: MakeTrainer, objective: Objective
) -> None:
    dark = np.arange(0, 32, 2)

    class Dark(BlockData):
        def indices(self, split: Split) -> Indices:
            return np.append(dark, elsewhere) if split == "all" else dark

    evaluate = Evaluate({"mig": MIG}, split="test", bound_points=0)
    context = (
        pytest.warns(ConstantFactorWarning, match="brightness took one value")
        if elsewhere
        else contextlib.nullcontext()  # a warning is an error in tests
    )
    with context:
        trainer(callbacks=[evaluate]).test(objective, datamodule=Dark(), verbose=False)
    assert "mig" in runs.read_scores(tmp_path / "run")["test"]["scores"]


def test_the_record_tells_how_it_came_about(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    objective.draw_seed.fill_(17)
    objective.steps.fill_(123)
    metrics: dict[str, MetricBuilder] = {
        "c": correlation,
        "sharp": functools.partial(correlation, power=2.0),
    }
    evaluate = Evaluate(metrics, points=1000, split="test")
    trainer(callbacks=[evaluate]).validate(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["validate"]
    path = f"{correlation.__module__}.Correlation"
    meaning: dict[str, object] = {"higher_is_better": None, "bounds": [None, None], "versions": {}}
    assert record["metrics"] == {
        name: {
            "class_path": path,
            "init_args": {"power": power},
            "primary": f"{name}/correlation",
            **meaning,
        }
        for name, power in (("c", 1.0), ("sharp", 2.0))
    }
    entropy = record["sample"].pop("entropy")
    assert entropy.keys() == {"x", "y", "brightness"}
    assert 0 < entropy["brightness"] <= math.log(2)
    assert record["sample"] == {
        "images": 12,
        "latents": 3,
        "factors": {"x": 4, "y": 4, "brightness": 2},
        "bootstrap": None,
    }
    assert record["intervals"] == {}
    assert {"c/correlation", "sharp/correlation", "active_units"} == set(record["scores"])
    draw = {"split": "test", "points": 12, "seed": 0, "codes": "mean"}
    assert record["draw"] == {**draw, "available": 12, "incomplete": 0}
    assert record["data"]["provenance"] == {"source": "blocks", "version": "1"}
    assert record["data"]["factors"] == ["x", "y", "brightness"]
    assert record["checkpoint"] == {"path": None, "steps": 123}
    assert record["seed"] == 17
    assert record["versions"] == runs.versions()


def test_a_split_without_states_is_recorded_as_all_states(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    indices = type(data).indices

    def without_test(self: DataModule, split: Split) -> Indices:
        found: Indices = indices(self, split)
        return found[:0] if split == "test" else found

    monkeypatch.setattr(type(data), "indices", without_test)
    evaluate = Evaluate({"c": correlation}, points=1000, split="test")
    trainer(callbacks=[evaluate]).validate(objective, datamodule=data, verbose=False)
    count = len(data.indices("all"))
    drawn = runs.read_scores(tmp_path / "run")["validate"]["draw"]
    assert (drawn["split"], drawn["points"], drawn["available"]) == ("all", count, count)


@pytest.mark.parametrize(
    ("split", "states"),
    [("all", "images, training included"), ("test", "images of the test split")],
)
def test_the_title_of_the_sheet_says_which_states_were_scored(
    split: Split,
    states: str,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    titles: list[str] = []

    def kept(figure: Figure, path: Path) -> None:
        titles.append(figure.get_suptitle())

    monkeypatch.setattr(plots, "save", kept)
    evaluate = Evaluate({"corr": correlation}, split=split)
    trainer(callbacks=[evaluate]).test(objective, datamodule=data, verbose=False)
    count = len(data.indices(split))
    assert [title.partition(": ")[2] for title in titles] == [f"{count} of {count} {states}"]


def test_kl_and_active_units_are_means_over_the_points(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    objective.encoder.weight.data[[2, 5]] = 0.0  # type: ignore[union-attr,operator]
    objective.encoder.bias.data[[2, 5]] = 0.0  # type: ignore[union-attr,operator]
    with torch.no_grad():
        kl = kl_per_latent(*objective.encode(data.images(torch.arange(32)))).mean(0)
    evaluate = Evaluate({"corr": correlation}, batch_size=5)
    trainer(callbacks=[evaluate]).validate(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["validate"]
    np.testing.assert_allclose(record["parts"]["kl_per_latent"], kl, rtol=1e-5, atol=1e-9)
    assert record["parts"]["kl_per_latent"][2] == 0.0
    assert record["scores"]["active_units"] == int((kl > 0.01).sum())


def test_each_image_is_encoded_once_for_all_scores_and_modes_are_put_back(
    trainer: MakeTrainer, data: DataModule, objective: Objective, correlation: MakeMetric
) -> None:
    class Counter(pl.Callback):
        def on_validation_epoch_end(
            self, trainer: pl.Trainer, pl_module: pl.LightningModule
        ) -> None:
            pl_module.train()
            objective.encoded.clear()  # type: ignore[operator,union-attr]
            objective.modes.clear()  # type: ignore[operator,union-attr]
            data.asked.clear()  # type: ignore[attr-defined]

    metrics: dict[str, MetricBuilder] = dict.fromkeys("abc", correlation)
    evaluate = Evaluate(metrics, points=30, batch_size=10)
    trainer(callbacks=[Counter(), evaluate]).validate(objective, datamodule=data, verbose=False)
    asked = [state for states in data.asked for state in states]  # type: ignore[attr-defined]
    assert len(asked) == len(set(asked)) == 30
    # The first batch is encoded twice, to see that the codes are the posterior means.
    assert objective.encoded == [10, 10, 10, 10]
    assert objective.modes == [False] * 4
    assert objective.training
    assert objective.encoder.training  # type: ignore[union-attr]


@pytest.mark.slow
def test_scores_of_other_images_say_which_they_replace(
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    for points, replaced in ((20, 0), (20, 0), (10, 1), (10, 1), (20, 2)):
        score = Evaluate({"corr": correlation}, points=points, bound_points=0)
        trainer(callbacks=[score]).test(objective, datamodule=data, verbose=False)
        assert caplog.text.count("These scores will replace those of") == replaced
    text = "These scores will replace those of 20 of 32 images, training included"
    assert caplog.text.count(text) == 1


def test_scores_that_will_be_replaced_are_named_before_the_work(
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO)
    score = Evaluate({"corr": correlation}, points=20, bound_points=0)
    trainer(callbacks=[score]).test(objective, datamodule=data, verbose=False)

    def interrupted(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr(Evaluate, "score", interrupted)
    score = Evaluate({"corr": correlation}, points=10, bound_points=0)
    with pytest.raises(KeyError):
        trainer(callbacks=[score]).test(objective, datamodule=data, verbose=False)
    assert "These scores will replace those of 20 of 32 images" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["validate", "test"])
def test_scores_of_two_data_sets_in_a_folder_are_both_kept(
    stage: runs.ScoreStage,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def score() -> None:
        runner = trainer(callbacks=[Evaluate({"corr": correlation}, bound_points=0)])
        getattr(runner, stage)(objective, datamodule=data, verbose=False)

    score()
    first = (tmp_path / "run" / "scores.json").read_bytes()
    monkeypatch.setattr(type(data.dataset), "provenance", lambda _: {"source": "other"})
    for _ in range(2):
        score()
    assert (tmp_path / "run" / "scores.json").read_bytes() == first
    (folder,) = (tmp_path / "run" / "other_data").iterdir()
    assert folder.name.startswith("Blocks-")
    assert runs.read_scores(folder)[stage]["data"]["provenance"] == {"source": "other"}
    assert (folder / "images" / "scores.png").is_file()


def test_training_does_not_score(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    runner = trainer(callbacks=[Evaluate({"corr": correlation})], num_sanity_val_steps=1)
    runner.fit(objective, datamodule=data)
    assert not list(tmp_path.rglob("scores.json"))


@pytest.mark.parametrize("settings", [{"fast_dev_run": True}, {}])
def test_nothing_is_scored_in_a_rehearsal_or_without_metrics(
    settings: dict[str, bool],
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluate = Evaluate({"corr": correlation} if settings else None)
    runner = trainer(callbacks=[evaluate], **settings)
    runner.validate(objective, datamodule=data, verbose=False)
    assert not list(tmp_path.rglob("*"))
    assert "correlation" not in capsys.readouterr().out


@pytest.mark.slow
def test_untrained_copies_are_scored_on_the_same_points_and_leave_the_random_state(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluate = Evaluate({"corr": correlation}, points=20, untrained=3)
    state, weights = torch.get_rng_state(), [one.clone() for one in objective.parameters()]
    runner = trainer(callbacks=[evaluate])
    runner.validate(objective, datamodule=data, verbose=False)
    torch.testing.assert_close(torch.get_rng_state(), state)
    for before, after in zip(weights, objective.parameters(), strict=True):
        torch.testing.assert_close(after, before)

    record = runs.read_scores(tmp_path / "run")["validate"]["untrained"]
    assert len(set(record["seeds"])) == 3
    expected, by_factor = [], []
    for seed in record["seeds"]:
        torch.manual_seed(seed)
        copy = type(objective)()
        scores = _expected(data, copy, correlation(data.factors), points=20, seed=0)
        expected.append(float(scores["correlation"]))
        by_factor.append(scores["correlation_per_factor"].tolist())
    assert list(record["parts"]) == ["correlation_per_factor"]
    levels = record["parts"]["correlation_per_factor"]
    assert levels["mean"] == pytest.approx(np.mean(by_factor, 0).tolist())
    assert levels["std"] == pytest.approx(np.std(by_factor, 0, ddof=1).tolist())
    found = record["scores"]["correlation"]
    assert found["values"] == pytest.approx(expected)
    assert found["mean"] == pytest.approx(np.mean(expected))
    assert found["std"] == pytest.approx(np.std(expected, ddof=1))
    assert np.std(expected) > 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    row = next(line for line in lines if line[:1] == ["Correlation"])
    assert row[3:] == [f"{np.mean(expected):.4f}", "±", f"{np.std(expected, ddof=1):.4f}"]


@pytest.mark.slow
def test_scalars_reach_every_logger_and_runs_keep_apart(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    objective.steps.fill_(40)
    for _ in range(2):
        loggers = [CSVLogger(tmp_path, "name"), TensorBoardLogger(tmp_path, "board")]
        runner = trainer(callbacks=[Evaluate({"corr": correlation})], logger=loggers)
        runner.validate(objective, datamodule=data, verbose=False)
    files = sorted(tmp_path.rglob("scores.json"))
    assert [file.parent.name for file in files] == ["version_0", "version_1"]
    value = json.loads(files[0].read_text())["validate"]["scores"]["correlation"]
    with (files[0].parent / "metrics.csv").open() as stream:
        logged = [row["scores/correlation"] for row in csv.DictReader(stream)]
    assert [float(text) for text in logged if text] == [pytest.approx(value)]
    events = EventAccumulator(str(tmp_path / "board" / "version_0")).Reload()
    scalars = events.Scalars("scores/correlation")
    assert [(one.step, one.value) for one in scalars] == [(40, pytest.approx(value))]
    assert "scores/correlation_per_factor" not in events.Tags()["scalars"]


def test_intervals_come_from_resampled_points(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluate = Evaluate({"corr": correlation}, bootstrap=50, untrained=1, sheet=False)
    runner = trainer(callbacks=[evaluate])
    runner.validate(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["validate"]
    low, high = record["intervals"]["correlation"]
    assert set(record["intervals"]) == {"correlation"}
    assert low < record["scores"]["correlation"] < high
    assert record["sample"]["bootstrap"] == {"resamples": 50, "confidence": 0.95, "seed": 0}
    assert f"[{low:.4f}, {high:.4f}]" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.png"))


def test_a_method_with_codes_only_is_scored_without_kl(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    without_decoder: Objective,
    correlation: MakeMetric,
) -> None:
    runner = trainer(callbacks=[Evaluate({"corr": correlation})])
    runner.test(without_decoder, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["test"]
    assert set(record["scores"]) == {"correlation"}
    part = "correlation_per_factor"
    assert set(record["parts"]) == {part, f"{part}_by_chance"}


def test_a_method_without_codes_leaves_its_losses(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    without_codes: Objective,
    correlation: MakeMetric,
) -> None:
    runner = trainer(callbacks=[Evaluate({"corr": correlation}, untrained=1)])
    runner.test(without_codes, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["test"]
    assert record["scores"] == record["untrained"]["scores"] == {}
    assert record["losses"]["test/loss"] > 0
    assert record["versions"] == runs.versions()


def test_a_score_that_fits_a_model_has_gradients(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    class Slope(Metric):
        def score(self, bank: CodeBank) -> dict[str, torch.Tensor]:
            codes = bank.codes
            weight = torch.full_like(codes[0], 2.0).requires_grad_()
            (codes @ weight).square().mean().backward()  # type: ignore[no-untyped-call]
            assert weight.grad is not None
            return {"slope": weight.grad.norm()}

    runner = trainer(callbacks=[Evaluate({"slope": Slope})])
    runner.validate(objective, datamodule=data, verbose=False)
    with torch.no_grad():
        codes = objective.codes(data.images(torch.arange(32)))
    expected = (2 * codes.T @ (codes @ torch.full((3,), 2.0)) / 32).norm()
    record = runs.read_scores(tmp_path / "run")["validate"]
    assert record["scores"]["slope"] == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("name", ["points", "batch_size", "untrained", "bootstrap"])
def test_numbers_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is -1"):
        Evaluate(**{name: -1})  # type: ignore[arg-type]


def test_a_score_that_cannot_be_made_ends_before_training(
    trainer: MakeTrainer, data: DataModule, objective: Objective
) -> None:
    runner = trainer(callbacks=[Evaluate({"coarse": functools.partial(MIG, bins=1)})])
    with pytest.raises(InputError, match="bins is 1"):
        runner.fit(objective, datamodule=data)
    assert runner.global_step == 0


class Greedy(Metric):
    """Needs more images, latents and factors than there are."""

    def inapplicable(self, sample: Sample) -> str | None:
        return f"too few of {tuple(sample)}"

    def score(self, bank: CodeBank) -> dict[str, torch.Tensor]:
        raise AssertionError("not asked for")


class Broken(Metric):
    """Returns no dictionary."""

    def score(self, bank: CodeBank) -> Any:
        return [1.0]


class Divides(Metric):
    """Fails."""

    def score(self, bank: CodeBank) -> dict[str, torch.Tensor]:
        return {"value": torch.tensor(1 / (len(bank) - len(bank)))}


def test_a_score_that_was_asked_for_and_cannot_be_taken_ends_before_training(
    trainer: MakeTrainer, data: DataModule, objective: Objective, correlation: MakeMetric
) -> None:
    weights = {name: one.clone() for name, one in objective.state_dict().items()}
    for split, points, sample in (("train", 9, "(9, 3, 3)"), ("test", 99, "(12, 3, 3)")):
        evaluate = Evaluate({"corr": correlation, "g": Greedy}, points=points, split=split)  # type: ignore[arg-type]
        runner = trainer(callbacks=[evaluate])
        with pytest.raises(InputError, match=re.escape(f"g cannot be taken: too few of {sample}")):
            runner.fit(objective, datamodule=data)
        assert runner.global_step == 0
    for name, value in objective.state_dict().items():
        assert torch.equal(value, weights[name]), name


@pytest.mark.slow
def test_a_default_score_that_cannot_be_taken_is_skipped_and_recorded(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    caplog: pytest.LogCaptureFixture,
) -> None:
    evaluate = Evaluate({"corr": correlation, "g": Greedy}, untrained=1)
    evaluate.asked = False
    runner = trainer(callbacks=[evaluate])
    with caplog.at_level(logging.INFO, "lightning.pytorch.utilities.rank_zero"):
        runner.fit(objective, datamodule=data)
        runner.test(objective, datamodule=data, verbose=False)
    said = [one.getMessage() for one in caplog.records if "too few" in one.getMessage()]
    assert said == [f"{title('g')} is left out: too few of (32, 3, 3)"]
    record = runs.read_scores(tmp_path / "run")["test"]
    assert record["skipped"] == {"g": "too few of (32, 3, 3)"}
    assert set(record["scores"]) == {"correlation", "active_units"}
    assert set(record["metrics"]) == {"corr"}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (
            Broken,
            r"the score Broken \(.*\), b of the scores, returns a list; it must return a dict",
        ),
        (Divides, r"the score Divides \(.*\) failed in score: ZeroDivisionError: division by zero"),
    ],
)
def test_a_score_that_breaks_is_named_after_the_others_are_recorded(
    broken: MetricBuilder,
    reason: str,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    evaluate = Evaluate({"b": broken, "corr": correlation})
    with pytest.raises(InputError, match=rf"^b was not taken: {reason}"):
        trainer(callbacks=[evaluate]).test(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["test"]
    assert "correlation" in record["scores"]
    assert re.match(reason, record["skipped"]["b"])


def test_data_loaders_are_refused(
    trainer: MakeTrainer, data: DataModule, objective: Objective, correlation: MakeMetric
) -> None:
    runner = trainer(callbacks=[Evaluate({"corr": correlation})])
    with pytest.raises(InputError, match="needs a DataModule, not data loaders"):
        runner.validate(objective, data.val_dataloader(), verbose=False)


def test_the_command_line_builds_it_with_its_scores(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(Evaluate, "evaluate")
    scores = {"sharp": {"class_path": "Correlation", "init_args": {"power": 3.0}}}
    parsed = parser.parse_object({"evaluate": {"metrics": scores, "points": 32}})
    evaluate = parser.instantiate(parsed).evaluate
    trainer(callbacks=[evaluate]).validate(objective, datamodule=data, verbose=False)
    expected = _expected(data, objective, correlation(data.factors), points=32, seed=0)
    record = runs.read_scores(tmp_path / "run")["validate"]
    parts = record["parts"]["correlation_per_factor"]
    np.testing.assert_allclose(parts, expected["correlation_per_factor"].numpy() ** 3)
    path = f"{correlation.__module__}.Correlation"
    assert record["metrics"]["sharp"]["class_path"] == path
    assert record["metrics"]["sharp"]["init_args"] == {"power": 3.0}


def validate_in_a_group() -> int:
    """Scores the validation in one of two processes."""
    torch.manual_seed(0)
    evaluate = Evaluate({"c": Correlation})
    runner = quiet_trainer(Path("run"), callbacks=[evaluate], devices=2, strategy="ddp")
    runner.validate(Linear(), datamodule=BlockData(), verbose=False)
    return 0


@pytest.mark.slow
def test_the_first_of_two_processes_scores(
    tmp_path: Path, data: DataModule, objective: Objective, correlation: MakeMetric
) -> None:
    for process in start_several(tmp_path, 2, validate_in_a_group):
        said, _ = process.communicate()
        assert process.returncode == 0, said
    expected = _expected(data, objective, correlation(data.factors), points=32, seed=0)
    record = runs.read_scores(tmp_path / "run")["validate"]
    assert record["scores"]["correlation"] == pytest.approx(float(expected["correlation"]))


@pytest.mark.slow
def test_codes_are_made_in_the_precision_of_the_trainer(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        codes = objective.codes(data.images(torch.arange(32))).float()
    metric = correlation(data.factors)
    metric.update(codes, torch.from_numpy(data.factors.positions(np.arange(32))))
    expected = metric.compute()["correlation_per_factor"].numpy()
    callbacks = [Evaluate({"corr": correlation}), Reconstructions(), Traversals(split="all")]
    runner = trainer(callbacks=callbacks, precision="bf16-mixed")
    runner.validate(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["validate"]
    np.testing.assert_allclose(record["parts"]["correlation_per_factor"], expected, rtol=1e-6)
    assert {path.name for path in (tmp_path / "run" / "images").iterdir()} == {
        "reconstructions.png",
        "scores.png",
        "traversals.png",
    }


@pytest.mark.slow
def test_samples_of_the_posteriors_are_scored_under_names_of_their_own(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
) -> None:
    records = []
    for settings in ({"codes": "both"}, {"codes": "sample", "batch_size": 5}, {"seed": 1}):
        chosen = Evaluate({"corr": correlation}, **({"codes": "both"} | settings))
        trainer(callbacks=[chosen]).test(objective, datamodule=data, verbose=False)
        records.append(runs.read_scores(tmp_path / "run")["test"])
    both, sampled, other = (record["scores"] for record in records)
    assert set(both) == {"correlation", "sampled/correlation", "active_units"}
    assert set(sampled) == {"sampled/correlation", "active_units"}
    assert sampled["sampled/correlation"] == pytest.approx(both["sampled/correlation"], rel=1e-9)
    assert both["sampled/correlation"] != both["correlation"]
    assert other["sampled/correlation"] != both["sampled/correlation"]
    assert other["correlation"] == pytest.approx(both["correlation"])
    assert records[1]["metrics"]["sampled/corr"]["primary"] == "sampled/correlation"
    assert records[1]["draw"]["codes"] == "sample"
    assert set(records[0]["chance"]) == {"correlation", "sampled/correlation"}


def test_samples_need_a_posterior(
    trainer: MakeTrainer, data: DataModule, without_decoder: Objective, correlation: MakeMetric
) -> None:
    runner = trainer(callbacks=[Evaluate({"corr": correlation}, codes="sample")])
    with pytest.raises(InputError, match="codes is sample, and Autoencoder has no posterior"):
        runner.fit(without_decoder, datamodule=data)
    assert runner.global_step == 0


@pytest.mark.parametrize("contrast", [0.0, 1e-4])
def test_faint_images_have_an_exact_share_of_explained_variance(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    monkeypatch: pytest.MonkeyPatch,
    contrast: float,
) -> None:
    """Equal images have nothing to explain, and those that differ a little have it to the digit."""
    whole = type(data).images

    def images(self: Any, states: torch.Tensor) -> torch.Tensor:
        return 0.3 + contrast * whole(self, states)

    def pixel_loss(self: Any, z: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        return image.sum()

    monkeypatch.setattr(type(data), "images", images)
    monkeypatch.setattr(type(objective), "pixel_loss", pixel_loss)
    trainer(callbacks=[Evaluate({"corr": correlation}, batch_size=5, sheet=False)]).test(
        objective, datamodule=data, verbose=False
    )
    shares = runs.read_scores(tmp_path / "run")["test"]["scores"]
    with torch.no_grad():
        image = data.images(torch.arange(32))
        error = (objective.reconstruct(image) - image).double().square().sum()
    variance = (image.double() - image.double().mean(0)).square().sum()
    expected = float(1 - error / variance) if contrast else 0.0
    assert shares["explained_variance_train"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_the_bound_and_its_terms_are_scores_of_every_split(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def pixel_loss(self: Any, z: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = (self.decode(z) - image).square().flatten(1).sum(1).mean() / 2
        return loss

    monkeypatch.setattr(type(objective), "pixel_loss", pixel_loss)
    records = []
    for size in (256, 5):
        chosen = Evaluate({"corr": correlation}, batch_size=size, sheet=False)
        trainer(callbacks=[chosen]).test(objective, datamodule=data, verbose=False)
        records.append(runs.read_scores(tmp_path / "run")["test"]["scores"])
    for split, states in (("train", torch.arange(32)), ("test", torch.arange(20, 32))):
        with torch.no_grad():
            image = data.images(states)
            posterior = objective.encode(image)
            kl = float(kl_per_latent(*posterior).sum(1).mean())
            mean = float(pixel_loss(objective, posterior.mean, image))
            error = (objective.decode(posterior.mean) - image).square().sum()
            explained = 1 - error / (image - image.mean(0)).square().sum()
        scores = records[0]
        assert scores[f"kl_{split}"] == pytest.approx(kl, rel=1e-5)
        assert scores[f"reconstruction_mean_{split}"] == pytest.approx(mean, rel=1e-5)
        assert scores[f"elbo_mean_{split}"] == pytest.approx(-mean - kl, rel=1e-5)
        assert scores[f"explained_variance_{split}"] == pytest.approx(float(explained), rel=1e-4)
        sampled = scores[f"reconstruction_sample_{split}"]
        assert sampled != pytest.approx(mean, rel=1e-3)
        assert scores[f"elbo_sample_{split}"] == pytest.approx(-sampled - kl)
    assert records[0] == pytest.approx(records[1], rel=1e-5)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    start = next(i for i, line in enumerate(lines) if line[:3] == ["nats", "per", "image"])
    assert {"train", "test"} <= {*lines[start][3:]}
    values = [f"{records[0][f'elbo_sample_{split}']:.2f}" for split in lines[start][3:]]
    assert lines[start + 1] == ["ELBO", *values]
    assert lines[start + 4][:4] == ["Reconstruction", "of", "mean", "codes"]
    chosen = Evaluate({"corr": correlation}, bound_points=0)
    trainer(callbacks=[chosen]).test(objective, datamodule=data, verbose=False)
    assert not any("elbo" in name for name in runs.read_scores(tmp_path / "run")["test"]["scores"])


@pytest.mark.slow
def test_chance_and_other_codes_stand_beside_the_scores(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    correlation: MakeMetric,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = Evaluate({"corr": correlation}, baselines=["pixels", "pca"])
    trainer(callbacks=[chosen]).test(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["test"]
    assert 0 < record["chance"]["correlation"] < 0.5
    states = np.arange(32)
    pixels = data.images(torch.from_numpy(states)).flatten(1).numpy()
    both = np.c_[pixels, data.factors.positions(states)]
    table = np.abs(np.corrcoef(both.T))[: pixels.shape[1], pixels.shape[1] :]
    found = record["baselines"]
    assert found["pixels"]["correlation"] == pytest.approx(table.max(0).mean(), rel=1e-3)
    assert found["pca"]["correlation"] != pytest.approx(found["pixels"]["correlation"], rel=1e-3)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["score", "value", "chance", "pixels", "pca"] in lines
    silent = Evaluate({"corr": correlation}, chance=False)
    trainer(callbacks=[silent]).test(objective, datamodule=data, verbose=False)
    assert runs.read_scores(tmp_path / "run")["test"]["chance"] == {}


def test_principal_components_are_those_of_the_singular_values() -> None:
    rows = torch.randn(30, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rows[:, 4:] = rows[:, :4] @ torch.ones(4, 8, dtype=torch.float64)  # of rank 4
    centre, axes = _principal(rows, 6)
    torch.testing.assert_close(centre.double(), rows.mean(0), atol=1e-6, rtol=0)
    left, values, _ = torch.linalg.svd(rows - rows.mean(0), full_matrices=False)
    found = (rows - rows.mean(0)) @ axes.double()
    torch.testing.assert_close(found.norm(dim=0)[:4], values[:4], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found[:, 0].abs(), (left * values)[:, 0].abs(), atol=1e-4, rtol=0)
    assert not axes[:, 4:].any()


def test_a_split_of_one_image_has_no_explained_variance() -> None:
    values = {
        f"{name}_{split}": float(number)
        for number, name in enumerate(QUANTITIES)
        for split in ("train", "validation")
    }
    del values["explained_variance_validation"]
    last = bounds_table(values).splitlines()[-1]
    assert last.split() == [
        "Explained",
        "variance",
        "of",
        "pixels,",
        "mean",
        "codes",
        "(share)",
        "5.00",
        "–",
    ]
