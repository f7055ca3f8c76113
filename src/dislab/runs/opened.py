"""Opens finished runs with their data, and encodes whole sets of images."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import jsonargparse
from lightning.fabric import Fabric
from lightning.pytorch.plugins import Precision
from torch import float64

from dislab.base import DataModule, Objective, Split
from dislab.base.datamodule import States, draw_states, drawable, state_numbers
from dislab.base.inference import precision_of
from dislab.base.pixels import by
from dislab.errors import InputError, one_line, suggestion
from dislab.functional.checks import check_count
from dislab.naming.classes import ForeignNameError, method_of
from dislab.naming.rebuilding import built_part
from dislab.naming.settings import checks_arguments
from dislab.runs.checkpoints import read_checkpoint
from dislab.runs.codes import Encoded, encoded
from dislab.runs.exported import is_exported
from dislab.runs.folders import LAST, checkpoint_of
from dislab.runs.models import load_run
from dislab.runs.records import SCORES, Record, read_scores, scored_stage
from dislab.yaml_files import CONFIG, read_config


class Scores(dict[str, float | None]):
    """Scores by name."""

    def __missing__(self, name: str) -> None:
        """Names the nearest score."""
        raise KeyError(f"no score is named {name!r}{suggestion(name, self)}")


@dataclass(frozen=True, repr=False, eq=False)
class OpenRun:
    """A finished run: its model, on the device set in its configuration, and its data.

    Attributes:
        model: The model, in evaluation mode.
        data: The prepared data module, with the splits used in training.
        precision: Lightning's plugin for the precision used in training.
        checkpoint: The file, or the folder of an exported model, from which the model was loaded.
        config: The configuration of the run; empty for a run from Python.

    Properties are `folder`, `scores`, and `records`, the whole of `scores.json`.
    """

    model: Objective
    data: DataModule
    precision: Precision
    checkpoint: Path
    config: Mapping[str, Any]

    def __repr__(self) -> str:
        """Method, data, file and scores at hand, in three short lines."""
        method = method_of(self.config) if self.config else type(self.model).__name__
        states, shape = len(self.data.indices("train")), self.data.image_shape
        lines = [
            f"OpenRun of {method} on {type(self.data.dataset).__name__}, {states:,} training "
            f"images of {by(shape)}",
            f"checkpoint: {self.checkpoint}",
        ]
        with suppress(InputError):  # no scores, or damaged ones, of which other calls tell
            for stage, record in self.records.items():
                names = list(record.get("scores", {}))
                more = f" and {len(names) - 5} more" if len(names) > 5 else ""
                lines.append(f"scores of {stage}: {', '.join(names[:5])}{more}")
        return "\n".join(lines)

    @property
    def folder(self) -> Path:
        """The run folder; for a checkpoint elsewhere the folder that it lies in."""
        if is_exported(self.checkpoint):
            return self.checkpoint
        parent = self.checkpoint.parent
        return parent.parent if parent.name == LAST.parent.name else parent

    @property
    def records(self) -> dict[str, Record]:
        """The records of `scores.json`, by stage: scores with chance, intervals, parts, versions.

        Raises:
            InputError: The run has no scores, or its file is damaged.
        """
        if not any((self.folder / name).is_file() for name in (SCORES, CONFIG)):
            raise InputError(
                f"{self.checkpoint} is of a run from Python, which has no {SCORES}; score it by "
                "dislab.evaluate(run.encode())"
            )
        return read_scores(self.folder)

    @property
    def scores(self) -> dict[str, float | None]:
        """The scores of the trained model by name, such as `mig`; None where a score has no value.

        Those of the test split, or of the validation split for data without a test split.

        Raises:
            InputError: The run has no such scores, or their file is damaged.
        """
        stage, records = scored_stage(self.data), self.records
        if stage not in records:
            raise InputError(f"{self.folder} has no scores of {stage}; `dislab {stage}` makes them")
        return Scores(records[stage].get("scores", {}))

    def encode(
        self,
        split: Split = "all",
        images: int | None = None,
        seed: int = 0,
        batch_size: int = 256,
        states: States | None = None,
    ) -> Encoded:
        """Codes and factors of the images of a split: all in order, or a random sample.

        The factors are those that scores look at: without nuisance factors. Images are in the order
        of their states, not in that of your own arrays: `evaluate(run.encode())` scores them, and
        labels of your own for the rows are `labels[encoded.rows]`.

        Args:
            split: Part of the data: train, validation, test, or all.
            images: Number of images to draw; all unless given.
            seed: Seed of the draw, which is the same for all runs on equal data, as in
                `dislab encode`.
            batch_size: Number of images encoded at a time.
            states: State numbers of the images to encode, in order, instead of those of a split: a
                list, an array or a tensor.

        Raises:
            InputError: A number is too small, a state does not exist, or the method makes no codes.
        """
        if not isinstance(split, str):
            raise InputError(
                "encode takes a split of the run's data, or state numbers as `states`; for images "
                "of your own: run.model.codes(images)"
            )
        check_count("batch_size", batch_size, 1)
        if not self.model.has_codes:
            raise InputError(f"{type(self.model).__name__} has no codes, so nothing can be encoded")
        if states is not None:
            states = state_numbers(self.data.factors, states)
        elif images is None:
            states = drawable(self.data, split)
        else:
            check_count("images", images, 1)
            states = draw_states(self.data, split, images, seed)
        encoding = encoded(self.data, self.model, states, batch_size, self.precision)
        space, columns = self.data.factors, list(self.data.factors.essential)
        return encoding._replace(
            factors=encoding.factors[:, columns],
            values=encoding.values[:, columns],
            names=space.essential_names,
        )


@checks_arguments
def open_run(run: str | Path, data: DataModule | None = None) -> OpenRun:
    """Loads the model of a finished run together with its data, ready to encode.

    The model is in evaluation mode, and its weights need no gradients, so that
    `run.model.codes(images).numpy()` works; to train on, fit `load_run(run).train()` instead.

    Args:
        run: A run folder; with `data` also a checkpoint file.
        data: Replacement of the run's data; required for a run from Python, whose folder or
            checkpoint does not record its data.

    Raises:
        InputError: The folder is no run, its checkpoint or configuration is missing or damaged, or
            its data cannot be obtained, or their images have another shape than the model takes.
    """
    folder = Path(run)
    config: Mapping[str, Any] = {}
    if data is None:
        is_run = any((path / CONFIG).is_file() for path in folder.parents[:2])
        if folder.suffix == ".ckpt" and folder.is_file() and not is_run:
            raise InputError(
                f"{folder} is a checkpoint outside of a run, which does not record its data; give "
                f"the data: open_run({str(folder)!r}, data=…), or load_run for the model alone"
            )
        config = run_config(folder, "; for a run from Python give its data: open_run(run, data=…)")
        data = run_data(folder, config)
    checkpoint = folder if is_exported(folder) else checkpoint_of(run)
    opened = made_ready(checkpoint, load_run(checkpoint), data, config)
    opened.model.requires_grad_(False)
    return opened


def run_config(folder: Path, advice: str = "") -> dict[str, Any]:
    """Reads the configuration of a run, which names its training data.

    Args:
        folder: The run folder.
        advice: Advice to append to the error message.

    Raises:
        InputError: The folder is no run folder, or the file is damaged.
    """
    config = read_config(folder, advice)
    if "data" not in config:
        raise InputError(f"{folder / CONFIG} does not say what data the run was trained on")
    return config


def run_data(
    folder: Path, config: Mapping[str, Any], explain: Callable[[str], str] = one_line
) -> DataModule:
    """The data module of a run, not yet prepared.

    Args:
        folder: The run folder, for messages.
        config: Its configuration.
        explain: Explains a message of jsonargparse to the user of a command.

    Raises:
        InputError: The configuration names a class that is not allowed, or has settings that a
            part rejects.
    """
    try:
        data: DataModule = built_part(DataModule, config["data"], "data")
    except ForeignNameError as error:
        raise InputError(f"{folder / CONFIG}: {error}") from error
    except InputError:
        raise
    except (jsonargparse.ArgumentError, ValueError) as error:
        message = str(error).replace('key "part.', 'key "data.')  # as the file calls it
        raise InputError(f"{folder / CONFIG}: {explain(message)}") from error
    return data


def made_ready(
    checkpoint: Path, model: Objective, data: DataModule, config: Mapping[str, Any]
) -> OpenRun:
    """The model of a run on the device set in its configuration, and its data, prepared.

    Args:
        checkpoint: The file from which the model was loaded.
        model: The model, on the CPU.
        data: The data module, not yet prepared.
        config: The configuration of the run; empty for one from Python.

    Raises:
        InputError: The images have another shape than the model takes.
    """
    taken, given = model.hparams.get("image_shape"), data.image_shape
    if taken is not None and tuple(taken) != tuple(given):
        raise InputError(
            f"{type(model).__name__} takes images of {by(taken)}, and those of "
            f"{type(data).__name__} are {by(given)}; give data of that shape, whose side resize "
            "sets"
        )
    trainer = config.get("trainer") or {}
    device = Fabric(accelerator=trainer.get("accelerator") or "auto", devices=1).device
    precision = precision_of(trainer.get("precision"), device)
    model = cast("Objective", precision.convert_module(model)).to(device)
    if model.dtype == float64:  # the weights were read in single precision
        model.load_state_dict(read_checkpoint(checkpoint)["state_dict"])
    data.prepare_data()
    data.setup("test")
    return OpenRun(model, data, precision, checkpoint, config)
