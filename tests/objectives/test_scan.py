from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from dislab.base import Objective, SymbolBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import SCAN, VAE, DenoisingAutoencoder, GroundTruthDecoder
from dislab.regularizers import KL
from dislab.runs import load_run

NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
NAMES = ("x=low", "x=high", "y=low")
STEP = torch.tensor(0)
Save = Callable[[Objective, str], str]


@pytest.fixture
def vision(save: Save) -> str:
    torch.manual_seed(0)
    return save(VAE((1, 8, 8), 16, 3, *NETWORKS, {"kl": KL}), "vision")


def batch() -> SymbolBatch:
    image = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    symbol = torch.tensor([[1.0, 0, 0], [0, 1, 1]], dtype=torch.float64)
    return SymbolBatch(image, symbol, torch.zeros(2, 2, dtype=torch.int64))


def kl(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    normal = [torch.distributions.Normal(mean, (0.5 * var).exp()) for mean, var in (first, second)]
    return torch.distributions.kl_divergence(*normal).sum() / 2


@pytest.mark.parametrize("divergence", ["forward", "reverse"])
def test_the_loss_has_the_divergence_of_the_image_from_the_symbol(
    vision: str, divergence: Any
) -> None:
    """The trap: the forward KL is taken over the image's posterior, so it covers all modes."""
    model = SCAN((1, 8, 8), NAMES, vision, beta=0.5, divergence=divergence).double()
    noise = torch.randn(2, 3, generator=torch.Generator().manual_seed(1)).double()
    seen = load_run(vision).double().encode(batch().image)
    mean, log_var = model.symbol_encoder(batch().symbol).chunk(2, 1)
    logits = model.symbol_decoder(mean + (log_var / 2).exp() * noise)
    symbols = F.binary_cross_entropy_with_logits(logits, batch().symbol, reduction="sum") / 2
    prior = (torch.zeros_like(mean), torch.zeros_like(mean))
    pair = (seen, (mean, log_var)) if divergence == "forward" else ((mean, log_var), seen)
    expected = symbols + 0.5 * kl((mean, log_var), prior) + 10 * kl(*pair)
    loss = model.losses(batch(), {"noise": noise}, STEP).loss
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)


def test_gradients_reach_the_symbols_alone(vision: str) -> None:
    model = SCAN((1, 8, 8), NAMES, vision)
    single = SymbolBatch(batch().image.float(), batch().symbol.float(), batch().factors)
    drawn = model.draw(2, Stream(0))
    model.losses(single, drawn, STEP).loss.backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is None for parameter in model.vision.parameters())
    optimizer: Any = model.configure_optimizers()
    trained = sum(len(group["params"]) for group in optimizer.param_groups)
    assert trained == 8  # weight and bias of two layers, for encoder and decoder


def test_both_directions_and_the_vision_model_under_them(vision: str) -> None:
    model = SCAN((1, 8, 8), NAMES, vision)
    inner = load_run(vision)
    image, symbol = batch().image.float(), batch().symbol.float()
    assert torch.equal(model.codes(image), inner.codes(image))
    said = model.encode_symbol(symbol)
    drawn = model.sym2img(symbol, {"noise": torch.zeros(2, 3)})
    torch.testing.assert_close(drawn, inner.decode(said.mean))
    expected = model.symbol_decoder(inner.codes(image)).sigmoid()
    assert torch.equal(model.img2sym(image), expected)


def test_it_is_stored_with_its_vision_model(vision: str, save: Save) -> None:
    model = SCAN((1, 8, 8), NAMES, vision)
    loaded = load_run(save(model, "scan"))
    image = batch().image.float()
    assert torch.equal(loaded.codes(image), model.codes(image))
    assert loaded.hparams["symbol_names"] == NAMES


def test_what_does_not_fit_is_refused(vision: str, save: Save) -> None:
    with pytest.raises(InputError, match=r"the vision run was trained on images of 1×8×8"):
        SCAN((1, 16, 16), NAMES, vision)
    with pytest.raises(InputError, match=r"the vision run cannot be used: .*nowhere"):
        SCAN((1, 8, 8), NAMES, "nowhere")
    with pytest.raises(InputError, match="SCAN got no symbol names; use a data module"):
        SCAN((1, 8, 8), (), vision)
    with pytest.raises(InputError, match=r"grounding is -1"):
        SCAN((1, 8, 8), NAMES, vision, grounding=-1.0)
    with pytest.raises(InputError, match=r"beta is -1"):
        SCAN((1, 8, 8), NAMES, vision, beta=-1.0)
    unfit = {
        "gt": GroundTruthDecoder((1, 8, 8), ("x",), (4,), NETWORKS[1]),
        "dae": DenoisingAutoencoder((1, 8, 8), *NETWORKS),
    }
    for name, model in unfit.items():
        with pytest.raises(InputError, match=rf"{type(model).__name__} has no posterior"):
            SCAN((1, 8, 8), NAMES, save(model, name))
