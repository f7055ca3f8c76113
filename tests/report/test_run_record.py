import math
from base64 import b64decode
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from tests.report.cases import SCORED, SETTINGS, write_run

from dislab.errors import InputError
from dislab.metrics import MIG
from dislab.metrics.score_table import blind_spot
from dislab.plugins import available
from dislab.report import ReportedRun
from dislab.report.figures import curves_figure, drawing, part_figures
from dislab.report.page import page_of
from dislab.report.run_record import Table, facts_of, low_scores, of_estimates, read_run
from dislab.report.verdict import unearned_in, verdict
from dislab.yaml_files import no_run

FACTS = {
    "method": "small",
    "objective": "VAE",
    "regularizers": "KL (beta 4.0)",
    "decoder": "MLPDecoder (hidden 8)",
    "latents": "3",
    "likelihood": "bernoulli",
    "data set": "GaussianBlob",
    "supervision": "images alone",
    "seed": "3",
}


def test_supervision_is_in_words_where_a_method_sees_images_alone() -> None:
    def fact(**changes: Any) -> str:
        parts = {name: {**SETTINGS[name], **changes.get(name, {})} for name in ("model", "data")}
        return facts_of({**SETTINGS, **parts}, {})["supervision"]

    arguments = SETTINGS["data"]["init_args"]
    assert fact() == "images alone"
    assert fact(data={"init_args": {**arguments, "few_labels": {"count": 9}}}) == "SingleData"
    assert fact(data={"class_path": "dislab.datamodules.PairedData"}) == "PairedData"
    decoder = {"class_path": "dislab.objectives.GroundTruthDecoder", "init_args": {}}
    assert fact(model=decoder) == "SingleData"


def test_scores_without_untrained_models_say_how_to_get_them(tmp_path: Path) -> None:
    scored = {**SCORED, "untrained": {"scores": {}}}
    reading = read_run(write_run(tmp_path / "version_2", scores={"test": scored})).reading
    (said,) = (sentence for sentence in reading if "ntrained" in sentence)
    assert "dislab test --run RUN --evaluate.untrained 5" in said


@pytest.mark.slow
def test_a_factor_vae_score_of_codes_of_small_scale_has_its_reason(tmp_path: Path) -> None:
    scored = {**SCORED, "scores": {"factor_vae_score": 0.0, "num_active": 0.0}}
    found = read_run(write_run(tmp_path / "version_2", scores={"test": scored})).scores
    assert found is not None
    assert found.rows[0][:2] == ["FactorVAE score", "0.000 (no latent varies enough)"]
    carded = {**scored, "metrics": {"factor_vae": {"primary": "factor_vae_score"}}}
    cards = read_run(write_run(tmp_path / "version_3", scores={"test": carded})).headline
    assert cards["FactorVAE score"] == ("0.00", "no latent varies enough")


@pytest.mark.parametrize(
    ("value", "said", "sentence"),
    [
        (
            0.2,
            "not above chance 0.20, not above untrained 0.30 ± 0.02",
            "Not above chance: MIG. Not above untrained models: MIG.",
        ),
        (
            0.3,
            "chance 0.20, not above untrained 0.30 ± 0.02",
            "Not above untrained models: MIG.",
        ),
        (
            0.33,
            "chance 0.20, within the spread of untrained 0.30 ± 0.02",
            "Within the spread of untrained models: MIG.",
        ),
        (0.35, "chance 0.20, untrained 0.30 ± 0.02", ""),
        (None, "chance 0.20, untrained 0.30 ± 0.02", ""),
    ],
)
def test_a_score_that_is_not_clearly_above_a_level_says_so(
    value: float | None, said: str, sentence: str, tmp_path: Path
) -> None:
    scored = {
        **SCORED,
        "scores": {"mig": value},
        "chance": {"mig": 0.2},
        "untrained": {"scores": {"mig": {"mean": 0.3, "std": 0.02}}},
        "metrics": {"mig": {"primary": "mig", "higher_is_better": True}},
    }
    record = read_run(write_run(tmp_path / "version_2", scores={"test": scored}))
    text = "" if value is None else f"{value:.2f}"
    assert record.headline == {"MIG": (text, said)}
    assert low_scores(scored) == sentence
    assert ("at most two of these deviations" in " ".join(record.terms)) == ("Within" in sentence)


def test_own_images_are_told_by_their_folder_and_number(tmp_path: Path) -> None:
    arguments = {"folder": "/a/my_images", "gaps": "keep", "side": 64}
    own = {"class_path": "dislab.datasets.FolderDataset", "init_args": arguments}
    settings = {**SETTINGS, "data": {**SETTINGS["data"], "init_args": {"dataset": own}}}
    scored = {**SCORED, "draw": {"split": "all", "points": 225, "available": 227}}
    folder = write_run(tmp_path / "version_2", settings=settings, scores={"test": scored})
    assert read_run(folder).images == "my_images, 227 images"


def test_scores_of_few_images_say_so_and_active_units_how_many_are_in_use(tmp_path: Path) -> None:
    scored: dict[str, Any] = {
        "scores": {"mig": 0.5, "active_units": 3.0, "dci_hgbt_informativeness_nrmse": 0.4},
        "parts": {
            "kl_per_latent": [2.0, 0.05, 0.02, 0.001],
            "mig_per_factor": [0.4, 0.6, 0.5, None, 0.1],
        },
        "sample": {
            "factors": {"x": 37, "y": None, "hue": 10, "shape": 4, "z": 9},
            "entropy": {"x": 3.2, "y": 2.0, "hue": math.log(6), "shape": 0.0, "z": 2.19},
        },
        "draw": {"split": "all", "points": 999, "available": 999},
        "data": {"images": 999},
    }
    record = read_run(write_run(tmp_path / "few", scores={"test": scored}))
    assert any(sentence.startswith("That is few: ") for sentence in record.reading)
    used = "In use, with a KL above 0.1 nats: 1 of 3 active units."
    assert used in record.reading
    assert any(term.startswith("NRMSE: ") and "categories" in term for term in record.terms)
    names = [row[0] for row in record.others["By factor"].rows]
    assert names == ["x (up to 37 values)", "y", "hue (6 values)", "z (9 values)"]
    assert "Constant in these images, and in no score: shape." in record.reading
    scored["parts"]["kl_per_latent"] = [2.0, 1.0, 0.5, None]  # by hand, and so are these
    scored["sample"]["entropy"] |= {"x": None, "hue": 1e9, "z": -1.0}
    scored["draw"]["points"] = scored["data"]["images"] = 1000
    record = read_run(write_run(tmp_path / "many", scores={"test": scored}))
    assert not [sentence for sentence in record.reading if "few" in sentence or "units" in sentence]
    assert [row[0] for row in record.others["By factor"].rows] == ["x", "y", "hue", "z"]


def test_a_run_on_equal_files_says_so(tmp_path: Path) -> None:
    draw = {**SCORED["draw"], "equal_files": 12}
    scores = {"test": {**SCORED, "draw": draw}}
    reading = read_run(write_run(tmp_path / "version_2", scores=scores)).reading
    assert reading[0].endswith("(12 equal files are among the images).")
    assert "copies: drop" in reading[1]


def test_untrained_models_without_a_latent_that_varies_have_no_level(tmp_path: Path) -> None:
    still = {"factor_vae_score": 0.0, "num_active": 0.0}
    scored = {
        **SCORED,
        "scores": {"factor_vae_score": 0.4, "num_active": 3.0},
        "chance": {"factor_vae_score": 0.22},
        "untrained": {"scores": {name: {"mean": mean, "std": 0.0} for name, mean in still.items()}},
        "baselines": {"pixels": still},
        "metrics": {"factor_vae": {"primary": "factor_vae_score"}},
    }
    found = read_run(write_run(tmp_path / "version_2", scores={"test": scored}))
    levels = "chance 0.22, untrained: no latent varies enough"
    assert found.headline == {"FactorVAE score": ("0.40", levels)}
    assert found.scores is not None
    assert found.scores.rows[0][-2:] == ["no latent varies enough"] * 2


def with_legend(sentence: str) -> str:
    """A sentence of the verdict, and what its percentages are shares of if it has some.

    A sentence behind it, on factors of which their latent knows little, stays behind.
    """
    if "%" not in sentence:
        return sentence
    first, little, rest = sentence.partition(" Less than a quarter ")
    return (
        f"{first} A percentage is one latent's part of the sum of what each latent in use knows "
        f"about the factor, which may be little of it.{little}{rest}"
    )


def test_a_folder_with_the_name_of_its_run_gives_the_name_once(tmp_path: Path) -> None:
    assert read_run(write_run(tmp_path / "small")).name == "small"


def test_facts_scores_and_transfer_of_a_run(tmp_path: Path) -> None:
    found = read_run(write_run(tmp_path / "version_2"))
    assert found.name == "small/version_2"
    scored_on = "900 of 1,024 images, training included"
    assert found.facts == {**FACTS, "steps": "4,000", "scored on": scored_on}
    assert found.headline == {"MIG": ("0.25", "chance 0.00, untrained 0.02 ± 0.01")}
    assert found.scores is not None
    assert found.scores.heads == ["score", "value", "interval", "chance", "untrained", "pixels"]
    assert found.scores.rows[0] == [
        *("MIG", "0.250", "[0.200, 0.300]", "0.001", "0.020 ± 0.005", "0.050")
    ]
    assert found.scores.rows[1] == ["Active units (KL above 0.01 nats)", "3", "", "", "", ""]
    assert found.scores.rows[2] == ["Mine", *[""] * 5]
    assert found.blind == {
        "MIG": blind_spot("mig"),
        "Active units (KL above 0.01 nats)": blind_spot("active_units"),
    }
    assert found.reading == [f"Scored on {scored_on}."]
    assert found.terms == [
        "Chance: the score of the codes of other images, which tell nothing of these.",
        "Untrained: mean ± standard deviation of models with fresh weights.",
        "Active units have a KL above 0.01 nats; a latent with at most 0.1 nats is not in use and "
        "is grey in the picture of the information, as a sample of it tells at most its KL.",
        "KL: Kullback–Leibler divergence of the posterior from the prior; "
        "MIG: mutual information gap.",
    ]
    assert found.verdict == with_legend(
        "1 of 2 factors has a latent of its own: y in z0 (100 %); x is in no latent in use."
    )
    assert found.bounds is None
    assert found.transfer is not None
    assert found.transfer.heads == ["scenario/predictor", "error", "error in distribution"]
    assert found.transfer.rows == [["near/mlp", "0.300", "0.100"], ["near/chance", "0.400", ""]]
    assert found.notes == ["x stood still", "DCI was not taken: one factor only"]
    assert [one.name for one in [*found.curves, *found.panels, *found.pictures]] == [
        *("loss", "information in the mean", "KL from the prior", "traversals")
    ]


def test_a_data_set_is_called_a_part_and_a_look_alike_and_has_changed_settings() -> None:
    dataset = {
        "class_path": "dislab.datasets.GaussianBlob",
        "init_args": {"sigma": 4.0, "places": 8},
    }
    states = {"posX": {"min": 0.2, "max": 0.5}, "posY": [0, 1], "hue": 1, "size": list(range(9))}
    arguments: dict[str, Any] = {"dataset": dataset, "include": states, "resize": 32}
    data = {"class_path": "SingleData", "init_args": arguments}
    source = {"provenance": {"source": "rendered look-alike"}}
    facts = facts_of({"data": data}, {"data": source})
    assert facts["data set"] == "a part of GaussianBlob (places 8), rendered look-alike"
    for name, words in (("rendered", "rendered"), ("official", "read from the published file")):
        sprites = {"class_path": "SingleData", "init_args": {"dataset": "dislab.datasets.DSprites"}}
        of_source = facts_of({"data": sprites}, {"data": {"provenance": {"source": name}}})
        assert of_source["data set"] == f"DSprites, {words}"
    assert facts["included"] == "posX min 0.2 and max 0.5, posY 0 or 1, hue 1, size 9 values"
    assert facts["resized to"] == "32×32 pixels"
    given: dict[str, Any] = {"folder": "a", "factors": ["folder"]}
    folder = {"class_path": "FolderDataset", "init_args": given}
    named = {"data": {"class_path": "SingleData", "init_args": {"dataset": folder}}}
    assert facts_of(named, {})["data set"] == "FolderDataset (folder a, factors folder)"
    given |= {"periods": {"angle": 360, "hue": 1}, "copies": "drop", "labels": None}
    given |= {"kinds": {"x": "ordinal"}, "crop": True, "skipped": list(range(9))}
    assert facts_of(named, {})["data set"] == (
        "FolderDataset (folder a, factors folder, periods angle 360 and hue 1, copies drop, "
        "kinds x ordinal, crop true, skipped 9 values)"
    )
    dataset["class_path"] = "gone.Blob"  # of a package that is not installed
    arguments.pop("include")
    assert facts_of({"data": data}, {})["data set"] == "Blob (sigma 4.0, places 8)"


def test_facts_have_the_hyperparameters_with_short_lists() -> None:
    encoder = {"class_path": "MLPEncoder", "init_args": {"hidden": [256, 128], "names": []}}
    tc = {"class_path": "TotalCorrelation", "init_args": {"gamma": 10.0, "betas": [0.5, 0.9]}}
    adam = {"class_path": "torch.optim.Adam", "init_args": {"lr": 0.002, "fused": True}}
    arguments: dict[str, Any] = {"encoder": encoder, "regularizers": {"tc": tc}, "optimizer": adam}
    settings = {
        "model": {"class_path": "VAE", "init_args": arguments},
        "data": {"class_path": "SingleData", "init_args": {"batch_size": 64}},
    }
    facts = facts_of(settings, {})
    assert facts["encoder"] == "MLPEncoder (hidden 256 and 128)"
    assert facts["regularizers"] == "TotalCorrelation (gamma 10.0, betas 0.5 and 0.9)"
    assert facts["optimizer"] == "Adam (lr 0.002)"
    assert facts["batch size"] == "64"
    encoder["init_args"] = {"hidden": list(range(9))}
    arguments["optimizer"] = None  # as in objectives
    facts = facts_of(settings, {})
    assert facts["encoder"] == "MLPEncoder"
    assert facts["optimizer"] == "Adam (lr 0.0001)"
    del arguments["optimizer"]
    assert "optimizer" not in facts_of(settings, {})


def test_a_run_says_when_how_long_and_on_what_it_was_trained(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    (folder / "checkpoints").mkdir()
    trained: dict[str, Any] = {"date": "2026-11-28 09:39 UTC", "hardware": "a card"}
    trained["seconds"] = 3725.0
    stored = {"state_dict": {}, "global_step": 4, "pytorch-lightning_version": "2.6.0"}
    stored["callbacks"] = {"Progress": trained}
    torch.save(stored, folder / "checkpoints" / "last.ckpt")
    record = read_run(folder)
    facts = record.facts
    assert facts["steps"] == f"{SCORED['checkpoint']['steps']:,}"  # those that were scored
    assert record.versions == {"torch": "2.13.0", "dislab": "0.1.0"}
    (folder / "scores.json").unlink()
    unscored = read_run(folder)
    assert unscored.facts["steps"] == "4"
    assert unscored.versions == {"lightning": "2.6.0"}
    trained["versions"] = {"torch": "2.13.0"}
    torch.save(stored, folder / "checkpoints" / "last.ckpt")
    assert read_run(folder).versions == {"torch": "2.13.0"}
    assert facts["trained"] == trained["date"]
    assert (facts["training time"], facts["hardware"]) == ("1 h 2 min", "a card")


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({"method": "FactorVAE", "name": "mine"}, "FactorVAE"),
        ({"method": None, "name": "mine"}, "mine"),
        ({"name": "run"}, "VAE"),
        ({"name": "0123456789ab"}, "VAE"),  # the identity of a run of a study
    ],
)
def test_a_run_is_called_by_its_method(settings: dict[str, Any], method: str) -> None:
    facts = facts_of({"model": {"class_path": "dislab.objectives.VAE"}, **settings}, {})
    assert facts["method"] == method
    assert facts.get("objective", method) == "VAE"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/home/somebody/x.npz", "C:\\Users\\me\\x.npz", "~/x.npz"])
def test_paths_of_the_machine_stay_out(path: str, tmp_path: Path) -> None:
    settings = {**SETTINGS, "data": {"init_args": {"path": path, "list": [path]}}}
    text = read_run(write_run(tmp_path / "run", settings)).settings
    assert "x.npz" in text
    assert "home" not in text
    assert "Users" not in text


def test_a_run_without_scores_curves_or_pictures_is_shown(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    for name in ("scores.json", "metrics.csv", "images/traversals.png"):
        (folder / name).unlink()
    found = read_run(folder)
    assert (found.scores, found.transfer, found.curves, found.pictures) == (None, None, [], [])
    assert found.without_curves == (
        "No curves: the run folder has no metrics.csv with logged values."
    )


@pytest.mark.slow
@pytest.mark.parametrize(("every", "steps"), [(None, [49]), (7, []), (1, [0, 1])])
def test_a_run_without_curves_says_why_and_what_to_set(
    every: int | None, steps: list[int], tmp_path: Path
) -> None:
    """The losses are the same at each step."""
    trainer = {} if every is None else {"trainer": {"log_every_n_steps": every}}
    folder = write_run(tmp_path / "run", {**SETTINGS, **trainer})
    rows = "".join(f"{step},2.0,\n" for step in steps)
    (folder / "metrics.csv").write_text(f"step,train/loss,validation/loss\n{rows}99,,1.0\n")
    found = read_run(folder)
    end = "ended before the first time" if not steps else "once before the end"
    text = (
        f"No curves: training logs its losses every {every or 50} steps, and {end}; a curve takes "
        "two. Set --trainer.log_every_n_steps to less than half of the steps of training."
    )
    if len(steps) > 1:
        text = "No curves: no loss differs between the 2 steps of training that were logged."
    assert found.without_curves == text
    assert found.without_curves in page_of([ReportedRun(folder, None, None)])
    (folder / "metrics.csv").write_text("step,train/loss\n1,2.0\n2,1.0\n")
    assert read_run(folder).without_curves == ""


@pytest.mark.parametrize(
    ("record", "scores"),
    [
        ({"test": {}}, None),
        (
            {"test": {"scores": {"mig": 0.5}}},
            Table(["score", "value"], [["MIG", "0.500"]]),
        ),
        ({"test": {"scores": {"_": 0.5}}}, Table(["score", "value"], [["", "0.500"]])),
    ],
)
def test_a_record_by_hand_is_shown_as_far_as_it_goes(
    record: Any, scores: Table | None, tmp_path: Path
) -> None:
    found = read_run(write_run(tmp_path / "run", scores=record))
    assert found.facts == FACTS
    assert found.scores == scores
    assert (found.headline, found.transfer, found.notes, found.versions) == ({}, None, [], {})
    assert [one.name for one in found.curves] == ["loss"]
    assert found.panels == []


@pytest.mark.parametrize(
    ("field", "value"), [("chance", 2), ("metrics", 1), ("intervals", {"mig": 1}), ("data", "x")]
)
def test_a_damaged_record_of_scores_is_named(field: str, value: object, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", scores={"test": {"scores": {"mig": 0.5}, field: value}})
    with pytest.raises(InputError, match=rf"scores\.json, test, is damaged: {field} is"):
        read_run(folder)


TERMS = {
    "loss": (900.7, 500.6),
    "objective": (900, 500),
    "reconstruction": (800, 450),
    "kl/kl": (100, 50),
    "tc/discriminator_accuracy": (0.5, 0.6),
    "dip/diagonal": (3, 2),
}


@pytest.mark.slow
def test_curves_have_their_unit_and_none_repeats_the_loss(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    rows = [
        {"step": str(step)} | {f"train/{name}": str(ends[step]) for name, ends in TERMS.items()}
        for step in (0, 1)
    ]
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows), ""]
    (folder / "metrics.csv").write_text("\n".join(lines))
    names = ["loss", "reconstruction", "dip diagonal", "kl", "tc discriminator accuracy"]
    assert [one.name for one in read_run(folder).curves] == names
    figure = curves_figure(rows)
    assert figure is not None
    units = {axes.get_title(loc="left"): axes.get_ylabel() for axes in figure.axes if axes.axison}
    assert units == {
        **dict.fromkeys(("loss", "reconstruction", "kl"), "nats per image"),
        "tc discriminator accuracy": "share",
        "dip diagonal": "",
    }
    held = [row | {"train/kl/capacity": str(step)} for step, row in enumerate(rows)]
    figure = curves_figure(held)
    assert figure is not None
    lines_of = {axes.get_title(loc="left"): axes.get_lines() for axes in figure.axes}
    assert "kl capacity" not in lines_of
    assert [line.get_label() for line in lines_of["kl"]] == ["train", "capacity"]
    asked = curves_figure(rows, ["objective"])  # by name, it is drawn
    assert asked is not None
    assert asked.axes[0].get_ylabel() == "nats per image"
    alone = curves_figure([{"step": "0", "train/loss": "2"}, {"step": "1", "train/loss": "1"}])
    assert alone is not None
    assert alone.axes[0].get_ylabel() == ""  # nothing says what the loss is made of


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("runs/betave/version_0", " (did you mean betavae?)"),
        ("runs/betavae/version_3", " (did you mean version_0?)"),
        ("betavae", " (did you mean runs/betavae?)"),
        ("elsewhere/betavae", ""),
        ("nowhere", ""),
    ],
)
def test_a_mistyped_run_has_a_hint(
    path: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (run := Path("runs/betavae/version_0")).mkdir(parents=True)
    (run / "config.yaml").touch()
    assert f"it does not exist{hint}; runs are in" in str(no_run(Path(path)))


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no run: it has no config\.yaml"):
        read_run(tmp_path)
    with pytest.raises(InputError, match="is no run: it does not exist; runs are in runs/"):
        read_run(tmp_path / "nowhere")
    study = tmp_path / "study"
    study.mkdir()
    (study / "plan.json").touch()
    with pytest.raises(
        InputError, match=r"is no run: it is a study, whose runs are in .*study/runs"
    ):
        read_run(study)
    write_run(tmp_path / "version_2")
    with pytest.raises(InputError, match="name one of its runs: version_2"):
        read_run(tmp_path)


def test_scores_that_were_skipped_for_one_reason_are_named_together(tmp_path: Path) -> None:
    skipped = {"mig": "no factors", "dci": "no factors", "sap": "one factor"}
    run = write_run(tmp_path / "run", scores={"test": {**SCORED, "skipped": skipped}})
    notes = ["MIG, DCI were not taken: no factors", "SAP was not taken: one factor"]
    assert read_run(run).notes == notes


def test_a_run_without_scores_says_why_once(tmp_path: Path) -> None:
    skipped = {"mig": "the images have none", "dci": "the images have none"}
    likelihoods = {"elbo_test": -3.0}
    found = {**SCORED, "scores": likelihoods, "skipped": skipped, "intervals": {}}
    record = read_run(write_run(tmp_path / "run", scores={"test": found}))
    assert record.scores is None
    assert record.unscored == "the images have none"
    assert record.notes == []
    assert "Scored on" not in " ".join(record.reading)


def test_what_a_score_cannot_see() -> None:
    assert "two latents tell as much of a factor" in blind_spot("mig")
    assert blind_spot("sampled/mig") == blind_spot("mig")
    assert blind_spot("score_of_a_plugin") == ""
    assert "spread over several latents" in blind_spot("dcimig")
    assert "constant codes" in blind_spot("jemmig_nats")
    assert "origin" in blind_spot("sap_svc")
    assert "origin" not in blind_spot("sap_r2")
    assert MIG.__name__ in {plugin.name for plugin in available("metrics")}


@pytest.mark.parametrize(
    ("parts", "title"),
    [
        ({}, "mutual information"),
        ({"kl_per_latent": [1.0, 2.0]}, "information in the mean"),
    ],
)
def test_the_page_titles_the_information_of_means_as_the_picture_does(
    parts: dict[str, Any], title: str
) -> None:
    record = {
        "scores": {"mig": 0.5},
        "parts": {"mig_mutual_information": [[0.1, 0.2], [0.3, None]], **parts},
        "data": {"factors": ["x", "y"]},
    }
    assert title in [title for title, _, _ in part_figures(record)]


def test_a_record_of_images_that_labels_do_not_tell_apart_has_a_verdict_and_figures() -> None:
    """Scores ignore the number of an image, which is a factor of the data."""
    record = {
        "scores": {"mig": 0.5},
        "parts": {"mutual_information": [[0.9, 0.0], [0.0, 0.9]]},
        "data": {"factors": ["x", "y", "instance"]},
        "sample": {"factors": {"x": 3, "y": 3}},
    }
    assert verdict(record) == with_legend(
        "2 of 2 factors have a latent of their own: x in z0 (100 %), y in z1 (100 %)."
    )
    chance = {"mutual_information_by_chance": [[0.0, 0.9], [0.0, 0.9]]}
    few = record | {"parts": {"mutual_information": [[0.9, 1.0], [0.0, 0.9]]} | chance}
    assert verdict(few) == with_legend(
        "1 of 2 factors has a latent of its own: x in z0 (100 %); y is in no latent in use."
    )
    ((_, _, figure),) = part_figures(record)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["x", "y"]


@pytest.mark.parametrize("latents", [6, 10])
def test_figures_of_latents_stand_in_one_row_with_text_of_one_size(latents: int) -> None:
    factors = ["floor_hue", "object_hue", "scale", "shape", "orientation"]
    values = [[0.1 * factor for factor in range(5)]] * latents
    parts = {
        "dci_importance": values,
        "mutual_information": values,
        "kl_per_latent": [1.0] * latents,
    }
    record = {"parts": parts, "data": {"factors": factors}}
    figures = [figure for _, _, figure in part_figures(record)]
    assert len({figure.get_figheight() for figure in figures}) == 1
    assert 96 * sum(figure.get_figwidth() for figure in figures) + 2 * 16 <= 62 * 16
    for figure in figures:
        root = ElementTree.fromstring(b64decode(drawing(figure, is_cropped=False).split(",")[1]))
        assert root.get("width") == f"{72 * figure.get_figwidth():g}pt"  # shown without scaling
        assert figure.get_suptitle()
    numbers, cell = figures[1].axes[0], figures[1].axes[0].transData.transform([[0, 0], [1, 0]])
    widths = [text.get_window_extent().width for text in numbers.texts]
    assert len(widths) == 5 * latents
    assert max(widths) < cell[1, 0] - cell[0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("information", "verdict"),
    [
        (
            [[0.9, 0.1], [0.1, 0.8], [0.0, 0.0]],
            "2 of 2 factors have a latent of their own: x in z0 (90 %), y in z1 (89 %).",
        ),
        (
            [[0.9, 0.2], [0.0, 0.21], [0.0, 0.1]],  # z1 has most of y, but less than half
            "1 of 2 factors has a latent of its own: x in z0 (100 %); "
            "y (41 % in z1 and 39 % in z0) is spread over several latents.",
        ),
        (
            [[0.9, 0.1], [0.0, 0.2], [0.0, 0.25]],
            "1 of 2 factors has a latent of its own: x in z0 (100 %); "
            "y (45 % in z2 and 36 % in z1) is spread over several latents.",
        ),
        (
            [[0.52, 0.1], [0.48, 0.8], [0.0, 0.0]],
            "2 of 2 factors have a latent of their own: x in z0 (52 %, just "
            "above half), y in z1 (89 %; also 48 % of x).",
        ),
        (
            [[0.48, 0.2], [0.52, 0.8], [0.0, 0.0]],
            "No factor has a latent of its own; x (52 %, just above half) and y (80 %) share z1.",
        ),
        (
            [[0.9, 0.5], [0.0, 0.4], [0.0, 0.0]],  # more than half of both
            "No factor has a latent of its own; x (100 %) and y (56 %) share z0.",
        ),
        (
            [[0.9, 0.01], [0.0, 0.0], [0.0, 0.0]],  # next to nothing
            "1 of 2 factors has a latent of its own: x in z0 (100 %); y is in no latent in use.",
        ),
        (
            [[0.0, 0.05], [0.0, 0.02]],  # x is constant
            "No factor has a latent of its own; y is in no latent in use.",
        ),
        ([[0.0, 0.0], [0.0, 0.0]], ""),
        ([[0.9, 0.1, 0.2]], ""),
        ([0.9, 0.1], ""),
        ("by hand", ""),
    ],
)
def test_the_verdict_says_which_latents_carry_which_factors(
    information: Any, verdict: str, tmp_path: Path
) -> None:
    record = {
        "scores": {"mig": 0.5},
        "data": {"factors": ["x", "y"]},
        "parts": {"mutual_information": information},
    }
    assert read_run(write_run(tmp_path / "run", scores={"test": record})).verdict == with_legend(
        verdict
    )


@pytest.mark.parametrize(
    ("kl", "sizes", "sentence"),
    [
        (
            [2.0, 1.0],
            [9, 9],
            "No factor has a latent of its own; x (100 %) and y (100 %) share z0. Less than a "
            "quarter of the entropy of y (11 %) is in its latent.",
        ),
        (
            [2.0, 1.0],
            [9, 40],  # a thirtieth of what could be known of y
            "1 of 2 factors has a latent of its own: x in z0 (100 %); y is in no latent in use.",
        ),
        (
            [0.05, 1.0],  # a sample of z0 tells at most 0.05 nats
            [9, 9],
            "No factor has a latent of its own; x and y are in no latent in use.",
        ),
        (
            [0.0, 0.01],
            [9, 9],
            "No latent is active: the KL of each is at most 0.01 nats (posterior collapse, or a "
            "training that has hardly begun).",
        ),
    ],
)
def test_the_verdict_ignores_trifles_and_inactive_latents(
    kl: list[float], sizes: list[int], sentence: str
) -> None:
    record = {
        "parts": {"mutual_information": [[0.9, 0.25], [0.0, 0.0]], "kl_per_latent": kl},
        "data": {"factors": ["x", "y"]},
        "sample": {"factors": dict(zip("xy", sizes, strict=True))},
    }
    assert verdict(record) == with_legend(sentence)


def test_the_verdict_says_of_which_factors_even_their_latent_knows_little() -> None:
    record: dict[str, Any] = {
        "parts": {"mutual_information": [[0.3, 0.26, 1.5], [0.2, 0.24, 0.0]]},
        "data": {"factors": ["sail", "weather", "hull"]},
        "sample": {
            "factors": {"sail": 8, "weather": 8, "hull": 8},
            "entropy": {"sail": 2.0, "weather": 2.0, "hull": 2.0},
        },
    }
    assert verdict(record).endswith(
        "which may be little of it. Less than a quarter of the entropy of sail (15 %) and weather "
        "(13 %) is in their latent."
    )
    record["parts"]["mutual_information"] = [[0.0, 0.0, 1.5], [0.496, 0.0, 0.0], [0.0, 1.5, 0.0]]
    said = verdict(record)
    assert said.startswith(
        "2 of 3 factors have a latent of their own: weather in z2 (100 %), hull in z0 (100 %); "
        "sail in z1 (100 %) only weakly. A percentage"
    )
    assert said.endswith("Less than a quarter of the entropy of sail (24.8 %) is in its latent.")
    record["parts"]["mutual_information"] = [[1.5, 0.0, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, 1.5]]
    assert verdict(record).endswith("which may be little of it.")


def test_a_latent_that_also_holds_much_of_another_factor_says_so() -> None:
    record: dict[str, Any] = {
        "parts": {"mutual_information": [[1.1, 0.5], [1.0, 0.6], [0.0, 0.6]]},
        "data": {"factors": ["colour", "size"]},
        "sample": {"entropy": {"colour": 2.0, "size": 2.0}},
    }
    assert verdict(record).startswith(
        "1 of 2 factors has a latent of its own: colour in z0 (52 %, just above half); size (35 % "
        "in z1, 35 % in z2 and 29 % in z0) is spread over several latents."
    )
    record["parts"]["mutual_information"] = [[1.1, 0.5], [0.4, 1.0], [0.0, 0.0]]
    assert "colour in z0 (73 %; also 33 % of size), size in z1 (67 %; also 27 " in verdict(record)
    record["parts"]["mutual_information"] = [[1.1, 0.3], [0.3, 1.0], [0.0, 0.0]]
    assert "colour in z0 (79 %), size in z1 (77 %)." in verdict(record)
    record["parts"]["mutual_information"] = [[1.1, 0.05], [0.0, 0.21], [0.0, 0.0]]
    record["sample"]["entropy"]["size"] = 0.3
    assert "(100 %), size in z1 (81 %)." in verdict(record)
    record["parts"]["mutual_information"][0][1] = 0.07
    assert "(100 %; also 25 % of size), size in z1 (75 %)." in verdict(record)


def test_codes_that_are_nearly_the_same_carry_no_factor() -> None:
    """The KL of such codes is that of their mean, so it bounds no information."""
    record: dict[str, Any] = {
        "scores": {"factor_vae_score": 0.0, "num_active": 0.0},
        "parts": {"mutual_information": [[0.7, 0.3], [0.0, 0.0]], "kl_per_latent": [3.95, 0.0]},
        "data": {"factors": ["colour", "length"]},
    }
    assert verdict(record).startswith("No latent varies enough over the images to count in the")
    assert unearned_in(record) == ["colour", "length"]
    record["scores"] = {"factor_vae_score": 0.5, "num_active": 1.0}
    assert "colour (100 %) and length (100 %) share z0" in verdict(record)
    assert not unearned_in(record)


@pytest.mark.parametrize(("planned", "text"), [(1500, "300 of 1,500"), (300, "300"), (-1, "300")])
def test_a_run_that_was_stopped_says_how_many_steps_it_should_have(
    tmp_path: Path, planned: int, text: str
) -> None:
    settings = {**SETTINGS, "trainer": {"max_steps": planned}}
    scores = {"test": {"checkpoint": {"steps": 300}}}
    folder = write_run(tmp_path / "run", settings, scores)
    assert read_run(folder).facts["steps"] == text


def test_the_verdict_doubts_only_factors_that_are_not_predicted_well() -> None:
    """Of two values, 0.8 is little more than chance of 0.6 is; of many it is nearly all."""
    name = "dci_hgbt_informativeness_per_factor"
    record: dict[str, Any] = {
        "parts": {
            "mutual_information": [[1.5, 0.0], [0.0, 1.5]],
            "dci_hgbt_importance": [[1.0, 0.0], [0.0, 1.0]],
            name: [1.0, 0.8],
        },
        "data": {"factors": ["hull", "sail"]},
        "sample": {"entropy": {"hull": 2.0, "sail": 2.0}},
    }
    assert verdict(record).endswith("each latent in use knows about the factor.")
    record["parts"][f"{name}_by_chance"] = [0.1, 0.6]
    unsure = (
        "about the factor; all latents together predict {} only in part (DCI informativeness {})."
    )
    assert verdict(record).endswith(unsure.format("sail", "0.80"))
    record["parts"][name] = [0.3, 0.6]
    assert verdict(record).endswith(
        f"which may be little of sail{unsure[16:].format('hull', '0.30')}"
    )
    record["parts"][name] = [1.0, None]
    assert verdict(record).endswith("about the factor, which may be little of sail.")
    record["parts"][name] = [0.3, None]
    assert verdict(record).endswith(
        "which may be little of sail; all latents together predict hull only in part (DCI "
        "informativeness 0.30)."
    )


ALIKE = "predicted no better than by untrained models of this architecture."
BOTH = "2 of 2 factors have a latent of their own: hull in z0 (100 %), sail in z1 (100 %)."


@pytest.mark.parametrize(
    ("untrained", "first", "ending"),
    [
        (
            {"parts": {"mean": [0.25, 0.6], "std": [0.02, 0.01]}},
            "1 of 2 factors has a latent of its own: sail in z1 (100 %); hull in z0 (100 %) is "
            f"{ALIKE}",
            "; all latents together predict sail only in part (DCI informativeness 0.66).",
        ),
        (
            {"parts": {"mean": [0.3, 0.67], "std": [None, None]}},
            "No factor has a latent of its own; hull in z0 (100 %) and sail in z1 (100 %) are "
            f"{ALIKE}",
            ".",
        ),
        ({"scores": {"mean": 0.46, "std": 0.02}}, BOTH, ", which may be little of it."),
        (
            {"scores": {"mean": 0.46, "std": 0.001}},
            BOTH,
            "; all latents together predict hull and sail only in part (DCI informativeness 0.29 "
            "and 0.66).",
        ),
    ],
)
def test_the_verdict_cites_only_what_training_has_earned(
    untrained: dict[str, Any], first: str, ending: str
) -> None:
    """Older records have the level of untrained models for all factors together only."""
    name = "dci_hgbt_informativeness"
    endings = {"parts": "_per_factor", "scores": ""}
    record: dict[str, Any] = {
        "scores": {name: 0.475},
        "parts": {
            "mutual_information": [[1.5, 0.0], [0.0, 1.5]],
            "dci_hgbt_importance": [[1.0, 0.0], [0.0, 1.0]],
            f"{name}_per_factor": [0.29, 0.66],
        },
        "data": {"factors": ["hull", "sail"]},
        "sample": {"entropy": {"hull": 2.0, "sail": 2.0}},
        "untrained": {key: {f"{name}{endings[key]}": of} for key, of in untrained.items()},
    }
    of_what = (
        "A percentage is one latent's part of the sum of what each latent in use knows about the "
        "factor"
    )
    assert verdict(record) == f"{first} {of_what}{ending}"
    unearned = first.partition("own")[2].partition(";")[2]
    assert unearned_in(record) == [name for name in ("hull", "sail") if name in unearned]


def test_untrained_models_without_a_latent_that_varies_are_explained(tmp_path: Path) -> None:
    for values, is_told in (([0.0, 0.4], True), ([0.3, 0.4], False)):
        scores = {"factor_vae_score": 0.5, "factor_vae_score_train": 0.5}
        spread = {"mean": sum(values) / 2, "std": 0.1, "values": values}
        scored = {"scores": scores, "untrained": {"scores": {"factor_vae_score": spread}}}
        record = read_run(write_run(tmp_path / str(is_told), scores={"test": scored}))
        told = "An untrained model in which no latent varies enough has a FactorVAE score of 0."
        assert (told in record.reading) == is_told
        assert any(term.startswith("On training images: ") for term in record.terms)


def test_the_verdict_takes_the_entropy_of_factors_in_the_scored_images() -> None:
    """Of 40 declared values, two may be in the images; a record without entropies has the first."""
    record: dict[str, Any] = {
        "parts": {"mutual_information": [[0.9, 0.25], [0.0, 0.0]]},
        "data": {"factors": ["x", "y"]},
        "sample": {"factors": {"x": 9, "y": 40}},
    }
    alone = "1 of 2 factors has a latent of its own: x in z0 (100 %); y is in no latent in use."
    assert verdict(record) == with_legend(alone)
    record["sample"]["entropy"] = {"x": math.log(9), "y": math.log(2)}
    assert verdict(record) == with_legend(
        "No factor has a latent of its own; x (100 %) and y (100 %) share z0."
    )
    record["parts"] = {"mutual_information": [[0.21, 0.6], [0.03, 0.0]]}  # enough, but not in z0
    assert verdict(record) == with_legend(
        "1 of 2 factors has a latent of its own: y in z0 (100 %); little of x is in any latent in "
        "use."
    )


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (
            109,
            "1 of 3 factors has a latent of its own: z in z1 (100 %); x and y "
            "cannot be told from 109 images.",
        ),
        (
            5000,
            "1 of 3 factors has a latent of its own: z in z1 (100 %); y (50 % in z0 and "
            "50 % in z1) is spread over several latents; x is in no latent in use.",
        ),
    ],
)
def test_the_verdict_leaves_open_what_few_images_do_not_tell(images: int, sentence: str) -> None:
    """By chance, tables of 109 images vary by 0.06 nats, and those of 5,000 by 0.009."""
    record: dict[str, Any] = {
        "parts": {
            "mutual_information": [[0.28, 0.33, 0.2], [0.2, 0.33, 1.2]],
            "mutual_information_by_chance": [[0.2, 0.2, 0.2], [0.2, 0.2, 0.2]],
        },
        "data": {"factors": ["x", "y", "z"]},
        "sample": {"images": images, "factors": {"x": 3, "y": 3, "z": 3}},
    }
    assert verdict(record) == with_legend(sentence)
    parts = record["parts"] | {"mutual_information": [[0.33, 0.33, 0.33], [0.2, 0.2, 0.2]]}
    shared = (
        "No factor has a latent of its own; x (100 %) and y (100 %) and z (100 %) share z0. Less "
        "than a quarter of the entropy of x (12 %), y (12 %) and z (12 %) is in their latent."
    )
    unclear = "What latents carry cannot be told from 109 images."
    assert verdict(record | {"parts": parts}) == (unclear if images == 109 else with_legend(shared))


@pytest.mark.slow
def test_scores_of_single_factors_and_losses_without_scores_stand_in_tables(tmp_path: Path) -> None:
    record: dict[str, Any] = {
        "scores": {"mig": 0.5},
        "parts": {"mig_per_factor": [0.75, 0.25], "importance": [[1.0, 0.0]]},
        "data": {"factors": ["x", "y"]},
        "losses": {"test/loss": 2.0},
    }
    concepts = {"scores": {"diversity": 1.5}}
    scores = {"test": record, "test_concepts": concepts}
    others = read_run(write_run(tmp_path / "run", scores=scores)).others
    assert others["By factor"] == Table(["factor", "MIG"], [["x", "0.750"], ["y", "0.250"]])
    (row,) = others["Images drawn from concepts"].rows
    assert row[0].startswith("Diversity: KL of the other attributes from uniform (nats, lower")
    assert list(others) == ["By factor", "Images drawn from concepts"]
    scores["test"] = {**record, "chance": {"mig": 0.0}}
    with_chance = read_run(write_run(tmp_path / "levels", scores=scores)).others
    assert next(iter(with_chance)) == (
        "By factor; chance is known for all factors together, as above"
    )
    dci = {
        "dci_hgbt_informativeness_per_factor": [0.48, 0.48],
        "mig_per_factor_by_chance": [0.001, 0.002],
        "dci_hgbt_informativeness_per_factor_by_chance": [0.34, 0.04],
    }
    values = {"mig": 0.5, "dci_hgbt_informativeness": 0.48}
    levels = {"scores": values, "chance": {"mig": 0.0}, "parts": record["parts"] | dci}
    scores["test"] = {**record, **levels}
    assert read_run(write_run(tmp_path / "by_chance", scores=scores)).others["By factor"] == Table(
        [
            "factor",
            "MIG",
            "MIG by chance",
            "DCI informativeness",
            "DCI informativeness by chance",
        ],
        [["x", "0.750", "0.001", "0.480", "0.340"], ["y", "0.250", "0.002", "0.480", "0.040"]],
    )
    spread = {"mean": [0.3, 0.2], "std": [0.02, None]}
    untrained = {"parts": {"dci_hgbt_informativeness_per_factor": spread}}
    scores["test"] = {**record, **levels, "untrained": untrained}
    table = read_run(write_run(tmp_path / "untrained", scores=scores)).others["By factor"]
    score = "DCI informativeness"
    assert table.heads[3:] == [score, f"{score} by chance", f"{score}, untrained"]
    assert table.has_levels
    assert table.groups == {"MIG": ["value", "chance"], score: ["value", "chance", "untrained"]}
    assert [row[-1] for row in table.rows] == ["0.300 ± 0.020", "0.200"]
    without = {"test": {"scores": {}, "losses": {"test/reconstruction": 190.5}}}
    run = read_run(write_run(tmp_path / "decoder", scores=without))
    assert run.others == {"Losses": Table(["loss", "value"], [["reconstruction", "190.500"]])}


@pytest.mark.parametrize(
    ("rows", "ending"),
    [
        ("0,9,\n1,8,\n", "no validation (one comes every 50 steps); a curve takes two."),
        ("0,9,\n1,8,8.5\n", "one validation (one comes every 50 steps); a curve takes two."),
        ("0,9,9\n1,8,8.5\n", ""),
    ],
)
def test_curves_of_training_alone_say_why(tmp_path: Path, rows: str, ending: str) -> None:
    folder = write_run(tmp_path / "run", {**SETTINGS, "trainer": {"val_check_interval": 50}})
    (folder / "metrics.csv").write_text(f"step,train/loss,validation/loss\n{rows}")
    said = read_run(folder).of_curves.removeprefix("Without a unit: loss. ")
    assert said.startswith("Training had ") == bool(ending)
    assert said.endswith(ending)
    assert said in page_of([ReportedRun(folder, None, None)])


def test_terms_with_the_curve_of_the_loss_are_named_and_not_drawn(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    names = "step,train/loss,train/reconstruction,train/kl/kl"
    (folder / "metrics.csv").write_text(f"{names}\n0,9,9,1\n1,8,8,2\n")
    record = read_run(folder)
    assert [curve.name for curve in record.curves] == ["loss", "kl"]
    assert "the same as that of the loss: reconstruction." in record.of_curves
    (folder / "metrics.csv").write_text(f"{names}\n0,9,7,1\n1,8,8,2\n")
    assert "Left out" not in read_run(folder).of_curves


def test_likelihoods_stand_in_one_table(tmp_path: Path) -> None:
    scores = {f"{term}_{split}": 1.0 for split in ("train", "test") for term in ("elbo_mean", "kl")}
    record = read_run(write_run(tmp_path / "run", scores={"test": {"scores": scores}}))
    assert record.scores is None
    rows = [["ELBO of mean codes, no bound", "1.0", "1.0"], ["KL", "1.0", "1.0"]]
    assert record.bounds == Table(["nats per image", "train", "test"], rows)
    counted = {"test": {"scores": scores, "bound_images": {"train": 1000, "test": 29}}}
    bounds = read_run(write_run(tmp_path / "counted", scores=counted)).bounds
    heads = ["nats per image", "train (1,000 images)", "test (29 images)"]
    assert bounds == Table(heads, rows)
    assert list(record.blind) == ["ELBO of mean codes, no bound, KL"]
    assert not record.verdict


@pytest.mark.parametrize(
    ("share", "sentence"),
    [
        (
            0.042,
            "Reconstructions explain 4 % of the variance of the pixels, little more than the mean "
            "image does: train longer, or weaken the regularizers.",
        ),
        (
            -0.25,
            "Reconstructions are farther from the images than the mean image is: train longer.",
        ),
        (0.75, ""),
    ],
)
def test_a_model_that_does_not_draw_its_images_is_named(
    tmp_path: Path, share: float, sentence: str
) -> None:
    scores = {"explained_variance_train": 0.5, "explained_variance_test": share}
    record = read_run(write_run(tmp_path / "run", scores={"test": {"scores": scores}}))
    assert record.verdict == sentence
    assert record.bounds is not None
    label = "Explained variance of pixels, mean codes (share)"
    assert record.bounds.rows == [[label, "0.500", f"{share:.3f}"]]


@pytest.mark.parametrize("estimator", ["mss", "mws", "mws-unnormalised"])
def test_the_page_says_which_terms_have_values_without_a_meaning(estimator: str) -> None:
    part = {"class_path": "DecomposedKL", "init_args": {"estimator": estimator}}
    settings = {"model": {"init_args": {"regularizers": {"kl": part}}}}
    sentence = of_estimates(settings)
    assert ("kl index code mi, kl total correlation" in sentence) is (estimator != "mss")
    assert (f"the estimator {estimator}" in sentence) is (estimator != "mss")
    assert of_estimates(SETTINGS) == ""


@pytest.mark.parametrize("incomplete", [0, 8])
def test_likelihoods_say_which_images_they_leave_out(tmp_path: Path, incomplete: int) -> None:
    scored = {
        "scores": {"kl_train": 2.0, "elbo_sample_train": -9.0, "num_active": 3.0},
        "draw": {"points": 20, "available": 28, "split": "all", "incomplete": incomplete},
        "bound_images": {"train": 1228},
    }
    folder = write_run(tmp_path / "run", scores={"test": scored})
    text = page_of([ReportedRun(folder, None, None)])
    assert ("Likelihoods leave out images without" in text) is (incomplete > 0)
    assert text.count('data-head="train (1,228 images)"') == 1  # on a phone, in the first row alone
    assert text.count('data-head="train"') == 1
    assert "Latents that vary are counted" in text


def test_published_values_stand_in_a_table_beside_those_of_the_run(tmp_path: Path) -> None:
    images = {"class_path": "dislab.datasets.DSprites", "init_args": {"source": "auto"}}
    data = {"class_path": "dislab.datamodules.SingleData", "init_args": {"dataset": images}}
    settings = {**SETTINGS, "method": "β-VAE", "data": data}
    scores = {"test": {"scores": {"factor_vae_score": 0.6}}}
    record = read_run(write_run(tmp_path / "run", settings, scores))
    assert record.published is not None
    assert record.published.rows == [["FactorVAE score", "0.600", "0.814"]]
    assert record.of_published[0].startswith("Obtained after")
    assert not record.notes


def test_scores_stand_by_family_with_their_other_forms_apart(tmp_path: Path) -> None:
    names = ("dci_hgbt_disentanglement", "mig", "dci_hgbt_completeness", "mig_train", "num_active")
    scores = {name: number / 8 for number, name in enumerate(names)}
    record = read_run(write_run(tmp_path / "run", scores={"test": {"scores": scores}}))
    assert record.scores is not None
    assert record.details is not None
    assert [row[0] for row in record.scores.rows] == [
        *("DCI disentanglement", "DCI completeness", "MIG")
    ]
    forms = [row[0] for row in record.details.rows]
    assert forms == ["MIG (on training images)", "Latents that vary"]


@pytest.mark.slow
def test_results_on_other_data_name_both_data_and_have_the_training_of_their_run(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "version_0")
    (run / "checkpoints").mkdir()
    stored = {"state_dict": {}, "global_step": 4, "pytorch-lightning_version": "2.6.0"}
    stored["callbacks"] = {"Progress": {"date": "2026-11-28 09:39 UTC"}}
    torch.save(stored, run / "checkpoints" / "last.ckpt")
    settings = {**SETTINGS, "data": {"init_args": {"dataset": "Shapes3D", "include": {"size": 1}}}}
    folder = write_run(run / "other_data" / "Shapes3D-1", settings, {"test": SCORED})
    (folder / "metrics.csv").unlink()
    before, record = read_run(run), read_run(folder)
    assert record.name == f"{before.name} on Shapes3D-1"
    assert not before.other_data
    assert f"run {before.name} on other data than in training" in record.other_data
    assert "Trained on: GaussianBlob. Scored on: a part of Shapes3D; size 1." in record.other_data
    assert record.curves == before.curves
    assert record.facts["trained"] == "2026-11-28 09:39 UTC"
    pages = [page_of([ReportedRun(path, None, None)]) for path in (run, folder)]
    assert [record.other_data in page for page in pages] == [False, True]
    assert ["dislab fit --config" in page for page in pages] == [True, False]
    alone = folder.rename(tmp_path / "other_data")
    assert not read_run(alone).other_data


def test_factors_that_untrained_models_predict_clearly_better_are_named(tmp_path: Path) -> None:
    name = "dci_hgbt_informativeness"
    scored = {
        "scores": {name: 0.3},
        "parts": {"dci_hgbt_importance": [[1.0] * 3], f"{name}_per_factor": [0.1, 0.2, 0.3]},
        "data": {"factors": ["hull", "sail", "mast"]},
        "untrained": {
            "parts": {f"{name}_per_factor": {"mean": [0.2, 0.22, None], "std": [0.04, 0.04, None]}}
        },
    }
    record = read_run(write_run(tmp_path / "run", scores={"test": scored}))
    assert "Untrained models predict better (DCI informativeness): hull." in record.reading
