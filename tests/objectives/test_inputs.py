"""Wrong inputs to a trained method in Python end with a message."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import cases
from torch import Tensor, nn

from dislab.base import Objective, Posterior
from dislab.callbacks import Samples
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.objectives import (
    JMVAE,
    SCAN,
    TELBO,
    VAE,
    BottleneckGenerator,
    CompositionVAE,
    GroundTruthDecoder,
    InfoGAN,
    InfoWGANGP,
    Recombinator,
)
from dislab.objectives._inputs import (
    check_named,
    check_numbers,
    check_positions,
    checked_noise,
    listed,
)
from dislab.objectives._variational import checked_images, checked_rows
from dislab.regularizers import KL

SHAPE = (1, 8, 8)
NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
NAMES = ("x=low", "x=high", "y=low")
FACTORS: tuple[Any, ...] = (SHAPE, ("hue", "size"), (4, 3), NETWORKS[1])
GAME: tuple[Any, ...] = (SHAPE, NETWORKS[1], NETWORKS[0], 5, (3,), 1)
DRAW = Stream(0)


def vae() -> VAE:
    return VAE(SHAPE, 16, 4, *NETWORKS, {"kl": KL})


@pytest.fixture
def scan(save: Callable[[Objective, str], str]) -> SCAN:
    return SCAN(SHAPE, NAMES, save(vae(), "vision"))


def unhooked(method: Any) -> Any:
    """A method as users call it, without the checks of the tests' import hook."""
    function = method.__func__
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


WITH_BOTH = [
    pytest.param(build, id=name)
    for name in cases.own("objectives")
    for build in cases.builds("objectives", name)[:1]
    if build.func.has_codes and build.func.decode is not Objective.decode
]
"""Objectives that make codes of images and images of codes."""


@pytest.mark.every(4)
@pytest.mark.parametrize("build", WITH_BOTH)
def test_images_and_codes_of_another_shape(build: Any, tmp_path: Path) -> None:
    model = cases.ready(build, tmp_path)()
    latents = model.codes(torch.rand(1, *SHAPE)).shape[1]
    message = r"images have shape \(2, 3, 8, 8\); \w+ was made for a batch of 1×8×8: channels"
    with pytest.raises(InputError, match=message):
        model.codes(torch.rand(2, 3, 8, 8))
    asked = rf"z has shape \(2, {latents + 1}\); .* rows with {latents} numbers, one for"
    with pytest.raises(InputError, match=asked):
        model.decode(torch.rand(2, latents + 1))


@pytest.mark.parametrize(
    ("shape", "remedy"),
    [
        ((2, 8, 8, 3), r"first: images\.transpose.* in NumPy, images\.permute.* in torch$"),
        ((3, 8, 8), r"images\[None\] makes a batch"),
        ((2, 4, 8, 8), r"give images of 3×8×8, or make the model with image_shape=\(4, 8, 8\)$"),
        ((2, 3, 9, 9), r"give images of 3×8×8 \(resize=8 of a data module\), or make the model"),
        ((8, 8), "channels, height, width$"),
    ],
)
def test_images_in_another_order_are_refused_with_a_remedy(
    shape: tuple[int, ...], remedy: str
) -> None:
    model = VAE((3, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL})
    with pytest.raises(InputError, match=remedy):
        checked_images(model, torch.rand(shape), (3, 8, 8))


@pytest.mark.every(4)
@pytest.mark.parametrize(("build", "batch"), cases.objectives(likelihoods=False))
def test_a_loss_of_images_of_another_shape_names_both_and_the_cure(
    build: Any, batch: Any, tmp_path: Path
) -> None:
    model = cases.ready(build, tmp_path)()
    draws = model.draw(len(batch[0]), DRAW)
    larger = {
        name: nn.functional.pad(images, (1, 0, 1, 0))
        for name, images in batch._asdict().items()
        if isinstance(images, Tensor) and images.shape[1:] == SHAPE
    }
    assert larger
    message = (
        r"the batch has \w+ of 1×9×9, and \w+ was made for 1×8×8; give images of 1×8×8 \(resize=8"
    )
    with pytest.raises(InputError, match=message):
        model.losses(batch._replace(**larger), draws, 0)


@pytest.mark.every(4)
@pytest.mark.parametrize("build", WITH_BOTH)
def test_no_images_have_no_codes_and_no_codes_no_images(build: Any, tmp_path: Path) -> None:
    model = cases.ready(build, tmp_path)()
    codes = model.codes(torch.rand(0, *SHAPE))
    assert len(codes) == 0
    assert model.decode(codes).shape == (0, *SHAPE)


def test_images_of_another_rank_or_kind() -> None:
    model = vae()
    images = torch.rand(2, *SHAPE)
    assert checked_images(model, images, list(SHAPE)) is images
    with pytest.raises(
        InputError, match=r"images have shape \(1, 8, 8\); VAE was made for a batch"
    ):
        checked_images(model, images[0], SHAPE)
    allowed = r"it holds pixels in \[0, 1\] as torch\.float32, like the weights"
    with pytest.raises(
        InputError, match=rf"images is torch\.uint8; {allowed}: pass images.* / 255$"
    ):
        checked_images(model, images.to(torch.uint8), SHAPE)
    with pytest.raises(InputError, match=rf"{allowed}: pass images\.to\(torch\.float32\)$"):
        checked_images(model, images.double(), SHAPE)
    with pytest.raises(InputError, match=r"z is torch\.int64; it holds real numbers"):
        checked_rows(model, "z", torch.zeros(2, 4, dtype=torch.int64), 4, "latent")
    with pytest.raises(InputError, match=r"z has shape \(4,\); .* 1 number, one for each latent"):
        checked_rows(model, "z", torch.zeros(4), 1, "latent")


def test_the_kind_of_number_is_that_of_the_weights_however_they_came_by_it() -> None:
    model = nn.Sequential(vae()).double()
    assert model(torch.rand(2, *SHAPE).double()).dtype == torch.float64
    with pytest.raises(InputError, match=r"images is torch\.float32; .*torch\.float64"):
        vae().double().codes(torch.rand(2, *SHAPE))
    with torch.autocast("cpu", torch.bfloat16):
        half = torch.rand(2, *SHAPE, dtype=torch.bfloat16)
        assert vae().codes(half).dtype == torch.float32


@pytest.mark.parametrize("method", [JMVAE, TELBO, SCAN])
def test_descriptions_that_are_none(method: Any, scan: SCAN) -> None:
    model: Any = scan if method is SCAN else method(SHAPE, NAMES, 4, *NETWORKS)
    draws = model.draw(2, DRAW)
    columns = r"symbol has shape \(2, 4\); .* 3 numbers, one for each of x=low, x=high, y=low"
    for describe in (model.encode_symbol, partial(model.sym2img, draws=draws)):
        with pytest.raises(InputError, match=columns):
            describe(torch.zeros(2, 4))
    with pytest.raises(InputError, match=r"images have shape \(2, 1, 4, 4\)"):
        model.img2sym(torch.rand(2, 1, 4, 4))
    for wrong in (0.5, 2.0, float("nan")):
        with pytest.raises(InputError, match=f"symbol holds {wrong:g}; an attribute is named by 1"):
            model.sym2img(torch.tensor([[0, wrong, 1], [1, 0, 0]]), draws)
    found = r"draws has noise of shape \(2, 4\), and \(3, 4\) is asked for; pass what \w+\.draw\(3,"
    with pytest.raises(InputError, match=found):
        model.sym2img(torch.zeros(3, 3), draws)
    with pytest.raises(InputError, match="draws has no noise"):
        model.sym2img(torch.zeros(3, 3), {})
    nothing = model.sym2img(torch.zeros(0, 3), model.draw(0, DRAW))
    assert nothing.shape == (0, *SHAPE)
    assert model.img2sym(nothing).shape == (0, 3)


@pytest.mark.slow
def test_concepts_that_cannot_be_recombined(
    scan: SCAN, save: Callable[[Objective, str], str]
) -> None:
    model = Recombinator(SHAPE, NAMES, save(scan, "scan"))
    two, draws = torch.eye(3)[:2], model.draw(2, DRAW)
    operator = torch.tensor([0, 2])
    with pytest.raises(InputError, match="as many rows of each: first has 2, second has 1, opera"):
        unhooked(model.recombine)(model, two, two[:1], operator)
    with pytest.raises(InputError, match=r"symbol has shape \(2, 2\); .* x=low, x=high, y=low"):
        unhooked(model.recombine)(model, two, two[:, :2], operator)
    with pytest.raises(InputError, match="second holds 3; an attribute is named by 1"):
        model.recombine(two, 3 * two, operator)
    with pytest.raises(InputError, match="operator holds 3; it runs from 0 to 2: and, in_common, "):
        model.recombine(two, two, operator + 1)
    latents = Posterior(torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(
        InputError, match=r"first has shape \(2, 3\); .* 4 numbers, one for each la"
    ):
        model.apply_operator(latents, latents, operator)
    wrong: Any = "ignroe"
    with pytest.raises(InputError, match=r"operator is 'ignroe'.*did you mean ignore"):
        unhooked(model.recombined_images)(model, two, two, wrong, draws)
    with pytest.raises(
        InputError, match=r"draws has noise of shape \(2, 4\), and \(1, 4\) is asked"
    ):
        model.recombined_images(two[:1], two[:1], "and", draws)


def test_compositions_of_images_that_do_not_go_together() -> None:
    model = CompositionVAE(SHAPE, ("take hue", "take size"), 4, *NETWORKS)
    images, action = torch.rand(2, *SHAPE), torch.tensor([0, 1])
    with pytest.raises(
        InputError, match="action holds 2; it runs from 0 to 1: take hue, take size"
    ):
        model.compose(images, images, action + 1)
    with pytest.raises(InputError, match="reference has 2, transform has 1, action has 2"):
        unhooked(model.mix)(model, torch.zeros(2, 4), torch.zeros(1, 4), action)
    with pytest.raises(InputError, match=r"images have shape \(2, 3, 8, 8\)"):
        unhooked(model.compose)(model, images, images.expand(2, 3, 8, 8), action)
    with pytest.raises(InputError, match=r"transform has shape \(2, 3\); .* 4 numbers"):
        unhooked(model.mix)(model, torch.zeros(2, 4), torch.zeros(2, 3), action)


@pytest.mark.parametrize("method", [GroundTruthDecoder, BottleneckGenerator])
def test_factors_that_no_image_has(method: Any) -> None:
    model = method(*FACTORS)
    assert model.render(torch.tensor([[3, 2], [0, 0]])).shape == (2, *SHAPE)
    with pytest.raises(
        InputError, match="factors holds 3 for size, whose value numbers run from 0"
    ):
        model.render(torch.tensor([[3, 2], [0, 3]]))
    with pytest.raises(InputError, match=r"of shape \(1, 3\); .* number for each of hue, size"):
        model.render(torch.tensor([[0, 0, 0]]))
    with pytest.raises(InputError, match=r"z has shape \(2, 3\); .* 2 numbers"):
        model.decode(torch.zeros(2, 3))


@pytest.mark.parametrize("method", [InfoGAN, InfoWGANGP])
def test_numbers_of_images_and_steps(method: Any) -> None:
    model = method(*GAME)
    assert model.generate(0, DRAW).shape == (0, *SHAPE)
    for one in (model, BottleneckGenerator(*FACTORS)):
        with pytest.raises(InputError, match="count is -1; it must be a whole number of at least"):
            one.generate(-1, DRAW)
    with pytest.raises(InputError, match="steps is 0; it must be a whole number of at least 1"):
        model.code_values(0)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "build",
    [
        pytest.param(build, id=name)
        for name in cases.own("objectives")
        for build in cases.builds("objectives", name)[:1]
    ],
)
def test_what_samples_draws_generate_returns(build: Any, tmp_path: Path) -> None:
    model = cases.ready(build, tmp_path)().eval()
    if Samples().missing(model):
        with pytest.raises(InputError, match=r"has no prior of its own|has no decoder"):
            model.generate(2)
        return
    made = model.generate(2)
    stream = Stream(0).of("samples")
    assert (made.shape, made.dtype) == ((2, *SHAPE), torch.float32)
    assert not made.requires_grad  # so that .numpy() works
    assert torch.equal(made, model.generate(2, stream))
    assert torch.equal(made, model.generate(2, 0))
    assert not torch.equal(made, model.generate(2, 1))
    if type(model).generate is Objective.generate:
        latents = model.encode(torch.zeros(1, *SHAPE)).mean.shape[1]
        assert torch.equal(made, model.decode(stream.normal("latents", 2, latents)))
    with pytest.raises(InputError, match="count is -1; it must be a whole number of at least 0"):
        model.generate(-1)


def test_tensors_keep_gradients_unless_weights_need_none_and_arrays_have_none() -> None:
    model = VAE(SHAPE, 100, 2, MLPEncoder, MLPDecoder, {"kl": KL}).eval()
    image, z = torch.zeros(1, *SHAPE), torch.zeros(1, 2)

    def made() -> list[Tensor]:
        return [model.codes(image), model.encode(image).mean, model.reconstruct(image)]

    assert all(tensor.requires_grad for tensor in [*made(), model.decode(z)])
    array: Any = image.numpy()
    latents: Any = z.double().numpy()
    arrays = [model.codes(array), model.encode(array).mean, model.reconstruct(array)]
    arrays += [model.decode(latents), model.generate(1)]
    assert not any(tensor.requires_grad for tensor in arrays)
    model.requires_grad_(False)  # as open_run does
    everything = [*made(), model.decode(z), *arrays]
    assert not any(tensor.requires_grad for tensor in everything)
    assert {tensor.dtype for tensor in everything} == {torch.float32}


def test_samples_are_drawn_from_a_seed_or_a_stream() -> None:
    draw: Any = inspect.unwrap(Objective.prior_stream)  # without the tests' import hook
    with pytest.raises(InputError, match="stream is an object of Generator; give a seed such as 1"):
        draw(vae(), torch.Generator())
    turned: Any = vae().draw
    with pytest.raises(InputError, match=r"the number of images first: draw\(count, stream\)"):
        turned(Stream(0), 8)


def test_a_method_that_does_not_know_its_latents_generates_nothing() -> None:
    model = vae()
    del model.latent_dim
    with pytest.raises(InputError, match="VAE has no latent_dim, the number of its latents"):
        model.generate(2)


def test_whole_numbers_and_names() -> None:
    for wrong in (torch.tensor([1.0]), torch.tensor([[1]]), torch.tensor([True])):
        with pytest.raises(
            InputError, match=r"action is torch\.\w+ of shape .*one whole number per"
        ):
            check_numbers("action", wrong, ("a", "b"))
        with pytest.raises(InputError, match=r"factors is torch\.\w+ of shape .* each of a, b"):
            check_positions(wrong, ("a", "b"), (2, 2))
    check_numbers("action", torch.tensor([], dtype=torch.int64), ("a",))
    check_named("symbol", torch.zeros(0, 3))
    noise: Tensor = torch.zeros(2, 4)
    assert checked_noise(vae(), {"noise": noise}, noise) is noise
    assert listed([str(number) for number in range(10)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"
