"""Encoders: networks from images to vectors."""

from dislab.encoders.conv_critic import ConvCritic
from dislab.encoders.conv_encoder64 import ConvEncoder64
from dislab.encoders.mlp_encoder import MLPEncoder

__all__ = [
    "ConvCritic",
    "ConvEncoder64",
    "MLPEncoder",
]
