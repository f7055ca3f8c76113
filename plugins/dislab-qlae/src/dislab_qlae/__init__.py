"""Latent quantisation for dislab."""

from dislab_qlae.qlae import QLAE

__all__ = ["QLAE"]
