"""Many optimiser steps between two looks of Lightning."""

from typing import Final, final

import lightning.pytorch as pl

from dislab.callbacks._trainer import objective_of
from dislab.errors import InputError, PackError
from dislab.functional.checks import check_count
from dislab.functional.settings import checks_settings
from dislab.training.inner_loop import install, installed
from dislab.training.seat import current_seat

_IN_A_PACK: Final = 1000
"""Every how many steps Lightning takes part at least in a run of a pack that sets no number."""


@checks_settings
@final
class InnerSteps(pl.Callback):
    """Lets Lightning take part in some optimiser steps only, which costs less for small nets.

    The result is that of training without it, to the bit: batches, noise, schedules, rows of the
    log, checkpoints, validation and resuming follow the optimiser steps, and a step after which
    something is due is always Lightning's. In the steps between, callbacks hear of gradients alone
    (`on_before_backward`, `on_after_backward`, `on_before_optimizer_step`), and progress bar and
    profiler of nothing. After Ctrl-C, SIGTERM or SIGHUP the next step is Lightning's; of several
    processes, and in a pack, the next that would be so anyway. With gradient accumulation, manual
    optimisation or a loader of unknown length every step is Lightning's.

    Without a number of steps Lightning takes part five times a second, beside the steps after which
    something is due. It then takes part in all steps if several processes train, with a profiler,
    and with a callback from elsewhere that has `on_train_batch_start`, `on_train_batch_end` or
    `on_before_zero_grad`. A number of steps leaves all of them out.

    With `graph` the steps between are one CUDA graph each: gathering the images, converting them,
    drawing, forward and backward pass, clipping and update are recorded once and replayed, so that
    the device never waits for the host. Where that cannot be, a note names the obstacle and steps
    are made as without it. The results differ within rounding: the update reads its learning rate
    in single precision. Checkpoints are the same, and either kind of run resumes the other.

    In a pack (`dislab.training.packed.fit_packed`) it lets runs wait for each other, and the steps
    between are those that the runs make together; without a number above 1, Lightning takes part in
    every 1000th.

    Args:
        steps: Every how many optimiser steps Lightning takes part; with 1 in all of them, with None
            five times a second where nobody needs more.
        graph: Whether a CUDA device records a step once and replays it. It needs one device,
            float32 or bf16-mixed, fused Adam, AdamW or SGD, and no callback that looks at
            gradients.

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
        """Puts the loop with inner steps in the place of Lightning's.

        Args:
            trainer: The trainer at work.
            pl_module: The module that it trains.
            stage: fit, validate, test or predict.

        Raises:
            InputError: It is no objective, or is to be recorded in a pack.
        """
        objective_of(pl_module, "InnerSteps")
        loop, seat = installed(trainer), current_seat()
        if seat is not None and stage == "fit":
            if self.graph:
                raise PackError(
                    "inner_steps.graph records the steps of a single run, and those of a pack are "
                    "made for all its runs; leave it out"
                )
            seat.is_ready = True
            steps = self.steps if self.steps and self.steps > 1 else _IN_A_PACK
            install(trainer, steps, seat=seat)
        elif loop is not None:
            # a trainer that fits again continues to count; outside of a pack it waits for no one
            loop.steps, loop.graph, loop.seat, loop.is_wanted = self.steps, self.graph, seat, False
        elif stage == "fit" and self.steps != 1:
            install(trainer, self.steps, self.graph)
