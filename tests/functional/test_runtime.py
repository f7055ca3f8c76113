"""Exchange between real processes."""

import multiprocessing
import socket
from multiprocessing.connection import Connection

import pytest
import torch
import torch.distributed as dist

from dislab.functional.runtime import alone, gather_rows, own_rows, world


def test_one_process_exchanges_nothing() -> None:
    rows = torch.arange(6.0).view(3, 2)
    assert world() == (0, 1)
    assert gather_rows(rows) is rows
    assert torch.equal(own_rows(rows), rows)


def work(rank: int, port: int, answers: Connection) -> None:
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    mine = torch.tensor([[1.0 + rank], [10.0 + rank]], requires_grad=True)
    other = torch.zeros(4, 1, requires_grad=True)
    weights = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    gathered = gather_rows(mine)
    ((gathered + other) * weights).sum().backward()  # type: ignore[no-untyped-call]
    assert mine.grad is not None
    assert other.grad is not None
    own = own_rows(torch.arange(4)[:, None])
    with alone():
        assert world() == (0, 1)
        assert gather_rows(mine) is mine
        assert len(own_rows(weights)) == 4
    assert world() == (rank, 2)
    answers.send([part.flatten().tolist() for part in (gathered, mine.grad, other.grad, own)])
    dist.destroy_process_group()


@pytest.mark.slow
def test_rows_and_gradients_of_two_processes() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    answers = []
    for rank in range(2):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(rank, port, sender))
        process.start()
        answers.append((process, receiver))
    for rank, (process, receiver) in enumerate(answers):
        assert receiver.poll(60)
        gathered, own_gradient, other_gradient, own = receiver.recv()
        process.join(60)
        assert gathered == [1.0, 10.0, 2.0, 11.0]
        # summed over both processes, for DDP divides by their number
        assert own_gradient == [[2.0, 4.0], [6.0, 8.0]][rank]
        assert other_gradient == [1.0, 2.0, 3.0, 4.0]
        assert own == [[0, 1], [2, 3]][rank]
