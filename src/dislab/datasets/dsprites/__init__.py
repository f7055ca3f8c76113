"""dSprites and its variants: in colour, on noise, and on a painting."""

from dislab.datasets.dsprites.color_dsprites import ColorDSprites
from dislab.datasets.dsprites.dsprites import DSprites
from dislab.datasets.dsprites.noisy_dsprites import NoisyDSprites
from dislab.datasets.dsprites.scream_dsprites import ScreamDSprites

__all__ = ["ColorDSprites", "DSprites", "NoisyDSprites", "ScreamDSprites"]
