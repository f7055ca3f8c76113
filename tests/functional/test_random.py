import numpy as np
import pytest
import torch

from dislab.functional.random import (
    device_generator,
    hashed,
    host_generator,
    mix,
    random_bytes,
    short_seed,
)

MASK = 2**64 - 1


def test_draws_depend_on_seed_and_every_counter_alone() -> None:
    keys = {
        mix(seed, step, stream) for seed in range(8) for step in range(8) for stream in range(8)
    }
    assert len(keys) == 512
    assert mix(1, 2) != mix(2, 1)
    assert mix(3, 4) == mix(3, 4)
    assert 0 <= mix(2**63 - 1, 2**40) < 2**63


def test_short_seeds_are_seeds_that_fit_into_32_bits() -> None:
    assert [short_seed(seed) for seed in (0, 7, 2**32 - 1)] == [0, 7, 2**32 - 1]
    others = [short_seed(seed) for seed in (-1, -2, 2**32, 2**40, 2**63)]
    assert len(set(others)) == 5
    assert all(0 <= seed < 2**32 for seed in others)


def test_equal_counters_give_equal_numbers_and_others_do_not() -> None:
    first = host_generator(0, 5).integers(1000, size=50)
    assert np.array_equal(first, host_generator(0, 5).integers(1000, size=50))
    assert not np.array_equal(first, host_generator(0, 6).integers(1000, size=50))
    cpu = torch.device("cpu")
    noise = torch.randn(50, generator=device_generator(cpu, 0, 5))
    assert torch.equal(noise, torch.randn(50, generator=device_generator(cpu, 0, 5)))
    assert not torch.equal(noise, torch.randn(50, generator=device_generator(cpu, 1, 5)))


def test_neighbouring_steps_are_uncorrelated() -> None:
    rows = np.stack([host_generator(0, step).standard_normal(2000) for step in range(30)])
    correlations = np.triu(np.asarray(np.corrcoef(rows)), 1)
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


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
