"""Check of regularisers."""

import torch
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer, RegularizerBuilder
from dislab.base._batches import check_output, lacking_gradient
from dislab.functional.random import device_generator
from dislab.functional.streams import Stream
from dislab.testing._claims import (
    CPU,
    TOO_FEW,
    check_state_dict,
    mistakes,
    must,
    must_equal,
    part_from,
    smallest_batch,
)


def check_regularizer(
    build: RegularizerBuilder, latent_dim: int = 4, train_size: int = 100, batch: int = 6
) -> None:
    """Checks that a regulariser is pure and a mean, and its scalars and gradients are finite.

    Gradients of the penalty reach the codes or the posterior, unless it is always 0, but none of
    the regulariser's own parameters; gradients of the auxiliary loss reach all of these and neither
    codes nor posterior. `smallest_batch` images, one unless the class sets it, are enough.

    Args:
        build: The class, or a partial of it.
        latent_dim: Number of latents.
        train_size: Size of the training set.
        batch: Number of images in the batch; even.
    """
    regularizer = part_from(Regularizer, build, latent_dim=latent_dim, train_size=train_size)
    least = smallest_batch(regularizer)
    batch = max(batch, least + least % 2)
    mean, log_var, noise = torch.randn(3, batch, latent_dim, generator=device_generator(CPU, 0))
    mean.requires_grad_()
    log_var.requires_grad_()
    posterior = Posterior(mean, log_var)
    z = mean + (0.5 * log_var).exp() * noise
    step = torch.tensor(3)
    draws = regularizer.draw(batch, Stream(1))
    again = regularizer.draw(batch, Stream(1))
    for name in draws:
        must_equal(again[name], draws[name], f"draw is a function of its stream alone, {name} too")
    labels: Draws = {}
    if regularizer.needs_labels:
        labels["labels"] = torch.rand(batch, latent_dim - 1, generator=device_generator(CPU, 1))
        labels["labels"][0, 0] = torch.nan  # an image without a value
    draws |= labels
    before = [tensor.detach().clone() for tensor in (z, mean, log_var)]
    out = _penalty(regularizer, posterior, z, draws, step)
    name = type(regularizer).__name__
    must(
        all(map(torch.equal, before, (z, mean, log_var))),
        f"{name} leaves codes and posterior as they are, but it changes one of them in place",
    )
    lacking = lacking_gradient(regularizer, (posterior, z, draws, step), out)
    must(not lacking, f"{name} returns a penalty to train by, not {lacking}")
    repeated = regularizer(posterior, z, draws, step)
    _check_values(out, f"{batch} images is finite")
    must_equal(
        repeated.penalty,
        out.penalty,
        f"equal inputs and draws give an equal penalty: {name} keeps nothing from call to call, "
        "and takes its random numbers from draw",
    )
    _check_gradients(regularizer, out, [mean, log_var])
    check_state_dict(regularizer, build(latent_dim, train_size))
    if set(draws) == set(labels):  # others may pair the images of a batch
        twice = Posterior(mean.repeat(2, 1), log_var.repeat(2, 1))
        doubled = {key: rows.repeat(2, 1) for key, rows in labels.items()}
        _check_mean(out, regularizer(twice, z.repeat(2, 1), doubled, step))
    few = regularizer.draw(least, Stream(1)) | {name: rows[:least] for name, rows in labels.items()}
    single = Posterior(mean[:least], log_var[:least])
    smallest = _penalty(regularizer, single, z[:least], few, step)
    count = f"{least} image{'s' * (least > 1)}"
    _check_values(smallest, f"{count} is finite; {TOO_FEW}")
    _check_finite(_gradients(smallest.penalty, [mean, log_var]), f"the penalty of {count}")


def _penalty(
    regularizer: Regularizer, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor
) -> Penalty:
    """The output of a regulariser, after the check that training makes on the first batch."""
    with mistakes(f"; z has the shape {tuple(z.shape)}"):
        out: Penalty = regularizer(posterior, z, draws, step)
        check_output(regularizer, z, out)
    return out


def _check_values(out: Penalty, claim: str) -> None:
    values = {"penalty": out.penalty, "auxiliary loss": out.auxiliary}
    values |= {f"term {name}": term for name, term in out.terms.items()}
    for name, value in values.items():
        if value is not None:
            must(bool(value.isfinite()), f"the {name} of {claim}; it is {value.item()}")


def _check_mean(once: Penalty, twice: Penalty) -> None:
    """Refuses a penalty that doubles if each image of a batch is there twice."""
    single, double = float(once.penalty.detach()), float(twice.penalty.detach())
    must(
        single == 0 or abs(double / single - 2) > 1e-3,
        f"the penalty is a mean over the batch; it is {single:.4g}, and {double:.4g} with each "
        "image twice: divide the sum by the number of images",
    )


def _check_gradients(regularizer: Regularizer, out: Penalty, inputs: list[Tensor]) -> None:
    names = [name for name, _ in regularizer.named_parameters()]
    parameters = list(regularizer.parameters())
    reached = _gradients(out.penalty, [*inputs, *parameters])
    trained = [
        name for name, gradient in zip(names, reached[2:], strict=True) if gradient is not None
    ]
    must(
        not trained,
        f"the penalty trains the model alone, but also {', '.join(trained)}; compute it with "
        "detached parameters, which the auxiliary loss trains",
    )
    _check_finite(reached, "the penalty")
    if not parameters:
        return
    must(
        out.auxiliary is not None,
        f"own parameters need an auxiliary loss; it is None, and {', '.join(names)} would never "
        "be trained",
    )
    assert out.auxiliary is not None
    reached = _gradients(out.auxiliary, [*inputs, *parameters])
    must(
        reached[0] is None and reached[1] is None,
        "the auxiliary loss gives z no gradient, nor the posterior, but it gives one: compute "
        "it from z.detach()",
    )
    idle = [name for name, gradient in zip(names, reached[2:], strict=True) if gradient is None]
    must(not idle, f"the auxiliary loss trains every parameter, but not {', '.join(idle)}")
    _check_finite(reached, "the auxiliary loss")
    grouped = {id(p) for group in regularizer.parameter_groups() for p in group["params"]}
    left_out = [name for name, p in zip(names, parameters, strict=True) if id(p) not in grouped]
    must(not left_out, f"parameter_groups holds every parameter, but not {', '.join(left_out)}")
    foreign = len(grouped - {id(p) for p in parameters})
    must(not foreign, f"parameter_groups holds own parameters alone, but {foreign} others too")


def _check_finite(gradients: tuple[Tensor | None, ...], loss: str) -> None:
    must(
        all(bool(gradient.isfinite().all()) for gradient in gradients if gradient is not None),
        f"the gradients of {loss} are finite (a root or a norm has none at 0)",
    )


def _gradients(loss: Tensor, inputs: list[Tensor]) -> tuple[Tensor | None, ...]:
    if not loss.requires_grad:
        return (None,) * len(inputs)
    return torch.autograd.grad(loss, inputs, allow_unused=True, retain_graph=True)
