import math

import pytest
import torch

from dislab.codes.concepts import concept_accuracy, concept_diversity, read_attributes

FACTOR = torch.tensor([0, 0, 1, 1, 1])


def test_attributes_are_those_of_the_nearest_image_that_tells() -> None:
    level = torch.tensor([0.0, 0.1, 0.5, 0.9])
    reference = level[:, None, None, None].expand(4, 1, 2, 2)
    symbol = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]])
    image = torch.tensor([0.12, 0.6])[:, None, None, None].expand(2, 1, 2, 2)
    assert read_attributes(image, reference, symbol, FACTOR).tolist() == [[0, 3], [1, 4]]
    silent = symbol.clone()
    silent[:, 2:] = 0
    assert read_attributes(image, reference, silent, FACTOR)[:, 1].tolist() == [-1, -1]


def test_accuracy_counts_what_was_named() -> None:
    read = torch.tensor([[0, 2], [1, 2], [0, 3], [0, 2]])
    assert concept_accuracy(read, torch.tensor([1.0, 0, 0, 0, 0]), FACTOR) == 0.75
    both = torch.tensor([1.0, 0, 1, 0, 0])
    assert concept_accuracy(read, both, FACTOR) == pytest.approx(6 / 8)


def test_diversity_is_a_divergence_from_flat() -> None:
    concept = torch.tensor([1.0, 0, 0, 0, 0])
    flat = torch.tensor([[0, 2], [0, 3], [0, 4]])
    assert concept_diversity(flat, concept, FACTOR) == pytest.approx(0.0, abs=1e-12)
    single = torch.tensor([[0, 2]] * 3)
    assert concept_diversity(single, concept, FACTOR) == pytest.approx(math.log(3))
    uneven = torch.tensor([[0, 2], [0, 2], [0, 3], [0, 4]])
    by_hand = 0.5 * math.log(0.5 * 3) + 0.5 * math.log(0.25 * 3)
    assert concept_diversity(uneven, concept, FACTOR) == pytest.approx(by_hand)
    assert math.isnan(concept_diversity(flat, torch.tensor([1.0, 0, 1, 0, 0]), FACTOR))
