"""The checks notice parts that do not conform."""

import math
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dislab.base import (
    Decoder,
    Draws,
    Encoder,
    ImageBatch,
    ImageShape,
    Metric,
    Objective,
    Penalty,
    Posterior,
    Predictor,
    Regularizer,
    Terms,
)
from dislab.codes.bank import CodeBank
from dislab.datamodules import SingleData
from dislab.datasets import DSprites
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.factors import FactorSpace
from dislab.functional.streams import Stream
from dislab.predictors import Ridge
from dislab.testing import (
    check_datamodule,
    check_dataset,
    check_declared,
    check_decoder,
    check_encoder,
    check_metric,
    check_objective,
    check_predictor,
    check_regularizer,
)

SMALL: Any = {"orientation": {"max": 1.0}, "posX": {"max": 0.3}, "posY": {"min": 0.8}}


class Forgetful(Encoder):
    """Has a layer that it does not use."""

    def __init__(self, image_shape: tuple[int, int, int], outputs: int) -> None:
        super().__init__()
        self.used = MLPEncoder(image_shape, outputs, hidden=(4,))
        self.idle = nn.Linear(3, 3)

    def forward(self, image: Tensor) -> Tensor:
        vectors: Tensor = self.used(image)
        return vectors


class Shut(Encoder):
    """Opens a gate that begins at zero, or never, by `opens`."""

    def __init__(self, image_shape: ImageShape, outputs: int, opens: bool) -> None:
        super().__init__()
        self.behind = MLPEncoder(image_shape, outputs, hidden=(32,))
        self.before = MLPEncoder(image_shape, outputs, hidden=(32,))
        self.gate = nn.Parameter(torch.zeros(()), requires_grad=opens)

    def forward(self, image: Tensor) -> Tensor:
        vectors: Tensor = self.before(image) + self.gate * self.behind(image)
        return vectors


class Leaky(Regularizer):
    """Lets its auxiliary loss pull at the codes."""

    def __init__(self, latent_dim: int, train_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(latent_dim))

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        return Penalty(z.square().mean(), (z * self.weight).square().mean(), {})


class Singular(Regularizer):
    """Breaks the rule that its setting names."""

    def __init__(self, latent_dim: int, train_size: int, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        if self.fault == "root":
            return Penalty((z * 0).abs().sum().sqrt(), None, {})
        term: Any = z.mean().item()
        return Penalty(z.square().mean(), None, {"mine": term})


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("root", "the gradients of the penalty are finite"),
        (
            "item",
            "Singular .* returns term mine as float for .*; it must return a dislab.base.Penalty",
        ),
    ],
)
@pytest.mark.slow  # without instrumentation, which refuses the float itself
def test_the_checks_notice_regularizers_that_do_not_conform(fault: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_regularizer(partial(Singular, fault=fault))


def test_a_gate_may_begin_at_zero_but_must_open() -> None:
    check_encoder(partial(Shut, opens=True))
    with pytest.raises(AssertionError, match=r"every parameter, but not gate, behind"):
        check_encoder(partial(Shut, opens=False))


class ZeroLast(Encoder):
    """Begins with a last layer of zeros, behind one that sees the image, or not, by `sees`."""

    def __init__(self, image_shape: ImageShape, outputs: int, sees: bool) -> None:
        super().__init__()
        self.before = MLPEncoder(image_shape, 4, hidden=(8,))
        self.last = nn.Linear(4, outputs)
        self.sees = sees
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, image: Tensor) -> Tensor:
        features = self.before(image)
        vectors: Tensor = self.last(features if self.sees else features.detach())
        return vectors


class ZeroDecoder(Decoder):
    """Begins with a last layer of zeros."""

    def __init__(self, latent_dim: int, image_shape: ImageShape) -> None:
        super().__init__()
        self.inner = MLPDecoder(latent_dim, image_shape, hidden=(8,))
        for parameter in [*self.inner.parameters()][-2:]:
            nn.init.zeros_(parameter)

    def forward(self, z: Tensor) -> Tensor:
        image: Tensor = self.inner(z)
        return image


def test_a_last_layer_may_begin_at_zero_but_must_see_the_input() -> None:
    check_encoder(partial(ZeroLast, sees=True))
    check_decoder(ZeroDecoder)
    with pytest.raises(AssertionError, match=r"every parameter, but not before"):
        check_encoder(partial(ZeroLast, sees=False))


class Restarting(SingleData):  # type: ignore[misc]
    """Forgets how far training has come."""

    def state_dict(self) -> dict[str, int]:
        return {**super().state_dict(), "step": 0}


class Mutable(Metric):
    """Breaks the rule that its setting names."""

    higher_is_better = True
    plot_upper_bound = 1.0

    def __init__(self, space: FactorSpace, fault: str) -> None:
        super().__init__(space)
        self.fault = fault

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        spread = bank.codes.std(0).mean() if len(bank) > 1 else torch.tensor(0.5)
        if self.fault == "bank":
            bank.codes[0] = 0.0
        if self.fault == "nan":
            return {"value": (bank.codes.std(0) / bank.codes.std(0)).mean()}
        if self.fault == "float":
            single: Any = 0.5
            return {"value": single}
        if self.fault == "draw":
            return {"value": torch.rand(2)[0] * 0 + 0.5}
        return {"value": spread * 1e9 if self.fault == "bounds" else torch.tensor(0.5)}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("bank", "score leaves the codes of the bank alone"),
        ("nan", "constant latents do not make a scalar NaN, but value is"),
        ("draw", "score draws from a generator of its own"),
        ("bounds", "value is at most 1.0, not"),
    ],
)
def test_the_checks_notice_scores_that_do_not_conform(fault: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_metric(partial(Mutable, fault=fault), images=400)


class Careless(Objective):
    """Breaks the rule that its setting names."""

    code_noise = ("noise",)

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        if fault != "settings":
            self.save_hyperparameters()
        self.encoder = nn.Linear(4, 2)
        self.idle = nn.Linear(1, 1, bias=False).requires_grad_(fault == "idle")

    def draw(self, count: int, stream: Stream) -> Draws:
        rows = 2 * count if self.fault == "rows" else count
        if self.fault == "noise":
            return {"other": torch.zeros(rows, 2)}
        if self.fault == "draw":
            return {"noise": torch.randn(rows, 2)}
        noise = stream.normal("noise", rows, 2)
        return {"noise": noise, "twin": noise} if self.fault == "names" else {"noise": noise}

    def losses(self, batch: ImageBatch, draws: Draws, step: Tensor) -> Terms:
        codes = self.encoder(batch.image.flatten(1)) + sum(draws.values())
        if self.fault == "losses":
            codes = codes + torch.rand_like(codes)
        if self.fault == "reads":
            torch.rand(1)
        if self.fault == "bare":
            bare: Any = codes.square().mean()
            return cast("Terms", bare)
        if self.fault == "cut":
            codes = codes.detach()
        if self.fault == "item":
            codes = codes * codes.std().item()
        if self.fault == "spread":
            return Terms(codes.std(0).sum(), {})
        return Terms(codes.square().mean(), {})

    def codes(self, image: Tensor) -> Tensor:
        if self.fault == "hidden":
            raise InputError("no codes")
        codes: Tensor = self.encoder(image.flatten(1))
        if self.fault == "flat":
            return codes[0]
        return codes.double() if self.fault == "double" else codes


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("settings", "save_hyperparameters is called"),
        ("idle", r"the loss trains every parameter, but not idle\.weight"),
        ("rows", "draw gives noise at most one row an image, 3, not 6"),
        ("draw", "draw is a function of its stream alone"),
        ("names", "draw takes noise and twin from the stream under different names"),
        ("noise", "code_noise names draws, but not noise"),
        ("losses", r"losses is deterministic.*differ by up to \d"),
        ("cut", r"the loss of Careless carries gradients .*has none.*\.detach"),
        (
            "item",
            r"Careless .*failed in losses: RuntimeError: vmap: ",
        ),
        ("reads", "draw and losses leave the global random state alone"),
        ("hidden", "a method whose codes refuses says has_codes = False"),
        ("double", r"codes are float32, not torch\.float64"),
        ("flat", r"codes of 3 images have shape \(3, latent\), not \(2,\)"),
        ("bare", "losses returns a Terms, not a Tensor"),
    ],
)
def test_the_checks_notice_objectives_that_do_not_conform(fault: str, message: str) -> None:
    batch = ImageBatch(torch.rand(3, 1, 2, 2), torch.zeros(3, 1, dtype=torch.int64))
    check_objective(partial(Careless, "none"), batch)
    with pytest.raises(AssertionError, match=message):
        check_objective(partial(Careless, fault), batch)


class Sloppy(Predictor):
    """A ridge regression that breaks the rule that its setting names."""

    def __init__(self, latents: int, classes: tuple[int, ...], fault: str) -> None:
        self.fault = fault
        self.inner = Ridge(latents, classes)

    def fit(self, codes: Tensor, targets: Tensor) -> None:
        if self.fault == "draw":
            torch.rand(1)
        self.inner.fit(codes, targets)
        if self.fault == "writes":
            codes[0, 0] = 0.0

    def predict(self, codes: Tensor) -> Tensor:
        found = self.inner.predict(codes)
        changed: Any = {"shape": found[0], "blind": found * 0, "array": found.numpy()}
        result: Tensor = changed.get(self.fault, found)
        return result


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("draw", "it draws from a generator of its own"),
        ("writes", "it leaves codes and targets alone"),
        ("shape", r"have shape \(2, 60, 3\), not \(60, 3\)"),
        pytest.param("array", "predict returns a Tensor, not a ndarray", marks=pytest.mark.slow),
        ("blind", "its errors are less than half those of the mean"),
    ],
)
def test_the_checks_notice_predictors_that_do_not_conform(fault: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_predictor(partial(Sloppy, fault=fault), images=60)


def test_the_checks_notice_what_does_not_conform() -> None:
    with pytest.raises(AssertionError, match=r"every parameter, but not idle\.weight, idle\.bias"):
        check_encoder(Forgetful)
    with pytest.raises(AssertionError, match="the auxiliary loss gives z no gradient"):
        check_regularizer(Leaky)
    with pytest.raises(AssertionError, match="a resumed run continues the draws"):
        check_datamodule(lambda: Restarting(DSprites(), batch_size=8, include=SMALL))
    with pytest.raises(AssertionError, match=r"has an entry point Nothing of dislab\.encoders"):
        check_declared("encoders", ["Nothing"])


class Bare(Regularizer):
    """Forgets to begin as a module."""

    def __init__(self, latent_dim: int, train_size: int) -> None:
        self.latent_dim = latent_dim

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        return Penalty(z.square().mean(), None, {})


class Plain(Regularizer):
    """Has a penalty of its own, by `penalty`."""

    def __init__(self, latent_dim: int, train_size: int, penalty: Any) -> None:
        super().__init__()
        self.penalty = penalty
        self.calls = 0

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        self.calls += 1
        return Penalty(self.penalty(z, self.calls), None, {})


class Without(Regularizer):
    """Takes no sizes."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        return Penalty(z.square().mean(), None, {})


class Settings(Regularizer):
    """Takes one size, and the other as its weight."""

    def __init__(self, latent_dim: int, weight: float = 1.0) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        return Penalty(self.weight * z.square().mean(), None, {})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            partial(Plain, penalty=lambda z, _: z.abs().sum()),
            r"is a mean over the batch; it is [\d.]+, and [\d.]+ with each image twice",
        ),
        (
            partial(Plain, penalty=lambda z, _: z.detach().abs().mean()),
            r"to train by, not a penalty without a gradient for the codes.*\.detach",
        ),
        (
            partial(Plain, penalty=lambda z, _: torch.tensor(z.abs().mean().item())),
            r"a penalty without a gradient for the codes.*\.item",
        ),
        (
            partial(Plain, penalty=lambda z, calls: z.abs().mean() + calls),
            "keeps nothing from call.*differ by up to 1",
        ),
        (
            partial(Plain, penalty=lambda z, calls: z.abs().mean() * calls),
            "keeps nothing from call",
        ),
        (
            partial(Plain, penalty=lambda z, _: z.mul_(1.5).abs().mean()),
            "changes one of them in place",
        ),
        (Bare, r"Bare.__init__ does not call super\(\).__init__\(\); call it first"),
        (
            Without,
            r"Without.__init__ takes no arguments; it must take latent_dim and train_size before ",
        ),
        (
            Settings,
            r"Settings.__init__ takes train_size for its setting weight; it must take latent_dim "
            "and train_size before settings of its own",
        ),
    ],
)
def test_a_regularizer_that_does_not_conform_is_told_why(build: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_regularizer(build)


def test_an_objective_is_checked_on_a_batch() -> None:
    with pytest.raises(AssertionError, match="accepts, ImageBatch, not an object of NoneType"):
        check_objective(partial(Careless, "none"))


class Tiny(Encoder):
    """Breaks the rule that its setting names."""

    def __init__(self, image_shape: ImageShape, outputs: int, fault: str = "none") -> None:
        super().__init__()
        if fault == "honest" and image_shape != (1, 8, 8):
            raise InputError(f"Tiny is for grey images 8×8, not {image_shape}")
        channels, pixels = image_shape[0], math.prod(image_shape)
        self.fault = fault
        if fault == "lazy":
            self.linear: nn.Module = nn.LazyLinear(outputs)
        elif fault in ("channels", "honest"):
            self.linear = nn.Sequential(
                nn.Conv2d(1, 2, 1), nn.Flatten(), nn.Linear(2 * math.prod(image_shape[1:]), outputs)
            )
        elif fault == "sides":
            self.linear = nn.Linear(channels * 8 * 8, outputs)
        elif fault == "one":
            self.linear = nn.Sequential(nn.Linear(pixels, outputs), nn.BatchNorm1d(outputs))
        else:
            self.linear = nn.Linear(pixels, outputs)

    def forward(self, image: Tensor) -> Tensor:
        rows = image if self.fault in ("channels", "honest") else image.flatten(1)
        if self.fault == "unseen":
            with torch.no_grad():
                return torch.as_tensor(self.linear(rows))
        vectors: Tensor = self.linear(rows)
        if self.fault == "centred":
            return vectors - vectors.mean(0)
        if self.fault == "cut":
            return vectors.detach()
        if self.fault == "dropout":
            return nn.functional.dropout(vectors)
        if self.fault == "tuple":
            return vectors, vectors  # type: ignore[return-value]
        return vectors[:, :-1] if self.fault == "shape" else vectors


class Grows(Decoder):
    """Makes grey pictures 8×8 whatever the shape."""

    def __init__(self, latent_dim: int, image_shape: ImageShape) -> None:
        super().__init__()
        self.linear = nn.Linear(latent_dim, 64)

    def forward(self, z: Tensor) -> Tensor:
        picture: Tensor = self.linear(z).view(-1, 1, 8, 8)
        return picture


class Drawn(Decoder):
    """Breaks the rule that its setting names."""

    def __init__(self, latent_dim: int, image_shape: ImageShape, fault: str = "none") -> None:
        super().__init__()
        self.fault = fault
        self.image_shape = image_shape
        self.linear = nn.Linear(latent_dim, math.prod(image_shape))

    def forward(self, z: Tensor) -> Tensor:
        picture: Tensor = self.linear(z.detach() if self.fault == "latents" else z)
        if self.fault == "centred":
            picture = picture - picture.mean(0)
        if self.fault == "cut":
            picture = picture.detach()
        if self.fault == "sigmoid":
            picture = picture.sigmoid()
        if self.fault == "clamp":
            picture = picture.clamp(0, 1)
        return picture.view(-1, *self.image_shape)


class Foreign(nn.Module):
    """An encoder that does not derive from the base class."""

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(math.prod(image_shape), outputs)

    def forward(self, image: Tensor) -> Tensor:
        vectors: Tensor = self.linear(image.flatten(1))
        return vectors


class Unfinished(Encoder):
    """Has no forward."""

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        super().__init__()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (partial(Tiny, fault="channels"), r"Tiny .*failed in forward: .*\(3, 3, 8, 8\)"),
        (partial(Tiny, fault="sides"), r"Tiny .*failed in forward: .*\(3, 1, 16, 16\)"),
        (partial(Tiny, fault="lazy"), "Tiny.linear is a LazyLinear, whose size is unknown"),
        (partial(Tiny, fault="one"), r"forward: .*; .* \(1, 1, 8, 8\); .* smallest_batch"),
        (
            partial(Tiny, fault="tuple"),
            r"returns a tuple for \(3, 1, 8, 8\); it must return a float tensor of shape \(3, 6\)",
        ),
        (partial(Tiny, fault="shape"), r"returns torch.float32 of shape \(3, 5\) .*\(3, 6\)"),
        (
            partial(Tiny, fault="centred"),
            r"the output of Tiny for one image depends on no other .*differ by up to \d",
        ),
        (partial(Tiny, fault="cut"), r"the output of Tiny carries gradients .*has none.*\.detach"),
        (partial(Tiny, fault="unseen"), r"the output of Tiny carries gradients .*torch\.no_grad"),
        (partial(Tiny, fault="dropout"), r"Tiny draws no random numbers, .*differ by up to \d"),
        (Foreign, r"Foreign is no dislab\.base\.Encoder"),
        (Unfinished, "Unfinished lacks forward; define it as"),
    ],
)
def test_an_encoder_that_does_not_conform_is_told_why(build: Any, message: str) -> None:
    check_encoder(Tiny, (1, 8, 8))
    with pytest.raises(AssertionError, match=message):
        check_encoder(build, (1, 8, 8))


def test_an_encoder_may_refuse_other_shapes() -> None:
    check_encoder(partial(Tiny, fault="honest"), (1, 8, 8))
    with pytest.raises(AssertionError, match="Tiny is for grey images 8×8"):
        check_encoder(partial(Tiny, fault="honest"), (1, 9, 9))


def test_a_decoder_makes_every_shape_that_it_takes() -> None:
    with pytest.raises(AssertionError, match=r"Grows .*returns .*\(3, 1, 8, 8\).*\(3, 3, 8, 8\)"):
        check_decoder(Grows, image_shape=(1, 8, 8))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("latents", "gradients pass Drawn to its latents.*none arrives"),
        ("centred", "output of Drawn for one latent vector depends on no other .*differ by up to"),
        ("cut", r"the output of Drawn carries gradients .*has none.*\.detach"),
        ("sigmoid", r"outputs of Drawn are logits, of any size.*leave out the sigmoid"),
        ("clamp", r"outputs of Drawn are logits, of any size.*leave out the sigmoid"),
    ],
)
def test_a_decoder_that_does_not_conform_is_told_why(fault: str, message: str) -> None:
    check_decoder(Drawn, image_shape=(1, 8, 8))
    with pytest.raises(AssertionError, match=message):
        check_decoder(partial(Drawn, fault=fault), image_shape=(1, 8, 8))


@pytest.mark.parametrize("term", ["std", "corrcoef"])
def test_a_penalty_that_compares_images_says_so(term: str) -> None:
    def penalty(z: Tensor, _: int) -> Tensor:
        return z.std(0).sum() if term == "std" else z.T.corrcoef().square().mean()

    class Compares(Plain):
        smallest_batch = 2

    with pytest.raises(AssertionError, match=r"penalty of 1 image is finite.*smallest_batch"):
        check_regularizer(partial(Plain, penalty=penalty))
    check_regularizer(partial(Compares, penalty=penalty))


@pytest.mark.parametrize("penalty", [lambda z, _: 0 * z.mean(), lambda z, _: torch.zeros(())])
def test_a_penalty_of_weight_zero_conforms_with_or_without_a_gradient(penalty: Any) -> None:
    check_regularizer(partial(Plain, penalty=penalty))


class Silent(Regularizer):
    """Has no forward."""

    def __init__(self, latent_dim: int, train_size: int) -> None:
        super().__init__()


class Loose(nn.Module):
    """A regulariser that does not derive from the base class."""

    def __init__(self, latent_dim: int, train_size: int) -> None:
        super().__init__()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (Silent, "Silent lacks forward; define it as"),
        (Loose, r"Loose is no dislab\.base\.Regularizer"),
        (partial(Plain, penalty=lambda z, _: z), r"penalty as torch.float32 of shape \(6, 4\)"),
        (partial(Plain, penalty=lambda z, _: 1 / 0), "Plain .*failed in forward: ZeroDivision"),
        (Unfinished, r"Unfinished is no dislab\.base\.Regularizer"),
    ],
)
def test_a_regularizer_of_another_kind_is_told_why(build: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_regularizer(build)


class Odd(Metric):
    """Returns what its setting says."""

    higher_is_better = True

    def __init__(self, space: FactorSpace, returned: Any) -> None:
        super().__init__(space)
        self.returned = returned

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        result: dict[str, Tensor] = self.returned()
        return result


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda: {"value": 0.5},
            "score returns value as float; it must return a dictionary of tensors",
        ),
        (lambda: {"value": np.ones(())}, "score returns value as ndarray; "),
        (lambda: None, "score returns a NoneType; "),
        (lambda: torch.ones(()), "score returns a Tensor; "),
        (lambda: {"value": torch.rand(())}, "two computations on the same codes .*self.seed"),
    ],
)
@pytest.mark.slow  # without instrumentation, which refuses the results itself
def test_a_score_that_does_not_conform_is_told_why(returned: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_metric(partial(Odd, returned=returned), images=400)


class Ordered(Metric):
    """A function of codes and factors, by `value`."""

    higher_is_better: bool | None = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(self, space: FactorSpace, value: Any) -> None:
        super().__init__(space)
        self.value = value

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        return {"value": self.value(bank.codes, bank.factors.double()).clamp(0.0, 1.0)}


class Aimless(Ordered):
    """Does not say which values are good."""

    higher_is_better = None


class Split(Ordered):
    """Says that it fits a model to a part of the images."""

    bootstraps = False


def two_classes(codes: Tensor, factors: Tensor) -> Tensor:
    """Fails as a classifier of scikit-learn does."""
    if factors[:, 1].std() == 0:
        raise ValueError("only one class: 2")
    return latent_of_value(codes, factors)


def ranked(codes: Tensor, factors: Tensor) -> Tensor:
    """A rank correlation that forgets ties."""
    return latent_of_value(codes.argsort(dim=0).argsort(dim=0).double(), _ranks(factors))


def _ranks(factors: Tensor) -> Tensor:
    return factors.argsort(dim=0, stable=True).argsort(dim=0).double()


def latent_of_value(codes: Tensor, factors: Tensor) -> Tensor:
    """Squared correlation of the first latent and the first factor."""
    return torch.stack([codes[:, 0], factors[:, 0]]).corrcoef()[0, 1].nan_to_num().square()


def first_half(codes: Tensor, factors: Tensor) -> Tensor:
    half = len(codes) // 2
    return latent_of_value(codes[:half] + factors[:half, 1:], factors[:half])


def neighbours(codes: Tensor, factors: Tensor) -> Tensor:
    return codes.diff(dim=0).abs().mean() / 10


def first_image(codes: Tensor, factors: Tensor) -> Tensor:
    return codes[0, 0] / 2


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            partial(Ordered, value=first_half),
            r"value is 0\.\d+, and 0\.\d+ with the same images in another order; .*bootstraps = ",
        ),
        (partial(Ordered, value=ranked), "value is .* with the same images in another order"),
        (partial(Aimless, value=latent_of_value), "Aimless says whether more is better"),
        (
            partial(Ordered, value=two_classes),
            "ValueError: only one class: 2 .*with a factor that never varies: .*bank.varied",
        ),
        (partial(Ordered, value=neighbours), "value is .* with the same images in another order"),
        (partial(Split, value=first_image), "value is .* with the same images in another order"),
    ],
)
def test_a_score_does_not_depend_on_the_order_of_the_images(build: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_metric(build, images=400)


def test_a_score_of_a_part_of_the_images_says_so() -> None:
    check_metric(partial(Ordered, value=latent_of_value), images=400)
    check_metric(partial(Split, value=first_half), images=400)


@pytest.mark.parametrize(
    ("check", "base"),
    [
        (check_encoder, "Encoder"),
        (check_decoder, "Decoder"),
        (check_regularizer, "Regularizer"),
        (check_metric, "Metric"),
        (check_predictor, "Predictor"),
        (check_datamodule, "DataModule"),
        (partial(check_objective, batch=None), "Objective"),
        (lambda build: check_dataset(build()), "Dataset"),
    ],
)
@pytest.mark.slow  # without instrumentation, which refuses the parts itself
def test_every_check_names_the_base_class(check: Any, base: str) -> None:
    with pytest.raises(AssertionError, match=rf"Identity is no dislab\.base\.{base}; give"):
        check(lambda *_: nn.Identity())


class Comparing(Careless):
    """Says that its loss compares images."""

    smallest_batch = 2


def test_a_loss_that_compares_images_says_so() -> None:
    batch = ImageBatch(torch.rand(3, 1, 2, 2), torch.zeros(3, 1, dtype=torch.int64))
    with pytest.raises(AssertionError, match=r"the loss of 1 image is finite.*smallest_batch"):
        check_objective(partial(Careless, "spread"), batch)
    check_objective(partial(Comparing, "spread"), batch)
