import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
import yaml

from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.losses import Likelihood, negative_log_likelihood
from dislab.testing import check_declared, check_objective
from dislab_qlae import QLAE
from dislab_qlae.quantization import even_values, snap, snapping_losses, values_in_use

SHAPE = (1, 8, 8)
GIVEN: dict[str, Any] = {
    "image_shape": SHAPE,
    "latent_dim": 3,
    "encoder": partial(MLPEncoder, hidden=(8,)),
    "decoder": partial(MLPDecoder, hidden=(8,)),
    "values": 4,
}
BUILD: Any = partial(QLAE, **GIVEN)
IMAGE = torch.rand(6, *SHAPE, generator=torch.Generator().manual_seed(0))
BATCH = ImageBatch(IMAGE, torch.zeros(6, 2, dtype=torch.int64))
STEP = torch.tensor(0)
CONFIG = Path(__file__).parents[1] / "src/dislab_qlae/configs/qlae.yaml"


def test_it_conforms() -> None:
    check_objective(BUILD, BATCH)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_it_conforms_with_either_likelihood(likelihood: Likelihood) -> None:
    assert likelihood in get_args(Likelihood)
    check_objective(partial(BUILD, likelihood=likelihood), BATCH)


def test_it_is_declared() -> None:
    check_declared("objectives", ["QLAE"])


def test_snap_by_hand() -> None:
    values = torch.tensor([[-0.5, 0.0, 0.5], [1.0, 3.0, 2.0]])
    z = torch.tensor([[0.2, 2.6], [9.0, -9.0], [-0.25, 1.5]])
    snapped = snap(z, values)
    # the last row is halfway twice: the lower value number wins
    assert snapped.number.tolist() == [[1, 1], [2, 0], [0, 0]]
    assert snapped.value.tolist() == [[0.0, 3.0], [0.5, 1.0], [-0.5, 1.0]]
    assert torch.equal(snapped.straight, snapped.value)


def test_snap_equals_brute_force() -> None:
    generator = torch.Generator().manual_seed(3)
    values = torch.randn(5, 7, generator=generator)
    z = torch.randn(40, 5, generator=generator)
    index = snap(z, values).number.numpy()
    for image in range(40):
        for latent in range(5):
            distance = np.abs(values[latent].numpy() - z[image, latent].item())
            assert index[image, latent] == distance.argmin()


def test_gradients_go_where_they_belong() -> None:
    values = torch.tensor([[0.0, 1.0], [0.0, 1.0]]).requires_grad_()
    z = torch.tensor([[0.2, 0.9], [0.4, 0.3]]).requires_grad_()
    snapped = snap(z, values)
    (3 * snapped.straight).sum().backward()  # type: ignore[no-untyped-call]
    assert z.grad is not None
    assert torch.equal(z.grad, torch.full((2, 2), 3.0))
    assert values.grad is None
    quantize, commit = snapping_losses(z, snapped.value)
    assert quantize.item() == pytest.approx((0.04 + 0.01 + 0.16 + 0.09) / 4)
    assert commit.item() == pytest.approx(quantize.item())
    (ours,) = torch.autograd.grad(quantize, values, retain_graph=True)
    # d/dv of the mean over 4 of (z − v)²: both z of latent 0 are near 0
    assert ours.tolist() == [
        [pytest.approx(-0.3), 0.0],
        [pytest.approx(-0.15), pytest.approx(0.05)],
    ]
    assert torch.autograd.grad(quantize, z, allow_unused=True, retain_graph=True)[0] is None
    assert torch.autograd.grad(commit, values, allow_unused=True, retain_graph=True)[0] is None
    (theirs,) = torch.autograd.grad(commit, z)
    assert torch.allclose(theirs, 2 * (z - snapped.value).detach() / 4)


def test_values_in_use_by_hand() -> None:
    index = torch.tensor([[0, 2], [0, 1], [3, 2]])
    assert values_in_use(index, 4).item() == 2.0
    assert values_in_use(index[:1], 4).item() == 1.0


def test_codebooks_start_as_in_the_paper() -> None:
    assert torch.allclose(even_values(2, 3), torch.tensor([[-0.5, 0.0, 0.5]] * 2))
    assert BUILD().values.shape == (3, 4)


def test_the_loss_is_the_paper_s_times_the_subpixels() -> None:
    model = BUILD(quantize=0.3, commit=0.7)
    loss, log = model.losses(BATCH, {}, STEP)
    z = model.encoder(IMAGE)
    numbers = (z[:, :, None] - model.values).abs().argmin(2)
    values = torch.stack([model.values[latent][numbers[:, latent]] for latent in range(3)], dim=1)
    output = model.decoder(values)
    paper = torch.nn.functional.binary_cross_entropy_with_logits(output, IMAGE)
    paper = paper + (0.3 + 0.7) * (z - values).square().mean()
    assert loss.item() == pytest.approx(64 * paper.item(), rel=1e-5)
    expected = negative_log_likelihood(output, IMAGE, "bernoulli")
    assert log["reconstruction"].item() == pytest.approx(expected.item(), rel=1e-6)


def test_codes_are_values_of_the_codebooks() -> None:
    model = BUILD()
    codes = model.codes(IMAGE)
    assert (codes[:, :, None] == model.values).any(2).all()
    assert torch.equal(codes, model.codes(IMAGE))
    assert torch.equal(model.reconstruct(IMAGE), model.decode(codes))
    with pytest.raises(InputError, match="QLAE has no posterior"):
        model.encode(IMAGE)


def test_a_traversal_visits_every_value_in_order() -> None:
    model = BUILD()
    with torch.no_grad():
        model.values[1] = torch.tensor([0.3, -0.1, 0.2, 0.0])
        pictures = model.traverse(IMAGE[:1])
        code = model.codes(IMAGE[:1])
        assert pictures.shape == (3, 4, *SHAPE)
        for step, value in enumerate((-0.1, 0.0, 0.2, 0.3)):
            moved = code.clone()
            moved[0, 1] = value
            assert torch.allclose(pictures[1, step], model.decode(moved)[0], atol=1e-6)


def test_only_weights_decay() -> None:
    model = BUILD()
    optimizer = model.configure_optimizers()
    assert isinstance(optimizer, torch.optim.AdamW)
    assert optimizer.defaults["lr"] == 1e-3
    decays = {id(p): g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
    parameters = dict(model.named_parameters())
    assert len(decays) == len(parameters)
    for name, parameter in parameters.items():
        expected = 0.1 if name.endswith("weight") else 0.0
        assert decays[id(parameter)] == expected, name


def test_another_optimiser_keeps_its_own_decay() -> None:
    optimizer = BUILD(optimizer=partial(torch.optim.SGD, lr=0.1, weight_decay=0.3))
    groups = optimizer.configure_optimizers().param_groups
    assert [group["weight_decay"] for group in groups] == [0.3, 0.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"values": 1}, "values is 1; it must be"),
        ({"latent_dim": 0}, "latent_dim is 0"),
        ({"quantize": -0.1}, r"quantize is -0\.1"),
        ({"commit": -0.1}, r"commit is -0\.1"),
    ],
)
def test_mistakes_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        QLAE(**{**GIVEN, **settings})


def test_a_likelihood_with_a_scale_is_refused() -> None:
    with pytest.raises(InputError, match="which this method does not learn"):
        BUILD(likelihood="discretized").losses(BATCH, {}, STEP)


def test_the_configuration_is_the_paper_s() -> None:
    config = yaml.safe_load(CONFIG.read_text())
    model = config["model"]["init_args"]
    assert (model["latent_dim"], model["values"]) == (10, 10)
    assert (model["quantize"], model["commit"]) == (0.001, 0.001)
    assert model["optimizer"]["class_path"] == "torch.optim.AdamW"
    assert model["optimizer"]["init_args"] == {"lr": 1e-3, "weight_decay": 0.1}
    assert config["data"]["init_args"]["batch_size"] == 128
    assert config["trainer"]["max_steps"] == 200_000
    assert config["evaluate"]["metrics"]["infomec"]["init_args"] == {"estimator": "discrete"}


COMPILED = """
import torch
from functools import partial
from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.testing import check_compiles
from dislab_qlae import QLAE

parts = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
batch = ImageBatch(torch.rand(6, 1, 8, 8), torch.zeros(6, 2, dtype=torch.int64))
check_compiles(partial(QLAE, (1, 8, 8), 3, *parts), batch)
print("compiled")
"""


@pytest.mark.slow
def test_it_compiles_to_one_graph() -> None:
    """In a process of its own, for the compiler cannot look into type-checked functions."""
    command = [sys.executable, "-W", "ignore", "-c", COMPILED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "compiled\n", done.stderr


@pytest.mark.slow
def test_its_configuration_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dislab", "fit", f"--config={CONFIG}"]
    command += ["--trainer.fast_dev_run=true", "--trainer.accelerator=cpu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
