"""Checks of objectives."""

import logging
import math
import traceback
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.utils._pytree import tree_map

from dislab.base import Draws, Objective, Terms
from dislab.base._batches import received
from dislab.base.parts import check_registered
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.testing._claims import (
    TOO_FEW,
    check_state_dict,
    made_by,
    mistakes,
    must,
    must_be,
    must_carry_gradients,
    must_equal,
    must_keep_states,
    random_states,
    smallest_batch,
)


def check_objective(build: Callable[[], Objective], batch: Any = None) -> None:
    """Checks that `losses` is pure, codes are float32 vectors, and checkpoints can rebuild it.

    All randomness comes from `draw`, which returns at most one row per image and depends only on
    its stream; no two draws are equal. A batch of `smallest_batch` images, one unless the class or
    one of its parts sets it, gives a finite loss. Two stacked copies under `torch.func.vmap` equal
    two separate passes.

    Args:
        build: Builds the objective, with different weights on each call.
        batch: A batch of at least two images, as its data module delivers it.
    """
    first = made_by(Objective, build, "check_objective(lambda: {}(...), batch)")
    second = build()
    batch = _received(first, batch)
    with mistakes():
        check_registered(first)
    count = len(batch[0])
    states = random_states()
    draws = _random_draws(first, count)
    step = torch.tensor(3)
    with mistakes():
        must_be(first.losses(batch, draws, step), Terms, "losses returns")
    separate = [_Loss(model, batch, draws, step)() for model in (first, second)]
    values = [loss.item() for loss in separate]
    must(all(map(math.isfinite, values)), f"the loss is finite, not {values[0]} and {values[1]}")
    must_carry_gradients(separate[0], f"the loss of {type(first).__name__}")
    must_equal(
        _Loss(first, batch, draws, step)(),
        separate[0],
        "losses is deterministic: equal batches and draws give equal losses, and all random "
        "numbers come from draw",
    )
    must_keep_states(states, "draw and losses leave the global random state alone")
    parameters, buffers = stack_module_state([first, second])
    holder = _Loss(build(), batch, draws, step)

    def stacked(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        state = {f"model.{name}": value for name, value in {**parameters, **buffers}.items()}
        loss: Tensor = functional_call(holder, state, ())
        return loss

    claim = "losses of two copies stacked by torch.func.vmap are those of each alone"
    with mistakes():
        together = vmap(stacked)(parameters, buffers)
    must_equal(together, torch.stack(separate), claim, exact=False)
    _check_smallest(first, batch, step)
    separate[0].backward()
    idle = [name for name, p in first.named_parameters() if p.requires_grad and p.grad is None]
    must(not idle, f"the loss trains every parameter, but not {', '.join(idle)}")
    _check_codes(first, batch[0])
    must(bool(first.hparams), "save_hyperparameters is called, for checkpoints to rebuild it")
    check_state_dict(first, build())


def check_compiles(build: Callable[[], Objective], batch: Any = None) -> None:
    """Checks that `torch.compile(backend="aot_eager")` compiles `losses` to a single graph.

    The compiled results equal the eager ones. A branch on the values of tensors, or a `print`, in
    `losses` or in a part that it calls is refused with its line. Does not work under jaxtyping's
    import hook, whose wrappers the compiler cannot trace.

    Args:
        build: Builds the objective.
        batch: A batch of at least two images, as its data module delivers it.
    """
    torch.compiler.reset()  # earlier objectives would count against the recompilation limit
    model = made_by(Objective, build, "check_compiles(lambda: {}(...), batch)")
    batch = _received(model, batch)
    draws = model.draw(len(batch[0]), Stream(0))
    holder = _Loss(model, batch, draws, torch.tensor(3))
    with mistakes():  # which the compiler would report as its own
        eager = holder()
    compiled = torch.compile(holder, backend="aot_eager", fullgraph=True)
    claim = "the loss of a compiled graph is that of losses without compiling"
    trace = logging.getLogger("torch.__trace")  # whose records pytest would show
    before, trace.disabled = trace.disabled, True
    try:
        loss = compiled()
    except Exception as error:  # the compiler has many kinds
        frames: Any = getattr(error, "real_stack", None) or traceback.extract_tb(
            error.__traceback__
        )
        where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
        raise AssertionError(
            f"losses of {type(model).__name__} cannot be compiled to a single graph, because of "
            f"{where}: compute without branches on the values of tensors (torch.where), print and "
            f"NumPy; the compiler says: {error}"
        ) from error
    finally:
        trace.disabled = before
    must_equal(loss, eager, claim, exact=False)


def _received(model: Objective, batch: Any) -> Any:
    """The batch as training passes it on; an AssertionError says which batches are accepted."""
    batch = received(model.batch_types, batch)
    kinds = " or ".join(kind.__name__ for kind in model.batch_types)
    must(
        isinstance(batch, model.batch_types),
        f"the batch is one that {type(model).__name__} accepts, {kinds}, not an object of "
        f"{type(batch).__name__}; its data module delivers them, and "
        "ImageBatch(torch.rand(4, 1, 64, 64), torch.zeros(4, 1, dtype=torch.int64)) is one",
    )
    return batch


class _Loss(nn.Module):
    def __init__(self, model: Objective, batch: Any, draws: Draws, step: Tensor) -> None:
        super().__init__()
        self.model = model
        self.given = (batch, draws, step)

    def forward(self) -> Tensor:
        return self.model.losses(*self.given).loss


def _random_draws(model: Objective, count: int) -> Draws:
    draws, again = (model.draw(count, Stream(0)) for _ in range(2))
    for name, rows in draws.items():
        must_equal(again[name], rows, f"draw is a function of its stream alone, {name} too")
        must(
            len(rows) <= count,
            f"draw gives {name} at most one row an image, {count}, not {len(rows)}",
        )
    for first, second in combinations(draws, 2):
        same = draws[first].numel() > 1 and torch.equal(draws[first], draws[second])
        must(not same, f"draw takes {first} and {second} from the stream under different names")
    unknown = set(model.code_noise or ()) - set(draws)
    must(not unknown, f"code_noise names draws, but not {', '.join(sorted(unknown))}")
    return draws


def _check_smallest(model: Objective, batch: Any, step: Tensor) -> None:
    """Checks the loss of the smallest batch that the method and its parts do not refuse."""
    least = smallest_batch(model)
    few = tree_map(lambda field: field[:least] if isinstance(field, Tensor) else field, batch)
    with mistakes(f"; {TOO_FEW}"), torch.no_grad():
        loss = model.losses(few, model.draw(len(few[0]), Stream(0)), step).loss
    must(
        bool(loss.isfinite()),
        f"the loss of {least} image{'s' * (least > 1)} is finite, not {loss.item()}; {TOO_FEW}",
    )


def _check_codes(model: Objective, image: Tensor) -> None:
    try:
        codes = model.codes(image)
    except InputError as error:
        must(not model.has_codes, f"a method whose codes refuses says has_codes = False ({error})")
        return
    must(
        model.has_codes,
        "a method that says has_codes = False refuses to make codes by an InputError; codes "
        "returns some",
    )
    must_be(codes, Tensor, "codes returns")
    must(
        codes.ndim == 2 and len(codes) == len(image),
        f"codes of {len(image)} images have shape ({len(image)}, latent), not {tuple(codes.shape)}",
    )
    must(codes.dtype == torch.float32, f"codes are float32, not {codes.dtype}")
