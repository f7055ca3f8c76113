"""Scores of images generated from descriptions."""

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
    """The attribute of each factor of each image; −1 if no reference describes the factor.

    It is the attribute of the nearest reference image, by squared distance of pixels, among those
    whose description names the factor.

    Args:
        image: Images to classify, pixels in [0, 1].
        reference: Described images, likewise.
        symbol: Their descriptions, k-hot.
        factor: Number of the factor that each attribute belongs to.
    """
    count = int(factor.max()) + 1
    read = torch.full((len(image), count), -1, dtype=torch.int64)
    for index in range(count):
        attributes = torch.where(factor == index)[0]
        mentions = symbol[:, attributes]
        telling = mentions.any(1)
        if not telling.any():
            continue
        labels = attributes[mentions[telling].argmax(1)]
        examples = reference[telling].flatten(1)
        for start in range(0, len(image), _CHUNK):
            rows = slice(start, start + _CHUNK)
            read[rows, index] = labels[torch.cdist(image[rows].flatten(1), examples).argmin(1)]
    return read


def concept_accuracy(
    read: Int[Tensor, "image factor"],
    concept: Float[Tensor, " symbol"],
    factor: Int[Tensor, " symbol"],
) -> float:
    """Fraction of a concept's named attributes that its images show.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, appendix: accuracy.

    Args:
        read: Attributes in images of the concept, from `read_attributes`.
        concept: Which attributes the concept names, 0 or 1.
        factor: Number of the factor that each attribute belongs to.
    """
    attributes = torch.where(concept > 0)[0]
    return (read[:, factor[attributes]] == attributes).double().mean().item()


def concept_diversity(
    read: Int[Tensor, "image factor"],
    concept: Float[Tensor, " symbol"],
    factor: Int[Tensor, " symbol"],
) -> float:
    """KL divergence in nats of the unnamed factors' attributes from a uniform one; lower is better.

    For each factor that the concept does not name, KL(found attributes ‖ uniform distribution),
    averaged over these factors; NaN if there are none. For n images and a factor with v attributes,
    the KL divergence is about (v − 1)/2n even if all attributes are equally likely.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, appendix: diversity.

    Args:
        read: Attributes in images of the concept, from `read_attributes`.
        concept: Which attributes the concept names, 0 or 1.
        factor: Number of the factor that each attribute belongs to.
    """
    fixed = set(factor[concept > 0].tolist())
    divergences = []
    for index in range(read.shape[1]):
        attributes = torch.where(factor == index)[0]
        seen = read[:, index]
        if index in fixed or not (seen >= 0).any():
            continue
        share = (seen[seen >= 0, None] == attributes).double().mean(0)
        divergences.append(
            math.log(len(attributes)) + torch.special.xlogy(share, share).sum().item()
        )
    return sum(divergences) / len(divergences) if divergences else math.nan
