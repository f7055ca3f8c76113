"""Limitations of each score, in one sentence."""

import re
from typing import Final

_SPREAD: Final = "Does not see whether a factor is spread over several latents"
_MIXED: Final = "Does not see whether a latent carries several factors"
_ARRANGED: Final = "Measures how well factors can be predicted, not how latents share them"
_UNSUPERVISED: Final = "Uses no factors; inactive latents look independent"

_SENTENCES: Final = (
    (r"mig_sup\w*", f"{_SPREAD}, nor a factor that no latent carries."),
    (r"dcimig\w*", f"{_SPREAD}."),
    (r"jemmig\w*", "Rewards collapse: constant codes get about half, useful ones with noise less."),
    (r"sap_svc\w*", f"{_MIXED}; depends on the unit and the origin of the codes."),
    (r"d?mig\w*|sap_\w+", f"{_MIXED}; with two latents of one factor, its gap is 0."),
    (r"dci_\w+_disentanglement", f"{_SPREAD}, nor how well factors can be predicted."),
    (r"dci_\w+_completeness\w*", f"{_MIXED}, nor how well factors can be predicted."),
    (r"dci_\w+_informativeness_train", "Taken on training images: shows overfitting only."),
    (r"dci_\w+_informativeness\w*|explicitness\w*|infoe\w*", f"{_ARRANGED}."),
    (r"downstream_\w+", f"{_ARRANGED}."),
    (r"factor_vae_score\w*", f"{_SPREAD}: each latent is tested alone."),
    (r"beta_vae_score\w*", f"{_SPREAD}: the classifier combines all latents."),
    (r"modularity\w*|infom_\w+", f"{_SPREAD}, nor a factor that no latent carries."),
    (r"infoc_\w+", f"{_MIXED}."),
    (r"irs\w*", f"{_SPREAD}, nor a factor that no latent carries; a noise latent lowers it."),
    (r"mcc_(linear_)?pairs_\w+", "Leaves factors without a latent out: one factor of ten gets 1."),
    (r"mcc_\w+|rdc", "Compares one latent per factor; other latents do not count."),
    (r"omes\w*", "Does not see noise in the codes of a factor; noise counts as every factor."),
    (r"gaussian_\w+|mean_pairwise_mi", f"{_UNSUPERVISED}."),
    (r"active_units|num_active", "Counts active latents, whatever they carry."),
    (r"(elbo|reconstruction|kl)_\w+", "Measures how well images are modelled, not the factors."),
)


def blind_spot(score: str) -> str:
    """Limitation of a score, in one sentence; empty for a score that is not dislab's.

    The sentences follow the definitions of the scores and the measured laws in `docs/laws.md`.

    Args:
        score: Its name in `scores.json`.
    """
    name = score.rpartition("/")[2]
    for pattern, sentence in _SENTENCES:
        if re.fullmatch(pattern, name):
            return sentence
    return ""
