"""Objectives: what is minimised, and how an image becomes a code."""

from dislab.objectives.info_gan import InfoGAN
from dislab.objectives.info_wgan_gp import InfoWGANGP
from dislab.objectives.vae import VAE

__all__ = [
    "VAE",
    "InfoGAN",
    "InfoWGANGP",
]
