"""Checks that any continual-learning approach must pass, as `check_estimator` for estimators.

Each takes a strategy, runs it on a small stream that drifts, and raises an `AssertionError` with a
sentence that says what is wrong. The strategy given is copied first and never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from clearwatt.clear.instance import Instance
from clearwatt.strategies import STRATEGIES, Strategy
from clearwatt.testing.comparison import first_difference, first_mismatch
from clearwatt.testing.effect import check_effect_on_training
from clearwatt.testing.past import check_history_access, check_memory_bound
from clearwatt.testing.scenario import SHORT, observe, scenario, start

_CUTS = (SHORT // 3, SHORT // 2)


def check_strategy(strategy: Strategy) -> None:
    """Run every check; the first that does not hold raises an `AssertionError`."""
    for check in STRATEGY_CHECKS:
        check(strategy)


def check_seeded_repeatability(strategy: Strategy) -> None:
    """The same seed and the same stream give the same instance, to the last bit."""
    first, second = (observe(start(deepcopy(strategy))) for _ in range(2))
    difference = first_difference(first, second)
    assert difference is None, (
        f"{_name(strategy)} does not repeat: two runs with one seed differ in {difference}; "
        "draw every random number from the rng it is handed"
    )


def check_save_and_resume(strategy: Strategy) -> None:
    """Saved, loaded and continued equals never stopped, to the last bit."""
    uninterrupted = start(deepcopy(strategy))
    resumed: list[Instance] = []
    for first, last in pairwise((0, *_CUTS, SHORT)):
        if first:
            resumed.append(_reloaded(uninterrupted, strategy))
        for instance in (uninterrupted, *resumed):
            observe(instance, first, last)
    for cut, instance in zip(_CUTS, resumed, strict=True):
        difference = first_difference(uninterrupted, instance)
        assert difference is None, (
            f"{_name(strategy)} does not resume: saved after {cut} samples and continued, "
            f"{difference} differs from never having stopped; keep everything in its State"
        )


def check_one_by_one_equals_blocks(strategy: Strategy) -> None:
    """Samples handed in singly or in one block give the same instance, to the last bit."""
    singly = start(deepcopy(strategy))
    at_once = observe(deepcopy(singly))
    difference = first_difference(observe(singly, block=1), at_once)
    assert difference is None, (
        f"{_name(strategy)} depends on how the stream is cut: one by one and in one block differ "
        f"in {difference}; do not change in place what an update is handed"
    )


def check_stacked_equals_single(strategy: Strategy) -> None:
    """An entity that is trained with others fares as it does alone, up to float rounding."""
    alone = observe(start(deepcopy(strategy), [1]))
    stacked = observe(start(deepcopy(strategy), [1, 0, 2]))
    mismatch = first_mismatch(alone, stacked, scenario().x)
    assert mismatch is None, (
        f"{_name(strategy)} mixes entities: {mismatch} of an entity differ when it runs beside "
        "others; keep nothing outside the State of each component"
    )


STRATEGY_CHECKS: tuple[Callable[[Strategy], None], ...] = (
    check_seeded_repeatability,
    check_effect_on_training,
    check_history_access,
    check_memory_bound,
    check_save_and_resume,
    check_one_by_one_equals_blocks,
    check_stacked_equals_single,
)
"""Every check, in the order in which `check_strategy` runs them: later ones build on earlier."""


def _reloaded(instance: Instance, strategy: Strategy) -> Instance:
    """Through a folder and back; a strategy of the user's own comes fresh, without memories."""
    own = None if type(strategy) in STRATEGIES.values() else deepcopy(strategy)
    with TemporaryDirectory() as folder:
        instance.save(Path(folder))
        return Instance.load(Path(folder), strategy=own)


def _name(strategy: Strategy) -> str:
    return type(strategy).__name__
