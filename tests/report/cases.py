"""Run folders written by hand, and small models for their pages."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from dislab.base import Decoder, ImageShape
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.regularizers import KL

SETTINGS: dict[str, Any] = {
    "seed_everything": 3,
    "name": "small",
    "trainer": {"max_steps": 4, "default_root_dir": "/home/somebody/secret"},
    "model": {
        "class_path": "dislab.objectives.VAE",
        "init_args": {
            "latent_dim": 3,
            "decoder": {"class_path": "dislab.decoders.MLPDecoder", "init_args": {"hidden": [8]}},
            "regularizers": {
                "kl": {"class_path": "dislab.regularizers.KL", "init_args": {"beta": 4.0}}
            },
            "likelihood": "bernoulli",
        },
    },
    "data": {
        "class_path": "dislab.datamodules.SingleData",
        "init_args": {"dataset": {"class_path": "dislab.datasets.GaussianBlob"}},
    },
}
SCORED: dict[str, Any] = {
    "scores": {"mig": 0.25, "active_units": 3.0, "mine": None},
    "intervals": {"mig": [0.2, 0.3]},
    "chance": {"mig": 0.001},
    "untrained": {"scores": {"mig": {"mean": 0.02, "std": 0.005}}},
    "baselines": {"pixels": {"mig": 0.05}},
    "metrics": {"mig": {"primary": "mig"}},
    "parts": {"mutual_information": [[0.1, 0.2], [0.3, 0.4]], "kl_per_latent": [1.0, 0.0]},
    "skipped": {"dci": "one factor only"},
    "data": {"factors": ["x", "y"]},
    "draw": {"points": 900, "available": 1024, "split": "all"},
    "checkpoint": {"path": "/home/somebody/secret/last.ckpt", "steps": 4000},
    "versions": {"torch": "2.13.0", "dislab": "0.1.0"},
}
TRANSFER: dict[str, Any] = {
    "scores": {"near/mlp": 0.3, "near/mlp/in_distribution": 0.1, "near/chance": 0.4},
    "notes": ["x stood still"],
}
CURVES = "step,train/loss,validation/loss,train/kl/beta\n0,9,,1\n1,8,8.5,1\n2,7,7.5,1\n"


def write_run(
    folder: Path,
    settings: Mapping[str, Any] = SETTINGS,
    scores: Mapping[str, Any] | None = None,
) -> Path:
    """A run folder as `dislab fit` leaves it, without checkpoint."""
    (folder / "images").mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(dict(settings)))
    records = {"test": SCORED, "test_transfer": TRANSFER} if scores is None else scores
    if records:
        (folder / "scores.json").write_text(json.dumps(records))
    (folder / "metrics.csv").write_text(CURVES)
    Image.new("RGB", (40, 20), "white").save(folder / "images" / "traversals.png")
    return folder


def vae(
    decoder: Callable[..., Decoder] | None = None,
    shape: ImageShape = (1, 64, 64),
    latents: int = 3,
    **settings: Any,
) -> VAE:
    """A model with large random weights, so that its latents show."""
    torch.manual_seed(0)
    encoder = partial(MLPEncoder, hidden=(4,))
    decoder = decoder or partial(MLPDecoder, hidden=(8,))
    made = VAE(shape, 100, latents, encoder, decoder, {"kl": KL}, **settings)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim > 1:
                parameter.mul_(2)
    return made.eval()


def blobs(**settings: Any) -> SingleData:
    """A prepared data module of one blob."""
    data = SingleData(GaussianBlob(), **settings)
    data.prepare_data()
    data.setup("test")
    return data


class Own(Decoder):
    """A decoder that no page computes."""

    def __init__(self, latent_dim: int, image_shape: ImageShape) -> None:
        super().__init__()
        self.inner = MLPDecoder(latent_dim, image_shape, (4,))

    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        output: Tensor = self.inner(z)
        return output
