"""Names of runs: by content, without what changes no result."""

import functools
import inspect
from typing import Any

import pytest
from lightning.pytorch import Trainer

from dislab.encoders import MLPEncoder
from dislab.plugins import available, load_object
from dislab.study import identity
from dislab.study.identity import digest, plain, run_id, training_of, without_defaults

CONFIG: dict[str, Any] = {
    "seed_everything": 1,
    "name": "a",
    "runs": "runs",
    "trainer": {"max_steps": 100, "accelerator": "auto", "precision": None},
    "model": {
        "class_path": "dislab.objectives.VAE",
        "init_args": {
            "latent_dim": 3,
            "encoder": {"class_path": "dislab.encoders.MLPEncoder", "init_args": {"hidden": [8]}},
            "regularizers": {
                "kl": {"class_path": "dislab.regularizers.KL", "init_args": {"beta": 4.0}}
            },
        },
    },
    "data": {
        "class_path": "dislab.datamodules.SingleData",
        "init_args": {
            "dataset": {
                "class_path": "dislab.datasets.DSprites",
                "init_args": {"path": None, "source": "rendered"},
            },
            "batch_size": 64,
            "residency": "auto",
            "num_workers": 0,
        },
    },
    "evaluate": {"points": 100},
}


def changed(place: str, value: object) -> dict[str, Any]:
    """The configuration with another value at a place."""

    def put(node: Any, keys: list[str]) -> Any:
        key, *rest = keys
        return {**node, key: put(node.get(key, {}), rest) if rest else value}

    result: dict[str, Any] = put(CONFIG, place.split("/"))
    return result


def name_of(config: dict[str, Any]) -> str:
    return run_id(training_of(config, Trainer), config["seed_everything"])


@pytest.mark.parametrize(
    ("place", "value", "same"),
    [
        ("name", "b", True),
        ("runs", "elsewhere", True),
        ("evaluate/points", 5, True),
        ("trainer/accelerator", "cuda", True),
        ("trainer/precision", "bf16-mixed", True),
        ("trainer/logger", {"class_path": "lightning.pytorch.loggers.CSVLogger"}, True),
        ("trainer/devices", 4, True),
        ("trainer/accumulate_grad_batches", 1, True),  # its default
        ("trainer/accumulate_grad_batches", 2, False),
        ("trainer/max_steps", 101, False),
        ("data/init_args/residency", "host", True),
        ("data/init_args/num_workers", 3, True),
        ("data/init_args/dataset/init_args/path", "/data/dsprites.npz", True),
        ("data/init_args/dataset/init_args/source", "official", False),
        ("data/init_args/batch_size", 32, False),
        ("data/init_args/split_seed", 0, True),  # its default
        ("data/init_args/split_seed", 1, False),
        ("model/init_args/latent_dim", 4, False),
        ("model/init_args/likelihood", "bernoulli", True),  # its default
        ("model/init_args/regularizers/kl/init_args", {"beta": 4}, True),  # an integer
        ("model/init_args/regularizers/kl/init_args/warmup_steps", 0, True),  # its default
        ("model/init_args/regularizers/kl/init_args/warmup_steps", 10, False),
        ("model/init_args/encoder/class_path", "dislab.encoders.mlp_encoder.MLPEncoder", True),
        ("model/init_args/encoder/init_args/hidden", [8, 8], False),
        ("seed_everything", 2, False),
    ],
)
def test_what_a_name_depends_on(place: str, value: object, same: bool) -> None:
    assert (name_of(changed(place, value)) == name_of(CONFIG)) is same


COUNTING: dict[str, Any] = {
    "max_steps": 7,
    "min_steps": 7,
    "max_epochs": 7,
    "min_epochs": 7,
    "max_time": {"minutes": 7},
    "limit_train_batches": 7,
    "overfit_batches": 7,
    "accumulate_grad_batches": 7,
    "gradient_clip_val": 0.7,
    "gradient_clip_algorithm": "value",
    "reload_dataloaders_every_n_epochs": 7,
    "sync_batchnorm": True,
    "use_distributed_sampler": False,
    "callbacks": [{"class_path": "lightning.pytorch.callbacks.Timer"}],
}
"""Every setting of a trainer that may change what it trains, with a value unlike its default."""


def test_every_setting_of_a_trainer_that_changes_training_counts() -> None:
    names = {name_of(changed(f"trainer/{name}", value)) for name, value in COUNTING.items()}
    assert len({*names, name_of(CONFIG)}) == len(COUNTING) + 1
    parameters = set(inspect.signature(Trainer).parameters)
    assert parameters - set(identity.OF_THE_HOST["trainer"]) == set(COUNTING)


DATASETS = {plugin.name: plugin for plugin in available("datasets")}
OWN = {"FolderDataset", "HuggingFaceDataset", "NumpyDataset", "TorchDataset"}


@pytest.mark.parametrize("name", DATASETS)
def test_a_path_counts_where_it_is_the_data(name: str) -> None:
    cls = load_object(DATASETS[name])
    for setting in {"path", "folder", "file"} & inspect.signature(cls).parameters.keys():
        names = {name_of(with_dataset(name, {setting: path})) for path in ("/data/a", "/data/b")}
        assert (len(names) == 1) is (name not in OWN), setting
    assert name_of(with_dataset(name, {"download": True})) == name_of(with_dataset(name, {}))


def test_a_path_counts_for_a_new_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        def __init__(self, path: str | None = None) -> None: ...

    monkeypatch.setattr(identity, "find_object", lambda _: Mine)
    names = {name_of(with_dataset("Mine", {"path": path})) for path in ("/data/a", "/data/b")}
    assert len(names) == 2


def with_dataset(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    dataset = {"class_path": f"dislab.datasets.{name}", "init_args": settings}
    return changed("data/init_args/dataset", dataset)


def test_an_option_that_is_added_later_keeps_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class KL:
        def __init__(self, latent_dim: int, size: int, beta: float = 1.0) -> None: ...

    before = plain({"class_path": "some.KL", "init_args": {"beta": 4.0}})

    class Newer:
        def __init__(
            self, latent_dim: int, size: int, beta: float = 1.0, free_bits: float = 0.0
        ) -> None: ...

    Newer.__name__ = "KL"
    monkeypatch.setattr(identity, "find_object", lambda _: Newer)
    later = plain({"class_path": "moved.KL", "init_args": {"beta": 4.0, "free_bits": 0.0}})
    used = plain({"class_path": "moved.KL", "init_args": {"beta": 4.0, "free_bits": 0.1}})
    assert before == later == {"class": "KL", "settings": {"beta": 4}}
    assert used != later


def test_a_name_that_was_given_once_stays() -> None:
    # written down when studies were new: folders of users have such names
    assert name_of(CONFIG) == "4e77df4f3db0"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, 1),
        (0.5, 0.5),
        (True, True),
        ((0.9, 2.0), [0.9, 2]),
        (MLPEncoder, {"class": "MLPEncoder", "settings": {}}),
        (
            functools.partial(MLPEncoder, hidden=(8,)),
            {"class": "MLPEncoder", "settings": {"hidden": [8]}},
        ),
        ({"a": {"b": 3.0}}, {"a": {"b": 3}}),
    ],
)
def test_plain_forms(value: object, expected: object) -> None:
    assert plain(value) == expected


def test_settings_of_a_section_have_no_defaults() -> None:
    class Evaluate:
        def __init__(self, points: int = 100, split: str = "all") -> None: ...

    assert without_defaults({"points": 100, "split": "test"}, Evaluate) == {"split": "test"}


def test_a_digest_knows_no_order() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1}) != digest({"a": 1})
