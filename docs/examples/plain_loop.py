"""FactorVAE in a plain PyTorch loop, without Lightning's Trainer.

A method of dislab is an `nn.Module`: `draw` makes the random numbers of a step, and `losses` makes
the loss of a batch from them. Every method trains in this loop; batches differ (`dislab.base`).
"""

from functools import partial
from itertools import chain, islice, repeat

import torch
from torch.utils.data import DataLoader

from dislab.base import ImageBatch
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.functional.streams import Stream
from dislab.metrics import evaluate_fully
from dislab.objectives import VAE
from dislab.regularizers import KL, TotalCorrelation


def main(steps: int = 1000) -> None:
    """Train on images of a blob at 16 × 16 positions, and score the codes.

    Args:
        steps: Optimiser steps.
    """
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    blobs = GaussianBlob(places=16).as_torch()  # items: an image in [0, 1], and its posX and posY
    loader = DataLoader(blobs, batch_size=64, shuffle=True)
    model = VAE(
        image_shape=(1, 64, 64),
        train_size=len(blobs),
        latent_dim=4,
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        regularizers={"kl": KL, "tc": partial(TotalCorrelation, gamma=10.0, width=100)},
    ).to(device)
    # The discriminator has a learning rate of its own.
    optimizer = torch.optim.Adam(model.parameter_groups(), lr=1e-3)
    batches = islice(chain.from_iterable(repeat(loader)), steps)
    for step, (images, factors) in enumerate(batches):
        batch = ImageBatch(images.to(device), factors.to(device))
        draws = model.draw(len(images), Stream(seed=0, step=step, device=device))
        terms = model.losses(batch, draws, torch.tensor(step, device=device))
        optimizer.zero_grad()
        terms.loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(step, {name: round(term.item(), 2) for name, term in terms.log.items()})
    images, factors = next(iter(DataLoader(blobs, batch_size=len(blobs))))
    codes = model.eval().requires_grad_(False).codes(images.to(device))
    scored = evaluate_fully(codes, factors, ["MIG"], names=blobs.factors.names)
    print(f"MIG {scored.values['mig']:.2f}, by chance {scored.chance['mig']:.2f}")


if __name__ == "__main__":
    main()
