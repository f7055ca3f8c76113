"""Networks side by side: each is what a loop over one `torch.nn.Sequential` makes of it."""

import math

import torch
from torch import nn

from dislab.predictors.mlp import Targets, decided, first_layers, outputs, train

CLASSES = (0, 3, 0)
SIZES = (4, 6, 5)
SEEDS = (1, 2, 3)
SOURCE = torch.Generator().manual_seed(0)
CODES = torch.randn(2, 30, 4, generator=SOURCE)
NUMBERS = torch.randn(3, 30, generator=SOURCE) * torch.tensor([[1.0], [0.0], [1.0]])
KINDS = torch.randint(0, 3, (3, 30), generator=SOURCE) * torch.tensor([[0], [1], [0]])
SEEN = torch.tensor([[True, False, False], [True, True, True], [True, False, False]])
LESSON = Targets(torch.tensor([True, False, True]), NUMBERS, KINDS, CLASSES, SEEN)
BATCHES = torch.stack([torch.randperm(30, generator=SOURCE)[:8] for _ in range(12)])


def sequential(layers: list[torch.Tensor], network: int, width: int) -> nn.Sequential:
    """One of the stacked networks, with the outputs that it needs."""
    modules: list[nn.Module] = []
    for weight, bias in zip(layers[::2], layers[1::2], strict=True):
        last = weight is layers[-2]
        some = slice(width) if last else slice(None)
        linear = nn.Linear(weight.shape[1], weight[network][:, some].shape[1])
        linear.weight.data = weight[network][:, some].T.clone()
        linear.bias.data = bias[network, 0, some].clone()
        modules += [linear] if last else [linear, nn.ReLU()]
    return nn.Sequential(*modules)


def test_each_network_is_trained_as_if_alone() -> None:
    first = first_layers(SIZES, CLASSES, 2, SEEDS)
    trained = train(first, CODES, LESSON, BATCHES, 0.01)
    found = outputs(trained, CODES)
    for run in range(2):
        for factor, count in enumerate(CLASSES):
            width = max(1, count)
            alone = sequential(first, 3 * run + factor, width)
            adam = torch.optim.Adam(alone.parameters(), lr=0.01)
            schedule = torch.optim.lr_scheduler.LambdaLR(
                adam, lambda step: (1 + math.cos(math.pi * step / len(BATCHES))) / 2
            )
            for rows in BATCHES:
                made = alone(CODES[run, rows])
                loss = (
                    nn.functional.cross_entropy(made, KINDS[factor, rows])
                    if count
                    else nn.functional.mse_loss(made[:, 0], NUMBERS[factor, rows])
                )
                adam.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                adam.step()
                schedule.step()
            expected = alone(CODES[run])
            torch.testing.assert_close(found[run, factor, :, :width], expected, atol=2e-5, rtol=0)
            assert not found[run, factor, :, width:].any()


def test_first_weights_do_not_depend_on_other_networks() -> None:
    together = first_layers(SIZES, CLASSES, 2, SEEDS)
    for factor, count in enumerate(CLASSES):
        alone = first_layers(SIZES, (count,), 1, SEEDS)
        for layer, (whole, own) in enumerate(zip(together, alone, strict=True)):
            for network in (factor, 3 + factor):
                width = own.shape[2] if layer >= 4 else None
                assert torch.equal(whole[network, :, :width], own[0])
    assert together[0].abs().max() <= 1 / 2
    assert together[0].std() > 0.2  # 1/√12 of a range of 1 is 0.29
    assert not torch.equal(together[0], first_layers(SIZES, CLASSES, 2, (4, 2, 3))[0])


def test_classes_that_no_image_has_never_win() -> None:
    layers = first_layers(SIZES, (3,), 2, SEEDS)
    everywhere = decided(
        layers, CODES, LESSON._replace(numeric=torch.tensor([False]), seen=SEEN[1:2])
    )
    only = torch.tensor([[False, False, True]])
    some = decided(layers, CODES, LESSON._replace(numeric=torch.tensor([False]), seen=only))
    assert len(torch.unique(everywhere)) > 1
    assert torch.unique(some).tolist() == [2.0]
