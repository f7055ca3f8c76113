"""Rows made in numbered blocks, by several threads, which resume after an interruption.

Blocks are written to their position in a part file. A journal next to it lists the finished blocks
with their checksums, so that the next run makes only the missing ones.
"""

import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from dislab.storage import created, reopened

Rows = npt.NDArray[np.uint8]

_AHEAD: Final = 2
"""Number of pending blocks per thread: the next one is made while one is written."""


class Blocks(NamedTuple):
    """Makes rows in blocks, in any order and several at once.

    Attributes:
        size: Number of rows in a block; the last block may have fewer.
        make: Makes the rows from a first number up to, but excluding, a last one. Its result
            depends on these two numbers alone; it is called from several threads at once.
        workers: Number of threads; 0 for as many as torch would use.
    """

    size: int
    make: Callable[[int, int], Rows]
    workers: int = 0


def write_blocks(
    blocks: Blocks, shape: tuple[int, int], header: bytes, part: Path, origin: dict[str, str]
) -> None:
    """Writes all rows behind a header into the part file; the caller holds a lock.

    Args:
        blocks: How to make the rows.
        shape: Number of rows and of bytes in a row.
        header: Bytes before the rows in the file.
        part: The part file; it is kept, with its journal, after an interruption.
        origin: Origin of the rows; blocks of another origin are not reused.

    Raises:
        OSError: The file cannot be written.
        ValueError: `make` returned rows of another shape or type.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    key = json.dumps({"shape": shape, "size": blocks.size, "origin": origin}, sort_keys=True)
    done = _finished(blocks, shape, len(header), part, key)
    with (
        (reopened(part) if done else None) or created(part) as stream,
        io.TextIOWrapper(created(journal(part)), encoding="ascii", write_through=True) as log,
    ):
        stream.write(header)
        log.writelines([f"{key}\n", *(f"{block} {crc}\n" for block, crc in done.items())])
        log.flush()
        missing = [block for block in range(-(-shape[0] // blocks.size)) if block not in done]
        rows = sum(_length(blocks, shape, block) for block in done)
        title = part.name.removeprefix(".").partition(".")[0]
        with tqdm(
            desc=title, total=shape[0], initial=rows, unit=" images", leave=False, disable=None
        ) as bar:
            for block, block_rows in _completed(blocks, shape, missing):
                # written, not memory-mapped, so that a full disk raises an error instead of killing
                stream.seek(len(header) + block * blocks.size * shape[1])
                stream.write(block_rows.data)
                stream.flush()
                log.write(f"{block} {zlib.crc32(block_rows.data)}\n")
                log.flush()
                bar.update(len(block_rows))


def journal(part: Path) -> Path:
    """Path of the journal, which lists the finished blocks of a part file."""
    return part.with_name(f"{part.name}.journal")


def _completed(
    blocks: Blocks, shape: tuple[int, int], missing: list[int]
) -> Iterator[tuple[int, Rows]]:
    """Yields the missing blocks when they are finished."""
    waiting = iter(missing)
    with _threads(blocks.workers) as (pool, workers):
        running: dict[Future[Rows], int] = {}
        while True:
            while len(running) < _AHEAD * workers and (block := next(waiting, None)) is not None:
                running[pool.submit(_make, blocks, shape, block)] = block
            if not running:
                return
            done = wait(running, return_when=FIRST_COMPLETED).done
            # in their order, so that the file after a failure does not depend on addresses in
            # memory
            for future in sorted(done, key=running.__getitem__):
                yield running.pop(future), future.result()


@contextmanager
def _threads(workers: int) -> Iterator[tuple[ThreadPoolExecutor, int]]:
    """A pool of threads in which torch is single-threaded; all threads end with the context."""
    before = torch.get_num_threads()
    workers = workers or before
    # torch's setting applies to the calling thread and to threads started later
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool, workers
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)


def _make(blocks: Blocks, shape: tuple[int, int], block: int) -> Rows:
    start = block * blocks.size
    rows = np.ascontiguousarray(blocks.make(start, min(start + blocks.size, shape[0])))
    expected = (_length(blocks, shape, block), shape[1])
    if rows.shape != expected or rows.dtype != np.uint8:
        raise ValueError(f"a block of uint8 {expected} was made as {rows.dtype} {rows.shape}")
    return rows


def _finished(
    blocks: Blocks, shape: tuple[int, int], begin: int, part: Path, key: str
) -> dict[int, int]:
    """Blocks that are complete in the part file, with their checksums."""
    stream, notes = reopened(part), reopened(journal(part))
    with stream or nullcontext(), notes or nullcontext():
        if stream is None or notes is None:
            return {}
        first, *lines = notes.read().decode("ascii", "replace").split("\n")
        if first != key:
            return {}
        noted = [tuple(map(int, line.split())) for line in lines if _is_note(line)]
        checked = {}
        for block, crc in cast("list[tuple[int, int]]", noted):
            stream.seek(begin + block * blocks.size * shape[1], os.SEEK_SET)
            if zlib.crc32(stream.read(_length(blocks, shape, block) * shape[1])) == crc:
                checked[block] = crc
        return checked


def _is_note(line: str) -> bool:
    words = line.split()
    return len(words) == 2 and all(word.isdecimal() for word in words)


def _length(blocks: Blocks, shape: tuple[int, int], block: int) -> int:
    return max(0, min(blocks.size, shape[0] - block * blocks.size))
