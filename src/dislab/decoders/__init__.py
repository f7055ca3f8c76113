"""Decoders: networks from latents to the parameters of a pixel likelihood."""

from dislab.decoders.conv_decoder64 import ConvDecoder64
from dislab.decoders.conv_generator import ConvGenerator
from dislab.decoders.mlp_decoder import MLPDecoder
from dislab.decoders.residual_decoder128 import ResidualDecoder128
from dislab.decoders.spatial_broadcast_decoder import SpatialBroadcastDecoder

__all__ = [
    "ConvDecoder64",
    "ConvGenerator",
    "MLPDecoder",
    "ResidualDecoder128",
    "SpatialBroadcastDecoder",
]
