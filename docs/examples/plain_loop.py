"""FactorVAE in a plain PyTorch loop, without Lightning's Trainer.

A method of dislab is an `nn.Module`: `draw` makes the random numbers of a step, and `losses` makes
the loss of a batch from them. Every method trains in this loop; batches differ (`dislab.base`).
Expect a MIG of 0.3 to 0.6 (threads change it), by chance below 0.05, in 30 s on a CPU.
"""

from functools import partial
from itertools import chain, islice, repeat

import numpy as np
import torch
from torch.utils.data import DataLoader

from dislab.base import ImageBatch
from dislab.datasets import ArrayDataset
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.functional.streams import Stream
from dislab.metrics import evaluate_fully
from dislab.objectives import VAE
from dislab.regularizers import KL, TotalCorrelation


def main(steps: int = 1500) -> None:
    """Train on a large and a small square of any brightness, and score the codes."""
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    levels = np.indices((16, 16)).reshape(2, 256).T  # of brightness, the factors
    pixels = np.zeros((256, 32, 32), dtype=np.float32)
    pixels[:, 4:20, 2:18], pixels[:, 20:28, 20:28] = levels.T[..., None, None] / 15
    items = ArrayDataset(pixels, levels, names=["large", "small"]).as_torch()
    loader = DataLoader(items, batch_size=64, shuffle=True)
    model = VAE(
        image_shape=(1, 32, 32),
        train_size=len(items),
        latent_dim=6,
        encoder=partial(MLPEncoder, hidden=(128,)),
        decoder=partial(MLPDecoder, hidden=(128,)),
        regularizers={"kl": KL, "tc": partial(TotalCorrelation, gamma=10.0, width=100)},
    ).to(device)
    # The discriminator has a learning rate of its own.
    optimizer = torch.optim.Adam(model.parameter_groups(), lr=3e-3)
    for step, (images, factors) in enumerate(islice(chain.from_iterable(repeat(loader)), steps)):
        batch = ImageBatch(images.to(device), factors.to(device))
        draws = model.draw(len(images), Stream(seed=0, step=step, device=device))
        terms = model.losses(batch, draws, torch.tensor(step, device=device))
        optimizer.zero_grad()
        terms.loss.backward()
        optimizer.step()
        if step % 300 == 0:
            print(step, {name: round(term.item(), 2) for name, term in terms.log.items()})
    images, factors = next(iter(DataLoader(items, batch_size=len(items))))
    codes = model.eval().requires_grad_(False).codes(images.to(device))
    scored = evaluate_fully(codes, factors, ["MIG"], space=items.factors)
    print(f"MIG {scored.values['mig']:.2f}, by chance {scored.chance['mig']:.2f}")


if __name__ == "__main__":
    main()
