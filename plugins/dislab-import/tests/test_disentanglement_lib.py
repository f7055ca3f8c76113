"""Results of disentanglement_lib: small files in the layout that its code writes."""

import doctest
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dislab.errors import InputError
from dislab.study import StudyWarning
from dislab.study.statistics import summary
from dislab_import import read_disentanglement_lib
from dislab_import.command import run

Result = dict[str, Any]


def result(function: str, numbers: Result, **changes: Any) -> Result:
    """An evaluation.json: settings and results of all steps, with the step before each name."""
    return {
        "train_config.dataset.name": "'dsprites_full'",
        "train_config.model.name": "'beta_vae'",
        "train_config.model.model": "@vae()",
        "train_config.model.model_num": "0",
        "train_config.model.random_seed": "3",
        "train_config.vae.beta": "6.0",
        "train_config.vae_optimizer.optimizer_fn": "\\",
        "train_config.reconstruction_loss.loss_fn": "@bernoulli_loss",
        "train_results.uuid": "0a1b2c3d-train",
        "train_results.reconstruction_loss": 40.5,
        "train_results.kl_loss": 10.25,
        "postprocess_config.postprocess.postprocess_fn": "@mean_representation",
        "postprocess_results.uuid": "mean",
        "evaluation_config.evaluation.evaluation_fn": f"@{function}",
        "evaluation_config.evaluation.random_seed": "0",
        "evaluation_results.elapsed_time": 12.0,
        "evaluation_results.uuid": f"{function}-uuid",
        **{f"evaluation_results.{name}": value for name, value in numbers.items()},
        **changes,
    }


def write(folder: Path, *parts: str, content: Result) -> None:
    """Writes a result where an evaluation of dlib_reproduce writes it."""
    path = folder.joinpath(*parts, "results", "aggregate", "evaluation.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))


def aggregated(path: Path, *results: Result) -> Path:
    """Writes one file of all results as dlib_aggregate_results does: a DataFrame of them."""
    rows = [{**one, "path": f"out/{row}/{path.name}"} for row, one in enumerate(results)]
    pd.DataFrame(rows).to_json(path_or_buf=path)
    return path


SAMPLED = {"postprocess_config.postprocess.postprocess_fn": "@sampled_representation"}
OF_R2 = {"evaluation_config.sap_score.continuous_factors": "True"}
BY_TREES = {"evaluation_config.predictor.predictor_fn": "@gradient_boosting_classifier"}
BY_LINES = {"evaluation_config.predictor.predictor_fn": "@logistic_regression_cv"}
BOUNDS = {
    "score.elbo_sample_train": -50.75,
    "score.reconstruction_sample_train": 40.5,
    "score.kl_train": 10.25,
}


@pytest.mark.parametrize(
    ("function", "numbers", "changes", "expected"),
    [
        ("mig", {"discrete_mig": 0.25}, {}, {"mig": 0.25}),
        ("mig", {"discrete_mig": 0.25}, SAMPLED, {"sampled/mig": 0.25}),
        (
            "dci",
            {
                "disentanglement": 0.1,
                "completeness": 0.2,
                "informativeness_test": 0.3,
                "informativeness_train": 0.4,
            },
            {},
            {
                "dci_gbt_disentanglement": 0.1,
                "dci_gbt_completeness": 0.2,
                "dci_gbt_informativeness": 0.3,
                "dci_gbt_informativeness_train": 0.4,
            },
        ),
        ("sap_score", {"SAP_score": 0.5}, {}, {"sap_svc": 0.5}),
        ("sap_score", {"SAP_score": 0.5}, OF_R2, {"sap_r2": 0.5}),
        (
            "modularity_explicitness",
            {"modularity_score": 0.6, "explicitness_score_test": 0.7},
            {},
            {"modularity": 0.6, "explicitness_multinomial": 0.7},
        ),
        # the numbers of active dimensions there are no such numbers
        ("irs", {"IRS": 0.8, "num_active_dims": 17.3}, {}, {"irs": 0.8}),
        (
            "factor_vae_score",
            {"eval_accuracy": 0.9, "num_active_dims": 10},
            {},
            {"factor_vae_score": 0.9},
        ),
        ("beta_vae_sklearn", {"eval_accuracy": 1.0}, {}, {"beta_vae_score": 1.0}),
        ("metrics.beta_vae_sklearn", {"eval_accuracy": 1}, {}, {"beta_vae_score": 1.0}),
        ("unsupervised_metrics", {"mutual_info_score": 0.01}, {}, {"mean_pairwise_mi": 0.01}),
        (
            "downstream_task",
            {"100:mean_test_accuracy": 0.3, "100:min_test_accuracy": 0.1},
            BY_TREES,
            {"downstream_gbt_100": 0.3},
        ),
        (
            "downstream_task",
            {"10:mean_test_accuracy": 0.2},
            BY_LINES,
            {"downstream_logistic_cv_10": 0.2},
        ),
        (
            "fairness",
            {
                "mean_fairness:mean_pred:mean_sens": 0.2,
                "max_fairness:mean_pred:mean_sens": 0.3,
                "mean_fairness:max_pred:max_sens": 0.4,
                "max_fairness:max_pred:max_sens": 0.5,
                "mean_fairness:pred0:sens1": 0.6,
            },
            BY_TREES,
            {
                "unfairness_gbt": 0.2,
                "largest_unfairness_gbt": 0.3,
                "unfairness_of_worst_pair_gbt": 0.4,
                "largest_unfairness_of_worst_pair_gbt": 0.5,
            },
        ),
    ],
)
def test_scores_have_the_names_of_dislab(
    tmp_path: Path, function: str, numbers: Result, changes: Result, expected: Result
) -> None:
    path = tmp_path / "evaluation.json"
    path.write_text(json.dumps(result(function, numbers, **changes)))
    table = read_disentanglement_lib(path)
    found = table.filter(like="score.").iloc[0].to_dict()
    assert found == BOUNDS | {f"score.{name}": value for name, value in expected.items()}


@pytest.mark.parametrize(
    "changes",
    [
        {"train_config.reconstruction_loss.loss_fn": "@l2_loss"},
        {"train_config.bernoulli_loss.subtract_true_image_entropy": "True"},
        {"train_results.kl_loss": None},
    ],
)
def test_losses_of_other_units_are_left_out(tmp_path: Path, changes: Result) -> None:
    table = read_disentanglement_lib(
        aggregated(tmp_path / "results.json", result("mig", {"discrete_mig": 0.25}, **changes))
    )
    assert list(table.filter(like="score.")) == ["score.mig"]


def test_results_of_one_model_are_one_row(tmp_path: Path) -> None:
    other = {
        "train_config.model.model_num": "7",
        "train_config.model.random_seed": "4",
        "train_config.vae.beta": "8.0",
        "train_results.uuid": "4d5e6f-train",
    }
    for number, change in (("0", {}), ("7", other)):
        metrics = (tmp_path / number, "metrics")
        write(*metrics, "mean", "mig", content=result("mig", {"discrete_mig": 0.1}, **change))
        sampled = result("mig", {"discrete_mig": float("nan")}, **change, **SAMPLED)
        write(*metrics, "sampled", "mig", content=sampled)
        irs = result("irs", {"IRS": 0.5}, **change)
        write(*metrics, "mean", "irs", content=irs)
    table = read_disentanglement_lib(tmp_path)
    assert table.index.tolist() == [f"{tmp_path.as_posix()}/{number}" for number in ("0", "7")]
    settings = table.iloc[:, :5].to_dict("list")
    assert settings == {
        "dataset.name": ["dsprites_full"] * 2,
        "model.name": ["beta_vae"] * 2,
        "vae.beta": [6.0, 8.0],
        "seed": [3, 4],
        "state": ["finished"] * 2,
    }
    assert table["score.irs"].tolist() == [0.5, 0.5]
    assert table["score.sampled/mig"].isna().all()


def test_runs_with_labels_keep_their_settings_seed_and_loss(tmp_path: Path) -> None:
    def trained(seed: int, labels: int) -> Result:
        changes: Result = {
            "train_config.model.name": "'s2_beta_vae'",
            "train_config.model.model": "@s2_vae()",
            "train_config.s2_vae.gamma_sup": "16",
            "train_config.model.num_labelled_samples": str(labels),
            "train_config.model.model_seed": str(seed),
            "train_config.model.unsupervised_data_seed": str(seed + 1),
            "train_config.model.supervised_data_seed": "7",
            "train_results.supervised_loss": 12.5 * seed,
            "train_results.uuid": f"{seed} {labels}",
        }
        content = result("mig", {"discrete_mig": 0.5}, **changes)
        return {name: x for name, x in content.items() if name != "train_config.model.random_seed"}

    rows = [trained(seed, labels) for seed in (1, 2) for labels in (100, 1000)]
    table = read_disentanglement_lib(aggregated(tmp_path / "all.json", *rows))
    assert table["seed"].tolist() == [1, 1, 2, 2]
    assert table["model.num_labelled_samples"].tolist() == [100, 1000, 100, 1000]
    assert table["score.supervised_loss"].tolist() == [12.5, 12.5, 25, 25]
    assert not [name for name in map(str, table) if "data_seed" in name]
    means = summary(table, "score.mig")
    assert means["seeds"].tolist() == [2, 2]


def reasoning(embedding: str, **changes: Any) -> Result:
    """An abstract_reasoning.json of dlib_reason, two iterations of 1,000 batches of 32."""
    ours = {
        name: value for name, value in result("", {}).items() if not name.startswith("evaluation_")
    }
    return ours | {
        "abstract_reasoning_config.abstract_reasoning.batch_size": "32",
        "abstract_reasoning_config.abstract_reasoning.training_steps_per_iteration": "1000",
        "abstract_reasoning_config.TwoStageModel.embedding_model_class": embedding,
        "abstract_reasoning_results.step0.val.accuracy": 0.25,
        "abstract_reasoning_results.step0.test.accuracy": 0.3,
        "abstract_reasoning_results.step1000.test.accuracy": 0.5,
        "abstract_reasoning_results.best.test.accuracy": 0.5,
        "abstract_reasoning_results.elapsed_time": 12.0,
        **changes,
    }


@pytest.mark.parametrize(
    ("embedding", "source"),
    [("@HubEmbedding", "codes"), ("@BaselineCNNEmbedder", "pixels"), ("'onehot'", "factors")],
)
def test_accuracies_of_abstract_reasoning_are_kept(
    tmp_path: Path, embedding: str, source: str
) -> None:
    table = read_disentanglement_lib(
        aggregated(
            tmp_path / "results.json", reasoning(embedding), result("mig", {"discrete_mig": 1})
        )
    )
    assert table.filter(like="score.").drop(columns=list(BOUNDS)).iloc[0].to_dict() == {
        f"score.reasoning_{source}_best": 0.5,
        f"score.reasoning_{source}_32000": 0.3,
        f"score.reasoning_{source}_64000": 0.5,
        "score.mig": 1.0,
    }
    assert len(table) == 1


def test_accuracies_without_known_batches_are_left_out_but_the_best(tmp_path: Path) -> None:
    unknown = {"abstract_reasoning_config.abstract_reasoning.batch_size": None}
    path = aggregated(tmp_path / "results.json", reasoning("@HubEmbedding", **unknown))
    names = set(read_disentanglement_lib(path).filter(like="score."))
    assert names == set(BOUNDS) | {"score.reasoning_codes_best"}


def test_a_folder_of_dlib_reason_is_a_row_of_its_model(tmp_path: Path) -> None:
    write(tmp_path, "7", "metrics", "mig", content=result("mig", {"discrete_mig": 0.1}))
    path = tmp_path / "0_reasoning" / "results" / "aggregate" / "abstract_reasoning.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(reasoning("@HubEmbedding")))
    table = read_disentanglement_lib(tmp_path)
    assert table.index.tolist() == [f"{tmp_path.as_posix()}/7"]
    assert table["score.reasoning_codes_64000"].tolist() == [0.5]
    alone = read_disentanglement_lib(path)
    assert alone.index.tolist() == [f"{tmp_path.as_posix()}/0_reasoning"]


def test_methods_and_missing_settings_make_groups(tmp_path: Path) -> None:
    factor_vae = {
        "train_config.model.name": "'factor_vae'",
        "train_config.vae.beta": None,
        "train_config.factor_vae.gamma": "10.0",
    }
    results = [
        result("mig", {"discrete_mig": 0.1 * seed}, **change, **number)
        for change in ({}, factor_vae)
        for seed in (1, 2)
        for number in [
            {
                "train_config.model.random_seed": str(seed),
                "train_results.uuid": f"{len(change)}-{seed}",
            }
        ]
    ]
    path = aggregated(tmp_path / "results.json", *results)
    table = read_disentanglement_lib(path)
    written = tmp_path / "table.csv"
    assert run([str(path), "--out", str(written)]) == 0
    read = pd.read_csv(written, index_col="run")
    pd.testing.assert_frame_equal(read, table, check_dtype=False)
    means = summary(read, "score.mig")
    assert means["mean"].tolist() == pytest.approx([0.15, 0.15])
    assert means["model.name"].tolist() == ["beta_vae", "factor_vae"]


def test_models_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    for name in ("first", "second"):
        content = result("mig", {"discrete_mig": 0.1}, **{"train_results.uuid": f"{name}-number"})
        write(tmp_path, "metrics", name, content=content)
    folder = tmp_path.as_posix()
    names = read_disentanglement_lib(tmp_path).index.tolist()
    assert names == [f"{folder} first-nu", f"{folder} second-n"]


def test_evaluations_without_an_equivalent_are_counted(tmp_path: Path) -> None:
    path = aggregated(
        tmp_path / "results.json",
        result("udr_sklearn", {"model_scores": 0.2}),
        result("mig", {"discrete_mig": 0.1}),
    )
    with pytest.warns(StudyWarning, match="without an equivalent: 1 of udr_sklearn$"):
        table = read_disentanglement_lib(path)
    assert len(table) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("\xff", "is no JSON"),
        ("[1]", "holds no JSON object"),
        ("{}", "holds no results"),
        ('{"mig": 0.1}', "is no result of an evaluation by disentanglement_lib"),
        ('{"scores": {"0": 1}}', "results.json, row 0 is no result of an evaluation"),
        (None, "results.json does not exist"),
    ],
)
def test_other_files_are_refused_in_one_line(
    tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "results.json"
    if content is not None:
        path.write_text(content, encoding="latin-1")
    with pytest.raises(InputError) as error:
        run([str(path), "--out", str(tmp_path / "table.csv")])
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "table.csv").exists()


def test_two_values_of_one_score_are_refused(tmp_path: Path) -> None:
    results = [result("mig", {"discrete_mig": value}) for value in (0.1, 0.2)]
    with pytest.raises(InputError, match=r"has 0\.2 for score\.mig of .*another result has 0\.1"):
        read_disentanglement_lib(aggregated(tmp_path / "results.json", *results))


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has neither results/aggregate/evaluation\.json nor"):
        read_disentanglement_lib(tmp_path)


def test_the_input_is_not_overwritten(tmp_path: Path) -> None:
    path = aggregated(tmp_path / "results.csv", result("mig", {"discrete_mig": 0.1}))
    with pytest.raises(InputError, match="which this command did not write"):
        run([str(path), "--out", str(path)])


def test_other_tables_are_not_overwritten(tmp_path: Path) -> None:
    """An earlier output of the command is replaced; a table of the user is not."""
    path = aggregated(tmp_path / "results.json", result("mig", {"discrete_mig": 0.1}))
    for name in ("new.csv", "new.tex"):
        arguments = [str(path), "--out", str(tmp_path / name)]
        assert run(arguments) == 0
        assert run(arguments) == 0
        (tmp_path / name).write_text("run,note\n1,mine\n")
        with pytest.raises(InputError, match="which this command did not write"):
            run(arguments)


def test_examples_of_the_readme_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = Path(__file__).parents[1] / "README.md"
    failures, examples = doctest.testfile(str(readme), module_relative=False)
    assert examples > 5
    assert not failures
