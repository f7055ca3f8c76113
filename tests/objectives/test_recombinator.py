import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import pytest
import torch
from torch.nn import functional as F

from dislab.base import Objective, Posterior, SymbolBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.losses import kl_between
from dislab.functional.streams import Stream
from dislab.functional.symbols import (
    OPERATORS,
    RecombinationDraws,
    draw_recombination,
    recombination,
)
from dislab.objectives import SCAN, VAE, Recombinator
from dislab.objectives._symbols import OperatorNetwork
from dislab.regularizers import KL
from dislab.runs import load_run

NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
NAMES = ("x=low", "x=high", "y=low", "y=high")
STEP = torch.tensor(0)
Save = Callable[[Objective, str], str]


@pytest.fixture
def scan(save: Save) -> str:
    torch.manual_seed(0)
    vision = save(VAE((1, 8, 8), 16, 3, *NETWORKS, {"kl": KL}), "vision")
    return save(SCAN((1, 8, 8), NAMES, vision), "scan")


def batch() -> SymbolBatch:
    image = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    symbol = torch.tensor([[1.0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 1, 0, 1]])
    return SymbolBatch(image, symbol, torch.zeros(4, 2, dtype=torch.int64))


def test_the_operator_chooses_a_network_that_goes_over_the_latents(scan: str) -> None:
    model = Recombinator((1, 8, 8), NAMES, scan, hidden=5)
    generator = torch.Generator().manual_seed(0)
    first, second = (Posterior(*torch.randn(2, 2, 3, generator=generator)) for _ in range(2))
    result = model.apply_operator(first, second, torch.tensor([2, 0]))
    for row, operator in enumerate((2, 0)):
        for latent in range(3):
            numbers = [one[row, latent] for one in (*first, *second)]
            net = model.network
            hidden = F.linear(
                torch.stack(numbers), net.first_weight[operator], net.first_bias[operator]
            )
            output = F.linear(hidden.relu(), net.second_weight[operator], net.second_bias[operator])
            found = torch.stack((result.mean[row, latent], result.log_var[row, latent]))
            torch.testing.assert_close(found, output)


@pytest.mark.slow
def test_the_loss_is_the_divergence_of_images_from_results(scan: str) -> None:
    model = Recombinator((1, 8, 8), NAMES, scan)
    draws = model.draw(4, Stream(0))
    lots = RecombinationDraws(*(draws[name] for name in RecombinationDraws._fields))
    made = recombination(batch().symbol, torch.ones(4), model.factor, lots)
    inner = load_run(scan)
    assert isinstance(inner, SCAN)
    pair = (inner.encode_symbol(made.first), inner.encode_symbol(made.second))
    result = model.apply_operator(*pair, made.operator)
    expected = kl_between(*inner.encode(batch().image), *result).sum(1).mean()
    torch.testing.assert_close(model.losses(batch(), draws, STEP).loss, expected)


def concept(symbol: torch.Tensor) -> Posterior:
    """Three latents, one a factor of three values: narrow at the value that is named, or open."""
    value = symbol.view(-1, 3, 3)
    named = value.sum(2)
    return Posterior(value @ torch.tensor([-1.2, 0.0, 1.2]), named * math.log(0.01))


@pytest.mark.slow
def test_what_concepts_disagree_about_is_as_wide_as_the_prior() -> None:
    """Trained on pairs that never disagree, the variance was 0.008 to 0.018."""
    torch.manual_seed(0)
    network = OperatorNetwork(30)
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    factor, generator = torch.arange(9) // 3, torch.Generator().manual_seed(0)
    for step in range(1500):
        image = torch.eye(3)[torch.randint(3, (64, 3), generator=generator)]
        named = torch.rand(64, 3, 1, generator=generator) < 0.6
        named[:, 0] |= ~named.any(1)
        draws = draw_recombination(64, 3, 9, Stream(0, step))
        made = recombination((image * named).flatten(1), torch.ones(9), factor, draws)
        result = network(concept(made.first), concept(made.second), made.operator)
        loss = kl_between(*concept(image.flatten(1)), *result).sum(1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    first = torch.eye(9)[[0, 2, 0, 1, 2, 0]]
    second = torch.eye(9)[[2, 0, 1, 2, 2, 0]]
    common = torch.full((6,), OPERATORS.index("in_common"))
    with torch.no_grad():
        mean, log_var = network(concept(first), concept(second), common)
    # of what images show, the mean is 0 and the variance 0.97
    assert mean[:4, 0].abs().max() < 0.8
    assert log_var[:4, 0].exp().min() > 0.6
    assert torch.allclose(mean[4:, 0], torch.tensor([1.2, -1.2]), atol=0.15)
    assert log_var[4:, 0].exp().max() < 0.1


@pytest.mark.slow
def test_only_the_operators_are_trained(scan: str) -> None:
    model = Recombinator((1, 8, 8), NAMES, scan)
    optimizer: Any = model.configure_optimizers()
    trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
    assert trained == {id(p) for p in model.network.parameters()}


@pytest.mark.slow
def test_it_is_stored_with_scan_and_vision(scan: str, save: Save) -> None:
    model = Recombinator((1, 8, 8), NAMES, scan)
    loaded = load_run(save(model, "recombinator"))
    assert isinstance(loaded, Recombinator)
    loaded.on_fit_start()
    draws = model.draw(4, Stream(0))
    operators: tuple[Literal["and", "in_common", "ignore"], ...] = ("and", "in_common", "ignore")
    for operator in operators:
        first, second = (
            one.recombined_images(batch().symbol, batch().symbol, operator, draws)
            for one in (model.eval(), loaded)
        )
        assert torch.equal(first, second)
        assert first.shape == (4, 1, 8, 8)


@pytest.mark.slow
def test_what_does_not_fit_is_refused(scan: str, save: Save) -> None:
    with pytest.raises(
        InputError, match=r"knows the symbols x=low, .*, and the data have a=1; use"
    ):
        Recombinator((1, 8, 8), ("a=1",), scan)
    with pytest.raises(InputError, match=r"the scan run was trained on images of 1×8×8"):
        Recombinator((3, 8, 8), NAMES, scan)
    vision = save(VAE((1, 8, 8), 16, 3, *NETWORKS, {"kl": KL}), "other")
    with pytest.raises(InputError, match=r"the scan run is of VAE; Recombinator recombines"):
        Recombinator((1, 8, 8), NAMES, vision)
    with pytest.raises(InputError, match=r"hidden is 0"):
        Recombinator((1, 8, 8), NAMES, scan, hidden=0)
