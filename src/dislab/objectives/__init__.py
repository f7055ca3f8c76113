"""Objectives: what is minimised, and how an image becomes a code."""

from dislab.objectives.beta_vae_dae import BetaVAEDAE
from dislab.objectives.bottleneck_generator import BottleneckGenerator
from dislab.objectives.composition_vae import CompositionVAE
from dislab.objectives.denoising_autoencoder import DenoisingAutoencoder
from dislab.objectives.ground_truth_decoder import GroundTruthDecoder
from dislab.objectives.jmvae import JMVAE
from dislab.objectives.recombinator import Recombinator
from dislab.objectives.scan import SCAN
from dislab.objectives.telbo import TELBO
from dislab.objectives.vae import VAE

__all__ = [
    "JMVAE",
    "SCAN",
    "TELBO",
    "VAE",
    "BetaVAEDAE",
    "BottleneckGenerator",
    "CompositionVAE",
    "DenoisingAutoencoder",
    "GroundTruthDecoder",
    "Recombinator",
]
