"""A sampler of searches: Optuna's tree-structured Parzen estimator."""

import warnings
from collections.abc import Mapping, Sequence
from typing import final

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from dislab.study.samplers import Number, Range, Sampler, Trial


@final
class OptunaSampler(Sampler):
    """Proposes points by Optuna's tree-structured Parzen estimator."""

    def propose(
        self, ranges: Mapping[str, Range], trials: Sequence[Trial], maximize: bool, seed: int
    ) -> dict[str, Number]:
        """Tells Optuna all trials, and asks for the next one."""
        space = {name: _distribution(limits) for name, limits in ranges.items()}
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the constant liar is experimental in some releases
            sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
            study = optuna.create_study(
                direction="maximize" if maximize else "minimize", sampler=sampler
            )
            for trial in trials:
                state = TrialState.COMPLETE if trial.value is not None else TrialState.FAIL
                state = state if trial.has_ended else TrialState.RUNNING
                study.add_trial(
                    optuna.trial.create_trial(
                        state=state, value=trial.value, params=trial.point, distributions=space
                    )
                )
            return dict(study.ask(space).params)


def _distribution(limits: Range) -> BaseDistribution:
    if limits.whole:
        return IntDistribution(int(limits.low), int(limits.high), log=limits.log)
    return FloatDistribution(limits.low, limits.high, log=limits.log)
