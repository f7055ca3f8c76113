"""Check of data modules."""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, distributed

from dislab.base import DataModule, ImageBatch, fields_of, is_vector
from dislab.testing._claims import made_by, must, must_be, must_have


def check_datamodule(build: Callable[[], DataModule], steps: int = 4) -> None:
    """Checks that splits are disjoint and that batches depend only on the seed and the step.

    Two processes split the batch of a single process between them, a resumed run continues the
    sequence of draws, evaluation repeats its batches, prediction yields every test image once,
    and all parts of a batch have the shapes and types that `batch_type` documents.

    Args:
        build: Builds an identical data module on each call; its batch size is even, and an epoch
            has at least `steps` batches.
        steps: Number of training batches to check, at least 2.
    """
    data = made_by(DataModule, build, "check_datamodule(lambda: {}(...))")
    data.prepare_data()
    _check_splits(data)
    batches = _delivered(data, steps, seed=1)
    for batch in batches:
        _check_batch(data, batch, data.indices("train"))
    _must_match(batches, _delivered(build(), steps, seed=1), "equal seeds draw equal batches")
    ranks = [_delivered(build(), steps, seed=1, rank=rank, world=2) for rank in range(2)]
    shared = [
        {name: torch.cat([fields_of(share)[name] for share in shares]) for name in fields_of(first)}
        for first, *shares in zip(batches, *ranks, strict=True)
    ]
    _must_match(batches, shared, "two processes share the batch of one")
    stopped = build()
    half = steps // 2
    _delivered(stopped, half, seed=1)
    resumed = _delivered(build(), steps - half, seed=2, state=stopped.state_dict())
    _must_match(batches[half:], resumed, "a resumed run continues the draws")
    _check_evaluation(data)


def _check_splits(data: DataModule) -> None:
    parts = [set(data.indices(split).tolist()) for split in ("train", "validation", "test")]
    repeated = sum(map(len, parts)) - len(set.union(*parts))
    must(not repeated, f"no state is in two splits, but {repeated} are")
    unmatched = len(set.union(*parts) ^ set(data.indices("all").tolist()))
    must(not unmatched, f"the splits make up `all`; {unmatched} states are in one of the two alone")
    counted = f"train_size counts the training states, {len(parts[0])}, not {data.train_size}"
    must(data.train_size == len(parts[0]), counted)


def _names(data: DataModule, offer: str) -> tuple[str, ...]:
    """Names that some data modules offer; none of another module."""
    names: tuple[str, ...] = getattr(data, offer, ())
    must(not names or offer in data.offers, f"{offer} is in `offers`, for objectives to request")
    return names


def _check_batch(data: DataModule, batch: Any, states: Any) -> None:
    kind = data.batch_type
    must_be(batch, kind, "a batch is")
    count, factors = len(batch[0]), len(data.factors.names)
    numbered = {"action": _names(data, "action_names"), "active": _names(data, "group_names")}
    for name, part in fields_of(batch).items():
        if name in ("image", "second", "transform", "target", "labelled"):
            shape: tuple[int, ...] = (count, *data.image_shape)
            dtype = torch.float32
            if not is_vector(shape):
                _must_hold((part >= 0) & (part <= 1), part, f"{name} is in [0, 1]")
        elif name in ("factors", "second_factors"):
            shape, dtype = (count, factors), torch.int64
            batch_states = set(data.factors.index(part.numpy()).tolist())
            foreign = len(batch_states - set(states.tolist()))
            must(not foreign, f"{name} are of the training split, but {foreign} states are not")
        elif name in numbered:
            shape, dtype = (count,), torch.int64
            most = len(numbered[name])
            _must_hold((part >= 0) & (part < most), part, f"{name} is from 0 to {most - 1}")
        elif name == "changed":
            shape, dtype = (count, factors), torch.bool
        elif name == "symbol":
            shape, dtype = (count, len(_names(data, "symbol_names"))), torch.float32
            _must_hold((part == 0) | (part == 1), part, "symbol is 0 or 1")
        elif name == "labels":
            shape, dtype = (count, part.shape[-1]), torch.float32
            present = part[~part.isnan()]
            _must_hold((present >= 0) & (present <= 1), present, "labels are in [0, 1]")
        else:
            continue
        must_have(part, shape, f"{name} has")
        must(part.dtype == dtype, f"{name} is {dtype}, not {part.dtype}")


def _check_evaluation(data: DataModule) -> None:
    for loader in (data.val_dataloader, data.test_dataloader):
        first, second = (
            [data.on_after_batch_transfer(batch, 0) for batch in loader()] for _ in range(2)
        )
        _must_match(first, second, "evaluation repeats its batches")
        for part in first:
            must_be(part, data.batch_type, "evaluation delivers")
    batches = [data.on_after_batch_transfer(part, 0) for part in data.predict_dataloader()]
    for part in batches:
        must_be(part, ImageBatch, "prediction delivers")
    if batches:
        states = data.factors.index(torch.cat([part.factors for part in batches]).numpy())
        must(
            states.tolist() == data.indices("test").tolist(),
            "prediction yields every test image once, in the order of indices('test'); it yields "
            f"{len(states)} images",
        )


def _delivered(
    data: DataModule,
    steps: int,
    seed: int,
    rank: int = 0,
    world: int = 1,
    state: dict[str, Any] | None = None,
) -> list[Any]:
    """Training batches as the objective receives them in process `rank` of `world`."""
    with torch.random.fork_rng(devices=[]), ExitStack() as patches:
        if world > 1:
            answers = {"is_initialized": True, "get_rank": rank, "get_world_size": world}
            for name, answer in answers.items():
                patches.enter_context(patch.object(distributed, name, return_value=answer))
        torch.manual_seed(seed)
        data.setup("fit")
        if state is not None:
            data.load_state_dict(state)
        batches = islice(data.train_dataloader(), steps)
        return [data.on_after_batch_transfer(batch, 0) for batch in batches]


def _must_match(first: list[Any], second: list[Any], claim: str) -> None:
    """Refuses lists of batches that are not equal; it says where they differ."""
    must(len(first) == len(second), f"{claim}; {len(first)} batches are not {len(second)}")
    for number, pair in enumerate(zip(first, second, strict=True), 1):
        batch, again = map(_fields, pair)
        must(batch.keys() == again.keys(), f"{claim}; fields of batch {number} differ")
        for name, part in batch.items():
            # a label may be missing
            equal = torch.equal(part.nan_to_num(-1.0), again[name].nan_to_num(-1.0))
            must(equal, f"{claim}; {name} of batch {number} differs")


def _must_hold(holds: Tensor, part: Tensor, claim: str) -> None:
    """Refuses a part of a batch with a number for which a claim does not hold; it shows one."""
    for number in part[~holds][:1].tolist():
        must(False, f"{claim}, not {number:.4g}")


def _fields(batch: Any) -> dict[str, Any]:
    return batch if isinstance(batch, dict) else fields_of(batch)
