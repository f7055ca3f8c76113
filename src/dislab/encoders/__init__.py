"""Encoders: networks from images to vectors."""

from dislab.encoders.conv_critic import ConvCritic
from dislab.encoders.conv_encoder64 import ConvEncoder64
from dislab.encoders.mlp_encoder import MLPEncoder
from dislab.encoders.residual_encoder128 import ResidualEncoder128
from dislab.encoders.timm_encoder import TimmEncoder

__all__ = [
    "ConvCritic",
    "ConvEncoder64",
    "MLPEncoder",
    "ResidualEncoder128",
    "TimmEncoder",
]
