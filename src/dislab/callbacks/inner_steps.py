"""Many optimiser steps between two looks of Lightning."""

from typing import final

import lightning.pytorch as pl

from dislab.callbacks._trainer import objective_of
from dislab.functional.checks import check_count
from dislab.functional.settings import checks_settings
from dislab.training.inner_loop import InnerLoop


@checks_settings
@final
class InnerSteps(pl.Callback):
    """Lets Lightning take part in every n-th optimiser step only, which costs less for small nets.

    The result is that of training without it, to the bit: batches, noise, schedules, rows of the
    log, checkpoints, validation and resuming follow the optimiser steps, and a step after which
    something is due is always Lightning's. In the steps between, callbacks hear of gradients alone
    (`on_before_backward`, `on_after_backward`, `on_before_optimizer_step`), and progress bar and
    profiler of nothing; Ctrl-C, SIGTERM and SIGHUP wait for the next step of Lightning's. With
    gradient accumulation, manual optimisation or a loader of unknown length every step is
    Lightning's.

    Args:
        steps: Every how many optimiser steps Lightning takes part; with 1 in all of them.

    Raises:
        InputError: The number is below 1.
    """

    def __init__(self, steps: int = 1) -> None:
        check_count("inner_steps.steps", steps, 1)
        self.steps = steps

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Puts the loop with inner steps in the place of Lightning's.

        Args:
            trainer: The trainer at work.
            pl_module: The module that it trains.
            stage: fit, validate, test or predict.

        Raises:
            InputError: It is no objective.
        """
        objective_of(pl_module, "InnerSteps")
        loop = trainer.fit_loop.epoch_loop
        if isinstance(loop, InnerLoop):
            loop.steps = self.steps  # a trainer that fits again continues to count
        elif stage == "fit" and self.steps > 1:
            trainer.fit_loop.epoch_loop = InnerLoop(loop, self.steps)
