"""Draws inside a CUDA graph follow the step that the device counts."""

import torch
from tests.functional.test_streams import units_apart

from dislab.functional.streams import Stream


def test_a_captured_draw_follows_the_step() -> None:
    device = torch.device("cuda", 0)
    step = torch.zeros((), dtype=torch.int64, device=device)

    def draw(number: int | torch.Tensor, place: torch.device) -> tuple[torch.Tensor, ...]:
        stream = Stream(3, number, place).of("train")
        return stream.permutations("order", 64, 10), stream.normal("noise", 64, 10)

    draw(step, device)  # libraries are set up outside of the graph
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = draw(step, device)
    for number in (1, 2**40):
        step.fill_(number)
        graph.replay()
        order, noise = draw(number, torch.device("cpu"))
        assert torch.equal(captured[0].cpu(), order)
        assert units_apart(captured[1].cpu(), noise) <= 1
