import pytest
import torch

from dislab.functional.counter_hash import hashed, random_bytes
from dislab.functional.draws import mix

MASK = 2**64 - 1


def split_mix(seed: int, count: int) -> list[int]:
    """The generator as it is published, with numbers of any size."""
    state, outputs = mix(seed), []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        outputs.append(z ^ (z >> 31))
    return outputs


@pytest.mark.parametrize("seed", [0, 1, 2**62])
def test_bits_are_those_of_the_published_generator(seed: int) -> None:
    found = [number & MASK for number in hashed(seed, torch.arange(100)).tolist()]
    assert found == split_mix(seed, 100)


def test_bytes_are_the_hash_from_its_lowest_on() -> None:
    number = split_mix(5, 8)[7]
    assert random_bytes(5, torch.tensor([7])).tolist() == [list(number.to_bytes(8, "little"))]


def test_a_counter_stands_alone() -> None:
    counters = torch.tensor([10**12, 3, 10**12])
    bits = hashed(0, counters)
    assert bits[0] == bits[2]
    assert torch.equal(bits[1:2], hashed(0, torch.tensor([3])))
    assert bits[1] != hashed(1, torch.tensor([3]))


def test_bytes_are_uniform_and_unrelated() -> None:
    sample = random_bytes(0, torch.arange(100_000))
    counts = torch.bincount(sample.flatten().long(), minlength=256).double()
    expected = sample.numel() / 256
    # chi-square with 255 degrees of freedom: 400 is more than six standard deviations out
    assert float(((counts - expected) ** 2 / expected).sum()) < 400
    correlation = torch.corrcoef(torch.cat((sample[:-1].T, sample[1:].T)).double())
    assert float((correlation - torch.eye(16)).abs().max()) < 0.02


@pytest.mark.gpu
def test_a_device_gives_the_same_bytes() -> None:
    counters = torch.arange(10_000) * 987_654_321
    assert torch.equal(random_bytes(3, counters.cuda()).cpu(), random_bytes(3, counters))
