"""Objectives: what is minimised, and how an image becomes a code."""

from dislab.objectives.vae import VAE

__all__ = ["VAE"]
