"""Transfer scores of a model on a data module, and their record in a run folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from lightning.pytorch.plugins import Precision
from torch import Tensor

from dislab import plots, runs
from dislab.base import DataModule, Objective, PredictorBuilder, is_vector
from dislab.base.inference import evaluating, images_of, lacks
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_choice, check_count
from dislab.runs.baselines import Baseline, baselines, untrained
from dislab.runs.codes import encoded
from dislab.transfer.array_scores import Scenarios
from dislab.transfer.choices import Choices, builders, built_predictor
from dislab.transfer.domain import Domain
from dislab.transfer.images import Sizes, check_sizes
from dislab.transfer.predictor_errors import score_scenarios
from dislab.transfer.scenario import Scenario, load_scenarios
from dislab.transfer.shifts import Shifts, shifts_of
from dislab.transfer.table import Transfer

TransferBaseline = Literal["untrained", "pixels", "pca"]
"""Baseline codes for the same predictors."""


def transfer_of(
    model: Objective,
    data: DataModule,
    scenarios: Scenarios,
    predictors: "Choices" = None,
    labels: int = 10_000,
    tested: int = 5_000,
    batch_size: int = 256,
    seed: int = 0,
    baselines: Sequence[TransferBaseline] = (),
    precision: Precision | None = None,
) -> Transfer:
    """Errors of predictors on a model's codes under the distribution shifts of scenarios.

    The scenarios draw images of the data, the model encodes each image once on its device, and
    the predictors of all scenarios are trained on these codes. Nothing is written.

        >>> from dislab.datamodules import SingleData
        >>> from dislab.datasets import GaussianBlob
        >>> from dislab.decoders import MLPDecoder
        >>> from dislab.encoders import MLPEncoder
        >>> from dislab.objectives import VAE
        >>> from dislab.regularizers import KL
        >>> from dislab.transfer import Scenario, transfer_of
        >>> data = SingleData(GaussianBlob(places=16))
        >>> model = VAE(data.image_shape, data.train_size, 2, MLPEncoder, MLPDecoder, {"kl": KL})
        >>> near, far = {"posX": {"max": 0.5}}, {"posX": {"min": 0.5}}
        >>> left = Scenario("left", near, far, shifted=("posX",))
        >>> found = transfer_of(model, data, [left], "Ridge")
        >>> sorted(found.values)
        ['left/Ridge', 'left/Ridge/in_distribution', 'left/chance', 'left/chance/in_distribution']

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, section 4.

    Args:
        model: A trained model, such as `dislab.runs.load_run` returns.
        data: The data that it was trained on; their splits define which images it has seen.
        scenarios: Names of shipped scenarios, paths of YAML files, or scenarios.
        predictors: Class names of plugins, classes, partials of classes, or a dictionary of any
            of these by names of your own; boosted trees and an MLP unless given.
        labels: Number of training images of a predictor; fewer if not available.
        tested: Number of test images of each distribution; fewer if not available.
        batch_size: Number of images encoded at a time.
        seed: Seed of the draw of images, and of random predictors without a seed of their own.
        baselines: Other codes to train the same predictors on: those of a copy of the model with
            fresh weights, grey pixels, or principal components.
        precision: Precision plugin of a Lightning trainer; full precision unless given.

    Raises:
        InputError: The model has no codes, the data do not fit a scenario, or a scenario, a
            predictor or a number cannot be used.
    """
    sizes = Sizes(labels, tested, seed)
    check_sizes(sizes)
    check_count("batch_size", batch_size, 1)
    for name in baselines:
        check_choice("baselines", name, get_args(TransferBaseline))
    if not model.has_codes:
        raise InputError(f"{type(model).__name__} has no codes, which transfer scores need")
    chosen = builders(predictors, seed)
    check_predictors(chosen)
    data.prepare_data()
    shifts = shifts_of(data, load_scenarios(scenarios), sizes)
    return compared(model, shifts, chosen, batch_size, baselines, precision or Precision())


def score_run(
    folder: Path,
    stage: runs.ScoreStage,
    model: Objective,
    data: DataModule,
    scenarios: Sequence[Scenario],
    predictors: Mapping[str, PredictorBuilder],
    sizes: Sizes,
    batch_size: int,
    reconstructions: int,
    baselines: Sequence[TransferBaseline],
    precision: Precision,
    checkpoint: str | Path | None,
) -> tuple[Transfer, Path]:
    """Scores prepared data like `transfer_of`; writes record and pictures into a run folder."""
    shifts = shifts_of(data, scenarios, sizes)
    transfer = compared(model, shifts, predictors, batch_size, baselines, precision)
    path = runs.write_scores(folder, stage, record_of(model, data, transfer, checkpoint))
    plot_reconstructions(folder, model, shifts, reconstructions, precision)
    return transfer, path


def check_predictors(predictors: Mapping[str, PredictorBuilder]) -> None:
    """Rejects invalid settings of predictors before encoding images."""
    for build in predictors.values():
        built_predictor(build, latents=1, classes=(0,))


def compared(
    model: Objective,
    shifts: Shifts,
    predictors: Mapping[str, PredictorBuilder],
    batch_size: int,
    others: Sequence[TransferBaseline],
    precision: Precision,
) -> Transfer:
    """Scores of the model, together with those of the baselines."""
    # a trainer's test loop disables autograd, which predictors need for fitting
    with torch.inference_mode(False), torch.enable_grad():
        transfers = {
            name: _scored(encoder, shifts, predictors, batch_size, precision)
            for name, encoder in _models(model, shifts, others, batch_size, precision).items()
        }
    result = transfers.pop("")
    for name, transfer in transfers.items():
        result = result.beside(transfer, name)
    return result


def record_of(
    model: Objective, data: DataModule, transfer: Transfer, checkpoint: str | Path | None
) -> runs.Record:
    """Contents for `scores.json`: scores, and where they come from."""
    return {**transfer.record(), **runs.origin(model, data, checkpoint)}


def plot_reconstructions(
    folder: Path, model: Objective, shifts: Shifts, count: int, precision: Precision
) -> None:
    """Draws images of both distributions of each scenario above their reconstructions.

    Draws nothing for a model without reconstructions, nor for vectors, nor for images that are
    neither grey nor RGB.
    """
    unable = lacks(model, "encode") or lacks(model, "decode")
    if not count or (unable and lacks(model, "reconstruct")):
        return
    shape = shifts.data.image_shape
    if is_vector(shape) or shape[0] not in (1, 3):
        return
    for scenario_images in shifts.images:
        columns = min(count, len(scenario_images.held_back), len(scenario_images.test))
        rows = [
            *_reconstructed(shifts.data, model, scenario_images.held_back[:columns], precision),
            *_reconstructed(
                shifts.tested(scenario_images), model, scenario_images.test[:columns], precision
            ),
        ]
        labels = ("as in training", "reconstruction", "shifted", "reconstruction")
        title = f"{scenario_images.scenario.name} after {int(model.steps):,} steps"
        figure = plots.image_grid(torch.stack(rows).numpy(), labels, title=title)
        plots.save(figure, folder / "images" / f"transfer_{scenario_images.scenario.name}.png")


def _models(
    model: Objective,
    shifts: Shifts,
    chosen: Sequence[TransferBaseline],
    batch_size: int,
    precision: Precision,
) -> dict[str, Objective]:
    """The model, under an empty name, and the baselines by name."""
    plain: list[Baseline] = [baseline for baseline in chosen if baseline != "untrained"]
    train = shifts.images[0].train
    models = {"": model}
    if "untrained" in chosen:
        models["untrained"] = untrained(model, 1, shifts.sizes.seed)[1][0]
    return models | baselines(plain, shifts.data, model, train, batch_size, precision)


def _scored(
    model: Objective,
    shifts: Shifts,
    predictors: Mapping[str, PredictorBuilder],
    batch_size: int,
    precision: Precision,
) -> Transfer:
    """Scores of one model; each image is encoded once."""
    needed = [states for images in shifts.images for states in (images.train, images.held_back)]
    needed += [images.test for images in shifts.images if shifts.tested(images) is shifts.data]
    union = np.unique(np.concatenate(needed))
    bank = _encoded(shifts.data, model, union, batch_size, precision)
    domains, rows = {}, []
    for images in shifts.images:
        test = np.searchsorted(union, images.test)
        if (data := shifts.others.get(images.scenario.name)) is not None:
            domains[images.scenario.name] = _encoded(
                data, model, images.test, batch_size, precision
            )
            test = np.arange(len(images.test))
        train, held_back = (
            np.searchsorted(union, images.train),
            np.searchsorted(union, images.held_back),
        )
        rows.append(images._replace(train=train, held_back=held_back, test=test))
    return score_scenarios(bank, rows, predictors, domains, shifts.sizes)[0]


def _encoded(
    data: DataModule, model: Objective, states: Indices, batch_size: int, precision: Precision
) -> Domain:
    images = encoded(data, model, states, batch_size, precision, with_kl=False)
    # predictors that train on a device find their codes there
    codes = torch.from_numpy(images.codes).to(model.device)
    return Domain(codes, images.factors, data.factors, images.values).checked()


def _reconstructed(
    data: DataModule, model: Objective, states: Indices, precision: Precision
) -> tuple[Tensor, Tensor]:
    with evaluating(model, precision):
        image = images_of(data, model, states, precision)
        return image.float().cpu(), model.reconstruct(image).float().cpu()
