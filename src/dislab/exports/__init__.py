"""Export of trained models: files for other programs with a model card, and the Hub.

`export` writes them, `dislab.runs.load_run` reads safetensors back, `push` and `pull` exchange them
with the Hugging Face Hub.
"""

from dislab.exports.card import CARD
from dislab.exports.export import FORMATS, Exported, Format, export
from dislab.exports.hub import pull, push
from dislab.exports.networks import Network, networks_of

__all__ = [
    "CARD",
    "FORMATS",
    "Exported",
    "Format",
    "Network",
    "export",
    "networks_of",
    "pull",
    "push",
]
