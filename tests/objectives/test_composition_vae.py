from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dislab.base import CompositionBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import CompositionVAE

NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
STEP = torch.tensor(0)


def make(**settings: Any) -> CompositionVAE:
    return CompositionVAE((1, 8, 8), ("x", "y"), 3, *NETWORKS, **settings)


def set_mixer(model: CompositionVAE, weight: Tensor) -> None:
    assert isinstance(model.mixer, nn.Linear)
    with torch.no_grad():
        model.mixer.weight.copy_(weight)


def batch() -> CompositionBatch:
    images = torch.rand(3, 4, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    factors, action = torch.zeros(4, 2, dtype=torch.int64), torch.tensor([0, 1] * 2)
    return CompositionBatch(images[0], images[1], images[2], factors, action)


def test_the_loss_has_the_target_and_the_kl_of_both_posteriors() -> None:
    model = make(beta=0.5).double()
    drawn = {
        name: torch.randn(4, 3, generator=torch.Generator().manual_seed(seed)).double()
        for seed, name in enumerate(("reference", "transform"))
    }
    kl: Any = 0.0
    samples = []
    for image, name in ((batch().image, "reference"), (batch().transform, "transform")):
        outputs = model.encoder(image)
        mean, log_var = outputs[:, :3], outputs[:, 3:]
        kl = kl + 0.5 * (mean**2 + log_var.exp() - log_var - 1).sum() / 4
        samples.append(mean + (log_var / 2).exp() * drawn[name])
    logits = model.decoder(model.mix(samples[0], samples[1], batch().action))
    pixels = F.binary_cross_entropy_with_logits(logits, batch().target, reduction="sum") / 4
    loss, log = model.losses(batch(), drawn, STEP)
    torch.testing.assert_close(loss, pixels + 0.5 * kl, rtol=1e-10, atol=0)
    torch.testing.assert_close(log["kl"], kl, rtol=1e-10, atol=0)


def test_the_linear_mixer_by_hand() -> None:
    model = make()
    # columns: 3 of z_reference, 2 of the action, 3 of z_transform, 2 of the action
    weight = torch.zeros(3, 10)
    weight[0, 0], weight[1, 6], weight[2, 2] = 2.0, -1.0, 1.0
    weight[2, 3], weight[2, 9] = 10.0, 100.0
    set_mixer(model, weight)
    reference, transform = torch.tensor([[1.0, 2, 3]] * 2), torch.tensor([[4.0, 5, 6]] * 2)
    mixed = model.mix(reference, transform, torch.tensor([0, 1]))
    torch.testing.assert_close(mixed, torch.tensor([[2.0, -5, 13], [2, -5, 103]]))


def test_interpolation_goes_from_reference_to_transform() -> None:
    model = make(mixing="interpolation")
    set_mixer(model, torch.tensor([[100.0, -100], [-100, 100], [0, -100]]))
    reference, transform = torch.tensor([[1.0, 2, 3]] * 2), torch.tensor([[4.0, 5, 6]] * 2)
    mixed = model.mix(reference, transform, torch.tensor([0, 1]))
    torch.testing.assert_close(mixed, torch.tensor([[4.0, 2, 4.5], [1, 5, 3]]))
    alike = model.mix(reference, reference, torch.tensor([0, 1]))
    assert torch.equal(alike, reference)


def test_the_linear_mixer_of_the_code_has_two_layers_with_biases() -> None:
    model = make(mixing="linear_code")
    reference, transform = torch.tensor([[1.0, 2, 3]] * 2), torch.tensor([[4.0, 5, 6]] * 2)
    layers = [part for part in model.mixer.modules() if isinstance(part, nn.Linear)]
    assert [(one.in_features, one.out_features) for one in layers] == [(5, 3), (5, 3)]
    with torch.no_grad():
        for layer, factor in zip(layers, (2.0, 10.0), strict=True):
            # columns: 3 of the code, 2 of the action
            layer.weight.copy_(factor * torch.eye(3, 5))
            layer.weight[2, 4] = 100 * factor
            layer.bias.fill_(factor / 20)
    mixed = model.mix(reference, transform, torch.tensor([0, 1]))
    torch.testing.assert_close(mixed, torch.tensor([[42.6, 54.6, 66.6], [42.6, 54.6, 1266.6]]))


def test_the_interpolation_of_the_code_reads_both_codes() -> None:
    model = make(mixing="interpolation_code")
    weight = torch.zeros(3, 8)  # columns: 3 of z_reference, 3 of z_transform, 2 of the action
    weight[0, 0], weight[1, 5], weight[2, 7] = 100.0, -100.0, 100.0
    set_mixer(model, weight)
    assert isinstance(model.mixer, nn.Linear)
    with torch.no_grad():
        model.mixer.bias.zero_()
    reference, transform = torch.tensor([[1.0, 2, 3]] * 2), torch.tensor([[4.0, 5, 6]] * 2)
    mixed = model.mix(reference, transform, torch.tensor([0, 1]))
    torch.testing.assert_close(mixed, torch.tensor([[1.0, 5, 4.5], [1, 5, 3]]))
    torch.testing.assert_close(model.mix(reference, reference, torch.tensor([0, 1])), reference)


def test_the_mlp_has_three_layers_of_a_hundred() -> None:
    layers = [part for part in make(mixing="mlp").mixer.modules() if isinstance(part, nn.Linear)]
    sizes = [(layer.in_features, layer.out_features) for layer in layers]
    assert sizes == [(10, 100), (100, 100), (100, 100), (100, 3)]


def test_decoding_composes_a_code_with_itself() -> None:
    model = make()
    z = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    expected = model.decoder(model.mix(z, z, torch.tensor([0, 0]))).sigmoid()
    torch.testing.assert_close(model.decode(z), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": -1.0}, "beta is -1.0"),
        ({"latent_dim": 0}, "latent_dim is 0"),
        ({"action_names": ()}, "no action names; use a data module that has some"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    given = {"action_names": ("x", "y"), "latent_dim": 3, **settings}
    with pytest.raises(InputError, match=message):
        CompositionVAE((1, 8, 8), encoder=NETWORKS[0], decoder=NETWORKS[1], **given)


@pytest.mark.slow
def test_it_learns_to_take_over_what_the_action_names(toy: Any, train: Any) -> None:
    """Targets of shape, x and y come out closer than the reference and the transform are."""
    torch.manual_seed(0)
    model = CompositionVAE(
        (1, 32, 32),
        toy.names,
        6,
        partial(MLPEncoder, hidden=(128,)),
        partial(MLPDecoder, hidden=(128,)),
    )
    strides = torch.tensor([3 * 144, 144, 12, 1])
    generator = torch.Generator().manual_seed(1)

    def made(index: Tensor) -> CompositionBatch:
        count = len(index)
        other = torch.randint(len(toy.image), (count,), generator=generator)
        action = torch.randint(4, (count,), generator=generator)
        factors = toy.factors[index].clone()
        rows = torch.arange(count)
        factors[rows, action] = toy.factors[other][rows, action]
        target = toy.image[(factors * strides).sum(1)]
        return CompositionBatch(
            toy.image[index], toy.image[other], target, toy.factors[index], action
        )

    train(model, made, len(toy.image), 4000, 2e-3)
    test = made(torch.randint(len(toy.image), (500,), generator=generator))
    with torch.no_grad():
        made_images = model.compose(test.image, test.transform, test.action)

    def distance(image: Tensor) -> Tensor:
        return (image - test.target).square().sum((1, 2, 3))

    rivals = torch.minimum(distance(test.image), distance(test.transform))
    told_apart = rivals > 10
    found = (distance(made_images) < rivals)[told_apart].float().mean().item()
    assert found > 0.8
