"""Encoders: networks from images to vectors."""

from dislab.encoders.conv_encoder64 import ConvEncoder64
from dislab.encoders.mlp_encoder import MLPEncoder

__all__ = ["ConvEncoder64", "MLPEncoder"]
