"""The next point to try: at random, along a grid, or where past trials say that it is promising.

The service's own default is Bayesian (Vizier, whose algorithm is not public). Here it is a tree-structured Parzen
estimator of the library optuna. Every choice follows from the seed, the trial's number and the trials before it.
"""

import hashlib
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Any

from overnight.vertex_local.tuning.space import Choice, Parameter, Range, Scale, Value, choose, points


class Algorithm(IntEnum):
    """StudySpec.Algorithm."""

    DEFAULT = 0
    GRID_SEARCH = 2
    RANDOM_SEARCH = 3


@dataclass(frozen=True)
class PastTrial:
    """A trial that was started before: its point, and its metrics once they are known."""

    number: int
    parameters: dict[str, Value]
    metrics: tuple[float, ...] | None = None
    """In the order of the study's metrics."""
    running: bool = False


def suggest(
    parameters: Sequence[Parameter],
    maximize: Sequence[bool],
    past: Sequence[PastTrial],
    *,
    number: int,
    seed: int,
    algorithm: Algorithm = Algorithm.DEFAULT,
) -> dict[str, Value] | None:
    """The point for trial `number` (from 1). `maximize` holds each metric's goal. None: the grid has no more points."""
    if algorithm is Algorithm.GRID_SEARCH:
        return next(islice(points(parameters), number - 1, None), None)
    if algorithm is Algorithm.RANDOM_SEARCH:
        return _at_random(parameters, _generator_seed(seed, number))
    return _promising(parameters, maximize, past, _generator_seed(seed, number))


def _generator_seed(seed: int, number: int) -> int:
    """A 32-bit seed for one trial, so that a trial's point does not depend on how many were drawn before it."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{number}".encode()).digest()[:4])


def _at_random(parameters: Sequence[Parameter], seed: int) -> dict[str, Value]:
    generator = random.Random(seed)

    def pick(_key: str, parameter: Parameter) -> Value:
        domain = parameter.domain
        if isinstance(domain, Choice):
            return generator.choice(domain.values)
        return _point(domain, parameter.scale, generator.random())

    return choose(parameters, pick)


def _point(domain: Range, scale: Scale, share: float) -> Value:
    """Where `share` (0 to 1) of the scaled range lies."""
    # Every whole number owns the half on each of its sides, so that the two ends are as likely as the others.
    margin = 0.5 if domain.whole else 0.0
    low, high = domain.low - margin, domain.high + margin
    value = low + share * (high - low)
    if scale is not Scale.LINEAR:
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    if scale is Scale.REVERSE_LOG:
        value = low + high - value
    bounded = min(max(value, domain.low), domain.high)
    return round(bounded) if domain.whole else bounded


def _promising(
    parameters: Sequence[Parameter], maximize: Sequence[bool], past: Sequence[PastTrial], seed: int
) -> dict[str, Value]:
    import optuna  # takes half a second: only where a study searches

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # The estimator says nothing before it has a few trials; trials that still run count as bad ones, so that
    # parallel trials do not all try the same place.
    sampler = optuna.samplers.TPESampler(
        seed=seed, n_startup_trials=min(10, 2 * len(parameters) + 1), constant_liar=True
    )
    study = optuna.create_study(sampler=sampler, directions=["maximize" if goal else "minimize" for goal in maximize])
    for trial in sorted(past, key=lambda trial: trial.number):
        study.add_trial(_as_optuna(optuna, parameters, trial))
    asked = study.ask()

    def pick(key: str, parameter: Parameter) -> Value:
        return _decoded(parameter, _ask(asked, key, _distribution(optuna, parameter)))

    return choose(parameters, pick)


def _ask(asked: Any, key: str, distribution: Any) -> Any:
    if hasattr(distribution, "choices"):
        return asked.suggest_categorical(key, distribution.choices)
    whole = isinstance(distribution.low, int)
    suggest_number = asked.suggest_int if whole else asked.suggest_float
    return suggest_number(key, distribution.low, distribution.high, log=distribution.log)


def _as_optuna(optuna: Any, parameters: Sequence[Parameter], trial: PastTrial) -> Any:
    encoded: dict[str, Any] = {}
    distributions: dict[str, Any] = {}

    def record(key: str, parameter: Parameter) -> Value:
        value = trial.parameters[parameter.id]
        encoded[key] = _encoded(parameter, value)
        distributions[key] = _distribution(optuna, parameter)
        return value

    choose(parameters, record)
    states = optuna.trial.TrialState
    state = states.RUNNING if trial.running else states.FAIL if trial.metrics is None else states.COMPLETE
    values = [float(value) for value in trial.metrics] if state is states.COMPLETE and trial.metrics else None
    return optuna.trial.create_trial(state=state, values=values, params=encoded, distributions=distributions)


def _distribution(optuna: Any, parameter: Parameter) -> Any:
    domain = parameter.domain
    if isinstance(domain, Choice):
        last = len(domain.values) - 1
        # Discrete values are searched by their rank, which keeps their order.
        ranks = optuna.distributions.IntDistribution(0, last)
        return ranks if domain.ordered else optuna.distributions.CategoricalDistribution(domain.values)
    kind = optuna.distributions.IntDistribution if domain.whole else optuna.distributions.FloatDistribution
    return kind(domain.low, domain.high, log=parameter.scale is not Scale.LINEAR)


def _encoded(parameter: Parameter, value: Value) -> Value:
    domain = parameter.domain
    if isinstance(domain, Choice):
        return domain.values.index(value) if domain.ordered else value
    if parameter.scale is Scale.REVERSE_LOG and not isinstance(value, str):
        return domain.low + domain.high - value
    return value


def _decoded(parameter: Parameter, value: Any) -> Value:
    domain = parameter.domain
    if isinstance(domain, Choice):
        chosen: Value = domain.values[value] if domain.ordered else value
        return chosen
    mirrored = domain.low + domain.high - value if parameter.scale is Scale.REVERSE_LOG else value
    return int(mirrored) if domain.whole else min(max(float(mirrored), domain.low), domain.high)
