from typing import Literal, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dislab.base import Draws, Posterior
from dislab.base._batches import check_batch_size
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.regularizers import TotalCorrelation
from dislab.regularizers.total_correlation import SLOPE, judge, permute_latents

STEP = torch.tensor(0)


def small(batches: Literal["one", "two"] = "one", gamma: float = 7.0) -> TotalCorrelation:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return TotalCorrelation(4, 100, gamma=gamma, width=16, depth=2, batches=batches)


def drawn(regularizer: TotalCorrelation, count: int = 8) -> Draws:
    return regularizer.draw(count, Stream(3))


def test_draws_permute_each_latent_on_its_own() -> None:
    permutation = drawn(small(), 50)["permutation"]
    assert all(sorted(column) == list(range(50)) for column in permutation.T.tolist())
    assert len({tuple(column) for column in permutation.T.tolist()}) == 4


def test_penalty_and_auxiliary_equal_their_definitions(posterior: Posterior) -> None:
    regularizer = small()
    z = posterior.mean
    draws = drawn(regularizer)
    penalty, auxiliary, terms = regularizer(posterior, z, draws, STEP)
    permuted = torch.stack(
        [z[rows, latent] for latent, rows in enumerate(draws["permutation"].T)], dim=1
    )
    joint, marginals = regularizer.discriminator(z), regularizer.discriminator(permuted)
    torch.testing.assert_close(penalty, 7 * (joint[:, 0] - joint[:, 1]).mean())
    zeros, ones = torch.zeros(8, dtype=torch.long), torch.ones(8, dtype=torch.long)
    expected = 0.5 * F.cross_entropy(joint, zeros) + 0.5 * F.cross_entropy(marginals, ones)
    assert auxiliary is not None
    torch.testing.assert_close(auxiliary, expected)
    assert set(terms) == {"tc", "discriminator_loss", "discriminator_accuracy"}


def test_the_accuracy_counts_both_halves(posterior: Posterior) -> None:
    regularizer = small()
    draws = drawn(regularizer)
    with torch.no_grad():
        logits = regularizer.discriminator(posterior.mean)
        regularizer.discriminator[-1].bias -= logits.mean(0)  # to have right and wrong rows
        codes, permuted = (
            regularizer.discriminator(z)
            for z in (posterior.mean, posterior.mean.gather(0, draws["permutation"]))
        )
    right = (codes[:, 0] > codes[:, 1]).sum(), (permuted[:, 0] < permuted[:, 1]).sum()
    assert [int(count) for count in right] == [4, 6]
    accuracy = regularizer(posterior, posterior.mean, draws, STEP).terms["discriminator_accuracy"]
    assert accuracy.item() == (4 + 6) / 16


def test_the_auxiliary_loss_gives_the_codes_no_gradient(posterior: Posterior) -> None:
    regularizer = small()
    _, auxiliary, _ = regularizer(posterior, posterior.mean, drawn(regularizer), STEP)
    assert auxiliary is not None
    (gradient,) = torch.autograd.grad(auxiliary, posterior.mean, allow_unused=True)
    assert gradient is None


def test_the_penalty_gives_the_discriminator_no_gradient(posterior: Posterior) -> None:
    regularizer = small()
    penalty, _, _ = regularizer(posterior, posterior.mean, drawn(regularizer), STEP)
    inputs = [posterior.mean, *regularizer.parameters()]
    to_codes, *to_discriminator = torch.autograd.grad(penalty, inputs, allow_unused=True)
    assert to_codes is not None
    assert to_codes.abs().sum() > 0
    assert all(gradient is None for gradient in to_discriminator)


def test_permuted_codes_get_no_gradient(posterior: Posterior) -> None:
    regularizer = small()
    codes, permuted = posterior.mean, posterior.mean.detach().flip(0).requires_grad_()
    judgement = judge(codes, permuted, list(regularizer.parameters()))
    inputs = [codes, permuted]
    to_codes, to_permuted = torch.autograd.grad(judgement.tc, inputs, allow_unused=True)
    assert to_codes is not None
    assert to_permuted is None


def test_one_optimiser_with_two_groups_equals_two_optimisers() -> None:
    def train(single: bool) -> Tensor:
        regularizer = small()
        codes = torch.nn.Parameter(torch.linspace(-1, 1, 32).view(8, 4))
        groups = [{"params": [codes], "lr": 1e-2}, *regularizer.parameter_groups()]
        optimizers = (
            [torch.optim.Adam(groups)]
            if single
            else [torch.optim.Adam([group]) for group in groups]
        )
        for step in range(50):
            draws = regularizer.draw(8, Stream(step))
            posterior = Posterior(codes, torch.zeros_like(codes))
            penalty, auxiliary, _ = regularizer(posterior, codes, draws, STEP)
            assert auxiliary is not None
            for optimizer in optimizers:
                optimizer.zero_grad()
            (penalty + auxiliary).backward()
            for optimizer in optimizers:
                optimizer.step()
        return torch.cat([codes.flatten(), *(p.flatten() for p in regularizer.parameters())])

    assert torch.equal(train(single=True), train(single=False))


@pytest.mark.slow
def test_the_discriminator_finds_a_known_total_correlation() -> None:
    """Two Gaussians of correlation 0.9 have −½·log(1 − 0.81) = 0.830 nats."""
    torch.manual_seed(0)
    regularizer = TotalCorrelation(2, 100, gamma=1.0, width=32, depth=2, lr=3e-3, betas=(0.9, 0.99))
    optimizer = torch.optim.Adam(regularizer.parameter_groups())
    tail = []
    for step in range(300):
        generator = torch.Generator().manual_seed(step)
        first, second = torch.randn(2, 512, generator=generator)
        z = torch.stack([first, 0.9 * first + 0.19**0.5 * second], dim=1)
        draws = regularizer.draw(512, Stream(step))
        penalty, auxiliary, _ = regularizer(Posterior(z, torch.zeros_like(z)), z, draws, STEP)
        assert auxiliary is not None
        optimizer.zero_grad()
        auxiliary.backward()
        optimizer.step()
        if step >= 200:
            tail.append(penalty.detach())
    assert torch.stack(tail).mean().item() == pytest.approx(0.830, abs=0.1)


def test_two_batches_take_alternate_rows(posterior: Posterior) -> None:
    regularizer = small("two")
    z = posterior.mean
    draws = drawn(regularizer)
    assert draws["permutation"].shape == (4, 4)
    penalty, auxiliary, _ = regularizer(posterior, z, draws, STEP)
    joint = regularizer.discriminator(z[0::2])
    torch.testing.assert_close(penalty, 7 * (joint[:, 0] - joint[:, 1]).mean())
    permuted = torch.stack(
        [z[1::2][rows, latent] for latent, rows in enumerate(draws["permutation"].T)], dim=1
    )
    marginals = regularizer.discriminator(permuted)
    zeros, ones = torch.zeros(4, dtype=torch.long), torch.ones(4, dtype=torch.long)
    expected = 0.5 * F.cross_entropy(joint, zeros) + 0.5 * F.cross_entropy(marginals, ones)
    torch.testing.assert_close(auxiliary, expected)


def test_two_batches_leave_a_single_last_row_out(posterior: Posterior) -> None:
    regularizer = small("two")
    odd = Posterior(posterior.mean[:7], posterior.log_var[:7])
    even = Posterior(posterior.mean[:6], posterior.log_var[:6])
    seven, _, _ = regularizer(odd, odd.mean, drawn(regularizer, 7), STEP)
    six, _, _ = regularizer(even, even.mean, drawn(regularizer, 6), STEP)
    assert torch.equal(seven, six)


def test_the_two_halves_of_a_single_image_are_the_image(posterior: Posterior) -> None:
    """The last batch of validation may have a single image; its loss stays finite."""
    single = Posterior(posterior.mean[:1], posterior.log_var[:1])
    penalties = [
        regularizer(single, single.mean, drawn(regularizer, 1), STEP).penalty
        for regularizer in (small("two"), small("one"))
    ]
    assert penalties[0].isfinite()
    assert torch.equal(*penalties)


@pytest.mark.parametrize(("processes", "least"), [(1, 4), (2, 4), (4, 8)])
def test_two_batches_need_two_images_in_each_process(
    processes: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dislab.regularizers.total_correlation.world", lambda: (0, processes))
    model = torch.nn.ModuleDict({"tc": small("two")})
    check_batch_size(model, least)
    with pytest.raises(InputError, match=f"set data.batch_size to at least {least}"):
        check_batch_size(model, least - 1)


def test_it_refuses_what_has_no_meaning() -> None:
    with pytest.raises(InputError, match="latent_dim must be at least 2"):
        TotalCorrelation(1, 100)
    with pytest.raises(InputError, match="gamma is -3"):
        TotalCorrelation(4, 100, gamma=-3.0)
    with pytest.raises(InputError, match=r"betas is \(0.5, nan\)"):
        TotalCorrelation(4, 100, betas=(0.5, float("nan")))
    with pytest.raises(InputError, match=r"slope is -0.1"):
        TotalCorrelation(4, 100, slope=-0.1)


def test_the_slope_is_that_of_every_layer(posterior: Posterior) -> None:
    """Montero et al. (2021) leave PyTorch's 0.01."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        regularizer = TotalCorrelation(4, 100, gamma=1.0, width=16, depth=2, slope=0.01)
    penalty, _, _ = regularizer(posterior, posterior.mean, drawn(regularizer), STEP)
    first, _, second, _, last = regularizer.discriminator
    values = posterior.mean
    for layer in (first, second):
        values = layer(values)
        values = torch.where(values > 0, values, 0.01 * values)
    logits = last(values)
    expected = (logits[:, 0] - logits[:, 1]).mean()
    torch.testing.assert_close(penalty, expected)
    given, wanted = (torch.autograd.grad(one, posterior.mean)[0] for one in (penalty, expected))
    torch.testing.assert_close(given, wanted)


def test_updates_in_turns_are_updates_at_once_where_the_codes_are_kept() -> None:
    """The code of Montero et al. (2021) updates the model, then the discriminator on old codes."""

    def train(in_turns: bool) -> Tensor:
        regularizer = small()
        codes = torch.nn.Parameter(torch.linspace(-1, 1, 32).view(8, 4))
        parameters = list(regularizer.parameters())
        models, critics = torch.optim.Adam([codes]), torch.optim.Adam(parameters, lr=1e-3)
        for step in range(20):
            draws = regularizer.draw(8, Stream(step))
            if in_turns:
                kept = codes.detach().clone()
                posterior = Posterior(codes, torch.zeros_like(codes))
                (codes.grad,) = torch.autograd.grad(
                    regularizer(posterior, codes, draws, STEP).penalty, codes
                )
                models.step()
                auxiliary = regularizer(Posterior(kept, kept), kept, draws, STEP).auxiliary
                for parameter, gradient in zip(
                    parameters, torch.autograd.grad(auxiliary, parameters), strict=True
                ):
                    parameter.grad = gradient
                critics.step()
            else:
                posterior = Posterior(codes, torch.zeros_like(codes))
                penalty, auxiliary, _ = regularizer(posterior, codes, draws, STEP)
                for optimizer in (models, critics):
                    optimizer.zero_grad()
                (penalty + auxiliary).backward()
                models.step()
                critics.step()
        return torch.cat([codes.flatten(), *(one.flatten() for one in parameters)]).detach()

    torch.testing.assert_close(train(in_turns=True), train(in_turns=False), rtol=0, atol=1e-6)


def test_the_paper_design() -> None:
    discriminator = TotalCorrelation(10, 100).discriminator
    layers = [layer for layer in discriminator if isinstance(layer, torch.nn.Linear)]
    shapes = [tuple(layer.weight.shape) for layer in layers]
    assert shapes == [(1000, 10), *[(1000, 1000)] * 5, (2, 1000)]
    slopes = {
        layer.negative_slope for layer in discriminator if isinstance(layer, torch.nn.LeakyReLU)
    }
    assert slopes == {0.2}


def test_permuted_latents_keep_each_marginal() -> None:
    z = torch.arange(12.0).view(4, 3)
    permutation = torch.tensor([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]])
    permuted = permute_latents(z, permutation)
    assert permuted.tolist() == [[0, 4, 8], [3, 7, 11], [6, 10, 2], [9, 1, 5]]


class Apart(NamedTuple):
    """Both losses from networks of their own, each with what it may train."""

    tc: Tensor
    loss: Tensor


def network(dtype: torch.dtype = torch.float64) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layers = [nn.Linear(3, 7), nn.LeakyReLU(SLOPE), nn.Linear(7, 5), nn.LeakyReLU(SLOPE)]
        return nn.Sequential(*layers, nn.Linear(5, 2)).to(dtype)


def samples(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    codes, permuted = 2 * torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(2))
    return codes.to(dtype).requires_grad_(), permuted.to(dtype)


def apart(discriminator: nn.Sequential, codes: Tensor, permuted: Tensor) -> Apart:
    logits = discriminator(codes)
    judged = discriminator(torch.cat([codes.detach(), permuted]))
    truth = torch.tensor([0] * len(codes) + [1] * len(permuted))
    return Apart((logits[:, 0] - logits[:, 1]).mean(), F.cross_entropy(judged, truth))


def test_it_equals_two_passes() -> None:
    discriminator, (codes, permuted) = network(), samples()
    parameters = list(discriminator.parameters())
    one, two = judge(codes, permuted, parameters), apart(discriminator, codes, permuted)
    torch.testing.assert_close(one.tc, two.tc)
    torch.testing.assert_close(one.loss, two.loss)
    weighted = 3 * one.tc - 0.7 * one.loss
    of_codes, *of_parameters = torch.autograd.grad(weighted, [codes, *parameters])
    torch.testing.assert_close(of_codes, torch.autograd.grad(3 * two.tc, codes)[0])
    expected = torch.autograd.grad(-0.7 * two.loss, parameters)
    for gradient, other in zip(of_parameters, expected, strict=True):
        torch.testing.assert_close(gradient, other)


def test_a_certain_discriminator_still_moves_the_codes() -> None:
    """Where the loss has no gradient left, that of the total correlation is whole."""
    discriminator, (codes, permuted) = network(torch.float32), samples(torch.float32)
    with torch.no_grad():
        list(discriminator.parameters())[-2].mul_(1e4)
    one = judge(codes, permuted, list(discriminator.parameters()))
    two = apart(discriminator, codes, permuted)
    (gradient,) = torch.autograd.grad(one.tc + one.loss, codes)
    torch.testing.assert_close(gradient, torch.autograd.grad(two.tc, codes)[0])
    assert gradient.abs().amax(1).min() > 1


def test_the_log_ratio_is_of_each_row() -> None:
    discriminator, (codes, permuted) = network(), samples()
    log_ratio = judge(codes, permuted, list(discriminator.parameters())).log_ratio
    logits = discriminator(torch.cat([codes, permuted]))
    torch.testing.assert_close(log_ratio, logits[:, 0] - logits[:, 1])
    assert not log_ratio.requires_grad


def test_second_derivatives_are_refused() -> None:
    """The pass knows the first ones only, and must not give others that are wrong."""
    discriminator, (codes, permuted) = network(), samples()
    tc = judge(codes, permuted, list(discriminator.parameters())).tc
    (gradient,) = torch.autograd.grad(tc.square(), codes, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        torch.autograd.backward(gradient.sum())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_computes_in_half_precision_and_averages_in_float32(dtype: torch.dtype) -> None:
    discriminator, (codes, permuted) = network(torch.float32), samples(torch.float32)
    parameters = list(discriminator.parameters())
    with torch.autocast("cpu", dtype):
        one = judge(codes, permuted, parameters)
    two = apart(discriminator, codes, permuted)
    assert one.tc.dtype == one.loss.dtype == torch.float32
    of_codes, *of_parameters = torch.autograd.grad(one.tc + one.loss, [codes, *parameters])
    expected = [*torch.autograd.grad(two.tc, codes), *torch.autograd.grad(two.loss, parameters)]
    for gradient, other in zip([of_codes, *of_parameters], expected, strict=True):
        assert gradient.dtype == torch.float32
        assert not torch.equal(gradient, other)
        torch.testing.assert_close(gradient, other, atol=0.02 * other.abs().max().item(), rtol=0)
