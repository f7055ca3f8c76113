"""Overlapping posteriors of a Gaussian blob: of a VAE, and of a β-VAE.

python benchmarks/effects/blob_overlap.py [--steps 2500] [--runs FOLDER]

Trains both by `dislab fit`, on 32×32 pixels with fully connected networks, where the paper has
convolutions, and draws docs/images/methods/blob_vae_overlap.png and blob_overlap.png. Prints how
long the runs took, and the divergence of each latent in nats.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import torch
from methods import ROOT, environment, latest
from pictures import save

from dislab import runs
from dislab.base import Dataset
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.functional.losses import kl_per_latent
from dislab.plots import posterior_overlap

PICTURES = ROOT / "docs" / "images" / "methods"
NETWORKS = (
    "--data.resize=32",
    "--model.encoder={class_path: MLPEncoder, init_args: {hidden: [256, 256]}}",
    "--model.decoder={class_path: MLPDecoder, init_args: {hidden: [256, 256]}}",
    "--evaluate.metrics={}",
    "--trainer.val_check_interval=1000",
    "--trainer.accelerator=cpu",
)


def trained(config: str, name: str, steps: int, options: tuple[str, ...], folder: Path) -> Path:
    """The folder of a new run."""
    configs = [f"--config={ROOT / 'configs' / file}.yaml" for file in (config, "quick")]
    command = [sys.executable, "-m", "dislab", "fit", *configs, *NETWORKS, *options]
    command += [f"--trainer.max_steps={steps}", f"--name={name}", f"--runs={folder}"]
    start = time.perf_counter()
    subprocess.run(command, env=environment(), check=True, capture_output=True)
    print(f"{name}: {steps} steps, {time.perf_counter() - start:.0f} s", flush=True)
    return latest(folder, name)


def images_of(dataset: Dataset, index: torch.Tensor) -> torch.Tensor:
    """Images as a run saw them."""
    data = SingleData(dataset, resize=32)
    data.prepare_data()
    return data.images(index)


def overlap(folder: Path, steps: int) -> None:
    data = GaussianBlob()
    index = torch.randperm(len(data.factors), generator=torch.Generator().manual_seed(0))[:200]
    for name, beta in (("blob", 4), ("blob_vae", 1)):
        options = (f"--model.regularizers.kl.beta={beta}",)
        run = trained("burgess_blob", name, steps, options, folder)
        with torch.no_grad():
            posterior = runs.load_run(run).encode(images_of(data, index))
        kl = kl_per_latent(*posterior).mean(0)
        print(name, [round(value, 2) for value in kl.tolist()])
        most = kl.argsort(descending=True)[:2]
        values = data.factors.values(data.factors.positions(index.numpy()))
        figure = posterior_overlap(
            posterior.mean[:, most].double().numpy(),
            (posterior.log_var[:, most] / 2).exp().double().numpy(),
            values[:, 0],
            "posX",
        )
        save(figure, PICTURES / f"{name}_overlap.png", 64)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/blob_overlap"))
    parser.add_argument("--steps", type=int, default=2500)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    overlap(arguments.runs, arguments.steps)


if __name__ == "__main__":
    main()
