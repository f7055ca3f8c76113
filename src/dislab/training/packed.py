"""Train several runs together; their steps are computed as steps of one stacked model."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from lightning.pytorch.utilities import rank_zero_info

from dislab.base.failures import said
from dislab.errors import InputError, PackError
from dislab.signals import give_back, handle, leave_closed_terminal
from dislab.training.seat import Request, Seat
from dislab.training.stack import Stack

if TYPE_CHECKING:
    from dislab.training.inner_loop import InnerLoop

T = TypeVar("T")

_TRIALS: Final = 8
"""Number of timed steps in each way on a CPU; the fastest one of each way is compared."""

_PIECE: Final = 2
"""Number of consecutive timed steps in one way before a switch to the other."""


def fit_packed(fits: Sequence[Callable[[], T]], *, measure: bool = True) -> list[T]:
    """Trains several runs of one method together, with steps of one stacked model.

    Each function trains one run as it would alone: it sets the seed, builds the model, the data and
    a trainer with the callback `InnerSteps`, and calls `fit`. Each function has its own thread;
    only one thread runs at a time. When a run reaches steps after which nothing is due, it waits
    for the other runs; then these steps are made for all runs at once. Each run makes all other
    steps (with a log row, a checkpoint or a validation) by itself. Therefore each run has its own
    draws, data order, schedule, checkpoints, log and callbacks, and its results equal those of a
    single run up to rounding: within 1e-5 after 100 steps in float32.

    The runs may differ in their seeds, and in numeric settings of the model that change no shape,
    such as the weight of a penalty. If a run fails after its first steps, a line reports it and the
    others continue; when all have ended, the first error is raised, with the errors of other runs
    as notes. A run that has fallen behind catches up before the others continue. The first Ctrl-C,
    SIGTERM or SIGHUP asks all runs to save and end, each at its next own step.

    On a CPU the first steps are timed both stacked and one run after another, and the faster way is
    used; a line reports the choice. Small networks gain, because most of the time of their steps is
    overhead. Convolutions do not.

    Args:
        fits: For each run a function that trains it; its results are returned in the same order.
        measure: Whether to choose the faster way on a CPU; otherwise the runs are always stacked.

    Raises:
        PackError: The runs differ in more than numbers, or cannot be stacked; the message names the
            reason.
        InputError: There is no run, or one has no `InnerSteps`.

    >>> def trained(seed: int) -> VAE:  # doctest: +SKIP
    ...     seed_everything(seed)
    ...     model, data = VAE(...), SingleData(...)
    ...     Trainer(callbacks=[InnerSteps()], max_steps=1000).fit(model, data)
    ...     return model
    >>> models = fit_packed([partial(trained, seed) for seed in range(5)])  # doctest: +SKIP
    """
    if not fits:
        raise InputError("there is no run to train; give at least one function")
    return Pack(fits, measure).work()


class Pack(Generic[T]):
    """A pack of runs that take turns, and the steps that they make together.

    Args:
        fits: For each run a function that trains it.
        measure: Whether to choose the faster way on a CPU.
    """

    def __init__(self, fits: Sequence[Callable[[], T]], measure: bool = True) -> None:
        self._seats = [Seat(fit) for fit in fits]
        self._measure = measure
        self._stack: Stack | None = None
        self._loops: list[InnerLoop] = []
        self._is_stacked: bool | None = None
        self._times: dict[str, list[float]] = {"stacked": [], "apart": []}

    def work(self) -> list[T]:
        """Trains all runs, and returns the results of their functions."""
        previous = handle(self._receive)
        try:
            self._begin()
            while waiting := [(seat, seat.request) for seat in self._seats if seat.request]:
                first = min(request.place for _, request in waiting)
                due = [(seat, request) for seat, request in waiting if request.place == first]
                try:
                    self._train([request for _, request in due])
                except KeyboardInterrupt:
                    due = waiting
                    for _, request in due:
                        # Lightning handles KeyboardInterrupt in the main thread only
                        request.error = SystemExit(1)
                for seat, request in due:
                    seat.resume(request.error)
                self._report([seat for seat, _ in due])
        finally:
            give_back(previous)
        if errors := self._errors():
            for other in errors[1:]:
                errors[0].add_note(f"another run of the pack has failed: {said(other)}")
            raise errors[0]
        return [seat.result for seat in self._seats]  # type: ignore[misc]  # no run has failed

    def _errors(self) -> list[BaseException]:
        """The distinct errors of the runs; those of signals, sent by the user, come first."""
        # errors compare by identity; all runs of a stacked step share its error
        errors = dict.fromkeys(seat.error for seat in self._seats if seat.error is not None)
        return sorted(errors, key=lambda error: isinstance(error, Exception))

    def _report(self, seats: Sequence[Seat[T]]) -> None:
        """Prints the errors of runs, except the one that ends the pack, which is raised."""
        ended = all(seat.ended for seat in self._seats)
        for number, seat in enumerate(self._seats):
            if seat not in seats or not isinstance(seat.error, Exception):
                continue
            if not ended or seat.error is not self._errors()[0]:
                rank_zero_info(f"pack: run {number} has failed: {said(seat.error)}")

    def _begin(self) -> None:
        """Lets every run continue to its first steps; if one fails before, ends all runs."""
        for number, seat in enumerate(self._seats):
            seat.resume()
            if seat.error is None and not seat.is_ready:
                seat.error = InputError(
                    f"run {number} of the pack has trained alone: its trainer lacks the callback "
                    "InnerSteps, which lets runs wait for each other; add it to callbacks"
                )
            if seat.error is not None:
                for other in self._seats:
                    if not other.ended:
                        other.resume(PackError(f"run {number} of the pack failed: {seat.error}"))
                raise seat.error

    def _train(self, requests: Sequence[Request]) -> None:
        """Makes the steps that runs at the same place request; stores errors in the requests."""
        if len(requests) == 1:
            with _ending(requests[0]):
                requests[0].loop.make(requests[0].batches, requests[0].steps)
            return
        try:
            self._train_together(requests)
        except Exception as error:  # an error of the stack ends all its runs, which raise it
            for one in requests:
                one.error = one.error or error

    def _train_together(self, requests: Sequence[Request]) -> None:
        """Makes equally many steps of several runs, in the faster way once it is known."""
        if self._is_stacked is None:
            device = requests[0].loop.trainer.strategy.root_device
            if not self._measure or device.type != "cpu":
                self._is_stacked = True
        left = requests[0].steps
        while left and (going := _going(requests)):
            if self._is_stacked is None:
                self._stack_of(going)  # discards the times of other runs
                way = min(self._times, key=lambda name: len(self._times[name]))
                count = min(_PIECE, left)
                self._times[way] += self._make(way, going, count)
                self._choose(len(going))
            else:
                count = left
                self._make("stacked" if self._is_stacked else "apart", going, count)
            left -= count

    def _stack_of(self, requests: Sequence[Request]) -> Stack:
        """The stack of these runs, rebuilt if the runs change or a run calls `fit` again."""
        loops = [one.loop for one in requests]
        if self._stack is None or self._loops != loops:
            self._stack = None  # frees memory before the next stack is built
            self._stack = Stack([one.member() for one in loops])
            self._loops = loops
            self._times = {"stacked": [], "apart": []}
        return self._stack

    def _make(self, way: str, requests: Sequence[Request], count: int) -> list[float]:
        """Makes some steps of all runs; returns the duration of each in seconds."""
        return (self._make_stacked if way == "stacked" else _make_apart)(requests, count)

    def _make_stacked(self, requests: Sequence[Request], count: int) -> list[float]:
        """Makes some steps with the stacked model; a run without further batches leaves it before.

        All batches are fetched before the step, so that the other runs lose none.
        """
        times: list[float] = []
        stack = self._stack_of(requests)
        stack.load()
        for _ in range(count):
            began = time.perf_counter()
            batches = {}
            for one in _going(requests):
                with _ending(one):
                    batches[one] = one.loop.begin(one.batches)
            if len(batches) < len(requests):
                stack.store()
                requests = [*batches]
                if not requests:
                    return times
                stack = self._stack_of(requests)
                stack.load()
            stack.step([*batches.values()], requests[0].loop.trained_batches)
            for one in requests:
                with _ending(one):
                    one.loop.end()
            times.append(time.perf_counter() - began)
        stack.store()
        return times

    def _choose(self, runs: int) -> None:
        """Takes the faster way once both have been timed."""
        if min(map(len, self._times.values())) < _TRIALS:
            return
        stacked, apart = (min(self._times[name]) for name in ("stacked", "apart"))
        self._is_stacked = stacked < apart
        if self._is_stacked:
            rank_zero_info(
                f"pack: {runs} runs train as one stacked model, {apart / stacked:.1f} times as "
                "fast as one after another"
            )
        else:
            self._stack, self._loops = None, []  # frees the stack's copy of all weights
            rank_zero_info(
                f"pack: {runs} runs make their steps one after another; one stacked model would "
                f"take {stacked / apart:.1f} times as long"
            )

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if any(seat.signal for seat in self._seats):
            raise KeyboardInterrupt
        for seat in self._seats:
            seat.signal = number
        leave_closed_terminal()
        rank_zero_info(
            f"\n{signal.Signals(number).name}: stopping each run at its next row of the log, "
            "checkpoint or validation; once more to stop at once"
        )


def _make_apart(requests: Sequence[Request], count: int) -> list[float]:
    """Makes some steps of all runs, one after another; returns the duration of each in seconds."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        for one in _going(requests):
            with _ending(one):
                one.loop.make(one.batches, 1)
        times.append(time.perf_counter() - began)
    return times


def _going(requests: Sequence[Request]) -> list[Request]:
    """The requests of the runs without an error."""
    return [one for one in requests if one.error is None]


@contextmanager
def _ending(request: Request) -> Iterator[None]:
    """Lets an error end only the run that waits for the steps."""
    try:
        yield
    except Exception as error:  # a run's code may raise anything; the run's thread raises it again
        request.error = error
