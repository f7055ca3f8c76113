"""Statistics of a table of runs, and agreement between the latents of models.

A table has one row per run: the settings, `seed` and `state`, then the results, whose names start
with `score.`, `transfer.`, `generalisation.`, `agreement.` or the name of another stage.
"""

from dislab.study.statistics.agreement import (
    Agreement,
    alignment,
    every_agreement,
    latent_similarity,
    pair_score,
    udr,
    udr_by_setting,
)
from dislab.study.statistics.correlations import correlation_table, rank_correlations
from dislab.study.statistics.means import summary, variance_shares
from dislab.study.statistics.paired import comparisons, holm, seeds_needed
from dislab.study.statistics.selection import model_selection
from dislab.study.statistics.text import latex, markdown, summary_table

__all__ = [
    "Agreement",
    "alignment",
    "comparisons",
    "correlation_table",
    "every_agreement",
    "holm",
    "latent_similarity",
    "latex",
    "markdown",
    "model_selection",
    "pair_score",
    "rank_correlations",
    "seeds_needed",
    "summary",
    "summary_table",
    "udr",
    "udr_by_setting",
    "variance_shares",
]
