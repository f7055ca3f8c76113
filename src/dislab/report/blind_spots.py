"""Limitations of each score, in one sentence."""

import re
from typing import Final

_SPREAD: Final = "Does not see whether a factor is spread over several latents"
_MIXED: Final = "Does not see whether a latent carries several factors"
_ARRANGED: Final = "Says how well factors can be read, not how latents share them"
_UNSUPERVISED: Final = "Knows no factors; latents that carry nothing look independent"

_SENTENCES: Final = (
    (r"mig_sup\w*", f"{_SPREAD}, nor a factor that no latent carries."),
    (r"dcimig\w*|jemmig\w*", "One number for two faults: mixed latents and spread factors."),
    (r"mig\w*|sap_\w+", f"{_MIXED}; a copy of a latent takes the score away."),
    (r"dci_\w+_disentanglement", f"{_SPREAD}, nor how well factors can be read."),
    (r"dci_\w+_completeness\w*", f"{_MIXED}, nor how well factors can be read."),
    (r"dci_\w+_informativeness_train", "Of images that the learner knows: shows overfitting only."),
    (r"dci_\w+_informativeness\w*|explicitness\w*|infoe\w*", f"{_ARRANGED}."),
    (r"downstream_\w+", f"{_ARRANGED}."),
    (r"factor_vae_score\w*", f"{_SPREAD}: each latent votes by itself."),
    (r"beta_vae_score\w*", f"{_SPREAD}: a classifier reads all of them."),
    (r"modularity\w*|infom_\w+", f"{_SPREAD}, nor a factor that no latent carries."),
    (r"infoc_\w+", f"{_MIXED}."),
    (r"irs\w*", f"{_SPREAD}, nor a factor that no latent carries; a latent of noise lowers it."),
    (r"mcc_\w+", "Looks at one latent for each factor; further ones cost nothing."),
    (r"gaussian_\w+|mean_pairwise_mi", f"{_UNSUPERVISED}."),
    (r"active_units|num_active", "Counts the latents in use, not what they carry."),
    (r"(elbo|reconstruction|kl)_\w+", "Says how well images are modelled, nothing of factors."),
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
