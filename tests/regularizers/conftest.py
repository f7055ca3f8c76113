import pytest
import torch

from dislab.base import Posterior


@pytest.fixture
def posterior() -> Posterior:
    """Posteriors of 8 images and 4 latents that require gradients."""
    generator = torch.Generator().manual_seed(1)
    mean = torch.randn(8, 4, generator=generator).requires_grad_()
    log_var = (torch.rand(8, 4, generator=generator) - 2).requires_grad_()
    return Posterior(mean, log_var)
