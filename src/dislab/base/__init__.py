"""The contracts: the abstract class of each plugin group, batch types and builder aliases.

`Objective` and `DataModule` are imported on first use, so that encoders, regularisers and scores do
not need Lightning.
"""

from typing import TYPE_CHECKING

from dislab.base.dataset import Dataset
from dislab.base.metric import Metric, MetricBuilder, Sample
from dislab.base.parts import (
    Decoder,
    DecoderBuilder,
    Draws,
    Encoder,
    EncoderBuilder,
    ImageShape,
    Penalty,
    Posterior,
    Regularizer,
    RegularizerBuilder,
    is_vector,
    make_decoder,
    make_encoder,
)
from dislab.base.predictor import Predictor, PredictorBuilder

if TYPE_CHECKING:
    from dislab.base.datamodule import (
        ClampedBatch,
        CompositionBatch,
        DataModule,
        ImageBatch,
        LabelledImages,
        PairBatch,
        Split,
        SymbolBatch,
        TransitionBatch,
        fields_of,
        offered,
    )
    from dislab.base.objective import Objective, Terms

__all__ = [
    "ClampedBatch",
    "CompositionBatch",
    "DataModule",
    "Dataset",
    "Decoder",
    "DecoderBuilder",
    "Draws",
    "Encoder",
    "EncoderBuilder",
    "ImageBatch",
    "ImageShape",
    "LabelledImages",
    "Metric",
    "MetricBuilder",
    "Objective",
    "PairBatch",
    "Penalty",
    "Posterior",
    "Predictor",
    "PredictorBuilder",
    "Regularizer",
    "RegularizerBuilder",
    "Sample",
    "Split",
    "SymbolBatch",
    "Terms",
    "TransitionBatch",
    "fields_of",
    "is_vector",
    "make_decoder",
    "make_encoder",
    "offered",
]

_ON_DEMAND = {
    "ClampedBatch": "datamodule",
    "CompositionBatch": "datamodule",
    "DataModule": "datamodule",
    "ImageBatch": "datamodule",
    "LabelledImages": "datamodule",
    "PairBatch": "datamodule",
    "Split": "datamodule",
    "SymbolBatch": "datamodule",
    "TransitionBatch": "datamodule",
    "fields_of": "datamodule",
    "offered": "datamodule",
    "Objective": "objective",
    "Terms": "objective",
}


def __getattr__(name: str) -> object:
    """Imports the classes that need Lightning on first use."""
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_ON_DEMAND[name]}"), name)
    globals()[name] = value  # later uses do not come here
    return value


def __dir__() -> list[str]:
    return [*__all__]
