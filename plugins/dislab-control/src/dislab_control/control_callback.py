"""Scores and pictures of policies, after training, `validate` and `test`."""

import json
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import lightning.pytorch as pl
import numpy as np
import numpy.typing as npt
import torch
from lightning.pytorch.utilities import rank_zero_info

from dislab.base import Draws, Split
from dislab.functional.checks import check_count
from dislab.functional.streams import Stream
from dislab.naming.settings import checks_settings
from dislab.plots import save
from dislab.storage.writing import atomic
from dislab_control.action_data import ActionBatch, ActionData
from dislab_control.control_pictures import arrow_figure, control_figure
from dislab_control.control_scores import ControlTable, control_scores, control_table, shuffled
from dislab_control.independently_controllable_factors import IndependentlyControllableFactors

FILE: Final = "control.json"
"""Name of the file of scores in a run folder."""


class Control(NamedTuple):
    """Selectivities of a model on its data.

    Attributes:
        table: Means over states; the columns are the factors that actions move.
        names: Names of the factors that actions move.
        scores: Result of `control_scores`.
        chance: The same scores at chance level: with the moves of every state shuffled.
    """

    table: ControlTable
    names: tuple[str, ...]
    scores: dict[str, float]
    chance: dict[str, float]


def measured_control(
    model: IndependentlyControllableFactors,
    data: ActionData,
    split: Split = "test",
    states: int = 2_000,
    seed: int = 0,
) -> Control:
    """Measures selectivities of a model's policies and latents, on moves that are not blocked.

    Generated directions use the same noise in all states, so that a policy is the same in every
    state.

    Args:
        model: The model.
        data: The prepared data module of states and actions.
        split: Part of the states to start from.
        states: Number of states; fewer if the split has fewer.
        seed: Seed of the states and the noise.

    Raises:
        InputError: A number is out of range.
    """
    check_count("states", states, 1)
    parts = []
    for loaded in data.sample_loader(split, states, seed):
        moved = data.transfer_batch_to_device(loaded, model.device, 0)
        batch: ActionBatch = data.on_after_batch_transfer(moved, 0)
        with torch.no_grad():
            z = model.codes(batch.image)
            after = model.codes(batch.after.flatten(0, 1)).reshape(*batch.after.shape[:2], -1)
            behaviour = model.behaviour(batch.image, _same_draws(model, len(z), seed))
        change = after - z[:, None]
        rows = (change, behaviour.probability, behaviour.direction, batch.changed)
        parts.append(tuple(row.cpu() for row in rows))
    change, probability, direction, changed = (torch.cat(rows) for rows in zip(*parts, strict=True))
    names = tuple(dict.fromkeys(name[:-1] for name in data.action_names))
    columns = [data.factor_names.index(name) for name in names]
    changed = changed[:, :, columns]
    table = control_table(change, probability, direction, changed)
    chance = control_table(change, probability, direction, shuffled(changed, seed))
    return Control(table, names, control_scores(table), control_scores(chance))


def mean_steps(
    model: IndependentlyControllableFactors, data: ActionData, seed: int = 0
) -> npt.NDArray[np.float64] | None:
    """Mean move of each square under each policy, with the other squares at the centre.

    The shape is (policy, square, row, column, 2), with the changes of x and y in cells; NaN at
    positions that the square cannot take. None unless the factors are positions of squares.

    Args:
        model: The model.
        data: The prepared data module of states and actions.
        seed: Seed of the noise of generated directions.
    """
    space = data.factors
    squares = len(space.names) // 2
    if space.names != tuple(f"{axis}{index}" for index in range(squares) for axis in "xy"):
        return None
    middle = space.positions(np.array([len(space) // 2]))[0]
    steps = np.full((model.policies, squares, space.sizes[1], space.sizes[0], 2), np.nan)
    every = np.stack(
        np.meshgrid(np.arange(space.sizes[0]), np.arange(space.sizes[1]), indexing="ij"), axis=-1
    ).reshape(-1, 2)
    for square in range(squares):
        places = np.tile(middle, (len(every), 1))
        axes = slice(2 * square, 2 * square + 2)
        places[:, axes] = every
        present = np.flatnonzero(np.isin(space.find(places), data.indices("all")))
        states = space.find(places)[present]
        with torch.no_grad():
            image = data.images(torch.from_numpy(states).to(model.device))
            behaviour = model.behaviour(image, _same_draws(model, len(states), seed))
        after = space.positions(data.following(states))
        moves = after[..., axes] - places[present][:, axes]
        mean = np.einsum("ska,asc->ksc", behaviour.probability.double().cpu().numpy(), moves)
        steps[:, square, every[present, 1], every[present, 0]] = mean
    return steps


@checks_settings
@final
class ControlScores(pl.Callback):
    """Scores how selectively each policy moves one factor, and plots policies.

    At the end of training, `validate` and `test` it writes `control.json` (matched selectivity of
    policies and latents, share of policies that move a single factor, chance levels of these, and
    the matrices), `images/control.png` with the matrices and, for squares on a grid,
    `images/policies.png` with their moves as arrows. Every validation during training logs the
    scores. Blocked moves are not scored. For data other than `ActionData`, and for methods without
    policies, it only prints one line.

    Args:
        split: Part of the states to start from: train, validation, test, or all.
        states: Number of states; fewer if the split has fewer.
        seed: Seed of the states, which are the same throughout a run.

    Raises:
        InputError: The number of states is below 1.
    """

    def __init__(self, split: Split = "test", states: int = 2_000, seed: int = 0) -> None:
        check_count("states", states, 1)
        self.split: Split = split
        self.states = states
        self.seed = seed
        self._has_published = False

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Prints one line if there is nothing to score."""
        if self._parts(trainer, pl_module) is None:
            rank_zero_info(
                "ControlScores: nothing to score, as it needs IndependentlyControllableFactors and "
                "ActionData"
            )

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Logs the scores in training, and publishes those of `validate`."""
        if trainer.state.fn == "fit":
            control = self._measured(trainer, pl_module)
            if control is not None:
                self._log(trainer, control)
        else:
            self._publish(trainer, pl_module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Publishes the scores of the trained model."""
        self._publish(trainer, pl_module)

    def on_fit_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Publishes those of a resumed run without steps left, which has no end of training."""
        if not self._has_published:
            self._publish(trainer, pl_module)

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Publishes the scores of a checkpoint."""
        self._publish(trainer, pl_module)

    def _parts(
        self, trainer: pl.Trainer, module: pl.LightningModule
    ) -> tuple[IndependentlyControllableFactors, ActionData] | None:
        data = getattr(trainer, "datamodule", None)
        if isinstance(module, IndependentlyControllableFactors) and isinstance(data, ActionData):
            return module, data
        return None

    def _measured(self, trainer: pl.Trainer, module: pl.LightningModule) -> Control | None:
        parts = self._parts(trainer, module)
        rehearsal = trainer.sanity_checking or getattr(trainer, "fast_dev_run", False)
        if parts is None or rehearsal or not trainer.is_global_zero:
            return None
        with trainer.precision_plugin.forward_context():
            return measured_control(*parts, self.split, self.states, self.seed)

    def _log(self, trainer: pl.Trainer, control: Control) -> None:
        values = {f"control/{name}": value for name, value in control.scores.items()}
        for logger in trainer.loggers:
            logger.log_metrics(values, step=trainer.global_step)

    def _publish(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        parts, control = self._parts(trainer, module), self._measured(trainer, module)
        if parts is None or control is None:
            return
        self._has_published = True
        self._log(trainer, control)
        folder = Path(trainer.log_dir or trainer.default_root_dir)
        with atomic(folder / FILE) as temporary:
            temporary.write_text(json.dumps(self._record(control), indent=2) + "\n")
        title = f"Control after {int(parts[0].steps):,} steps"
        figure = control_figure(control.table, control.names, title)
        save(figure, folder / "images/control.png")
        with trainer.precision_plugin.forward_context():
            steps = mean_steps(*parts, self.seed)
        if steps is not None:
            save(arrow_figure(steps, title), folder / "images/policies.png")
        line = ", ".join(
            f"{name} {value:.3f} ({control.chance[name]:.3f})"
            for name, value in control.scores.items()
        )
        print(f"\nControl, at chance in brackets: {line}")

    def _record(self, control: Control) -> dict[str, Any]:
        return {
            "split": self.split,
            "states": self.states,
            "seed": self.seed,
            "factors": list(control.names),
            "scores": control.scores,
            "chance": control.chance,
            **{name: part.tolist() for name, part in control.table._asdict().items()},
        }


def _same_draws(model: IndependentlyControllableFactors, count: int, seed: int) -> Draws:
    """Draws shared by all images, so that a policy is the same for all of them."""
    draws = model.draw(1, Stream(seed, 0, model.device))
    return {name: rows.expand(count, *rows.shape[1:]) for name, rows in draws.items()}
