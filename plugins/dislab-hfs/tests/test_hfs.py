import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from torch import Tensor

import dislab_hfs.hfs
from dislab.base import ImageBatch, Posterior
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.random import device_generator
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.testing import check_declared, check_objective, check_regularizer
from dislab_hfs import HFS, hausdorff
from dislab_hfs.hausdorff import hausdorff_gaps, missing_spread, unit_scale

CPU = torch.device("cpu")
STEP = torch.tensor(0)
CONFIG = Path(__file__).parents[1] / "src/dislab_hfs/configs/hfs.yaml"
SETTINGS = [{}, {"normalize": False}, {"pairs": 2, "points": 7}]


def random_codes(batch: int, latents: int, seed: int = 0) -> Tensor:
    return torch.randn(batch, latents, generator=device_generator(CPU, seed))


def every_point(batch: int, pairs: int) -> Tensor:
    """The whole product, for each of so many pairs."""
    grid = torch.tensor(list(product(range(batch), repeat=2)))
    return grid[:, None].repeat(1, pairs, 1)


def penalty(part: HFS, mean: Tensor, seed: int = 0) -> tuple[Tensor, dict[str, Tensor]]:
    draws = part.draw(len(mean), Stream(seed))
    out = part(Posterior(mean, torch.zeros_like(mean)), mean, draws, STEP)
    return out.penalty, out.terms


@pytest.mark.parametrize("settings", SETTINGS)
def test_it_conforms(settings: dict[str, Any]) -> None:
    check_regularizer(partial(HFS, **settings))


@pytest.mark.parametrize("settings", SETTINGS)
def test_it_conforms_in_a_vae(settings: dict[str, Any]) -> None:
    networks = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
    parts: Any = {"kl": partial(KL, beta=0.0), "hfs": partial(HFS, **settings)}
    image = torch.rand(6, 1, 8, 8, generator=device_generator(CPU, 0))
    batch = ImageBatch(image, torch.zeros(6, 2, dtype=torch.int64))
    check_objective(partial(VAE, (1, 8, 8), 100, 3, *networks, parts), batch)


def test_it_is_declared() -> None:
    check_declared("regularizers", ["HFS"])


def test_a_diagonal_by_hand() -> None:
    """Of the product of the two supports, (0, 3) is farthest: √5 from (1, 1)."""
    codes = torch.tensor([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])
    pairs = torch.tensor([[0, 1]])
    assert hausdorff_gaps(codes, pairs, every_point(3, 1)).tolist() == [5.0]
    point = torch.tensor([[[0, 1]]])  # the point (0, 1) alone: 1 from either neighbour
    assert hausdorff_gaps(codes, pairs, point).tolist() == [1.0]


def test_a_full_grid_is_factorised() -> None:
    grid = torch.tensor(list(product((-1.0, 0.0, 2.0), (0.0, 5.0))))
    assert hausdorff_gaps(grid, torch.tensor([[0, 1]]), every_point(6, 1)).tolist() == [0.0]
    loss, terms = penalty(HFS(2, 100, gamma=7.0), grid)
    assert loss.item() == terms["hausdorff"].item() == 0.0


@pytest.mark.parametrize("at_once", [1, 50, 2**20])
def test_gaps_equal_brute_force(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hausdorff, "DISTANCES_AT_ONCE", at_once)
    codes = random_codes(9, 4).double()
    pairs = torch.tensor([[0, 1], [0, 3], [2, 1]])
    points = torch.randint(9, (20, 3, 2), generator=device_generator(CPU, 1))
    array, expected = codes.numpy(), []
    for pair, (column, second_column) in enumerate(pairs.tolist()):
        distances = [
            min(
                (array[a, column] - n[column]) ** 2
                + (array[b, second_column] - n[second_column]) ** 2
                for n in array
            )
            for a, b in points[:, pair].tolist()
        ]
        expected.append(max(distances))
    assert np.allclose(hausdorff_gaps(codes, pairs, points).numpy(), expected, rtol=1e-12)


def test_gradients_equal_those_of_all_distances() -> None:
    codes = random_codes(7, 3).double().requires_grad_()
    pairs = torch.tensor([[0, 1], [1, 2]])
    points = every_point(7, 2)
    planes = codes[:, pairs]
    grid = torch.stack([planes[points[:, 0, 0], :, 0], planes[points[:, 0, 1], :, 1]], dim=-1)
    plain = (grid[:, None] - planes).square().sum(-1).amin(1).amax(0).sum()
    (expected,) = torch.autograd.grad(plain, codes)
    (ours,) = torch.autograd.grad(hausdorff_gaps(codes, pairs, points).sum(), codes)
    assert torch.allclose(ours, expected)
    assert ours.abs().sum() > 0


def test_missing_spread_by_hand() -> None:
    codes = torch.tensor([[0.2, -1.0, 0.0], [0.5, 3.0, 0.25]])
    # 0.5 above and 0.2 below; nothing; 0.75 above
    assert missing_spread(codes).item() == pytest.approx(0.5 + 0.2 + 0.75)


def test_unit_scale_leaves_a_latent_that_stands_still() -> None:
    codes = torch.tensor([[0.0, 1.0, 0.0], [8.0, 1.0, 0.01]]).requires_grad_()
    scaled = unit_scale(codes)
    assert scaled[1].tolist() == pytest.approx([2.0, 20.0, 0.2])
    (gradient,) = torch.autograd.grad(scaled.square().sum(), codes)
    assert gradient.isfinite().all()


def test_the_penalty_ignores_scale_only_where_it_normalises() -> None:
    mean = random_codes(30, 3)
    loss, _ = penalty(HFS(3, 100), mean)
    assert penalty(HFS(3, 100), 5 * mean)[0].item() == pytest.approx(loss.item(), rel=1e-4)
    raw, shrunk = HFS(3, 100, normalize=False), HFS(3, 100, normalize=False, spread=0.0)
    terms = penalty(raw, mean)[1]
    assert penalty(raw, 5 * mean)[1]["hausdorff"] == pytest.approx(25 * terms["hausdorff"])
    assert penalty(shrunk, 0.1 * mean)[0] < 0.02 * penalty(shrunk, mean)[0]


def test_weights_by_hand() -> None:
    mean = random_codes(12, 4)
    loss, terms = penalty(HFS(4, 100, gamma=3.0, normalize=False, spread=2.0), mean)
    assert loss.item() == pytest.approx(
        3 * terms["hausdorff"].item() + 2 * terms["spread"].item(), rel=1e-5
    )
    assert (HFS(4, 100).spread, HFS(4, 100, normalize=False).spread) == (0.0, 1.0)


def test_draws_are_pairs_without_replacement_and_points_of_the_batch() -> None:
    part = HFS(5, 100, pairs=4, points=3)
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(300):
        draws = part.draw(6, Stream(seed))
        assert draws["pairs"].shape == (6, 4, 2)
        assert draws["points"].shape == (6, 3, 4, 2)
        assert all(torch.equal(rows[0], row) for rows in draws.values() for row in rows)
        chosen = [tuple(pair) for pair in draws["pairs"][0].tolist()]
        assert len(set(chosen)) == 4
        assert 0 <= draws["points"].min() <= draws["points"].max() <= 5
        seen.update(chosen)
    assert set(seen) == {(first, two) for first in range(5) for two in range(first + 1, 5)}
    assert min(seen.values()) > 80  # of 120 expected each
    assert HFS(3, 100).pairs == 3


def test_two_processes_equal_one(monkeypatch: pytest.MonkeyPatch) -> None:
    part = HFS(3, 100)
    mean = random_codes(8, 3)
    draws = part.draw(8, Stream(0))
    penalty = part(Posterior(mean, mean), mean, draws, STEP).penalty
    monkeypatch.setattr(dislab_hfs.hfs, "gather_rows", lambda rows: mean)
    for rank in range(2):
        rows = slice(4 * rank, 4 * rank + 4)
        rank_draws = {name: column[rows] for name, column in draws.items()}
        share = part(Posterior(mean[rows], mean[rows]), mean[rows], rank_draws, STEP).penalty
        assert torch.equal(share, penalty)


def test_it_computes_in_full_precision_under_autocast() -> None:
    mean = random_codes(16, 3)
    exact, _ = penalty(HFS(3, 100), mean)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed, _ = penalty(HFS(3, 100), mean)
    assert torch.equal(mixed, exact)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"latent_dim": 1}, "latent_dim is 1 and must be at least 2"),
        ({"gamma": -1.0}, r"gamma is -1\.0"),
        ({"spread": -1.0}, r"spread is -1\.0"),
        ({"pairs": 0}, "pairs is 0"),
        ({"points": 0}, "points is 0"),
    ],
)
def test_mistakes_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HFS(**{"latent_dim": 3, "train_size": 100, **settings})


def test_the_configuration_is_the_recipe() -> None:
    config = yaml.safe_load(CONFIG.read_text())
    model = config["model"]["init_args"]
    assert model["regularizers"]["hfs"]["init_args"]["pairs"] == 25
    assert model["regularizers"]["hfs"]["init_args"]["points"] == 100
    assert model["optimizer"]["init_args"]["lr"] == 1e-4
    assert config["data"]["init_args"]["batch_size"] == 64
    assert config["trainer"]["max_steps"] == 300_000


COMPILED = """
import torch
from functools import partial
from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.testing import check_compiles
from dislab_hfs import HFS

parts = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,)), {"hfs": HFS}
batch = ImageBatch(torch.rand(6, 1, 8, 8), torch.zeros(6, 2, dtype=torch.int64))
check_compiles(partial(VAE, (1, 8, 8), 100, 3, *parts), batch)
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


def test_a_batch_of_one_has_no_support_to_compare() -> None:
    assert HFS.smallest_batch == 2
