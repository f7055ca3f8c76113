"""Figures from arrays: pure functions without global plotting state.

Figures of decoded images are imported on first access, so that the others need no Lightning.
"""

from typing import TYPE_CHECKING

from dislab.plots.groups import sample_efficiency, scatter, violins
from dislab.plots.image_grid import image_grid
from dislab.plots.latent_space import codes_against_factors, posterior_overlap
from dislab.plots.matrices import correlation_matrix, heat_map, hinton
from dislab.plots.output import check_picture, is_picture, pixels, save, save_animation
from dislab.plots.parallel_settings import parallel_settings
from dislab.plots.score_sheet import kl_bars, score_sheet

if TYPE_CHECKING:
    from dislab.plots._reconstructions import reconstructions
    from dislab.plots._traversals import traversal_frames, traversals

__all__ = [
    "check_picture",
    "codes_against_factors",
    "correlation_matrix",
    "heat_map",
    "hinton",
    "image_grid",
    "is_picture",
    "kl_bars",
    "parallel_settings",
    "pixels",
    "posterior_overlap",
    "reconstructions",
    "sample_efficiency",
    "save",
    "save_animation",
    "scatter",
    "score_sheet",
    "traversal_frames",
    "traversals",
    "violins",
]


_ON_DEMAND = {
    "reconstructions": "_reconstructions",
    "traversal_frames": "_traversals",
    "traversals": "_traversals",
}


def __getattr__(name: str) -> object:
    """Imports the figures of decoded images on first access."""
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ON_DEMAND[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]
