"""Figures from arrays: pure functions that touch no global plotting state."""

from dislab.plots.codes_against_factors import codes_against_factors
from dislab.plots.correlation_matrix import correlation_matrix
from dislab.plots.heat_map import heat_map
from dislab.plots.hinton import hinton
from dislab.plots.image_grid import image_grid
from dislab.plots.output import check_picture, pixels, save
from dislab.plots.parallel_settings import parallel_settings
from dislab.plots.posterior_overlap import posterior_overlap
from dislab.plots.sample_efficiency import sample_efficiency
from dislab.plots.scatter import scatter
from dislab.plots.score_sheet import score_sheet
from dislab.plots.violins import violins

__all__ = [
    "check_picture",
    "codes_against_factors",
    "correlation_matrix",
    "heat_map",
    "hinton",
    "image_grid",
    "parallel_settings",
    "pixels",
    "posterior_overlap",
    "sample_efficiency",
    "save",
    "scatter",
    "score_sheet",
    "violins",
]
