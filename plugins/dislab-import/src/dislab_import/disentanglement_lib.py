"""Imports results of disentanglement_lib as a table of runs."""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from dislab.errors import InputError
from dislab.storage import read_json
from dislab.study import StudyWarning

if TYPE_CHECKING:
    import pandas as pd

_FILE: Final = "results/aggregate/evaluation.json"
"""Path of the results file inside the folder of an evaluation."""
_REASONING_FILE: Final = "results/aggregate/abstract_reasoning.json"
"""The same of `dlib_reason`."""
_REASONING: Final = "abstract_reasoning"
_FUNCTION: Final = "evaluation_config.evaluation.evaluation_fn"
_CODES: Final = "postprocess_config.postprocess.postprocess_fn"
_TRAINED: Final = "train_config."
_SEEDS: Final = ("model.random_seed", "model.model_seed")
"""Seed of the model without labels, and of one with labels for some images."""
_LABEL_LOSS: Final = "train_results.supervised_loss"
_KEPT: Final = ("dataset.name", "model.name")
"""Settings that are columns even if all models share the value."""
_COUNTERS: Final = (*_SEEDS, "model.unsupervised_data_seed", "model.model_num")
"""Settings, such as the seed, that do not make two models different in kind."""
_PREFIXES: Final = {"mean_representation": "", "sampled_representation": "sampled/"}
"""Prefix of score names by the function that turns posteriors into codes."""
_ONE_SIZE: Final = ":mean_test_accuracy"

_SCORES: Final[Mapping[str, Mapping[str, str]]] = {
    "mig": {"discrete_mig": "mig"},
    "dci": {
        "disentanglement": "dci_gbt_disentanglement",
        "completeness": "dci_gbt_completeness",
        "informativeness_test": "dci_gbt_informativeness",
        "informativeness_train": "dci_gbt_informativeness_train",
    },
    "sap_score": {"SAP_score": "sap_svc"},
    "modularity_explicitness": {
        "modularity_score": "modularity",
        "explicitness_score_test": "explicitness_multinomial",
        "explicitness_score_train": "explicitness_multinomial_train",
    },
    "irs": {"IRS": "irs"},
    "factor_vae_score": {
        "eval_accuracy": "factor_vae_score",
        "train_accuracy": "factor_vae_score_train",
    },
    "beta_vae_sklearn": {
        "eval_accuracy": "beta_vae_score",
        "train_accuracy": "beta_vae_score_train",
    },
    "unsupervised_metrics": {
        "gaussian_total_correlation": "gaussian_total_correlation",
        "gaussian_wasserstein_correlation": "gaussian_wasserstein_correlation",
        "gaussian_wasserstein_correlation_norm": "gaussian_wasserstein_correlation_normalized",
        "mutual_info_score": "mean_pairwise_mi",
    },
}
"""Score names in dislab by evaluation function and score name in disentanglement_lib."""

_UNFAIRNESS: Final = {
    "mean_fairness:mean_pred:mean_sens": "unfairness",
    "max_fairness:mean_pred:mean_sens": "largest_unfairness",
    "mean_fairness:max_pred:max_sens": "unfairness_of_worst_pair",
    "max_fairness:max_pred:max_sens": "largest_unfairness_of_worst_pair",
}
"""Beginnings of names in dislab: the mean or the largest distance over the values of the sensitive
factor, as the mean over pairs of factors or of the worst pair."""

_INPUTS: Final = {"HubEmbedding": "codes", "BaselineCNNEmbedder": "pixels"}
"""Inputs of the relation network by embedding; all others are true factors."""

_LEARNERS: Final = {"logistic_regression_cv": "logistic_cv", "gradient_boosting_classifier": "gbt"}
"""Predictors of the downstream tasks; they differ from dislab's own `logistic` and `hgbt`."""


def read_disentanglement_lib(path: str | Path) -> "pd.DataFrame":
    """Table with one row per model trained and scored by disentanglement_lib.

    The table has the form of `Study.table`: the settings that differ between models, under their
    gin names, `seed`, `state`, and scores under dislab's names, such as
    `score.dci_gbt_completeness` and, for sampled codes, `score.sampled/mig`. `score.unfairness_gbt`
    is the mean over pairs of factors, and `score.reasoning_codes_32000` the accuracy of a relation
    network after 32,000 matrices. `score.supervised_loss` is the loss of validation
    labels, for some losses summed over a batch. The index is the folder of the model. The ELBO
    terms are in nats per image, given only for `@bernoulli_loss`.

    Locatello et al. (2019), https://arxiv.org/abs/1811.12359; the layout is that of
    `utils/results.py` and `utils/aggregate_results.py` in version 1.5 of their code.

    Args:
        path: The file that `dlib_aggregate_results` writes, a single `evaluation.json` or
            `abstract_reasoning.json`, or a folder with such files below it.

    Raises:
        InputError: The path contains no results, a file is no result of an evaluation, or two
            results disagree on a score of a model.

    Warns:
        StudyWarning: Results of evaluation functions without an equivalent were left out.
    """
    import pandas as pd

    models: dict[str, _Model] = {}
    left_out: dict[str, int] = {}
    for origin, result in _results(Path(path)):
        function = _evaluation(result)
        if function is None:
            raise InputError(
                f"{origin} is no result of an evaluation by disentanglement_lib: it has no "
                f"{_FUNCTION}; give the file of dlib_aggregate_results or a folder with "
                f"{_FILE} below it"
            )
        model = models.setdefault(_identity(result, origin), _Model(origin, result))
        scores_found = _scores(function, result)
        if not scores_found:
            left_out[function] = left_out.get(function, 0) + 1
        model.add(scores_found, origin)
    if left_out:
        listed = ", ".join(f"{count} of {name}" for name, count in sorted(left_out.items()))
        warnings.warn(f"left out results without an equivalent: {listed}", StudyWarning, 2)
    rows = list(models.values())
    names = dict.fromkeys(name for model in rows for name in model.settings)
    columns = [
        name
        for name in names
        if name in _KEPT or len({repr(model.settings.get(name)) for model in rows}) > 1
    ]
    scores = dict.fromkeys(name for model in rows for name in model.scores)
    index = pd.Index(_names(models), name="run")
    table = pd.DataFrame(
        {
            **{name: [model.settings.get(name) for model in rows] for name in columns},
            "seed": [model.seed for model in rows],
            "state": "finished",
        },
        index=index,
    )
    numbers = {name: [model.scores.get(name) for model in rows] for name in scores}
    return pd.concat([table, pd.DataFrame(numbers, index=index, dtype=float)], axis=1)


class _Model:
    """Settings and scores of one model, gathered from the results of its evaluations."""

    def __init__(self, origin: str, result: Mapping[str, Any]) -> None:
        folder = origin.removesuffix(_FILE).removesuffix(_REASONING_FILE)
        self.folder = folder.partition("/metrics/")[0].rstrip("/") or "."
        config = {
            name.removeprefix(_TRAINED): _value(value)
            for name, value in result.items()
            if name.startswith(_TRAINED) and value is not None
        }
        self.seed = next((config[name] for name in _SEEDS if name in config), None)
        self.settings = {name: setting for name, setting in config.items() if name not in _COUNTERS}
        self.scores: dict[str, float | None] = _bounds(result)
        if _is_number(loss := result.get(_LABEL_LOSS)):
            self.scores["score.supervised_loss"] = float(loss)

    def add(self, scores: Mapping[str, float | None], origin: str) -> None:
        """Adds scores; raises an error if a value contradicts an earlier one."""
        for name, value in scores.items():
            earlier = self.scores.setdefault(name, value)
            if repr(earlier) != repr(value):
                raise InputError(
                    f"{origin} has {value} for {name} of {self.folder}, and another result has "
                    f"{earlier}; import results of different evaluations one by one"
                )


def _results(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each result with its origin for messages."""
    if path.is_dir():
        files = [file for name in (_FILE, _REASONING_FILE) for file in sorted(path.rglob(name))]
        if not files:
            raise InputError(
                f"{path} has neither {_FILE} nor {_REASONING_FILE} below it; give the folder "
                "in which disentanglement_lib wrote its output, or the file of "
                "dlib_aggregate_results"
            )
        for file in files:
            yield file.as_posix(), _read(file)
        return
    content = _read(path)
    if not all(isinstance(column, dict) for column in content.values()):
        yield path.as_posix(), content
        return
    rows = dict.fromkeys(row for column in content.values() for row in column)  # as pandas writes
    for row in rows:
        result = {name: column.get(row) for name, column in content.items()}
        yield str(result.pop("path", None) or f"{path}, row {row}"), result


def _read(path: Path) -> dict[str, Any]:
    content = read_json(path, "give a file that disentanglement_lib wrote", finite=False)
    if not content:
        raise InputError(f"{path} holds no results; give a file that disentanglement_lib wrote")
    return content


def _identity(result: Mapping[str, Any], origin: str) -> str:
    """Key shared by the results of a model: the ID of its training, else that of its codes."""
    ids = (result.get(f"{step}_results.uuid") for step in ("train", "postprocess"))
    return next((str(identity) for identity in ids if identity), origin)


def _names(models: Mapping[str, _Model]) -> list[str]:
    """Names of the models: their folders, with a number added if several share a folder."""
    folders = [model.folder for model in models.values()]
    return [
        f"{model.folder} {identity[:8]}" if folders.count(model.folder) > 1 else model.folder
        for identity, model in models.items()
    ]


def _evaluation(result: Mapping[str, Any]) -> str | None:
    """Name of the evaluation whose results these are; None if they are of none."""
    of_reasoning = any(
        name.startswith(f"{_REASONING}_results.") and _is_number(value)
        for name, value in result.items()
    )
    return _function(result.get(_FUNCTION)) or (_REASONING if of_reasoning else None)


def _scores(function: str, result: Mapping[str, Any]) -> dict[str, float | None]:
    """Scores of an evaluation under dislab's names."""
    prefix = f"{_REASONING if function == _REASONING else 'evaluation'}_results."
    numbers = {
        name.removeprefix(prefix): float(value)
        for name, value in result.items()
        if name.startswith(prefix) and _is_number(value)
    }
    learner = _function(result.get("evaluation_config.predictor.predictor_fn"))
    predictor = _LEARNERS.get(str(learner), learner)
    if function == "downstream_task":
        names = {
            name: f"downstream_{predictor}_{name.removesuffix(_ONE_SIZE)}"
            for name in numbers
            if name.endswith(_ONE_SIZE)
        }
    elif function == "fairness":
        names = {name: f"{score}_{predictor}" for name, score in _UNFAIRNESS.items()}
    elif function == _REASONING:
        names = _accuracies(numbers, result)
    else:
        names = dict(_SCORES.get(function, {}))
    if result.get("evaluation_config.sap_score.continuous_factors") == "True":
        names["SAP_score"] = "sap_r2"
    codes = _function(result.get(_CODES)) or "mean_representation"
    begin = f"score.{_PREFIXES.get(codes, f'{codes}/')}"
    return {f"{begin}{score}": numbers[name] for name, score in names.items() if name in numbers}


def _accuracies(numbers: Mapping[str, float], result: Mapping[str, Any]) -> dict[str, str]:
    """Names in dislab of accuracies on test matrices, by the number of training matrices.

    `step<n>` in disentanglement_lib has the accuracy after the iteration that begins at step n.
    """
    config = f"{_REASONING}_config."
    embedding = _function(result.get(f"{config}TwoStageModel.embedding_model_class"))
    begin = f"reasoning_{_INPUTS.get(str(embedding), 'factors')}"
    steps, batch = (
        _value(result.get(f"{config}{_REASONING}.{name}"))
        for name in ("training_steps_per_iteration", "batch_size")
    )
    names = {"best.test.accuracy": f"{begin}_best"}
    for name in numbers:
        start = re.fullmatch(r"step(\d+)\.test\.accuracy", name)
        if start and isinstance(steps, int) and isinstance(batch, int):
            names[name] = f"{begin}_{(int(start[1]) + steps) * batch}"
    return names


def _bounds(result: Mapping[str, Any]) -> dict[str, float | None]:
    """ELBO terms on images from the training distribution, where their units match dislab's."""
    loss = result.get("train_config.reconstruction_loss.loss_fn")
    shifted = result.get("train_config.bernoulli_loss.subtract_true_image_entropy") == "True"
    names = ("reconstruction_loss", "kl_loss")
    reconstruction, kl = (result.get(f"train_results.{name}") for name in names)
    if _function(loss) != "bernoulli_loss" or shifted:
        return {}
    if not (_is_number(reconstruction) and _is_number(kl)):
        return {}
    return {
        "score.elbo_sample_train": -float(reconstruction) - float(kl),
        "score.reconstruction_sample_train": float(reconstruction),
        "score.kl_train": float(kl),
    }


def _is_number(value: Any) -> TypeGuard[float]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (isinstance(value, float) or abs(value) < 2**1000)  # fits into a float


def _function(text: Any) -> str | None:
    """The name in a reference of gin, such as `mig` in `@scope/metrics.mig`."""
    if not isinstance(text, str) or not text.startswith("@"):
        return None
    return text[1:].removesuffix("()").rpartition("/")[2].rpartition(".")[2]


def _value(text: Any) -> Any:
    """A gin value: numbers and strings parsed, anything else as written."""
    with suppress(ValueError, SyntaxError):
        value = ast.literal_eval(str(text))
        return value if isinstance(value, str | int | float) else str(text)
    return str(text)
