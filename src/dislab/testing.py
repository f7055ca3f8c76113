"""Conformance checks for authors of plugins: what every part of a group must do.

Call them from a test, with the class or a `functools.partial` of it:

    from dislab.testing import check_regularizer
    from mykit import L1

    def test_l1_conforms() -> None:
        check_regularizer(L1)

Each raises `AssertionError` with one sentence that says what does not hold.
"""

import io
import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.func import functional_call, stack_module_state, vmap

from dislab.base import (
    DataModule,
    Dataset,
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageBatch,
    ImageShape,
    Metric,
    MetricBuilder,
    Objective,
    Posterior,
    Predictor,
    PredictorBuilder,
    RegularizerBuilder,
)
from dislab.base.metric import primary
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.code_bank import checked
from dislab.functional.draws import device_generator
from dislab.plugins import available

_CPU = torch.device("cpu")


def check_declared(group: str, names: Sequence[str]) -> None:
    """The classes are declared under their own names, with a summary for `dislab plugins`.

    Args:
        group: The plugin group.
        names: Names of the classes.
    """
    declared = {plugin.name: plugin for plugin in available(group)}
    for name in names:
        _must(name in declared, f"{name} is no entry point of dislab.{group}")
        plugin = declared[name]
        _must(plugin.value.endswith(f":{name}"), f"the key of {plugin.value} is {name}")
        _must(bool(plugin.summary), f"{name} has no docstring in {plugin.value}")


def check_encoder(
    build: EncoderBuilder, image_shape: ImageShape = (1, 64, 64), outputs: int = 6
) -> None:
    """An encoder maps images to vectors, of one image or many, and trains.

    Args:
        build: The class, or a partial of it.
        image_shape: Channels, height and width that it must accept.
        outputs: Length of its vectors.
    """
    encoder = build(image_shape, outputs)
    images = torch.rand(3, *image_shape, generator=device_generator(_CPU, 0))
    _check_network(encoder, lambda: build(image_shape, outputs), images, (outputs,))


def check_decoder(
    build: DecoderBuilder, latent_dim: int = 5, image_shape: ImageShape = (1, 64, 64)
) -> None:
    """A decoder maps latents to images, of one latent vector or many, and trains.

    Args:
        build: The class, or a partial of it.
        latent_dim: Number of latents.
        image_shape: Channels, height and width that it must accept.
    """
    decoder = build(latent_dim, image_shape)
    latents = torch.randn(3, latent_dim, generator=device_generator(_CPU, 0))
    _check_network(decoder, lambda: build(latent_dim, image_shape), latents, image_shape)


def check_regularizer(
    build: RegularizerBuilder, latent_dim: int = 4, train_size: int = 100, batch: int = 6
) -> None:
    """A regulariser gives finite scalars, is pure, and keeps its two gradients apart.

    Its penalty reaches the codes or the posterior but none of its own parameters; its auxiliary
    loss reaches all of its own parameters and neither codes nor posterior.

    Args:
        build: The class, or a partial of it.
        latent_dim: Number of latents.
        train_size: Size of the training set.
        batch: Images in the batch; even.
    """
    regularizer = build(latent_dim, train_size)
    mean, log_var, noise = torch.randn(3, batch, latent_dim, generator=device_generator(_CPU, 0))
    mean.requires_grad_()
    log_var.requires_grad_()
    posterior = Posterior(mean, log_var)
    z = mean + (0.5 * log_var).exp() * noise
    step = torch.tensor(3)
    draws = regularizer.draw(batch, device_generator(_CPU, 1))
    again = regularizer.draw(batch, device_generator(_CPU, 1))
    _must(
        all(torch.equal(draws[name], again[name]) for name in draws),
        "draw is a function of its generator alone",
    )
    out = regularizer(posterior, z, draws, step)
    repeated = regularizer(posterior, z, draws, step)
    _must(out.penalty.shape == (), "the penalty is a scalar")
    _must(bool(out.penalty.isfinite()), "the penalty is finite")
    _must(torch.equal(out.penalty, repeated.penalty), "equal draws give an equal penalty")
    for name, term in out.terms.items():
        _must(term.shape == (), f"term {name} is a scalar")
    own = list(regularizer.parameters())
    reached = _gradients(out.penalty, [mean, log_var, *own])
    _must(any(gradient is not None for gradient in reached[:2]), "the penalty reaches the codes")
    _must(all(gradient is None for gradient in reached[2:]), "the penalty trains the model alone")
    if own:
        _must(out.auxiliary is not None, "own parameters need an auxiliary loss")
        assert out.auxiliary is not None
        reached = _gradients(out.auxiliary, [mean, log_var, *own])
        _must(reached[0] is None and reached[1] is None, "the auxiliary loss gives z no gradient")
        _must(all(gradient is not None for gradient in reached[2:]), "it trains every parameter")
        grouped = [p for group in regularizer.parameter_groups() for p in group["params"]]
        _must({id(p) for p in grouped} == {id(p) for p in own}, "parameter_groups holds them all")
    _check_state_dict(regularizer, build(latent_dim, train_size))
    single = Posterior(mean[:2], log_var[:2])
    few = regularizer.draw(2, device_generator(_CPU, 1))
    _must(bool(regularizer(single, z[:2], few, step).penalty.isfinite()), "two images are enough")


def check_objective(build: Callable[[], Objective], batch: Any) -> None:
    """An objective's `losses` is pure, its codes are float32 vectors, and it can be rebuilt.

    Two stacked copies under `torch.func.vmap` equal two separate passes.

    Args:
        build: Makes the objective, with other weights each time.
        batch: A batch of at least two images, as its data module delivers it.
    """
    first, second = build(), build()
    count = len(batch[0])
    draws = first.draw(count, device_generator(_CPU, 0))
    step = torch.tensor(3)
    separate = [_loss(model, batch, draws, step) for model in (first, second)]
    _must(bool(torch.stack(separate).isfinite().all()), "the loss is finite")
    _must(torch.equal(separate[0], _loss(first, batch, draws, step)), "losses is deterministic")
    parameters, buffers = stack_module_state([first, second])
    holder = _Loss(build(), batch, draws, step)

    def stacked(parameters: dict[str, Tensor], buffers: dict[str, Tensor]) -> Tensor:
        state = {f"model.{name}": value for name, value in {**parameters, **buffers}.items()}
        loss: Tensor = functional_call(holder, state, ())
        return loss

    together = vmap(stacked)(parameters, buffers)
    torch.testing.assert_close(together, torch.stack(separate), msg="losses stacks under vmap")
    separate[0].backward()  # type: ignore[no-untyped-call]
    idle = [name for name, p in first.named_parameters() if p.requires_grad and p.grad is None]
    _must(not idle, f"the loss trains every parameter, but not {', '.join(idle)}")
    _check_codes(first, batch[0])
    _must(bool(first.hparams), "save_hyperparameters is called, for checkpoints to rebuild it")
    _check_state_dict(first, build())


def check_compiles(build: Callable[[], Objective], batch: Any) -> None:
    """`losses` compiles to one graph, `torch.compile(backend="aot_eager")`, with equal results.

    Not under jaxtyping's import hook: the compiler cannot look into what it wraps.

    Args:
        build: Makes the objective.
        batch: A batch of at least two images, as its data module delivers it.
    """
    torch.compiler.reset()  # what is compiled for one objective counts against the next
    model = build()
    draws = model.draw(len(batch[0]), device_generator(_CPU, 0))
    holder = _Loss(model, batch, draws, torch.tensor(3))
    torch.compiler.reset()  # else objectives checked before this one count against a limit
    compiled = torch.compile(holder, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(), holder(), msg="losses compiles to one graph")


def check_metric(build: MetricBuilder, images: int = 3000) -> None:
    """A score is a function of codes and factors, and no codes make it NaN.

    Checked are informative codes, noise, latents that stand still, more latents than images, a
    factor that never varies and a resample of the images. Each time there is a primary scalar,
    within the bounds that the class declares, unless the score refuses with an `InputError`, which
    it may where images are few or all latents stand still. It leaves codes, factors and the
    global random states alone, needs more than one image, and is the same for a factor with a
    value that no image has.

    Args:
        build: The class, or a partial of it.
        images: Number of images to score.
    """
    space = FactorSpace((Factor("a", (0.0, 1.0, 2.0)), Factor("b", (0.0, 1.0, 2.0, 3.0))))
    generator = device_generator(_CPU, 0)
    index = torch.randint(len(space), (images,), generator=generator)
    factors = torch.from_numpy(space.positions(index.numpy()))
    noise = torch.randn(images, 3, generator=generator)
    informative = torch.cat([factors.float(), noise[:, :1]], dim=1)
    for codes in (informative, noise):
        results = []
        for parts in (1, 4):
            metric = build(space)
            for rows in torch.chunk(torch.arange(images), parts):
                metric.update(codes[rows], factors[rows])
            results.append(metric.compute())
        one, several = results
        _must(one.keys() == several.keys(), "compute returns the same names every time")
        for name in one:
            _must(bool(one[name].isfinite().all()), f"{name} is finite")
            _must(torch.equal(one[name], several[name]), f"{name} ignores how updates are cut")
        _check_primary(build(space), one)
    _check_odd_codes(build, space, informative[:300], factors[:300], generator)
    _check_purity(build(space), informative[:300], factors[:300])
    _check_missing_value(build, space, informative[:300], factors[:300])
    try:
        _scored(build(space), informative[:1], factors[:1])
    except InputError:
        return
    _must(False, "one image is refused with an InputError")


def check_dataset(dataset: Dataset, images: int = 5) -> None:
    """A data set knows its factors before it is prepared, and gathers images by number.

    Args:
        dataset: The data set; it is prepared.
        images: How many images to gather.
    """
    space, shape = dataset.factors, dataset.image_shape
    dataset.prepare()
    dataset.prepare()
    index = torch.randint(len(space), (images,), generator=device_generator(_CPU, 0))
    gathered = dataset.images(index)
    _must(gathered.dtype == torch.uint8, "images are uint8")
    _must(tuple(gathered.shape) == (images, *shape), f"images have shape {(images, *shape)}")
    _must(torch.equal(gathered[2:], dataset.images(index[2:])), "an image depends on its number")
    same = torch.from_numpy(dataset.canonical(index.numpy()))
    _must(torch.equal(gathered, dataset.images(same)), "canonical states show the same image")
    _must(bool(dataset.provenance()), "provenance says where images come from")


def check_datamodule(build: Callable[[], DataModule], steps: int = 4) -> None:
    """A data module keeps its splits apart, and its batches follow from seed and step alone.

    Two processes share the batch of one, a resumed run continues the draws, evaluation repeats
    its batches, prediction shows every test image once, and all parts of a batch have the shapes
    and types that `batch_type` documents.

    Args:
        build: Makes the data module, equal each time; its batch size is even, and an epoch has
            at least as many batches as are looked at.
        steps: How many training batches to look at, at least 2.
    """
    data = build()
    data.prepare_data()
    _check_splits(data)
    whole = _delivered(data, steps, seed=1)
    for batch in whole:
        _check_batch(data, batch, data.indices("train"))
    _must(_same(whole, _delivered(build(), steps, seed=1)), "equal seeds draw equal batches")
    ranks = [_delivered(build(), steps, seed=1, rank=rank, world=2) for rank in range(2)]
    shared = [
        type(batch)(*(torch.cat(parts) for parts in zip(*shares, strict=True)))
        for batch, *shares in zip(whole, *ranks, strict=True)
    ]
    _must(_same(whole, shared), "two processes share the batch of one")
    stopped = build()
    half = steps // 2
    _delivered(stopped, half, seed=1)
    resumed = _delivered(build(), steps - half, seed=2, state=stopped.state_dict())
    _must(_same(whole[half:], resumed), "a resumed run continues the draws")
    _check_evaluation(data)


def check_predictor(build: PredictorBuilder, images: int = 400) -> None:
    """A predictor learns each factor of each run by itself, the same every time, and can be stored.

    From codes that are linear in the factors but for little noise it predicts numbers better than
    their mean and kinds better than the most frequent class. It copes with a latent that stands
    still, with a factor that has one value, and with one image; it refuses broken codes and to
    predict before it has learnt. It leaves what it is given and the global random states alone.

    Args:
        build: The class, or a partial of it.
        images: Number of images to learn from.
    """
    codes, targets = _lesson(2 * images, device_generator(_CPU, 0))
    known, wanted = codes[:, :images], targets[:images]
    asked, truth = codes[:, images:], targets[images:]
    before, states = (known.clone(), wanted.clone(), asked.clone()), _random_states()
    predictor = build(5, (0, 3, 0))
    _refuses(lambda: predictor.predict(asked), "it refuses to predict before it has learnt")
    found = _learnt(predictor, known, wanted, asked)
    _must(found.shape == (2, images, 3), "predictions have shape (run, image, factor)")
    _must(found.dtype == codes.dtype, "predictions are typed as codes are")
    _must(states == _random_states(), "it draws from a generator of its own")
    for one, other in zip(before, (known, wanted, asked), strict=True):
        _must(torch.equal(one, other), "it leaves codes and targets alone")
    _check_accuracy(found, wanted, truth)
    again = _learnt(build(5, (0, 3, 0)), known, wanted, asked)
    _must(torch.equal(found, again), "it learns the same every time")
    _learnt(predictor, known + 1, wanted.flip(0), asked)
    with torch.inference_mode():
        again = _learnt(predictor, known.clone(), wanted.clone(), asked.clone())
    _must(torch.equal(found, again), "it learns from scratch, in inference mode too")
    stored = pickle.loads(pickle.dumps(predictor))
    _must(torch.equal(found, stored.predict(asked)), "it survives pickling")
    few = predictor.predict(asked[:, :7])
    _must(_alike(few, found[:, :7]), "a prediction depends on no other image")
    _check_independence(build, (known, wanted, asked), found)
    _check_scarce_lessons(build, known, wanted, asked)


class _Loss(nn.Module):
    def __init__(self, model: Objective, batch: Any, draws: Draws, step: Tensor) -> None:
        super().__init__()
        self.model = model
        self.given = (batch, draws, step)

    def forward(self) -> Tensor:
        return self.model.losses(*self.given).loss


def _loss(model: Objective, batch: Any, draws: Draws, step: Tensor) -> Tensor:
    return model.losses(batch, draws, step).loss


def _check_codes(model: Objective, image: Tensor) -> None:
    try:
        codes = model.codes(image)
    except InputError:
        _must(not model.has_codes, "a method whose codes refuses says has_codes = False")
        return
    _must(model.has_codes, "a method that says has_codes = False refuses to make codes")
    _must(codes.ndim == 2 and len(codes) == len(image), "codes has one row an image")
    _must(codes.dtype == torch.float32, "codes are float32")


def _check_odd_codes(
    build: MetricBuilder,
    space: FactorSpace,
    codes: Tensor,
    factors: Tensor,
    generator: torch.Generator,
) -> None:
    still = torch.cat([codes, torch.full((len(codes), 2), 7.0)], dim=1)
    wide = torch.randn(60, 90, generator=generator)
    narrow = factors.clone()
    narrow[:, 1] = 2
    cases = {
        "latents that stand still": (still, factors, False),
        "codes that never change": (torch.zeros_like(codes), factors, True),
        "more latents than images": (wide, factors[:60], True),
        "a factor that never varies": (codes, narrow, True),
    }
    for name, (odd, positions, may_refuse) in cases.items():
        metric = build(space)
        try:
            result = _scored(metric, odd, positions)
        except InputError as error:
            _must(may_refuse, f"{name} are no reason to refuse ({error})")
            continue
        broken = [one for one, value in result.items() if value.ndim == 0 and value.isnan()]
        _must(not broken, f"{name} do not make a scalar NaN, but {', '.join(broken)} is")
        _check_primary(metric, result)


def _check_purity(metric: Metric, codes: Tensor, factors: Tensor) -> None:
    bank = checked([codes], [factors], metric.space, metric.least)
    before = bank.codes.clone(), bank.factors.clone()
    states = _random_states()
    first, again = metric.score(bank), metric.score(bank)
    _must(torch.equal(before[0], bank.codes), "score leaves the codes of the bank alone")
    _must(torch.equal(before[1], bank.factors), "score leaves the factors of the bank alone")
    _must(states == _random_states(), "score draws from a generator of its own")
    for name, value in first.items():
        _must(torch.equal(value, again[name]), f"{name} is the same the second time")
    if metric.bootstraps:
        drawn = torch.arange(len(codes)).remainder(len(codes) - 7)
        result = metric.score(bank.rows(drawn))
        _must(bool(result[primary(result)].isfinite()), "a resample of the images can be scored")


def _check_missing_value(
    build: MetricBuilder, space: FactorSpace, codes: Tensor, factors: Tensor
) -> None:
    larger = FactorSpace((*space.factors[:1], Factor("b", (0.0, 1.0, 2.0, 3.0, 4.0))))
    plain, wider = (_scored(build(one), codes, factors) for one in (space, larger))
    name = primary(plain)
    same = torch.isclose(plain[name].double(), wider[name].double(), rtol=0, atol=1e-9)
    _must(bool(same), f"{name} does not depend on values that no image has")


def _random_states() -> tuple[bytes, bytes]:
    numpy_state: Any = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state().numpy().tobytes(), numpy_state[1].tobytes()


def _check_primary(metric: Metric, result: Mapping[str, Tensor]) -> None:
    name = primary(result)
    value = result[name].item()
    lower, upper = metric.plot_lower_bound, metric.plot_upper_bound
    _must(lower is None or value >= lower - 1e-9, f"{name} is at least {lower}, not {value}")
    _must(upper is None or value <= upper + 1e-9, f"{name} is at most {upper}, not {value}")


def _scored(metric: Metric, codes: Tensor, factors: Tensor) -> dict[str, Tensor]:
    metric.update(codes, factors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result: dict[str, Tensor] = metric.compute()
    return result


def _check_network(
    network: nn.Module, build: Callable[[], nn.Module], inputs: Tensor, shape: tuple[int, ...]
) -> None:
    outputs = network(inputs)
    _must(tuple(outputs.shape) == (len(inputs), *shape), f"outputs have shape (batch, {shape})")
    _must(outputs.dtype == torch.float32, "outputs are float32")
    _must(torch.equal(outputs, network(inputs)), "equal inputs give equal outputs")
    network.eval()
    torch.testing.assert_close(network(inputs[:1]), network(inputs)[:1], msg="one row is enough")
    network.train()
    outputs.square().sum().backward()
    if idle := _idle(network):
        # a gate that starts at zero keeps gradients from what lies behind it, until it opens
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.sub_(0 if parameter.grad is None else 1e-3 * parameter.grad.sign())
        network(inputs).square().sum().backward()
        idle = [name for name in _idle(network) if name in idle]
    _must(not idle, f"gradients reach every parameter, but not {', '.join(idle)}")
    _check_state_dict(network, build())


def _idle(network: nn.Module) -> list[str]:
    return [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]


def _check_state_dict(module: nn.Module, other: nn.Module) -> None:
    stored = io.BytesIO()
    torch.save(module.state_dict(), stored)
    stored.seek(0)
    other.load_state_dict(torch.load(stored, weights_only=True))
    for name, value in module.state_dict().items():
        _must(torch.equal(value, other.state_dict()[name]), f"{name} survives a checkpoint")


def _gradients(loss: Tensor, inputs: list[Any]) -> tuple[Tensor | None, ...]:
    if not loss.requires_grad:
        return (None,) * len(inputs)
    return torch.autograd.grad(loss, inputs, allow_unused=True, retain_graph=True)


def _delivered(
    data: DataModule,
    steps: int,
    seed: int,
    rank: int = 0,
    world: int = 1,
    state: dict[str, Any] | None = None,
) -> list[Any]:
    """Training batches as an objective receives them, in one of several processes."""
    with torch.random.fork_rng(devices=[]), ExitStack() as patches:
        if world > 1:
            answers = {"is_initialized": True, "get_rank": rank, "get_world_size": world}
            for name, answer in answers.items():
                patches.enter_context(patch.object(distributed, name, return_value=answer))
        torch.manual_seed(seed)
        data.setup("fit")
        if state is not None:
            data.load_state_dict(state)
        batches = islice(data.train_dataloader(), steps)
        return [data.on_after_batch_transfer(batch, 0) for batch in batches]


def _check_splits(data: DataModule) -> None:
    parts = [set(data.indices(split).tolist()) for split in ("train", "validation", "test")]
    _must(sum(map(len, parts)) == len(set.union(*parts)), "no state is in two splits")
    _must(set.union(*parts) == set(data.indices("all").tolist()), "the splits make up `all`")
    _must(data.train_size == len(parts[0]), "train_size counts the training states")


def _check_batch(data: DataModule, batch: Any, states: Any) -> None:
    kind = data.batch_type
    _must(isinstance(batch, kind), f"batches are {kind.__name__}, not {type(batch).__name__}")
    count, factors = len(batch[0]), len(data.factors.names)
    numbered = {"action": data.action_names, "active": data.group_names}
    for name, part in batch._asdict().items():
        if name in ("image", "second", "transform", "target"):
            shape: tuple[int, ...] = (count, *data.image_shape)
            dtype = torch.float32
            _must(bool((part >= 0).all() and (part <= 1).all()), f"{name} is in [0, 1]")
        elif name in ("factors", "second_factors"):
            shape, dtype = (count, factors), torch.int64
            known = set(data.factors.index(part.numpy()).tolist())
            _must(known <= set(states.tolist()), f"{name} are of the split")
        elif name in numbered:
            shape, dtype = (count,), torch.int64
            most = len(numbered[name])
            _must(bool((part >= 0).all() and (part < most).all()), f"{name} is below {most}")
        elif name == "changed":
            shape, dtype = (count, factors), torch.bool
        elif name == "symbol":
            shape, dtype = (count, len(data.symbol_names)), torch.float32
            _must(bool(((part == 0) | (part == 1)).all()), "symbol is 0 or 1")
        else:
            continue
        _must(tuple(part.shape) == shape, f"{name} has shape {shape}, not {tuple(part.shape)}")
        _must(part.dtype == dtype, f"{name} is {dtype}, not {part.dtype}")


def _check_evaluation(data: DataModule) -> None:
    for loader in (data.val_dataloader, data.test_dataloader):
        first, second = (
            [data.on_after_batch_transfer(batch, 0) for batch in loader()] for _ in range(2)
        )
        _must(bool(_same(first, second)), "evaluation repeats its batches")
        _must(all(isinstance(one, data.batch_type) for one in first), "of the same kind")
    shown = [data.on_after_batch_transfer(one, 0) for one in data.predict_dataloader()]
    _must(all(isinstance(one, ImageBatch) for one in shown), "prediction delivers ImageBatch")
    if shown:
        states = data.factors.index(torch.cat([one.factors for one in shown]).numpy())
        _must(states.tolist() == data.indices("test").tolist(), "prediction goes in order")


def _same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        torch.equal(part, twin)
        for batch, again in zip(one, other, strict=True)
        for part, twin in zip(batch, again, strict=True)
    )


def _lesson(images: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Codes of two runs, whose last latent stands still, and a number, a kind and a number."""
    hidden = torch.rand(images, 3, generator=generator)
    kind = (3 * hidden[:, 1]).floor().clamp(max=2)
    targets = torch.stack([hidden[:, 0], kind, hidden[:, 2]], 1)
    axes, _ = torch.linalg.qr(torch.randn(2, 4, 3, generator=generator))
    mixed = hidden @ axes.mT
    noisy = mixed + 0.01 * torch.randn(2, images, 4, generator=generator)
    return torch.cat([noisy, torch.full((2, images, 1), 0.1)], 2), targets


def _learnt(predictor: Predictor, known: Tensor, wanted: Tensor, asked: Tensor) -> Tensor:
    predictor.fit(known, wanted)
    return predictor.predict(asked)


def _alike(one: Tensor, other: Tensor) -> bool:
    """Equal but for what rounding may do, which seldom moves a class."""
    return bool(torch.isclose(one, other, rtol=0, atol=1e-3).double().mean() > 0.97)


def _check_accuracy(found: Tensor, wanted: Tensor, truth: Tensor) -> None:
    for factor in (0, 2):
        error = (found[..., factor] - truth[:, factor]).abs().mean(1)
        least = (truth[:, factor] - wanted[:, factor].mean()).abs().mean() / 2
        _must(bool((error < least).all()), "its errors are less than half those of the mean")
    kinds = found[..., 1]
    _must(
        set(torch.unique(kinds).tolist()) <= {0.0, 1.0, 2.0}, "a kind is predicted as class number"
    )
    right = (kinds == truth[:, 1]).double().mean(1)
    _must(bool((right > 0.5).all()), "kinds are told apart better than by chance")


def _check_independence(
    build: PredictorBuilder, lesson: tuple[Tensor, Tensor, Tensor], found: Tensor
) -> None:
    known, wanted, asked = lesson
    for run in range(2):
        own = slice(run, run + 1)
        alone = _learnt(build(5, (0, 3, 0)), known[own], wanted, asked[own])
        _must(_alike(alone, found[own]), f"run {run} is learnt alike without the other one")
    for factor, classes in enumerate((0, 3, 0)):
        column = slice(factor, factor + 1)
        alone = _learnt(build(5, (classes,)), known, wanted[:, column], asked)
        _must(_alike(alone, found[..., column]), f"factor {factor} is learnt alike by itself")


def _check_scarce_lessons(
    build: PredictorBuilder, known: Tensor, wanted: Tensor, asked: Tensor
) -> None:
    still = wanted.clone()
    still[:, 0], still[:, 1] = 0.3, 2
    found = _learnt(build(5, (0, 3, 0)), known, still, asked + 2)
    number = bool(torch.isclose(found[..., 0], found.new_tensor(0.3), atol=1e-5).all())
    _must(number, "of a factor with one value that value is predicted")
    _must(bool((found[..., 1] == 2).all()), "of a kind with one class that class is predicted")
    found = _learnt(build(5, (0, 3, 0)), known[:, :1], wanted[:1], asked)
    _must(bool(torch.isclose(found, wanted[:1], atol=1e-5).all()), "one image is enough")
    predictor = build(5, (0, 3, 0))
    broken = known.clone()
    broken[1, 3, 2] = torch.nan
    _refuses(lambda: predictor.fit(broken, wanted), "it refuses to learn from codes with NaN")
    predictor.fit(known, wanted)
    _refuses(lambda: predictor.predict(broken), "it refuses to predict from codes with NaN")
    _refuses(lambda: predictor.predict(known[..., :4]), "it refuses codes of another length")


def _refuses(action: Callable[[], object], claim: str) -> None:
    try:
        action()
    except InputError:
        return
    _must(False, f"{claim}, with an InputError")


def _must(holds: bool, claim: str) -> None:
    if not holds:
        raise AssertionError(f"this should hold: {claim}")


__all__ = [
    "check_compiles",
    "check_datamodule",
    "check_dataset",
    "check_declared",
    "check_decoder",
    "check_encoder",
    "check_metric",
    "check_objective",
    "check_predictor",
    "check_regularizer",
]
