from typing import Any, NamedTuple

import pytest

from dislab.runs.published import is_published, published, without_paths


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no file /home/me/data/x.npz", "no file …/x.npz"),
        ("see https://arxiv.org/abs/1802.05983", "see https://arxiv.org/abs/1802.05983"),
        ("'https://a.org/b-/c/d' and ~/e/f", "'https://a.org/b-/c/d' and …/f"),
        ("no file: '/home/some body/my data/x.npz'", "no file: '…/x.npz'"),
        ("/home/me/my pictures/x.npz", "…/x.npz"),
        ("/home/me", "…"),
        ("'/home/some body'", "'…'"),
        ("in /Users/me, or", "in …, or"),
        ("~", "…"),
        ("~me/x.npz", "…/x.npz"),
        ("~5 images, x~y", "~5 images, x~y"),
        (r"C:\Users\me\x.npz", "…/x.npz"),
        (r"of C:\Users\me: bad", "of …: bad"),
        (r"\\server\share\x.npz", "…/x.npz"),
        ("path=/srv/me/x.h5;", "path=…/x.h5;"),
        ("file:///home/me/x", "…/x"),
        ("file:/home/me/x", "…/x"),
        ("sqlite:////home/me/runs.db", "…/runs.db"),
        ("at https://me:pw@host:5000/x.", "at https://host:5000/x."),
        ("https://me:p@ss/w@host/x", "https://host/x"),
        ("https://token@host", "https://host"),
        ("postgresql+psycopg2://me:pw@host/db", "postgresql+psycopg2://host/db"),
        ("hf://datasets/x@revision", "hf://datasets/x@revision"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("https://host/x?signature=abc", "https://host/x?…"),
        ("and/or 1/2 train/loss [0, 1] / 3", "and/or 1/2 train/loss [0, 1] / 3"),
        ("../configs/betavae.yaml", "../configs/betavae.yaml"),
    ],
)
def test_paths_are_shortened_and_passwords_removed(text: str, shown: str) -> None:
    assert without_paths(text) == shown
    assert without_paths(shown) == shown


class Pair(NamedTuple):
    name: str
    size: int


def test_texts_are_found_in_every_container() -> None:
    value: dict[str, Any] = {"/a/b": ["/a/c", ("/a/d", 1)], "e": Pair("/a/f", 2), "api_key": "k"}
    assert without_paths(value) == {
        "…/b": ["…/c", ("…/d", 1)],
        "e": Pair("…/f", 2),
        "api_key": "…",
    }
    assert without_paths({"n_tokens": 3, "image": "data:image/png;base64,+/a/b"}) == {
        "n_tokens": 3,
        "image": "data:image/png;base64,+/a/b",
    }


def test_settings_of_model_data_and_training_are_published() -> None:
    stopping = {"monitor": "validation/loss", "patience": 3, "log": "k"}
    settings = {
        "name": "x",
        "trainer": {
            "max_steps": 5,
            "precision": "bf16-mixed",
            "devices": [0, 1],
            "logger": {"class_path": "MLFlowLogger", "init_args": {"tracking_uri": "k"}},
            "profiler": "simple",
            "callbacks": [{"class_path": "EarlyStopping", "init_args": stopping}],
            "strategy": {"class_path": "DDPStrategy", "init_args": {"plugin": {"key": "k"}}},
        },
        "model": {"class_path": "VAE", "init_args": {"latent_dim": 3}},
        "checkpoint": {"dirpath": "k", "monitor": "mig", "save_top_k": 1},
        "logger": "tensorboard",
        "runs": "/home/me/runs",
        "my_callback": {"key": "k"},
    }
    kept = {"monitor": "validation/loss", "patience": 3}
    assert published(settings) == {
        "name": "x",
        "trainer": {
            "max_steps": 5,
            "precision": "bf16-mixed",
            "devices": [0, 1],
            "callbacks": [{"class_path": "EarlyStopping", "init_args": kept}],
            "strategy": {"class_path": "DDPStrategy", "init_args": {}},
        },
        "model": {"class_path": "VAE", "init_args": {"latent_dim": 3}},
        "checkpoint": {"monitor": "mig", "save_top_k": 1},
    }
    names = {"model.latent_dim": True, "trainer.max_steps": True, "logger": False, "runs": False}
    names |= {"trainer.logger": False, "trainer.logger.init_args.key": False}
    assert {name: is_published(name) for name in names} == names
