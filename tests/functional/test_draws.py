import numpy as np
import torch

from dislab.functional.draws import device_generator, host_generator, mix, short_seed


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
