"""Runs many optimiser steps in between steps of Lightning's loop."""

from typing import final

import lightning.pytorch as pl

from dislab.callbacks._trainer import objective_of
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.naming.settings import checks_settings
from dislab.training.inner_loop import install, installed


@checks_settings
@final
class InnerSteps(pl.Callback):
    """Skips Lightning's loop in most optimiser steps, which saves time for small networks.

    Results are bit-identical to training without it: batches, noise, schedules, rows of the log,
    checkpoints, validation and resuming follow the optimiser steps, and a step after which
    something is due always goes through Lightning. In the inner steps, which bypass Lightning,
    callbacks receive only the gradient hooks (`on_before_backward`, `on_after_backward`,
    `on_before_optimizer_step`), and progress bar and profiler receive none. After Ctrl-C, SIGTERM
    or SIGHUP the next step goes through Lightning; with several processes, the next scheduled one
    does. With gradient accumulation, manual optimisation or a loader of unknown
    length, every step goes through Lightning.

    Without a number of steps, Lightning's loop runs five times a second, and in steps after which
    something is due. It then runs in every step if several processes train, with a profiler, or
    with a third-party callback that has `on_train_batch_start`, `on_train_batch_end` or
    `on_before_zero_grad`. An explicit number of steps overrides these conditions.

    With `graph`, each inner step is one CUDA graph: gathering the images, converting them, drawing,
    forward and backward pass, clipping and update are recorded once and replayed, so that the
    device never waits for the host. If recording is impossible, a note gives the reason, and steps
    run without a graph. Results differ by rounding: the update reads its learning rate in single
    precision. Checkpoints are compatible, and a run of either kind can resume the other.

    Args:
        steps: Interval of Lightning's loop in optimiser steps; 1 for every step, None for five
            times a second unless something needs every step.
        graph: Whether to record a step as a CUDA graph and replay it. Requires one device, float32
            or bf16-mixed, fused Adam, AdamW or SGD, and no callback that inspects gradients.

    Raises:
        InputError: The number is below 1, or 1 with `graph`.
    """

    def __init__(self, steps: int | None = None, graph: bool = False) -> None:
        if steps is not None:
            check_count("inner_steps.steps", steps, 1)
        if graph and steps == 1:
            raise InputError(
                "inner_steps.graph records the steps between two of Lightning's, and with "
                "inner_steps.steps 1 there are none; leave inner_steps.steps out, or set it, for "
                "example to 100"
            )
        self.steps = steps
        self.graph = graph

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Replaces Lightning's loop by one with inner steps.

        Args:
            trainer: The trainer.
            pl_module: The module to train.
            stage: fit, validate, test or predict.

        Raises:
            InputError: The module is no objective.
        """
        objective_of(pl_module, "InnerSteps")
        loop = installed(trainer)
        if loop is not None:  # a trainer that fits again keeps its counts
            loop.steps, loop.graph, loop.is_wanted = self.steps, self.graph, False
        elif stage == "fit" and self.steps != 1:
            install(trainer, self.steps, self.graph)
