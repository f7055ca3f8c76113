"""Objectives: the methods, with their losses and the codes that they give images."""

from dislab.objectives.ada_gvae import AdaGVAE
from dislab.objectives.ada_mlvae import AdaMLVAE
from dislab.objectives.beta_vae_dae import BetaVAEDAE
from dislab.objectives.bottleneck_generator import BottleneckGenerator
from dislab.objectives.composition_vae import CompositionVAE
from dislab.objectives.dcign import DCIGN
from dislab.objectives.denoising_autoencoder import DenoisingAutoencoder
from dislab.objectives.ground_truth_decoder import GroundTruthDecoder
from dislab.objectives.info_gan import InfoGAN
from dislab.objectives.info_wgan_gp import InfoWGANGP
from dislab.objectives.jmvae import JMVAE
from dislab.objectives.recombinator import Recombinator
from dislab.objectives.scan import SCAN
from dislab.objectives.telbo import TELBO
from dislab.objectives.vae import VAE

__all__ = [
    "DCIGN",
    "JMVAE",
    "SCAN",
    "TELBO",
    "VAE",
    "AdaGVAE",
    "AdaMLVAE",
    "BetaVAEDAE",
    "BottleneckGenerator",
    "CompositionVAE",
    "DenoisingAutoencoder",
    "GroundTruthDecoder",
    "InfoGAN",
    "InfoWGANGP",
    "Recombinator",
]
