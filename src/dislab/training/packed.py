"""Several runs side by side, whose steps are computed as those of one stacked model."""

import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from lightning.pytorch.utilities import rank_zero_info

from dislab.errors import InputError, PackError
from dislab.signals import give_back, handle, leave_closed_terminal
from dislab.training.stack import Stack

if TYPE_CHECKING:
    from dislab.training.inner_loop import InnerLoop

T = TypeVar("T")

_TRIALS: Final = 8
"""Steps of each kind whose times are compared on a CPU; the fastest of each counts."""

_PIECE: Final = 2
"""Steps that are made in one way before the other takes its turn."""

_here: Final = threading.local()


def fit_packed(fits: Sequence[Callable[[], T]], *, measure: bool = True) -> list[T]:
    """Train several runs of one method side by side, their steps as those of one stacked model.

    Each function trains one run, as it would alone: it sets the seed, builds model, data and a
    trainer with the callback `InnerSteps`, and calls `fit`. The functions take turns, each in a
    thread of its own, of which one runs at a time. Where a run comes to steps after which nothing
    is due, it waits until all have come there; then these steps are made for all at once. All other
    steps (those with a row of the log, a checkpoint or a validation) are the run's own. So each run
    has its own draws, order of data, schedule, checkpoints, log and callbacks, and results that
    equal those of a single run up to rounding: within 1e-5 after 100 steps in float32.

    The runs may differ in their seeds, and in settings of the model that are numbers and change no
    shape, such as the weight of a penalty. A run that fails leaves the others to go on. The first
    Ctrl-C, SIGTERM or SIGHUP asks all runs to save and end, as in a single run.

    On a CPU the first steps are timed in both ways, and the faster one goes on; a line says which.
    Small networks gain, since most of their steps is overhead. Convolutions do not.

    Args:
        fits: For each run a function that trains it; its results are returned in the same order.
        measure: Whether to choose by time on a CPU; else the runs are always stacked.

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


class Request(NamedTuple):
    """Steps that a run waits for.

    Attributes:
        loop: Its loop.
        batches: Its batches.
        steps: Number of steps.
    """

    loop: "InnerLoop"
    batches: Any
    steps: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Steps and batches so far, and the count; runs with equal ones can go on together."""
        return self.loop.global_step, self.loop.trained_batches, self.steps


class Seat(Generic[T]):
    """A run of a pack, in a thread of its own, which works only while `resume` waits for it.

    Args:
        fit: Trains the run.
    """

    def __init__(self, fit: Callable[[], T]) -> None:
        self._fit = fit
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._stopped: BaseException | None = None
        self.request: Request | None = None
        self.result: T | None = None
        self.error: BaseException | None = None
        self.ended = False
        self.is_ready = False
        """Whether its trainer lets it wait for others; `InnerSteps` sets it."""
        self.signal: int | None = None
        """The signal that asks the run to end."""
        threading.Thread(target=self._work, daemon=True).start()

    def resume(self, stopped: BaseException | None = None) -> None:
        """Let the run go on until it waits or ends.

        Args:
            stopped: Error that ends it.
        """
        self._stopped = stopped
        self._go.release()
        self._back.acquire()

    def wait(self, request: Request) -> None:
        """Wait until the steps are made; the run calls this.

        Args:
            request: The steps.
        """
        self.request = request
        self._back.release()
        self._go.acquire()
        self.request = None
        if self._stopped is not None:
            raise self._stopped

    def _work(self) -> None:
        self._go.acquire()
        _here.seat = self
        try:
            if self._stopped is None:
                self.result = self._fit()
        except BaseException as error:  # kept for the thread that has started the pack
            self.error = error
        self.ended = True
        self._back.release()


def current_seat() -> Seat[Any] | None:
    """The place in a pack of the run that calls; None outside of packs."""
    return getattr(_here, "seat", None)


class Pack(Generic[T]):
    """Runs that take turns, and the steps that they make together.

    Args:
        fits: For each run a function that trains it.
        measure: Whether to choose by time on a CPU.
    """

    def __init__(self, fits: Sequence[Callable[[], T]], measure: bool = True) -> None:
        self._seats = [Seat(fit) for fit in fits]
        self._measure = measure
        self._stack: Stack | None = None
        self._of: list[Seat[T]] = []
        self._is_stacked: bool | None = None
        self._times: dict[str, list[float]] = {"stacked": [], "apart": []}

    def work(self) -> list[T]:
        """Train all runs, and return what their functions return."""
        previous = handle(self._receive)
        try:
            self._begin()
            while waiting := [seat for seat in self._seats if seat.request is not None]:
                error = self._train(waiting)
                for seat in waiting:
                    seat.resume(error)
        finally:
            give_back(previous)
        errors = [seat.error for seat in self._seats if seat.error is not None]
        if errors:
            raise errors[0]
        return [seat.result for seat in self._seats]  # type: ignore[misc]  # none has failed

    def _begin(self) -> None:
        """Let every run go on to its first steps; if one fails before, end them all."""
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

    def _train(self, waiting: Sequence[Seat[T]]) -> BaseException | None:
        """Make the steps that runs wait for; returns the error that ends them, if any."""
        requests = [seat.request for seat in waiting if seat.request is not None]
        try:
            together = len({one.place for one in requests}) == 1
            if len(requests) > 1 and together:
                self._train_together(waiting, requests)
            else:
                for one in requests:
                    one.loop.make(one.batches, one.steps)
        except KeyboardInterrupt:
            return SystemExit(1)  # Lightning handles KeyboardInterrupt in the main thread only
        except Exception as error:  # ends the runs, whose functions report it
            return error
        return None

    def _train_together(self, waiting: Sequence[Seat[T]], requests: Sequence[Request]) -> None:
        """Make the same number of steps of several runs, in the faster way once it is known."""
        if self._is_stacked is None:
            device = requests[0].loop.trainer.strategy.root_device
            if not self._measure or device.type != "cpu":
                self._is_stacked = True
        if self._stack is None or self._of != waiting:
            self._of = list(waiting)
            self._stack = Stack([one.loop.member() for one in requests])
        left = requests[0].steps
        while left:
            if self._is_stacked is None:
                way = min(self._times, key=lambda name: len(self._times[name]))
                count = min(_PIECE, left)
                self._times[way] += self._make(way, self._stack, requests, count)
                self._choose(len(requests))
            else:
                count = left
                self._make("stacked" if self._is_stacked else "apart", self._stack, requests, count)
            left -= count

    def _make(self, way: str, stack: Stack, requests: Sequence[Request], count: int) -> list[float]:
        """Make some steps of all runs; returns the seconds of each."""
        times = []
        if way == "stacked":
            stack.load()
        for _ in range(count):
            began = time.perf_counter()
            if way == "apart":
                for one in requests:
                    one.loop.make(one.batches, 1)
            else:
                batches = [one.loop.begin(one.batches) for one in requests]
                stack.step(batches, requests[0].loop.trained_batches)
                for one in requests:
                    one.loop.end()
            times.append(time.perf_counter() - began)
        if way == "stacked":
            stack.store()
        return times

    def _choose(self, runs: int) -> None:
        """Take the faster way once both have been timed."""
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
            f"\n{signal.Signals(number).name}: stopping after this step; once more to stop at once"
        )
