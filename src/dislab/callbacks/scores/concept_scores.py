"""Scores of images that a method generates from descriptions."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, final

import lightning.pytorch as pl
import torch
from torch import Tensor
from tqdm import tqdm

from dislab import runs
from dislab.base import DataModule, Objective, Split, SymbolBatch
from dislab.base.inference import evaluating
from dislab.callbacks._trainer import objective_of
from dislab.callbacks.scores._score_callback import ScoreCallback, Scored, Stages
from dislab.callbacks.scores._trials import Trial, can_draw, trials
from dislab.codes.concepts import concept_accuracy, concept_diversity, read_attributes
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator
from dislab.functional.streams import Stream
from dislab.functional.symbols import factor_of_each
from dislab.naming.settings import checks_settings

_NAMES: Final = ("accuracy", "diversity")


class _Described(NamedTuple):
    image: Tensor
    symbol: Tensor


_MOST: Final = 100_000
"""Maximum number of concepts, of images per concept and of references; bounds the memory."""


@checks_settings
@final
class ConceptScores(ScoreCallback):
    """Accuracy and diversity of images generated from descriptions, after `validate` and `test`.

    Concepts are the descriptions of the stage's images; for `test`, those that a data module holds
    out. The method's `sym2img` generates some images of each concept, and each factor is read off
    the nearest image of the validation split whose description names the factor. Accuracy is the
    fraction of named attributes that are found; diversity is the KL of the attributes that the
    concept leaves unspecified from the uniform distribution, in nats, so that *lower is more
    diverse*. `scores.json` gets both under `validate_concepts` or `test_concepts`, as means and for
    each concept. Nothing is scored during training. A method without `sym2img` is rejected, unless
    it has `recombined_images`: then each concept is formed by each operator that can make it from
    two others, and the means are also given for each operator, as `accuracy/and`.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, appendix. Departure: attributes are
    read off the nearest image in pixels, where the paper trains a classifier; this is unreliable
    with few references or many factors, so `reader_accuracy` gives its accuracy on images of the
    stage itself.

    Args:
        concepts: Maximum number of concepts to score, drawn at random.
        images: Number of images to generate per concept.
        references: Number of images of the validation split that attributes are read from.
        seed: Seed of the choice of concepts and of the noise.

    Raises:
        InputError: A number is not positive.
    """

    stages: ClassVar[Stages] = {"validate": "validate_concepts", "test": "test_concepts"}

    def __init__(
        self, concepts: int = 50, images: int = 100, references: int = 5_000, seed: int = 0
    ) -> None:
        numbers = (("concepts", concepts), ("images", images), ("references", references))
        for name, value in numbers:
            check_count(name, value, 1, most=_MOST)
        self.concepts = concepts
        self.images = images
        self.references = references
        self.seed = seed

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Checks that the method generates images from descriptions.

        Raises:
            InputError: It does not.
        """
        module = objective_of(pl_module, "ConceptScores")
        if not can_draw(module):
            raise InputError(
                f"ConceptScores needs a method that draws images from symbols, such as SCAN, and "
                f"{type(module).__name__} has no sym2img; leave the callback out"
            )

    def applies(self, trainer: pl.Trainer, module: Objective) -> bool:
        """Always true: `setup` rejects methods that cannot generate images."""
        return True

    def score(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path
    ) -> Scored:
        """Accuracy and diversity of each concept and of all."""
        record = self._record(trainer, data, module)
        scores = record["scores"]
        text = (
            f"concepts: accuracy {scores['accuracy']:.4f}  diversity "
            f"{scores['diversity']:.4f} nats (lower is more diverse)"
        )
        return Scored(record, {}, text)

    def _record(self, trainer: pl.Trainer, data: DataModule, module: Objective) -> dict[str, Any]:
        stage = trainer.state.fn
        names = _symbol_names(data)
        factor = torch.tensor(factor_of_each(names))
        references = _described(data, module, data.val_dataloader(), self.references, "validation")
        examples = references
        if stage == "test":
            examples = _described(data, module, data.test_dataloader(), self.references, "test")
        concepts = torch.unique(examples.symbol, dim=0)
        chosen = host_generator(self.seed).permutation(len(concepts))[: self.concepts]
        parts: dict[str, dict[str, dict[str, float]]] = {}
        concept_trials = trials(module, concepts[chosen], references.symbol, factor, self.seed)
        for trial in tqdm(concept_trials, desc="concepts", leave=False, disable=None):
            read = read_attributes(self._images(trainer, module, trial), *references, factor)
            attributes = [names[i] for i in torch.where(trial.concept > 0)[0].tolist()]
            part = parts.setdefault(trial.operator, {})
            part[", ".join(attributes)] = {
                "accuracy": concept_accuracy(read, trial.concept, factor),
                "diversity": concept_diversity(read, trial.concept, factor),
            }
        means = _means(parts)
        reader = math.nan if stage != "test" else _reader_accuracy(references, examples, factor)
        return {
            "scores": {**means, "reader_accuracy": reader},
            "concepts": parts.get("", parts),
            "draw": {"images": self.images, "references": len(references.image), "seed": self.seed},
            "steps": int(module.steps),
            **runs.origin(module, data, trainer.ckpt_path),
        }

    def _images(self, trainer: pl.Trainer, module: Objective, trial: Trial) -> Tensor:
        stream = Stream(self.seed, device=module.device).of("concepts")
        draws = module.draw(self.images, stream)
        with evaluating(module, trainer.precision_plugin):
            return trial.draw(self.images, draws).float().cpu()


def _symbol_names(data: DataModule) -> tuple[str, ...]:
    names: tuple[str, ...] | None = getattr(data, "symbol_names", None)
    if names is None:
        raise InputError(
            f"ConceptScores needs symbol_names from the data, which {type(data).__name__} does not "
            "offer; choose a data module of symbols, such as SymbolData"
        )
    return names


def _described(
    data: DataModule, module: Objective, loader: Iterable[Any], count: int, split: Split
) -> _Described:
    """The first images of a loader with their descriptions, on the CPU."""
    images, symbols, total = [], [], 0
    for raw in loader:
        moved = data.transfer_batch_to_device(raw, module.device, 0)
        batch: SymbolBatch = data.on_after_batch_transfer(moved, 0)
        images.append(batch.image.float().cpu())
        symbols.append(batch.symbol.float().cpu())
        total += len(batch.image)
        if total >= count:
            break
    if not images:
        raise InputError(
            f"ConceptScores needs images of the {split} split, which is empty; raise {split} "
            "in the data module"
        )
    return _Described(torch.cat(images)[:count], torch.cat(symbols)[:count])


def _reader_accuracy(references: _Described, examples: _Described, factor: Tensor) -> float:
    """Share of the attributes named in the images' descriptions that are read correctly."""
    read = read_attributes(examples.image[:1000], *references, factor)
    rows, attributes = torch.where(examples.symbol[:1000] > 0)
    return (read[rows, factor[attributes]] == attributes).double().mean().item()


def _means(parts: dict[str, dict[str, dict[str, float]]]) -> dict[str, float]:
    """The mean of each score over all concepts, and over the concepts of each operator."""
    means = {}
    for name in _NAMES:
        by_operator = {
            key: [scores[name] for scores in part.values()] for key, part in parts.items()
        }
        means[name] = _mean([value for values in by_operator.values() for value in values])
        means |= {f"{name}/{key}": _mean(values) for key, values in by_operator.items() if key}
    return means


def _mean(values: list[float]) -> float:
    counted = [value for value in values if not math.isnan(value)]
    return sum(counted) / len(counted) if counted else math.nan
