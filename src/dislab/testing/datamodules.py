"""Check of data modules."""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import islice
from typing import Any
from unittest.mock import patch

import torch
from torch import distributed

from dislab.base import DataModule, ImageBatch, fields_of, is_vector
from dislab.testing._claims import must, must_derive, must_have


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
    data = build()
    must_derive(data, DataModule)
    data.prepare_data()
    _check_splits(data)
    batches = _delivered(data, steps, seed=1)
    for batch in batches:
        _check_batch(data, batch, data.indices("train"))
    must(_same(batches, _delivered(build(), steps, seed=1)), "equal seeds draw equal batches")
    ranks = [_delivered(build(), steps, seed=1, rank=rank, world=2) for rank in range(2)]
    shared = [
        {name: torch.cat([fields_of(share)[name] for share in shares]) for name in fields_of(first)}
        for first, *shares in zip(batches, *ranks, strict=True)
    ]
    must(_same(batches, shared), "two processes share the batch of one")
    stopped = build()
    half = steps // 2
    _delivered(stopped, half, seed=1)
    resumed = _delivered(build(), steps - half, seed=2, state=stopped.state_dict())
    must(_same(batches[half:], resumed), "a resumed run continues the draws")
    _check_evaluation(data)


def _check_splits(data: DataModule) -> None:
    parts = [set(data.indices(split).tolist()) for split in ("train", "validation", "test")]
    must(sum(map(len, parts)) == len(set.union(*parts)), "no state is in two splits")
    must(set.union(*parts) == set(data.indices("all").tolist()), "the splits make up `all`")
    must(data.train_size == len(parts[0]), "train_size counts the training states")


def _names(data: DataModule, offer: str) -> tuple[str, ...]:
    """Names that some data modules offer; none of another module."""
    names: tuple[str, ...] = getattr(data, offer, ())
    must(not names or offer in data.offers, f"{offer} is in `offers`, for objectives to request")
    return names


def _check_batch(data: DataModule, batch: Any, states: Any) -> None:
    kind = data.batch_type
    must(isinstance(batch, kind), f"batches are {kind.__name__}, not {type(batch).__name__}")
    count, factors = len(batch[0]), len(data.factors.names)
    numbered = {"action": _names(data, "action_names"), "active": _names(data, "group_names")}
    for name, part in fields_of(batch).items():
        if name in ("image", "second", "transform", "target", "labelled"):
            shape: tuple[int, ...] = (count, *data.image_shape)
            dtype = torch.float32
            inside = is_vector(shape) or bool((part >= 0).all() and (part <= 1).all())
            must(inside, f"{name} is in [0, 1]")
        elif name in ("factors", "second_factors"):
            shape, dtype = (count, factors), torch.int64
            batch_states = set(data.factors.index(part.numpy()).tolist())
            must(batch_states <= set(states.tolist()), f"{name} are of the split")
        elif name in numbered:
            shape, dtype = (count,), torch.int64
            most = len(numbered[name])
            must(bool((part >= 0).all() and (part < most).all()), f"{name} is below {most}")
        elif name == "changed":
            shape, dtype = (count, factors), torch.bool
        elif name == "symbol":
            shape, dtype = (count, len(_names(data, "symbol_names"))), torch.float32
            must(bool(((part == 0) | (part == 1)).all()), "symbol is 0 or 1")
        elif name == "labels":
            shape, dtype = (count, part.shape[-1]), torch.float32
            present = part[~part.isnan()]
            must(bool((present >= 0).all() and (present <= 1).all()), "labels are in [0, 1]")
        else:
            continue
        must_have(part, shape, f"{name} has")
        must(part.dtype == dtype, f"{name} is {dtype}, not {part.dtype}")


def _check_evaluation(data: DataModule) -> None:
    for loader in (data.val_dataloader, data.test_dataloader):
        first, second = (
            [data.on_after_batch_transfer(batch, 0) for batch in loader()] for _ in range(2)
        )
        must(bool(_same(first, second)), "evaluation repeats its batches")
        must(all(isinstance(part, data.batch_type) for part in first), "of the same kind")
    batches = [data.on_after_batch_transfer(part, 0) for part in data.predict_dataloader()]
    must(all(isinstance(part, ImageBatch) for part in batches), "prediction delivers ImageBatch")
    if batches:
        states = data.factors.index(torch.cat([part.factors for part in batches]).numpy())
        must(states.tolist() == data.indices("test").tolist(), "prediction goes in order")


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


def _same(first: list[Any], second: list[Any]) -> bool:
    """Whether two lists of batches, or of their fields by name, are equal."""
    pairs = zip(map(_fields, first), map(_fields, second), strict=True)
    return len(first) == len(second) and all(
        batch.keys() == again.keys()
        and all(
            # a label may be missing
            torch.equal(part.nan_to_num(-1.0), again[name].nan_to_num(-1.0))
            for name, part in batch.items()
        )
        for batch, again in pairs
    )


def _fields(batch: Any) -> dict[str, Any]:
    return batch if isinstance(batch, dict) else fields_of(batch)
