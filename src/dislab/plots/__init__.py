"""Figures from arrays: pure functions that touch no global plotting state."""

from dislab.plots.codes_against_factors import codes_against_factors
from dislab.plots.heat_map import heat_map
from dislab.plots.hinton import hinton
from dislab.plots.image_grid import image_grid
from dislab.plots.output import check_picture, pixels, save
from dislab.plots.posterior_overlap import posterior_overlap
from dislab.plots.score_sheet import score_sheet

__all__ = [
    "check_picture",
    "codes_against_factors",
    "heat_map",
    "hinton",
    "image_grid",
    "pixels",
    "posterior_overlap",
    "save",
    "score_sheet",
]
