"""Lightning's functions whose work dislab repeats or steps into, as they were when it was written.

When one of them moves, compare it with the place that is named, mend that place if need be, run
`tests/training/test_inner_steps.py` and `tests/cli/test_resuming.py`, and renew its fingerprint.
"""

import ast
import hashlib
import inspect
import re
import textwrap
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loops.fetchers import _DataFetcher
from lightning.pytorch.loops.fit_loop import _FitLoop
from lightning.pytorch.loops.optimization.automatic import Closure, _AutomaticOptimization
from lightning.pytorch.loops.progress import _BatchProgress, _ProcessedTracker
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
from lightning.pytorch.strategies import Strategy
from lightning.pytorch.trainer.call import _call_lightning_module_hook, _call_strategy_hook
from lightning.pytorch.trainer.connectors.checkpoint_connector import _CheckpointConnector
from lightning.pytorch.trainer.connectors.data_connector import _DataHookSelector
from lightning.pytorch.trainer.connectors.logger_connector.logger_connector import _LoggerConnector

import dislab

LOOP = "dislab/training/inner_loop.py: InnerLoop"
STEP = "dislab/training/plain_step.py: PlainStep"
ARRIVAL = "dislab/training/plain_step.py: Arrival"
CAPTURED = "dislab/training/captured_step.py: _RecordedStep._step"
END = "dislab/training/step_end.py"
SAVING = "dislab/training/checkpoints.py: Checkpoints"
COUNTERS = "dislab/base/trainer_counters.py"

INSIDES: dict[str, tuple[Any, str]] = {
    "_TrainingEpochLoop.__init__": (_TrainingEpochLoop.__init__, LOOP),
    "_TrainingEpochLoop.on_run_start": (_TrainingEpochLoop.on_run_start, LOOP),
    "_TrainingEpochLoop.advance": (_TrainingEpochLoop.advance, f"{LOOP}._make, and {END}"),
    "_TrainingEpochLoop.update_lr_schedulers": (_TrainingEpochLoop.update_lr_schedulers, LOOP),
    "_TrainingEpochLoop._should_check_val_fx": (
        _TrainingEpochLoop._should_check_val_fx,
        f"{LOOP}._uneventful, and {END}: validation_follows",
    ),
    "_AutomaticOptimization.run": (_AutomaticOptimization.run, f"{LOOP}._update"),
    "_AutomaticOptimization._optimizer_step": (
        _AutomaticOptimization._optimizer_step,
        f"{LOOP}._make",
    ),
    "_AutomaticOptimization._make_closure": (_AutomaticOptimization._make_closure, LOOP),
    "Closure.closure": (Closure.closure, f"{LOOP}._update, and {STEP}.update"),
    "Strategy.training_step": (Strategy.training_step, f"{STEP}.update, and {CAPTURED}"),
    "Strategy.backward": (Strategy.backward, f"{STEP}.update, and {CAPTURED}"),
    "Strategy.batch_to_device": (Strategy.batch_to_device, f"{ARRIVAL}.moved"),
    "LightningModule.optimizer_step": (
        pl.LightningModule.optimizer_step,
        f"{STEP}.update, and {CAPTURED}",
    ),
    "LightningModule._on_before_batch_transfer": (
        pl.LightningModule._on_before_batch_transfer,
        f"{LOOP}._receive, and {ARRIVAL}",
    ),
    "_FitLoop._should_accumulate": (_FitLoop._should_accumulate, f"{END}: write_row"),
    "_LoggerConnector.should_update_logs": (
        _LoggerConnector.should_update_logs,
        f"{COUNTERS}: logs_now, and {END}: write_row",
    ),
    "_call_strategy_hook": (_call_strategy_hook, f"{LOOP}._update"),
    "_call_lightning_module_hook": (
        _call_lightning_module_hook,
        f"{LOOP}._update, and {STEP}._after_backward",
    ),
    "_LoggerConnector.on_batch_start": (
        _LoggerConnector.on_batch_start,
        f"{LOOP}._update and end, and {STEP}.update",
    ),
    "_LoggerConnector.on_batch_end": (
        _LoggerConnector.on_batch_end,
        f"{END}: log_step",
    ),
    "_LoggerConnector.update_train_step_metrics": (
        _LoggerConnector.update_train_step_metrics,
        f"{END}: log_step and write_row",
    ),
    "_BatchProgress": (_BatchProgress, f"{COUNTERS}, and {LOOP}: batch_progress"),
    "_ProcessedTracker": (_ProcessedTracker, f"{COUNTERS}, and {LOOP}: batch_progress"),
    "_DataFetcher": (_DataFetcher, f"{LOOP}.begin, _obstacle and _uneventful"),
    "_DataHookSelector": (_DataHookSelector, f"{ARRIVAL}.__init__"),
    "_CheckpointConnector.restore": (
        _CheckpointConnector.restore,
        "dislab/training/checkpoints.py: arose_while_restoring",
    ),
    **{
        f"ModelCheckpoint.{name}": (getattr(ModelCheckpoint, name), SAVING)
        for name in (
            "on_train_batch_end",
            "on_validation_end",
            "_should_skip_saving_checkpoint",
            "_monitor_candidates",
            "_save_topk_checkpoint",
            "_save_last_checkpoint",
        )
    },
}
FINGERPRINTS = {
    "_TrainingEpochLoop.__init__": "c6f2a23742a17907",
    "_TrainingEpochLoop.on_run_start": "e5f54e7ec3a35a2d",
    "_TrainingEpochLoop.advance": "a84361ab2e5eebaa",
    "_TrainingEpochLoop.update_lr_schedulers": "b6bcf477b1886c77",
    "_TrainingEpochLoop._should_check_val_fx": "e11d3dc2bc925e42",
    "_AutomaticOptimization.run": "acc7a122c133031f",
    "_AutomaticOptimization._optimizer_step": "22d56e420c87bb4b",
    "_AutomaticOptimization._make_closure": "615ee2b637247375",
    "Closure.closure": "50c05f57d78f0b62",
    "Strategy.training_step": "640d0bbf066df598",
    "Strategy.backward": "ceddf6043c91e011",
    "Strategy.batch_to_device": "eec4e7ef2fb17bd0",
    "LightningModule.optimizer_step": "b12c1acf5b8c6b98",
    "LightningModule._on_before_batch_transfer": "84706009ef104e48",
    "_FitLoop._should_accumulate": "b26f56e129eb5c79",
    "_LoggerConnector.should_update_logs": "43fab276163f8f30",
    "_LoggerConnector.on_batch_start": "11febf689b3fb700",
    "_call_strategy_hook": "ff429e3ac60d2a80",
    "_call_lightning_module_hook": "558a87d04c4680e1",
    "_LoggerConnector.on_batch_end": "84583605aca3aa2e",
    "_LoggerConnector.update_train_step_metrics": "3b16c53279aaa0ee",
    "_BatchProgress": "d583e7c65f43a953",
    "_ProcessedTracker": "b0dfc55801ae38ca",
    "_DataFetcher": "6c0fe2b180a633f0",
    "_DataHookSelector": "7bfece2654d2f223",
    "_CheckpointConnector.restore": "78c025c750261aa3",
    "ModelCheckpoint.on_train_batch_end": "7f6ca0ccef684d35",
    "ModelCheckpoint.on_validation_end": "863abb38a5c70bec",
    "ModelCheckpoint._should_skip_saving_checkpoint": "60513fd8594177ee",
    "ModelCheckpoint._monitor_candidates": "c4d9b454cb9c534d",
    "ModelCheckpoint._save_topk_checkpoint": "359f1ac9bf3e3089",
    "ModelCheckpoint._save_last_checkpoint": "5fce5eb734508913",
}
"""Of Lightning 2.6.0 to 2.6.6."""


def fingerprint(inside: Any) -> str:
    function: Any = inside.fget if isinstance(inside, property) else inside
    source = textwrap.dedent(inspect.getsource(function))
    return hashlib.sha256(source.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", INSIDES)
def test_lightning_is_what_dislab_was_written_for(name: str) -> None:
    inside, place = INSIDES[name]
    assert fingerprint(inside) == FINGERPRINTS[name], (
        f"Lightning {version('lightning')} has another {name}; compare it with {place}"
    )


@pytest.mark.slow
def test_only_the_fence_reads_what_lightning_keeps_to_itself() -> None:
    """`dislab.training`, and the counters in `base`, which lies below it."""
    inside = re.compile(
        r"\btrainer\._|\bepoch_loop\b|\bfit_loop\._|^from lightning.* import _", re.M
    )
    source = Path(dislab.__file__).parent
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if inside.search(text := path.read_text(encoding="utf-8")) or replaced_in(path, text)
    }
    outside = {one for one in found if not one.startswith("training/")}
    assert outside == {"base/trainer_counters.py"}
    assert found > {"training/checkpoints.py", "training/inner_loop.py"}


def replaced_in(path: Path, text: str) -> set[str]:
    """Private names of Lightning that classes of a module call or replace in its own classes."""
    place = path.relative_to(Path(dislab.__file__).parents[1]).with_suffix("")
    module = import_module(".".join(place.parts).removesuffix(".__init__"))
    return {
        name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        for name in names_in(node) & private_names(getattr(module, node.name, object))
    }


def names_in(node: ast.ClassDef) -> set[str]:
    """Names of the methods and attributes that a class defines or mentions."""
    inside = list(ast.walk(node))
    return {one.name for one in inside if isinstance(one, ast.FunctionDef)} | {
        one.attr for one in inside if isinstance(one, ast.Attribute)
    }


def private_names(cls: type) -> set[str]:
    """Private methods and attributes of the classes of Lightning that a class derives from."""
    bases = [one for one in cls.__mro__ if one.__module__.startswith("lightning.")]
    private = re.compile(r"(?:def |self\.)(_(?!_)\w+)")
    return {name for one in bases for name in private.findall(inspect.getsource(one))}
