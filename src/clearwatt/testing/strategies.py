"""Checks that any strategy must pass, like scikit-learn's `check_estimator`.

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
    """Run all checks; the first that fails raises AssertionError."""
    for check in STRATEGY_CHECKS:
        check(strategy)


def check_seeded_repeatability(strategy: Strategy) -> None:
    """Check that the same seed and stream give the same instance, to the last bit."""
    first, second = (observe(start(deepcopy(strategy))) for _ in range(2))
    difference = first_difference(first, second)
    assert difference is None, (
        f"{_name(strategy)} does not repeat: two runs with one seed differ in {difference}; "
        "draw every random number from the rng it is handed"
    )


def check_save_and_resume(strategy: Strategy) -> None:
    """Check that saving, loading and continuing equals not stopping, to the last bit."""
    uninterrupted = start(deepcopy(strategy))
    resumed: list[Instance] = []
    for first, last in pairwise((0, *_CUTS, SHORT)):
        if first:
            resumed.append(_save_and_load(uninterrupted, strategy))
        for instance in (uninterrupted, *resumed):
            observe(instance, first, last)
    for cut, instance in zip(_CUTS, resumed, strict=True):
        difference = first_difference(uninterrupted, instance)
        assert difference is None, (
            f"{_name(strategy)} does not resume: saved after {cut} samples and continued, "
            f"{difference} differs from never having stopped; keep everything in its State"
        )


def check_one_by_one_equals_blocks(strategy: Strategy) -> None:
    """Check that single samples and one block give the same instance, to the last bit."""
    singly = start(deepcopy(strategy))
    at_once = observe(deepcopy(singly))
    difference = first_difference(observe(singly, block=1), at_once)
    assert difference is None, (
        f"{_name(strategy)} depends on how the stream is cut: one by one and in one block differ "
        f"in {difference}; do not change in place what an update is handed"
    )


def check_stacked_equals_single(strategy: Strategy) -> None:
    """Check that training an entity with others or alone is equal up to float rounding."""
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
"""All checks in the order of `check_strategy`; later ones build on earlier ones."""


def _save_and_load(instance: Instance, strategy: Strategy) -> Instance:
    """Save and load an instance; a user's own strategy is passed again as a new object."""
    own = None if type(strategy) in STRATEGIES.values() else deepcopy(strategy)
    with TemporaryDirectory() as folder:
        instance.save(Path(folder))
        return Instance.load(Path(folder), strategy=own)


def _name(strategy: Strategy) -> str:
    return type(strategy).__name__
