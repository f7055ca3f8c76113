"""Models of classes that nobody can find again: a warning says so, and load_run takes the parts."""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import nn

from dislab.base import Encoder, ImageShape, Objective, Regularizer
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.functional.streams import Stream
from dislab.naming.hyperparameters import LostPartWarning
from dislab.objectives import VAE
from dislab.regularizers import KL
from dislab.runs import load_run, rebuild

SHAPE = (1, 64, 64)


def own_encoder() -> type[Encoder]:
    """A class as a notebook cell or a function has it."""

    class Own(Encoder):
        def __init__(self, image_shape: ImageShape, outputs: int, width: int = 4) -> None:
            super().__init__()
            self.net = MLPEncoder(image_shape, outputs, hidden=(width,))

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            codes: torch.Tensor = self.net(image)
            return codes

    return Own


def own_objective() -> type[Objective]:
    class Own(Objective):
        def __init__(self, image_shape: ImageShape, width: int = 3) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.encoder = MLPEncoder(image_shape, width, hidden=(4,))

        def draw(self, count: int, stream: Stream) -> dict[str, torch.Tensor]:
            return {}

        def losses(self, batch: Any, draws: Any, step: Any) -> Any:
            raise NotImplementedError

        def codes(self, image: torch.Tensor) -> torch.Tensor:
            codes: torch.Tensor = self.encoder(image)
            return codes

    return Own


def vae(encoder: Any, regularizers: Any = None) -> VAE:
    return VAE(
        SHAPE,
        32,
        latent_dim=3,
        encoder=encoder,
        decoder=partial(MLPDecoder, hidden=(4,)),
        regularizers=regularizers or {"kl": KL},
    )


def saved(module: Objective, path: Path) -> Path:
    trainer = pl.Trainer(accelerator="cpu", devices=1, logger=False, enable_progress_bar=False)
    trainer.strategy.connect(module)
    trainer.save_checkpoint(path)
    return path


def same(one: Objective, other: Objective) -> bool:
    mine, others = one.state_dict(), other.state_dict()
    return mine.keys() == others.keys() and all(mine[key].equal(others[key]) for key in mine)


def test_saving_a_model_leaves_the_random_state_alone(tmp_path: Path) -> None:
    """It is built again meanwhile, to find parts that were replaced."""
    module = vae(partial(MLPEncoder, hidden=(4,)))
    before = torch.get_rng_state()
    saved(module, tmp_path / "last.ckpt")
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("bound", [False, True])
def test_a_class_of_a_function_is_announced_once(bound: bool, tmp_path: Path) -> None:
    own: Any = own_encoder()
    with pytest.warns(LostPartWarning, match=r"load_run\(run, encoder=Own\)") as caught:
        module = vae(partial(own, width=5) if bound else own)
    assert len(caught) == 1
    path = saved(module, tmp_path / "last.ckpt")
    assert same(module, load_run(path, encoder=partial(own, width=5 if bound else 4)))


def test_a_class_of_a_script_is_announced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own: Any = own_encoder()
    own.__module__, own.__qualname__ = "__main__", "Own"
    with pytest.warns(LostPartWarning, match=r"load_run\(run, encoder=Own\)"):
        path = saved(vae(own), tmp_path / "last.ckpt")
    with pytest.raises(InputError, match=r"encoder names __main__\.Own"):
        load_run(path)
    monkeypatch.setattr("__main__.Own", own, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(load_run(path)).__name__ == "VAE"


def test_without_the_part_the_message_names_it(tmp_path: Path) -> None:
    with pytest.warns(LostPartWarning):
        path = saved(vae(own_encoder()), tmp_path / "last.ckpt")
    with pytest.raises(InputError) as error:
        load_run(path)
    assert "encoder names " in str(error.value)
    assert "<locals>.Own" in str(error.value)
    assert "load_run(run, encoder=…)" in str(error.value)


def test_an_entry_of_a_dictionary_is_handed_over_by_its_name(tmp_path: Path) -> None:
    class Half(KL.__base__):  # type: ignore[name-defined,misc]  # a regulariser of a function
        def __init__(self, latent_dim: int, train_size: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(latent_dim))

        def forward(self, *_: Any) -> Any:
            raise NotImplementedError

    assert issubclass(Half, Regularizer)
    with pytest.warns(LostPartWarning, match=r"load_run\(run, regularizers={'own': Half}\)"):
        module = vae(MLPEncoder, {"kl": partial(KL, beta=3.0), "own": Half})
    path = saved(module, tmp_path / "last.ckpt")
    with pytest.raises(InputError, match=r"regularizers\.own names .*regularizers={'own': …}"):
        load_run(path)
    for part in (Half, Half(3, 32)):
        found = load_run(path, regularizers={"own": part})
        assert same(module, found)
        assert found.regularizers["kl"].beta == 3.0  # type: ignore[union-attr,index]


def test_an_objective_of_a_function_is_handed_over(tmp_path: Path) -> None:
    own = own_objective()
    with pytest.warns(LostPartWarning, match=r"load_run\(run, objective=Own\)"):
        module = own(SHAPE, width=7)  # type: ignore[call-arg,arg-type]
    path = saved(module, tmp_path / "last.ckpt")
    with pytest.raises(InputError, match=r"load_run\(run, objective=…\)"):
        load_run(path)
    assert same(module, load_run(path, objective=own))


def test_a_ready_module_gets_the_weights(tmp_path: Path) -> None:
    own: Any = own_encoder()
    with pytest.warns(LostPartWarning):
        module = vae(own)
    path = saved(module, tmp_path / "last.ckpt")
    mine = own(SHAPE, 6)
    found = load_run(path, encoder=mine)
    assert found.encoder is mine
    assert same(module, found)
    with pytest.warns(LostPartWarning, match="encoder=…"):
        again = saved(found, tmp_path / "again.ckpt")
    with pytest.raises(InputError, match=r"encoder was a ready Own, .*load_run\(run, encoder=…\)"):
        load_run(again)
    assert same(module, load_run(again, encoder=own))


def test_a_part_that_was_assigned_is_announced_when_it_is_saved(tmp_path: Path) -> None:
    module = vae(MLPEncoder)
    mine = module.encoder = MLPEncoder(SHAPE, 6, hidden=(9, 9))
    with pytest.warns(LostPartWarning, match=r"replaced .*load_run\(run, encoder=my MLPEncoder\)"):
        path = saved(module, tmp_path / "last.ckpt")
    with pytest.raises(InputError, match="does not fit VAE"):
        load_run(path)
    fresh = MLPEncoder(SHAPE, 6, hidden=(9, 9))
    found = load_run(path, encoder=fresh)
    assert found.encoder is fresh
    assert same(module, found)
    assert mine is not fresh


def test_a_part_that_was_added_is_handed_over(tmp_path: Path) -> None:
    module = vae(MLPEncoder)
    module.head = nn.Linear(3, 2)
    with pytest.warns(LostPartWarning, match=r"load_run\(run, head=my Linear\)"):
        path = saved(module, tmp_path / "last.ckpt")
    assert same(module, load_run(path, head=nn.Linear(3, 2)))


def test_an_assigned_part_is_announced_when_training_starts(tmp_path: Path) -> None:
    module = vae(MLPEncoder)
    module.encoder = MLPEncoder(SHAPE, 6, hidden=(9, 9))
    data = SingleData(GaussianBlob(), batch_size=4)
    trainer = pl.Trainer(
        max_steps=1,
        limit_val_batches=0,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        default_root_dir=tmp_path,
    )
    with pytest.warns(LostPartWarning, match="replaced"):
        trainer.fit(module, datamodule=data)
    saved(module, tmp_path / "last.ckpt")  # says nothing more: warnings are errors here


def test_a_model_of_findable_parts_is_silent(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostPartWarning)
        load_run(saved(vae(MLPEncoder), tmp_path / "last.ckpt"))


def test_a_copy_has_the_own_classes(tmp_path: Path) -> None:
    with pytest.warns(LostPartWarning):
        module = vae(own_encoder())
    assert type(rebuild(module).encoder) is type(module.encoder)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"encodr": MLPEncoder}, r"VAE has no part 'encodr' \(did you mean encoder\?\); it has"),
        ({"head": nn.Linear(1, 1)}, "VAE has no part 'head'"),
        ({"encoder": partial(MLPEncoder, hidden=(3, 3))}, "does not fit VAE.*Missing key"),
        ({"encoder": lambda *_: None}, "does not fit VAE.*cannot be stored in a checkpoint"),
    ],
)
def test_parts_that_do_not_fit(parts: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = saved(vae(partial(MLPEncoder, hidden=(4,))), tmp_path / "last.ckpt")
    with pytest.raises(InputError, match=message):
        load_run(path, **parts)
