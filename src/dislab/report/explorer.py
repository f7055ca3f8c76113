"""Data of the latent explorer on a page: sliders, starting images and decoder."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata
from torch import Tensor

from dislab.base import DataModule, Objective, is_vector
from dislab.base.datamodule import draw_points, draw_states
from dislab.base.inference import lacks
from dislab.codes.latent_order import (
    Carried,
    LatentOrder,
    carried_factors,
    main_latents,
    nats,
    order_by_kl,
    order_by_spread,
)
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.losses import kl_per_latent
from dislab.plots import codes_against_factors, image_grid
from dislab.plots._panels import two_lines
from dislab.report.figures import MOST_ORDERED, atlas, png
from dislab.report.network import network_of
from dislab.report.verdict import LatentInformation

STARTS: Final = 10
"""Number of test images that a reader can start from."""
STRIP_STARTS: Final = 2
"""Number of starting images, besides the centre of the codes, if images are precomputed."""
STRIP_SLIDERS: Final = 12
STRIP_STEPS: Final = 9
REACH: Final = 3.0
"""Range of a slider to each side in standard deviations; extended to include all starting codes."""

_BATCH: Final = 256
_RECONSTRUCTED: Final = 8
"""Number of images above their reconstructions, the same as in the picture of the run."""
_WIDTH: Final = 4.6
"""Width in inches of the picture of traversals, which fits a phone."""
_DIGITS: Final = 4

Record = dict[str, Any]


class _Codes(NamedTuple):
    """Codes of test images and the order of latents."""

    order: LatentOrder
    names: list[str]
    amounts: list[str]
    starts: Float[Tensor, "start latent"]


def explorer_of(
    module: Objective,
    data: DataModule,
    information: LatentInformation | None = None,
    unearned: Sequence[str] = (),
) -> Record:
    """JSON-ready data for the explorer of one model.

    A decoder that the page can compute is included; for other decoders, and for methods that
    generate from true factors, images are decoded in advance.

    Args:
        module: The objective in evaluation mode; its device is used for encoding and decoding.
        data: The prepared data module that provides test images.
        information: What latents know about factors, as the run's scores say; None to tell from
            up to 2,000 images, those of the test first.
        unearned: Factors that untrained models predict no worse, which name no slider.

    Raises:
        InputError: The method has no decoder, or its images cannot be shown.
    """
    channels = data.image_shape[0]
    if is_vector(data.image_shape):
        raise InputError("the data are vectors, of which there are no pictures")
    if channels not in (1, 3):
        raise InputError(f"images of {channels} channels cannot be shown; one or three can")
    states = draw_points(data, "test", MOST_ORDERED, 0)
    with torch.inference_mode():
        if not lacks(module, "render"):
            return _of_factors(module, data, states[: STRIP_STARTS + 1])
        if lacks(module, "decode"):
            raise InputError(f"{type(module).__name__} has no decoder")
        if not module.has_codes and lacks(module, "encode"):
            raise InputError(f"{type(module).__name__} has no codes")
        codes = _codes(module, data, states)
    sliders = _sliders(module, data, codes, information, unearned)
    explorer: Record = {"shape": list(data.image_shape), "sliders": sliders}
    has_prior = not lacks(module, "encode")
    middle = _start(f"the middle of the {'prior' if has_prior else 'codes'}", codes.order.centre)
    device = module.device
    network = network_of(module.cpu())
    module.to(device)
    if not isinstance(network, str):
        starts = _starts(module, data, states[:STARTS], codes.starts[:STARTS])
        return {**explorer, "starts": [middle, *starts], "network": network.record()}
    starts = _starts(module, data, states[:STRIP_STARTS], codes.starts[:STRIP_STARTS])
    explorer["starts"] = [middle, *starts]
    explorer["sliders"] = [_stepped(slider) for slider in explorer["sliders"][:STRIP_SLIDERS]]
    with torch.inference_mode():
        return {**explorer, "strips": _strips(explorer, _decoder(module)), "reason": network}


def scatter_figures(module: Objective, data: DataModule) -> Iterator[tuple[str, Figure]]:
    """What a page of vectors has in place of an explorer: each factor beside a latent of its own.

    Dots are test points. Latents and factors are paired so that the sum of their absolute rank
    correlations is largest; categorical and nuisance factors are left out.

    Args:
        module: The objective in evaluation mode.
        data: The prepared data module of the vectors.

    Yields:
        The title and figure of each pair.
    """
    space, states = data.factors, draw_states(data, "test", MOST_ORDERED, 0)
    columns = [k for k in space.essential if space.factors[k].kind in ("ordinal", "continuous")]
    if not columns or not module.has_codes:
        return
    with torch.inference_mode():
        codes = _over_images(module, data, states, module.codes).numpy()
    values = data.dataset.values(states)[:, columns]
    ranks = rankdata(np.hstack([codes, values]), axis=0)
    with np.errstate(invalid="ignore"):  # latents that never change
        correlations = np.corrcoef(ranks, rowvar=False)[: codes.shape[1], codes.shape[1] :]
    strengths = np.nan_to_num(np.abs(correlations))
    for latent, factor in zip(*linear_sum_assignment(strengths, maximize=True), strict=True):
        name = space.factors[columns[factor]].name
        label = f"{name}: |ρ| {strengths[latent, factor]:.2f} with z{latent}"
        yield name, codes_against_factors(codes[:, [latent]], values[:, [factor]], [label])


def _codes(module: Objective, data: DataModule, states: Indices) -> _Codes:
    positions = torch.from_numpy(data.factors.positions(states)[:, data.factors.essential])
    if lacks(module, "encode"):
        codes = _over_images(module, data, states, module.codes)
        order = order_by_spread(codes, positions, not lacks(module, "code_values"))
        amounts = [f"standard deviation {amount:.2g}" for amount in order.amount.tolist()]
        letter = "z" if lacks(module, "code_values") else "c"
    else:

        def encode(image: Tensor) -> Tensor:
            posterior = module.encode(image)
            return torch.stack((posterior.mean, kl_per_latent(*posterior)), dim=1)

        encoded = _over_images(module, data, states, encode)
        codes, letter = encoded[:, 0], "z"
        order = order_by_kl(codes, encoded[:, 1].mean(0), positions)
        amounts = [f"KL {nats(amount)} nats" for amount in order.amount.tolist()]
    names = [f"{letter}{index}" for index in range(codes.shape[1])]
    return _Codes(order, names, amounts, codes[:STARTS])


def _over_images(
    module: Objective, data: DataModule, states: Indices, function: Callable[[Tensor], Tensor]
) -> Tensor:
    batches = torch.split(torch.from_numpy(states).to(module.device), _BATCH)
    return torch.cat([function(data.images(batch)).double().cpu() for batch in batches])


def _sliders(
    module: Objective,
    data: DataModule,
    codes: _Codes,
    information: LatentInformation | None,
    unearned: Sequence[str],
) -> list[Record]:
    """One slider per latent, in order."""
    order, sliders = codes.order, list[Record]()
    carriers = _carriers(order, data.factors.essential_names, information)
    values = None if lacks(module, "code_values") else _values(module)
    for latent in order.latents:
        factors, text = _carried(carriers, latent, unearned)
        amounts = carriers.nats[latent].tolist()
        about = [f"{amounts[factor]:.2f} nats on {carriers.factors[factor]}" for factor in factors]
        detail = [codes.amounts[latent], *about]
        slider: Record = {
            "latent": latent,
            "name": codes.names[latent],
            "carries": text,
            "detail": ", ".join(detail),
            "active": order.in_use[latent],
        }
        if values is not None and values[latent] is not None:
            listed = values[latent]
            slider |= {"values": listed, "labels": [_digits(value) for value in listed or ()]}
        elif values is not None:
            slider |= {"low": -1.0, "high": 1.0}
        else:
            slider |= _span(codes, latent)
        sliders.append(slider)
    return sliders


class _Carriers(NamedTuple):
    """What latents know about factors, the main latent of each, and the factor of each latent."""

    factors: Sequence[str]
    nats: Float[Tensor, "latent factor"]
    main: list[int | None]
    carried: list[Carried | None]


def _carriers(
    order: LatentOrder, factors: Sequence[str], information: LatentInformation | None
) -> _Carriers:
    """By the scores of a run where they are of these latents, else by the order of latents."""
    if information is None or len(information.nats) != len(order.latents):
        return _Carriers(factors, order.information, order.main, order.carried)
    amounts, least = information.nats, information.least
    carried = carried_factors(amounts, least, information.noise)
    return _Carriers(information.factors, amounts, main_latents(amounts, least), carried)


def _carried(carriers: _Carriers, latent: int, unearned: Sequence[str]) -> tuple[list[int], str]:
    """The factors that a latent knows most about, and the name that they give its slider.

    They are those whose main latent it is. Without these it is the factor of whose information it
    holds the largest share, of at least a quarter, which names it if no other latent is its main
    one. Factors that untrained models predict no worse are left out of the name.
    """
    names, main = carriers.factors, carriers.main
    factors = [factor for factor, carrier in enumerate(main) if carrier == latent]
    if factors:
        partly = "partly " * (len(factors) > 1)
        named = [names[factor] for factor in factors if names[factor] not in unearned]
        return factors, ", ".join(f"{partly}{name}" for name in named)
    if (carried := carriers.carried[latent]) is None:
        return [], ""
    name = names[carried.factor]
    is_named = main[carried.factor] is None and name not in unearned
    return [carried.factor], f"partly {name}" if is_named else ""


def _values(module: Objective) -> list[list[float] | None]:
    """Values of each categorical code; None for a continuous code between −1 and 1."""
    two, three = module.code_values(2), module.code_values(3)
    return [
        smaller.tolist() if len(smaller) == len(larger) else None
        for smaller, larger in zip(two, three, strict=True)
    ]


def _span(codes: _Codes, latent: int) -> Record:
    """Range of a slider: three standard deviations, extended to include all starting codes."""
    centre, scale = float(codes.order.centre[latent]), float(codes.order.scale[latent]) or 1.0
    far = (codes.starts[:, latent] - centre).abs().max().item() / scale
    reach = scale * max(REACH, math.ceil(far if math.isfinite(far) else 0.0))
    return {"low": round(centre - reach, _DIGITS), "high": round(centre + reach, _DIGITS)}


def _start(name: str, code: Float[Tensor, " latent"], image: str = "", detail: str = "") -> Record:
    rounded = [round(value, _DIGITS) for value in code.tolist()]
    return {"name": name, "code": rounded, "image": image, "detail": detail}


def _starts(
    module: Objective, data: DataModule, states: Indices, codes: Float[Tensor, "start latent"]
) -> list[Record]:
    images = data.images(torch.from_numpy(states).to(module.device)).float().cpu()
    return [
        _start(f"test image {index + 1}", codes[index], png(image), _factors(data, state))
        for index, (image, state) in enumerate(zip(images, states.tolist(), strict=True))
    ]


def _factors(data: DataModule, state: int) -> str:
    """The values of the factors of a state, without nuisances and constants."""
    positions = data.factors.positions(np.asarray([state]))[0]
    texts = []
    for factor, position in zip(data.factors.factors, positions, strict=True):
        if factor.nuisance or len(factor) == 1:
            continue
        value = factor.values[int(position)]
        text = value if isinstance(value, str) else f"{value:.3g} {factor.unit}".rstrip()
        texts.append(f"{factor.name} {text}")
    return ", ".join(texts)


def traversal_figure(module: Objective, explorer: Record) -> Figure | None:
    """Traversals of the most active latents from the first test image, in the width of a column.

    Args:
        module: The objective in evaluation mode.
        explorer: Result of `explorer_of`.

    Returns:
        None for codes of a method whose latents are no numbers.
    """
    sliders = [slider for slider in explorer["sliders"] if "low" in slider][:STRIP_SLIDERS]
    if not sliders:
        return None
    code = torch.tensor(explorer["starts"][:2][-1]["code"])
    codes = code.repeat(len(sliders), STRIP_STEPS, 1)
    for row, slider in zip(codes, sliders, strict=True):
        row[:, slider["latent"]] = torch.linspace(slider["low"], slider["high"], STRIP_STEPS)
    with torch.inference_mode():
        flat = _decoder(module)(codes.flatten(0, 1))
    images = flat.reshape(*codes.shape[:2], *flat.shape[1:])
    labels = [two_lines(f"{slider['name']} {slider['carries']}") for slider in sliders]
    faded = [not slider["active"] for slider in sliders]
    return image_grid(images.numpy(), labels, faded=faded, width=_WIDTH)


def reconstruction_figure(module: Objective, data: DataModule) -> Figure:
    """The first test images of the explorer above their reconstructions, in a column's width.

    Args:
        module: The objective in evaluation mode, which reconstructs or generates from true factors.
        data: The prepared data module that provides test images.
    """
    states = draw_points(data, "test", MOST_ORDERED, 0)[:_RECONSTRUCTED]
    with torch.inference_mode():
        images = data.images(torch.from_numpy(states).to(module.device)).float()
        if lacks(module, "render"):
            decoded = module.reconstruct(images)
        else:
            positions = torch.from_numpy(data.factors.positions(states))
            decoded = module.render(positions.to(module.device))
        rows = torch.stack((images, decoded.float())).cpu()
    return image_grid(rows.numpy(), ("image", "reconstruction"), width=_WIDTH)


def _decoder(module: Objective) -> Callable[[Float[Tensor, "image latent"]], Tensor]:
    def decode(codes: Float[Tensor, "image latent"]) -> Tensor:
        batches = torch.split(codes.float().to(module.device), _BATCH)
        return torch.cat([module.decode(batch).float().cpu() for batch in batches])

    return decode


def _digits(value: float) -> str:
    """A number with a typographic minus sign."""
    return f"{value:.3g}".replace("-", "−")


def _stepped(slider: Record) -> Record:
    """The slider restricted to a few discrete values."""
    if "values" in slider:
        return slider
    values = np.linspace(slider["low"], slider["high"], STRIP_STEPS).round(_DIGITS).tolist()
    fixed = {key: entry for key, entry in slider.items() if key not in ("low", "high")}
    return {**fixed, "values": values, "labels": [_digits(value) for value in values]}


def _strips(explorer: Record, decode: Callable[[Tensor], Tensor]) -> Record:
    """One picture: for every start, its own image, then one for each value of each slider."""
    codes = []
    for start in explorer["starts"]:
        code = torch.tensor(start["code"])
        codes.append(code)
        for slider in explorer["sliders"]:
            moved = code.repeat(len(slider["values"]), 1)
            moved[:, slider["latent"]] = torch.tensor(slider["values"]).to(moved)
            codes.extend(moved)
    return atlas(decode(torch.stack(codes)))


def _of_factors(module: Objective, data: DataModule, states: Indices) -> Record:
    """Sliders of a method that generates from true factors."""
    space = data.factors
    sliders: list[Record] = []
    for index, factor in enumerate(space.factors):
        if len(factor) == 1 or len(sliders) == STRIP_SLIDERS:
            continue
        steps = min(len(factor), STRIP_STEPS)
        positions = np.linspace(0, len(factor) - 1, steps).round().astype(int).tolist()
        values = [factor.values[position] for position in positions]
        sliders.append(
            {
                "latent": index,
                "name": factor.name,
                "carries": "",
                "detail": f"{len(factor)} values",
                "active": True,
                "values": positions,
                "labels": [value if isinstance(value, str) else _digits(value) for value in values],
            }
        )
    positions = torch.from_numpy(space.positions(states))
    explorer: Record = {
        "shape": list(data.image_shape),
        "sliders": sliders,
        "starts": _starts(module, data, states, positions.double()),
        "reason": f"{type(module).__name__} draws from true factors",
    }

    def render(factors: Tensor) -> Tensor:
        batches = torch.split(factors.long().to(module.device), _BATCH)
        return torch.cat([module.render(batch).float().cpu() for batch in batches])

    return {**explorer, "strips": _strips(explorer, render)}
