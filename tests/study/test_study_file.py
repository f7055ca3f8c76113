"""Study files: every key, and every mistake in one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dislab.errors import InputError
from dislab.study.study_file import Failure, Resources, StudyFile, read_study_file

BASE = "base: [base.yaml]\n"

Read = Callable[[str], StudyFile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    (tmp_path / "base.yaml").write_text("model: {class_path: VAE}\n")
    (tmp_path / "other.yaml").write_text("trainer: {max_steps: 5}\n")

    def reading(text: str) -> StudyFile:
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return read_study_file(path)

    return reading


def test_a_file_with_every_key(read: Read, tmp_path: Path) -> None:
    study = read("""
name: dittadi
base: [base.yaml, other.yaml]
axes:
  model.regularizers.kl.beta: [1, 2.5]
  model.input_noise: [[0.03, 0.15], null]
  supervision:
    weak: {}
    unsupervised: {config: other.yaml, model.latent_dim: 3, model.encoder: MLPEncoder}
seeds: [3, 5]
exclude: [{supervision: unsupervised, model.regularizers.kl.beta: 1}]
stages:
  train: {}
  score: {metrics: {mig: {class_path: MIG}}, codes: [mean, sampled]}
  transfer: {scenarios: [finger_ood1_a]}
resources: {cpus: 2, gpus: 0.5}
failure: {retries: 0, stop_after: 2}
""")
    assert study.name == "dittadi"
    assert study.seeds == (3, 5)
    assert list(study.stages) == ["train", "score", "transfer"]
    assert study.stages["score"]["codes"] == "both"
    assert (study.resources, study.failure) == (Resources(2, 0.5), Failure(0, 2))
    groups = study.groups()
    assert len(groups) == 8 - 2
    assert groups[0].axes == {
        "model.regularizers.kl.beta": 1,
        "model.input_noise": "[0.03, 0.15]",
        "supervision": "weak",
    }
    assert groups[-1].arguments == (
        f"--config={tmp_path / 'base.yaml'}",
        f"--config={tmp_path / 'other.yaml'}",
        "--model.regularizers.kl.beta=2.5",
        "--model.input_noise=null",
        f"--config={tmp_path / 'other.yaml'}",
        "--model.latent_dim=3",
        "--model.encoder=MLPEncoder",
    )


def test_what_a_short_file_leaves_out(read: Read) -> None:
    study = read(BASE)
    assert (study.name, study.seeds, list(study.stages)) == ("mine", (0,), ["train", "score"])
    (group,) = study.groups()
    assert group.axes == {}


def test_axes_of_single_values(read: Read, tmp_path: Path) -> None:
    study = read(
        BASE
        + """
axes:
  method:
    betavae: {config: other.yaml, axes: {strength: {1: {kl.beta: 1}, 4: {kl.beta: 4}}}}
    factorvae: {axes: {tc.gamma: [10, 35]}}
    vae:
  latents: [3, 5]
exclude: [{strength: 4, latents: 5}]
"""
    )
    assert study.names == ("method", "strength", "tc.gamma", "latents")
    groups = study.groups()
    assert len(groups) == (2 + 2 + 1) * 2 - 1
    first = {"method": "betavae", "strength": 1, "tc.gamma": None, "latents": 3}
    assert groups[0].axes == first
    assert groups[0].arguments[1:] == (
        f"--config={tmp_path / 'other.yaml'}",
        "--kl.beta=1",
        "--latents=3",
    )
    assert groups[-3].axes == {
        **first,
        "method": "factorvae",
        "strength": None,
        "tc.gamma": 35,
        "latents": 5,
    }
    assert groups[-3].arguments[1:] == ("--tc.gamma=35", "--latents=5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BASE + "axes: {a: {x: {axes: {a: [1]}}}}", "axes.a has an axis of its own name"),
        (BASE + "seeds: 100000000", "seeds is 100000000; it must be .* at most 1,000,000"),
        (BASE + f"seeds: {10**30}", "seeds is 1000000.* at most 1,000,000"),
        (BASE + f"name: {'a' * 300}", "name is .*a…; it must be .*, at most 200"),
        (BASE + "axes: {a: {x: {axes: {b: [1]}}}, b: [2]}", "b is an axis of all runs and one of"),
        (
            "",
            r"mine.yaml is empty; .* base: \[betavae, rooms\] with axes: \{model.latent_dim: \[6, ",
        ),
        (BASE + "sedes: 3", r"no key 'sedes' \(did you mean seeds\?\)"),
        ("model: {}\nname: a", "is the configuration of a run, not a study: dislab fit --config "),
        (BASE + "seeds: 3\nseeds: 4", "line 3: seeds was set in line 2 already"),
        ("base: [missing.yaml]", "missing.yaml, which is no file"),
        (
            "base: {a: 1}",
            r"base is .* a list of configuration files, such as base: \[betavae, rooms\]; ",
        ),
        (BASE + "name: a/b", 'name is "a/b"; it must be letters'),
        (BASE + "seeds: 0", "seeds is 0; it must be a number of seeds from 1 on"),
        (BASE + "seeds: [1, 1]", "different seeds"),
        (BASE + "seeds: [-1]", "from 0 on"),
        (BASE + "seeds: true", "seeds is true"),
        (BASE + "seeds: 1.5", "seeds is 1.5"),
        (BASE + "axes: {a: 3}", r"axes.a is 3; it must be a list of values, \[3\], a mapping"),
        (BASE + "axes: {a: []}", r"axes.a is \[\]"),
        (BASE + "axes: {a: [1, 1]}", "axes.a has 1 twice"),
        (BASE + "axes: {seed_everything: [1, 2]}", "seeds are given by `seeds`"),
        (BASE + "axes: {a: {b: 3}}", "axes.a.b is 3; it must be a mapping"),
        (
            "nme: a\nconfig: b",
            r"no key 'nme' \(did you mean name\?\), 'config' \(did you mean base",
        ),
        (BASE + "axes: {a: {b: {config: none.yaml}}}", "axes.a.b.config names .*none.yaml"),
        (BASE + "axes: {a: {b: {seed_everything: 1}}}", "sets seed_everything; seeds are"),
        (BASE + "exclude: [{b: 1}]", "b, which is no axis"),
        (BASE + "axes: {beta: [1]}\nexclude: [{bata: 1}]", r"no axis \(did you mean beta\?\)"),
        (BASE + "axes: {a: [1, 2]}\nexclude: [{a: 3}]", "no value of that axis; it has 1, 2"),
        (BASE + "axes: {a: [1, 2]}\nexclude: [{}]", "exclude is {}"),
        (BASE + "exclude: {a: 1}", "a list of combinations"),
        (BASE + "stages: {scores: {}}", r"no stage is named 'scores' \(did you mean score\?\)"),
        (BASE + "stages: {train: {max_steps: 3}}", "train has no settings, and got max_steps"),
        (BASE + "stages: {transfer: {}}", "transfer needs scenarios"),
        (BASE + "stages: {score: 3}", "stages.score is 3; it holds settings"),
        (BASE + "resources: {cpu: 2}", r"resources has no 'cpu' \(did you mean cpus\?\)"),
        (BASE + "resources: {cpus: 0}", "resources.cpus is 0"),
        (BASE + "resources: {gpus: 1.5}", "resources.gpus is 1.5; it must be a share of one GPU"),
        (BASE + "resources: {gpus: -1}", "resources.gpus is -1"),
        (BASE + "failure: {retries: -1}", "failure.retries is -1"),
        (BASE + "failure: {stop_after: 0}", "failure.stop_after is 0"),
        (BASE + f"seeds: 4000\naxes: {{a: {list(range(500))}}}", "more than 1,000,000"),
    ],
)
def test_mistakes(read: Read, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text)


@pytest.mark.slow
def test_an_axis_of_many_values(read: Read) -> None:
    values = ", ".join(map(str, range(10_000)))
    study = read(f"{BASE}axes: {{a: [{values}]}}\nexclude: [{{a: [{values[3:]}]}}]")
    assert [one.axes for one in study.groups()] == [{"a": 0}]


@pytest.mark.parametrize(
    ("exclude", "message"),
    [
        ("[{a: 1}, {a: 2}]", "leaves no run"),
        ("[{a: 1, b: 3}, {a: 1}, {b: 3}]", None),
    ],
)
def test_exclusions(read: Read, exclude: str, message: str | None) -> None:
    study = read(BASE + f"axes: {{a: [1, 2], b: [3, 4]}}\nexclude: {exclude}")
    if message is None:
        assert [one.axes for one in study.groups()] == [{"a": 2, "b": 4}]
        return
    with pytest.raises(InputError, match=message):
        study.groups()


def test_configurations_are_files_or_names(tmp_path: Path) -> None:
    (tmp_path / "vae.yaml").write_text("name: mine\n")
    path = tmp_path / "mine.yaml"
    path.write_text("base: [vae.yaml, quick]\naxes: {method: {b: {config: betavae}}}\n")
    configs = Path(__file__).parents[2] / "configs"
    (group,) = read_study_file(path).groups()
    files = [tmp_path / "vae.yaml", configs / "quick.yaml", configs / "betavae.yaml"]
    assert list(group.arguments) == [f"--config={file}" for file in files]
    path.write_text("base: [betavea]\n")
    with pytest.raises(InputError, match=r"no configuration \(did you mean betavae\?\)"):
        read_study_file(path)


def test_a_run_starts_from_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("axes: {model.latent_dim: [1, 2]}\n")
    with pytest.raises(InputError, match=r"the runs with model\.latent_dim 1 start from no config"):
        read_study_file(path).groups()
    path.write_text("axes: {method: {a: {config: betavae}, b: {model.latent_dim: 2}}}\n")
    with pytest.raises(InputError, match="the runs with method b start from no configuration"):
        read_study_file(path).groups()


@pytest.mark.parametrize(
    "text",
    [
        "base: [base.yaml]\nsettings: {trainer.max_steps: 50}\n",
        "base: [base.yaml]\ntrainer.max_steps: 50\n",
        "base: {trainer.max_steps: 50}\n",
        "base: [base.yaml, {trainer.max_steps: 50}]\n",
    ],
)
def test_a_value_for_all_runs_in_another_place_is_answered(tmp_path: Path, text: str) -> None:
    (tmp_path / "base.yaml").write_text("model: {class_path: VAE}\n")
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(InputError, match=r"an axis with one value, as in axes: \{trainer"):
        read_study_file(tmp_path / "mine.yaml")


def test_the_copy_in_the_folder_of_a_study_has_the_name_of_the_study(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    (tmp_path / "betavae.yaml").write_text("model: {class_path: VAE}\n")
    path.write_text("base: betavae.yaml\n")
    assert read_study_file(path).name == "study"
    for plan, name in (("{", "study"), ("{}", "study"), ('{"name": "mine"}', "mine")):
        (tmp_path / "plan.json").write_text(plan)
        assert read_study_file(path).name == name
    path.write_text("name: yours\nbase: betavae.yaml\n")
    assert read_study_file(path).name == "yours"
    (tmp_path / "other.yaml").write_text("base: betavae.yaml\n")
    assert read_study_file(tmp_path / "other.yaml").name == "other"


@pytest.mark.parametrize("copy", ["study.yaml", "plans/quick.yaml"])
@pytest.mark.parametrize(
    "text", ["base: [../base.yaml]", "axes: {method: {a: {config: ../base.yaml}}}"]
)
def test_a_copy_that_cannot_find_its_files_names_its_folder(
    tmp_path: Path, copy: str, text: str
) -> None:
    path = tmp_path / "quick" / copy
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (tmp_path / "quick" / "plan.json").write_text("{}")
    message = f"is a copy of a study file.*relative.*; give the folder {tmp_path / 'quick'} for"
    if "plans" in copy:
        path.write_text(text.replace("../base", "../../base"))
    with pytest.raises(InputError, match=message):
        read_study_file(path)
