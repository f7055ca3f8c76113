"""Parts and data that break their contracts, found at the first batch of a run."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, cast

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn

from dislab.base import (
    DataModule,
    Dataset,
    Decoder,
    Draws,
    Encoder,
    ImageBatch,
    ImageShape,
    Penalty,
    Posterior,
    Regularizer,
    Split,
    Terms,
)
from dislab.base._batches import lacking_gradient
from dislab.datamodules import SingleData
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace, Indices
from dislab.functional.streams import Stream
from dislab.objectives import VAE
from dislab.regularizers import DIP, KL, CapacityKL, DecomposedKL, TotalCorrelation

# the models store no settings, so that functions can be among their parts
pytestmark = pytest.mark.filterwarnings(
    "ignore::dislab.naming.hyperparameters.LostPartWarning",
)

SHAPE = (1, 4, 4)
SPACE = FactorSpace((Factor("row", (0.0, 1.0, 2.0, 3.0)), Factor("column", (0.0, 1.0, 2.0, 3.0))))


class Dots(Dataset):
    """A dot at one of 16 places, on disk once `prepare` was called."""

    prepared = False

    @property
    def factors(self) -> FactorSpace:
        return SPACE

    @property
    def image_shape(self) -> ImageShape:
        return SHAPE

    def prepare(self) -> None:
        self.prepared = True

    def tables(self) -> dict[str, Tensor]:
        if not self.prepared:
            raise InputError("the data have not been prepared")
        return {"images": 255 * torch.eye(16, dtype=torch.uint8).view(16, *SHAPE)}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        return tables["images"][index]

    def provenance(self) -> dict[str, str]:
        return {"source": "dots"}


class DotData(DataModule):
    """All states in one batch, changed by a function; it leaves `prepare` to its base class."""

    def __init__(self, change: Callable[[ImageBatch], Any] = lambda batch: batch) -> None:
        super().__init__()
        self.dataset = Dots()
        self.change = change

    def indices(self, split: Split) -> Indices:
        return np.arange(16)

    def images(self, index: Int[Tensor, " batch"]) -> Float[Tensor, "batch channel height width"]:
        return self.dataset.images(index).float() / 255

    def train_dataloader(self) -> "Batches":
        return Batches(self)

    val_dataloader = test_dataloader = predict_dataloader = train_dataloader


class Batches:
    """Two batches of all states."""

    def __init__(self, data: DotData) -> None:
        self.data = data

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[Any]:
        for _ in range(2):
            states = torch.arange(16)
            positions = torch.from_numpy(SPACE.positions(states.numpy()))
            yield self.data.change(ImageBatch(self.data.images(states), positions))


class Spoilt(Encoder):
    """A linear encoder whose output a function spoils."""

    def __init__(self, image_shape: ImageShape, outputs: int, spoil: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(16, outputs)
        self.norm = nn.BatchNorm1d(outputs)
        self.spoil = spoil

    def forward(self, image: Any) -> Any:
        return self.spoil(self.norm(self.layer(image.flatten(1))))


class SpoiltDecoder(Decoder):
    """A linear decoder whose output a function spoils."""

    def __init__(self, latents: int, image_shape: ImageShape, spoil: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(latents, 16)
        self.spoil = spoil

    def forward(self, z: Any) -> Any:
        return self.spoil(self.layer(z).view(-1, *SHAPE))


class Darkening(Spoilt):
    """Changes the images that it receives, which the decoder is to draw."""

    def forward(self, image: Any) -> Any:
        return super().forward(image.mul_(0.5))


def doubling(z: Tensor) -> Penalty:
    """A penalty that changes the codes which the decoder receives."""
    return Penalty(z.mul_(2).square().sum(), None, {})


class SpoiltPenalty(Regularizer):
    """A penalty that a function spoils."""

    def __init__(self, latents: int, train_size: int, spoil: Any) -> None:
        super().__init__()
        self.spoil = spoil

    def forward(self, posterior: Posterior, z: Any, draws: Draws, step: Any) -> Any:
        return self.spoil(z)


class RisingPenalty(SpoiltPenalty):
    """A penalty whose weight rises from 0."""

    def forward(self, posterior: Posterior, z: Any, draws: Draws, step: Any) -> Any:
        return Penalty(step * self.spoil(z), None, {})


class Own(Regularizer):
    """A penalty with a parameter, beside an auxiliary loss that is given."""

    def __init__(self, latents: int, train_size: int, auxiliary: Tensor) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.auxiliary = auxiliary

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        return Penalty(z.square().mean(), self.auxiliary, {})


class Untyped(VAE):  # type: ignore[misc]
    """A VAE that stores none of its settings, so that functions can be among them."""

    def save_hyperparameters(self, *args: Any, **kwargs: Any) -> None:
        pass


def vae(**parts: Any) -> VAE:
    torch.manual_seed(0)
    chosen = {
        "encoder": partial(MLPEncoder, hidden=(8,)),
        "decoder": partial(MLPDecoder, hidden=(8,)),
        "regularizers": {"kl": KL},
        **parts,
    }
    return Untyped(SHAPE, 16, latent_dim=2, **chosen)


def trainer(folder: Path, **settings: Any) -> pl.Trainer:
    quiet = {
        "accelerator": "cpu",
        "devices": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "max_steps": 2,
        "default_root_dir": folder,
    }
    return pl.Trainer(**{**quiet, **settings})


def broken(value: Any) -> Any:
    raise ZeroDivisionError("division by zero")


HERE = __name__

NO_GRADIENT = (
    r"the regulariser SpoiltPenalty .*, regularizers\.mine of the model, returns a penalty without "
    r"a gradient for the codes, which would not change the model; leave out \.detach\(\)"
)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"encoder": partial(Spoilt, spoil=lambda out: out[:, :3])},
            rf"the encoder Spoilt \({HERE}\), encoder of the model, returns torch.float32 of "
            r"shape \(16, 3\) on cpu for \(16, 1, 4, 4\); it must return a float tensor of shape "
            r"\(16, 4\) on cpu",
        ),
        (
            {"encoder": partial(Spoilt, spoil=lambda out: out[:, :2])},  # would be broadcast
            r"of shape \(16, 2\)",
        ),
        ({"encoder": partial(Spoilt, spoil=lambda out: (out, out))}, "returns a tuple for"),
        ({"encoder": partial(Spoilt, spoil=lambda out: out.long())}, "returns torch.int64 of"),
        ({"encoder": partial(Spoilt, spoil=lambda out: out.to("meta"))}, r"\(16, 4\) on meta for"),
        (
            {"encoder": partial(Spoilt, spoil=broken)},
            rf"the encoder Spoilt \({HERE}\) failed in forward: ZeroDivisionError: division by "
            r"zero \(test_first_batch.py, line \d+, from test_first_batch.py, line \d+\); the "
            r"first batch is image \(16, 1, 4, 4\) "
            r"float32, factors \(16, 2\) int64",
        ),
        (
            {"decoder": partial(SpoiltDecoder, spoil=lambda out: out.flatten(1))},
            rf"the decoder SpoiltDecoder \({HERE}\), decoder of the model, returns torch.float32 "
            r"of shape \(16, 16\) on cpu for \(16, 2\); it must return a float tensor of shape "
            r"\(16, 1, 4, 4\) on cpu",
        ),
        ({"decoder": partial(SpoiltDecoder, spoil=lambda out: out[:1])}, r"shape \(1, 1, 4, 4\)"),
        (
            {"regularizers": {"mine": partial(SpoiltPenalty, spoil=lambda z: z.sum())}},
            rf"the regulariser SpoiltPenalty \({HERE}\), regularizers.mine of the model, returns a "
            r"Tensor for \(16, 2\); it must return a dislab.base.Penalty of scalar tensors",
        ),
        (
            {
                "regularizers": {
                    "mine": partial(SpoiltPenalty, spoil=lambda z: Penalty(z, None, {}))
                }
            },
            r"returns penalty as torch.float32 of shape \(16, 2\) on cpu",
        ),
        (
            {
                "regularizers": {
                    "mine": partial(
                        SpoiltPenalty,
                        spoil=lambda z: Penalty(z.sum(), None, {"size": cast("Any", 1.0)}),
                    )
                }
            },
            "returns term size as float",
        ),
        (
            {"encoder": partial(Spoilt, spoil=lambda out: out.detach())},
            r"encoder of the model, returns a result without a gradient, .*\.detach\(\)",
        ),
        (
            {"decoder": partial(SpoiltDecoder, spoil=lambda out: out.detach())},
            "decoder of the model, returns a result without a gradient",
        ),
        *(
            ({"regularizers": {"kl": KL, "mine": partial(SpoiltPenalty, spoil=spoil)}}, NO_GRADIENT)
            for spoil in (
                lambda z: Penalty(z.detach().square().sum(), None, {}),
                lambda z: Penalty(torch.tensor(z.square().sum().item()), None, {}),
                lambda z: Penalty(torch.from_numpy(z.detach().numpy()).abs().mean(), None, {}),
                lambda z: Penalty(z.detach().sum() * torch.ones((), requires_grad=True), None, {}),
            )
        ),
        (
            {"regularizers": {"mine": partial(RisingPenalty, spoil=lambda z: z.detach().sum())}},
            "the regulariser RisingPenalty .* returns a penalty without a gradient for the codes",
        ),
        (
            {"regularizers": {"mine": partial(Own, auxiliary=torch.ones(()))}},
            "returns an auxiliary loss without a gradient for its own parameters",
        ),
        (
            {"regularizers": {"mine": partial(SpoiltPenalty, spoil=doubling)}},
            r"the regulariser SpoiltPenalty .* changes a tensor that it receives.*z = z \* 2",
        ),
        (
            {"encoder": partial(Darkening, spoil=lambda out: out)},
            r"the encoder Darkening.* changes a tensor that it receives",
        ),
    ],
)
def test_a_part_that_breaks_its_contract_is_named(
    parts: dict[str, Any], message: str, tmp_path: Path
) -> None:
    runner = trainer(tmp_path, num_sanity_val_steps=0)
    with pytest.raises(InputError, match=message) as caught:
        runner.fit(vae(**parts), datamodule=DotData())
    assert "\n" not in str(caught.value)
    assert runner.global_step == 0


@pytest.mark.parametrize(
    "penalty",
    [
        lambda z: 0 * z.square().sum(),
        lambda z: torch.zeros(()),
        lambda z: 0 * z.detach().square().sum(),
    ],
    ids=["scaled", "constant", "detached"],
)
def test_a_penalty_of_weight_zero_needs_no_gradient(penalty: Any, tmp_path: Path) -> None:
    parts = {
        "kl": KL,
        "mine": partial(SpoiltPenalty, spoil=lambda z: Penalty(penalty(z), None, {})),
        "rising": partial(RisingPenalty, spoil=lambda z: z.square().sum()),
    }
    runner = trainer(tmp_path)
    runner.fit(vae(regularizers=parts), datamodule=DotData())
    assert runner.global_step == 2


class Warming(Own):
    """A penalty and an auxiliary loss that are constants for 100 steps; it counts its calls."""

    calls = 0

    def forward(self, posterior: Posterior, z: Any, draws: Draws, step: Any) -> Any:
        type(self).calls += 1
        loss = (z.square().sum() + self.scale) if int(step) > 100 else torch.ones(())
        return Penalty(loss, loss, {})


def test_what_has_a_gradient_later_needs_none_at_first(tmp_path: Path) -> None:
    part = partial(Warming, auxiliary=torch.ones(()))
    runner = trainer(tmp_path)
    runner.fit(vae(regularizers={"kl": KL, "mine": part}), datamodule=DotData())
    assert runner.global_step == 2


def test_a_penalty_may_be_called_with_names() -> None:
    part, z = SpoiltPenalty(2, 8, lambda z: Penalty(z.detach().sum(), None, {})), torch.ones(3, 2)
    posterior = Posterior(z.requires_grad_(), z)
    assert not lacking_gradient(part, (posterior, z), part(posterior, z, draws={}, step=0))


@pytest.mark.parametrize("steps_itself", [False, True])
def test_a_loss_may_lack_a_gradient_if_the_objective_steps_by_itself(steps_itself: bool) -> None:
    class Game(Untyped):  # type: ignore[misc]
        def losses(self, batch: Any, draws: Draws, step: Any) -> Terms:
            terms = super().losses(batch, draws, step)
            return terms._replace(loss=terms.loss.detach())

    model = Game(
        SHAPE, 16, latent_dim=2, encoder=MLPEncoder, decoder=MLPDecoder, regularizers={"kl": KL}
    )
    model.automatic_optimization = not steps_itself
    batch = ImageBatch(torch.rand(4, *SHAPE), torch.zeros(4, 0, dtype=torch.int64))
    refused = pytest.raises(InputError, match=r"Game\.losses returns a loss without a gradient")
    with nullcontext() if steps_itself else refused:
        model.terms_of(batch, "train", 0)


def test_a_penalty_for_frozen_codes_needs_no_gradient(tmp_path: Path) -> None:
    model = vae(regularizers={"kl": KL})
    model.encoder.requires_grad_(False)
    runner = trainer(tmp_path)
    runner.fit(model, datamodule=DotData())
    assert runner.global_step == 2


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda batch: list(batch), "delivers a list, and Untyped learns from ImageBatch"),
        (lambda batch: batch._replace(image=batch.image.numpy()), "image as ndarray; every field"),
        (
            lambda batch: batch._replace(image=batch.image * 255),
            r"image whose pixels are torch.float32 from 0 to 255: divide them by .* such as 255",
        ),
        (
            lambda batch: batch._replace(image=(batch.image * 255).to(torch.uint8)),
            "delivers image as torch.uint8; pixels are floats",
        ),
        (
            lambda batch: batch._replace(image=batch.image / 0),
            "hold NaN or infinity; leave out such images",
        ),
        (
            lambda batch: batch._replace(image=batch.image[:, 0]),
            r"delivers image of shape \(16, 4, 4\); it has shape \(batch, 1, 4, 4\)",
        ),
        (lambda batch: batch._replace(factors=batch.factors[:3]), r"factors \(3, 2\) int64; every"),
        (
            lambda batch: batch._replace(factors=batch.factors.float()),
            r"factors as torch.float32 of shape \(16, 2\); they are value numbers",
        ),
        (lambda batch: batch._replace(factors=batch.factors[:, :1]), r"of shape \(16, 1\); they"),
    ],
)
@pytest.mark.parametrize("stage", ["fit", "validate", "test"])
def test_data_that_break_their_contract_are_refused(
    change: Callable[[ImageBatch], Any], message: str, stage: str, tmp_path: Path
) -> None:
    runner = trainer(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        getattr(runner, stage)(vae(), datamodule=DotData(change))
    assert str(caught.value).startswith(f"the data module DotData ({HERE}) delivers ")
    assert runner.global_step == 0


def test_data_that_nobody_prepared_are_prepared(tmp_path: Path) -> None:
    data = DotData()
    trainer(tmp_path).fit(vae(), datamodule=data)
    assert cast("Dots", data.dataset).prepared


def test_the_checks_leave_training_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained() -> dict[str, Tensor]:
        model = vae(encoder=partial(Spoilt, spoil=lambda out: out))
        trainer(tmp_path, max_steps=4).fit(model, datamodule=DotData())
        assert not any(part._forward_hooks for part in model.modules())
        return {name: value.clone() for name, value in model.state_dict().items()}

    with_checks = trained()
    monkeypatch.setattr("dislab.base.objective.first_batch", lambda *_, **__: nullcontext())
    for name, value in trained().items():
        assert torch.equal(value, with_checks[name]), name


class Compares(SpoiltPenalty):
    """A penalty of a plug-in that compares three images."""

    smallest_batch = 3


def data_of_batches(kind: str, size: int) -> Any:
    """The same batches as arguments of `fit`: planned, of a plug-in's module, of a plain loader."""
    if kind == "planned":
        return {"datamodule": SingleData(Dots(), batch_size=size, validation=0.2, test=0.2)}
    cut = DotData(lambda batch: ImageBatch(batch.image[:size], batch.factors[:size]))
    if kind == "module":
        return {"datamodule": cut}
    cut.prepare_data()
    return {"train_dataloaders": Batches(cut), "val_dataloaders": Batches(cut)}


class Wrong(VAE):  # type: ignore[misc]
    """Returns what a function makes of its terms and draws."""

    def __init__(self, method: str, change: Callable[[Any], Any], **settings: Any) -> None:
        super().__init__(SHAPE, 16, latent_dim=2, **settings)
        self.method, self.change = method, change

    def losses(self, batch: Any, draws: Draws, step: Tensor) -> Any:
        terms = super().losses(batch, draws, step)
        return self.change(terms) if self.method == "losses" else terms

    def draw(self, count: int, stream: Any) -> Any:
        draws = super().draw(count, stream)
        return self.change(draws) if self.method == "draw" else draws


@pytest.mark.parametrize("kind", ["planned", "loader"])
@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        (
            "losses",
            lambda terms: terms.loss,
            r"a Tensor of shape \(\); it must return Terms\(loss, log\)",
        ),
        ("losses", tuple, r"a tuple; it must return Terms\(loss, log\)"),
        (
            "losses",
            lambda terms: terms._replace(loss=terms.loss.expand(3)),
            r"a Tensor of shape \(3,\) as loss; it must return Terms",
        ),
        (
            "losses",
            lambda terms: terms._replace(log=None),
            "a NoneType as log; it must return Terms",
        ),
        (
            "losses",
            lambda terms: terms._replace(loss=terms.loss.detach()),
            r"a loss without a gradient; leave out \.detach\(\)",
        ),
        (
            "draw",
            lambda draws: list(draws.values()),
            "a list; it must return a dictionary of tensors",
        ),
    ],
)
def test_methods_that_return_something_else_are_named(
    method: str, change: Any, message: str, kind: str, tmp_path: Path
) -> None:
    parts: dict[str, Any] = {
        "encoder": partial(MLPEncoder, hidden=(8,)),
        "decoder": partial(MLPDecoder, hidden=(8,)),
        "regularizers": {"kl": KL},
    }
    with pytest.raises(InputError, match=rf"^Wrong\.{method} returns {message}"):
        trainer(tmp_path).fit(Wrong(method, change, **parts), **data_of_batches(kind, 4))


class Noisy(Untyped):  # type: ignore[misc]
    """Encodes images with noise after the loss of its base class."""

    def losses(self, batch: Any, draws: Draws, step: Tensor) -> Any:
        terms = super().losses(batch, draws, step)
        return terms._replace(loss=terms.loss + self.codes(batch.image - 0.5).sum())


def test_a_loss_that_calls_that_of_its_base_class_may_add_noise() -> None:
    model: Any = Noisy(
        SHAPE,
        16,
        latent_dim=2,
        encoder=partial(MLPEncoder, hidden=(8,)),
        decoder=partial(MLPDecoder, hidden=(8,)),
        regularizers={"kl": KL},
    )
    images = torch.rand(4, *SHAPE)
    for _ in range(2):
        model.losses(images, model.draw(4, Stream(0)), 0)
    with pytest.raises(InputError, match=r"map \[-1, 1\] to \[0, 1\]"):
        model.codes(images - 0.5)


@pytest.mark.filterwarnings("default::UserWarning")
@pytest.mark.parametrize(("size", "warns"), [(15, True), (16, True), (None, False)])
def test_another_size_of_the_training_set_than_that_of_the_data_is_told(
    size: int | None, warns: bool, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    data = data_of_batches("planned", 4)["datamodule"]
    size = data.train_size if size is None else size
    model = vae(regularizers={"kl": lambda latents, _: DecomposedKL(latents, size)})
    trainer(tmp_path, limit_val_batches=0, max_steps=1).fit(model, datamodule=data)
    told = f"DecomposedKL was made for train_size={size}, and "
    assert any(str(each.message).startswith(told) for each in recwarn) == warns


@pytest.mark.every(4)
@pytest.mark.filterwarnings("ignore:DecomposedKL was made for train_size=16")
@pytest.mark.parametrize("kind", ["planned", "module", "loader"])
@pytest.mark.parametrize(
    ("part", "least"),
    [
        (partial(TotalCorrelation, width=4, depth=1), 2),
        (partial(TotalCorrelation, width=4, depth=1, batches="two"), 4),
        (DIP, 2),
        (DecomposedKL, 2),
        (partial(Compares, spoil=lambda z: Penalty(z.sum(), None, {})), 3),
        (CapacityKL, 1),
        (KL, 1),
    ],
)
def test_batches_too_small_for_a_part_that_compares_images_are_refused(
    part: Any, least: int, kind: str, tmp_path: Path
) -> None:
    quiet = {"num_sanity_val_steps": 0, "limit_val_batches": 0, "max_steps": 1}
    if least > 1:
        runner = trainer(tmp_path, **quiet)
        message = rf"the batch size is {least - 1}, and \w+ compares .* to at least {least}$"
        with pytest.raises(InputError, match=message):
            runner.fit(vae(regularizers={"mine": part}), **data_of_batches(kind, least - 1))
        assert runner.global_step == 0
    runner = trainer(tmp_path, **quiet)
    runner.fit(vae(regularizers={"mine": part}), **data_of_batches(kind, least))
    assert runner.global_step == 1


def test_batches_are_not_too_small_for_a_part_that_is_frozen(tmp_path: Path) -> None:
    model = vae()
    model.inner = vae(regularizers={"dip": DIP}).eval()
    runner = trainer(tmp_path, num_sanity_val_steps=0, limit_val_batches=0, max_steps=1)
    runner.fit(model, **data_of_batches("planned", 1))
    assert runner.global_step == 1
