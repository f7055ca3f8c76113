"""Pictures of decoded images, written into `images/` of the run folder."""

from dislab.callbacks.pictures._picture import Picture
from dislab.callbacks.pictures.interpolations import Interpolations
from dislab.callbacks.pictures.reconstructions import Reconstructions
from dislab.callbacks.pictures.samples import Samples
from dislab.callbacks.pictures.traversals import Traversals

__all__ = ["Interpolations", "Picture", "Reconstructions", "Samples", "Traversals"]
