"""Proposals of Optuna."""

import math
import statistics

from dislab.study.samplers import Range, Sampler, Trial, load_sampler
from dislab_optuna import OptunaSampler

LIMITS = Range(0.01, 100.0, log=True)


def drawn(sampler: Sampler, limits: Range, count: int) -> list[float]:
    return [limits.nearest(sampler.propose({"a": limits}, [], True, n)["a"]) for n in range(count)]


def distance(value: float) -> float:
    return abs(math.log10(value) - 1)


def trials() -> list[Trial]:
    """Trials whose values have their minimum at 10, one that failed and one that still trains."""
    ended = drawn(load_sampler("random"), LIMITS, 25)
    return [
        *(Trial({"a": value}, distance(value), True) for value in ended),
        Trial({"a": 0.5}, None, True),
        Trial({"a": 0.6}, None, False),
    ]


def test_a_study_file_finds_the_sampler_by_name() -> None:
    assert isinstance(load_sampler("optuna"), OptunaSampler)


def test_ranges_are_searched_evenly() -> None:
    """The median of many first proposals is the middle; whole numbers are equally frequent."""
    logarithmic = drawn(OptunaSampler(), LIMITS, 300)
    assert abs(math.log10(statistics.median(logarithmic))) < 0.4
    assert min(logarithmic) < 0.03
    assert max(logarithmic) > 30
    assert abs(statistics.median(drawn(OptunaSampler(), Range(-1.0, 3.0), 300)) - 1) < 0.4
    integers = drawn(OptunaSampler(), Range(1.0, 3.0, whole=True), 300)
    assert all(isinstance(value, int) for value in integers)
    assert all(70 < integers.count(value) < 130 for value in (1, 2, 3))


def test_equal_arguments_give_equal_proposals() -> None:
    """So a search that was killed goes on with the same points."""
    for seed in (0, 3):
        first, again = (
            OptunaSampler().propose({"a": LIMITS}, trials(), True, seed) for _ in range(2)
        )
        assert first == again


def test_proposals_are_near_good_trials() -> None:
    """After results, proposals lie closer to the optimum than those without, in both directions."""
    first = drawn(load_sampler("random"), LIMITS, 25)
    mean = statistics.mean(map(distance, first))
    for maximize in (False, True):
        told = [
            trial._replace(value=trial.value and (-trial.value if maximize else trial.value))
            for trial in trials()
        ]
        proposals = [
            OptunaSampler().propose({"a": LIMITS}, told, maximize, n)["a"] for n in range(25)
        ]
        assert statistics.mean(map(distance, proposals)) < 0.6 * mean
