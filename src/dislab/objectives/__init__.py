"""Objectives: what is minimised, and how an image becomes a code."""

from dislab.objectives.ada_gvae import AdaGVAE
from dislab.objectives.ada_mlvae import AdaMLVAE
from dislab.objectives.dcign import DCIGN
from dislab.objectives.vae import VAE

__all__ = ["DCIGN", "VAE", "AdaGVAE", "AdaMLVAE"]
