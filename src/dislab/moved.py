"""Old names of moved modules, which can be imported until the release after the move.

Configurations, checkpoints, pickles and entry points of the previous release name classes by these
paths. `import dislab` makes them importable; an old name gives the same module object as the new
name.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

MOVED: Final = {
    "dislab.callbacks.checkpoints": "dislab.training.checkpoints",
    "dislab.callbacks.concept_scores": "dislab.callbacks.scores.concept_scores",
    "dislab.callbacks.evaluate": "dislab.callbacks.scores.evaluate",
    "dislab.callbacks.generalisation": "dislab.callbacks.scores.generalisation",
    "dislab.callbacks.interpolations": "dislab.callbacks.pictures.interpolations",
    "dislab.callbacks.reconstructions": "dislab.callbacks.pictures.reconstructions",
    "dislab.callbacks.samples": "dislab.callbacks.pictures.samples",
    "dislab.callbacks.transfer_scores": "dislab.callbacks.scores.transfer_scores",
    "dislab.callbacks.traversals": "dislab.callbacks.pictures.traversals",
    "dislab.datasets.array_dataset": "dislab.datasets.own.array_dataset",
    "dislab.datasets.chairs3d": "dislab.datasets.chairs.chairs3d",
    "dislab.datasets.color_dsprites": "dislab.datasets.dsprites.color_dsprites",
    "dislab.datasets.folder_dataset": "dislab.datasets.own.folder_dataset",
    "dislab.datasets.noisy_dsprites": "dislab.datasets.dsprites.noisy_dsprites",
    "dislab.datasets.parametric_chairs": "dislab.datasets.chairs.parametric_chairs",
    "dislab.datasets.parametric_heads": "dislab.datasets.heads.parametric_heads",
    "dislab.datasets.robot_finger_files": "dislab.datasets.robot_finger.robot_finger_files",
    "dislab.datasets.robot_finger_pseudo_real": (
        "dislab.datasets.robot_finger.robot_finger_pseudo_real"
    ),
    "dislab.datasets.scream_dsprites": "dislab.datasets.dsprites.scream_dsprites",
    "dislab.functional.adaptive": "dislab.functional.pairs",
    "dislab.functional.clamping": "dislab.functional.pairs",
    "dislab.functional.code_bank": "dislab.codes.bank",
    "dislab.functional.code_checks": "dislab.codes.checks",
    "dislab.functional.collectives": "dislab.functional.distributed",
    "dislab.functional.concepts": "dislab.codes.concepts",
    "dislab.functional.correlations": "dislab.codes.correlations",
    "dislab.functional.counter_hash": "dislab.functional.random",
    "dislab.functional.covariance": "dislab.functional.gaussians",
    "dislab.functional.density_ratio": "dislab.functional.total_correlation",
    "dislab.functional.draws": "dislab.functional.random",
    "dislab.functional.experts": "dislab.functional.gaussians",
    "dislab.functional.factor_inputs": "dislab.functional.symbols",
    "dislab.functional.factor_vae_votes": "dislab.metrics.factor_vae_score",
    "dislab.functional.feature_distance": "dislab.functional.likelihoods",
    "dislab.functional.gaussian_dependence": "dislab.codes.correlations",
    "dislab.functional.importance": "dislab.codes.importance",
    "dislab.functional.information_scores": "dislab.codes.information",
    "dislab.functional.initialization": "dislab.functional.networks",
    "dislab.functional.input_noise": "dislab.functional.noise",
    "dislab.functional.interventional_robustness": "dislab.metrics.irs",
    "dislab.functional.latent_codes": "dislab.functional.games",
    "dislab.functional.latent_groups": "dislab.codes.latent_groups",
    "dislab.functional.learning_split": "dislab.codes.splits",
    "dislab.functional.mutual_information": "dislab.codes.information",
    "dislab.functional.neighbour_information": "dislab.codes.neighbour_information",
    "dislab.functional.occlusion": "dislab.functional.noise",
    "dislab.functional.prediction_inputs": "dislab.codes.inputs",
    "dislab.functional.resamples": "dislab.codes.resamples",
    "dislab.functional.residual": "dislab.functional.networks",
    "dislab.functional.shared_factor_pairs": "dislab.metrics.beta_vae_score",
    "dislab.functional.standard_codes": "dislab.codes.inputs",
    "dislab.functional.value_rows": "dislab.codes.value_rows",
    "dislab.learners": "dislab.codes.learners",
    "dislab.learners.boosted_logits": "dislab.codes.learners.histogram_boosting",
    "dislab.learners.boosted_trees": "dislab.codes.learners.histogram_boosting",
    "dislab.learners.code_bins": "dislab.codes.learners.histogram_trees",
    "dislab.learners.column_models": "dislab.codes.learners.column_models",
    "dislab.learners.constant": "dislab.codes.learners.constant",
    "dislab.learners.histogram_boosting": "dislab.codes.learners.histogram_boosting",
    "dislab.learners.histogram_regression": "dislab.codes.learners.histogram_boosting",
    "dislab.learners.lasso_regression": "dislab.codes.learners.lasso_regression",
    "dislab.learners.linear_models": "dislab.codes.learners.linear_models",
    "dislab.learners.logistic_classifier": "dislab.codes.learners.logistic_classifier",
    "dislab.learners.logit_gradients": "dislab.codes.learners.histogram_boosting",
    "dislab.learners.ridge_regression": "dislab.codes.learners.ridge_regression",
    "dislab.learners.stacked_networks": "dislab.codes.learners.stacked_networks",
    "dislab.learners.tree_ensemble": "dislab.codes.learners.tree_ensemble",
    "dislab.learners.tree_grower": "dislab.codes.learners.histogram_trees",
    "dislab.learners.tree_sums": "dislab.codes.learners.histogram_trees",
    "dislab.transfer.encoder_check": "dislab.transfer.images",
    "dislab.transfer.plan": "dislab.transfer.images",
    "dislab.transfer.scenario_files": "dislab.transfer.scenario",
    "dislab.transfer.scores": "dislab.transfer.array_scores",
    "dislab.transfer.scoring": "dislab.transfer.predictor_errors",
    "dislab.transfer.targets": "dislab.transfer.domain",
    "dislab.transfer.transfer": "dislab.transfer.table",
    "dislab.transfer.transfer_table": "dislab.transfer.table",
}
"""New names of modules by their old ones; a package of modules has an entry for each of them."""


class _OldNames(MetaPathFinder, Loader):
    """Import hook that returns the module of the new name for an old name."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = import_module(MOVED[name])


def accept_old_names() -> None:
    """Makes the old names importable in this process; a second call changes nothing."""
    if not any(isinstance(finder, _OldNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OldNames())
