"""A run of a pack: its thread, and the steps for which it waits."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from dislab.training.inner_loop import InnerLoop

T = TypeVar("T")

_here: Final = threading.local()


@dataclass(eq=False)
class Request:
    """Steps for which a run waits.

    Attributes:
        loop: Loop of the run.
        batches: Batches of the run.
        steps: Number of steps.
        error: Error that ends the run instead of the rest of the steps.
    """

    loop: "InnerLoop"
    batches: Any
    steps: int
    error: BaseException | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        """Steps and batches so far, and the requested steps; equal runs can step together."""
        return self.loop.global_step, self.loop.trained_batches, self.steps


class Seat(Generic[T]):
    """A run of a pack in its own thread, which runs only while `resume` waits for it.

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
        """Whether the run can wait for others; `InnerSteps` sets it."""
        self.signal: int | None = None
        """The signal that asks the run to end."""
        threading.Thread(target=self._work, daemon=True).start()

    def resume(self, stopped: BaseException | None = None) -> None:
        """Lets the run continue until it waits or ends.

        Args:
            stopped: Error that ends the run.
        """
        self._stopped = stopped
        self._go.release()
        self._back.acquire()

    def wait(self, request: Request) -> None:
        """Waits until the steps are made; called by the run.

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
        except BaseException as error:  # kept for the thread that started the pack
            self.error = error
        self.ended = True
        self._back.release()


def current_seat() -> Seat[Any] | None:
    """The seat of the calling run in a pack; None outside of packs."""
    return getattr(_here, "seat", None)
