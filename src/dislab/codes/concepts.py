"""Scores of images that were drawn from descriptions."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

_CHUNK = 256


def read_attributes(
    image: Float[Tensor, "image channel height width"],
    reference: Float[Tensor, "reference channel height width"],
    symbol: Float[Tensor, "reference symbol"],
    factor: Int[Tensor, " symbol"],
) -> Int[Tensor, "image factor"]:
    """The attribute of each factor of each image, −1 where no reference describes the factor.

    It is that of the nearest described image, by squared distance of pixels, among those whose
    description names the factor.

    Args:
        image: Images to read, pixels in [0, 1].
        reference: Described images, likewise.
        symbol: Their descriptions, k-hot.
        factor: Number of the factor that each attribute belongs to.
    """
    count = int(factor.max()) + 1
    read = torch.full((len(image), count), -1, dtype=torch.int64)
    for number in range(count):
        own = torch.where(factor == number)[0]
        named = symbol[:, own]
        telling = named.any(1)
        if not telling.any():
            continue
        labels = own[named[telling].argmax(1)]
        known = reference[telling].flatten(1)
        for start in range(0, len(image), _CHUNK):
            rows = slice(start, start + _CHUNK)
            read[rows, number] = labels[torch.cdist(image[rows].flatten(1), known).argmin(1)]
    return read


def concept_accuracy(
    read: Int[Tensor, "image factor"],
    concept: Float[Tensor, " symbol"],
    factor: Int[Tensor, " symbol"],
) -> float:
    """Fraction of the named attributes that are found in images of a concept.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, appendix: accuracy.

    Args:
        read: Attributes in images of the concept, from `read_attributes`.
        concept: Which attributes the concept names, 0 or 1.
        factor: Number of the factor that each attribute belongs to.
    """
    named = torch.where(concept > 0)[0]
    return (read[:, factor[named]] == named).double().mean().item()


def concept_diversity(
    read: Int[Tensor, "image factor"],
    concept: Float[Tensor, " symbol"],
    factor: Int[Tensor, " symbol"],
) -> float:
    """KL in nats of the open attributes of a concept from a flat distribution; lower is better.

    For each factor that the concept does not name, KL(found attributes ‖ all attributes equally
    often), averaged over these factors; not a number if there is none. Of n images of a factor of v
    attributes the KL is about (v − 1)/2n even where all are equally likely.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, appendix: diversity.

    Args:
        read: Attributes in images of the concept, from `read_attributes`.
        concept: Which attributes the concept names, 0 or 1.
        factor: Number of the factor that each attribute belongs to.
    """
    named = set(factor[concept > 0].tolist())
    found = []
    for number in range(read.shape[1]):
        own = torch.where(factor == number)[0]
        seen = read[:, number]
        if number in named or not (seen >= 0).any():
            continue
        share = (seen[seen >= 0, None] == own).double().mean(0)
        found.append(math.log(len(own)) + torch.special.xlogy(share, share).sum().item())
    return sum(found) / len(found) if found else math.nan
