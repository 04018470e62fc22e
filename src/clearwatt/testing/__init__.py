"""Conformance checks: what every approach and every executor must hold, whoever wrote it.

>>> from clearwatt.strategies import OnlineEWC
>>> from clearwatt.testing import check_strategy
>>> check_strategy(OnlineEWC())
"""

from clearwatt.testing.effect import check_effect_on_training
from clearwatt.testing.executors import check_executor
from clearwatt.testing.past import check_history_access, check_memory_bound
from clearwatt.testing.strategies import (
    STRATEGY_CHECKS,
    check_one_by_one_equals_blocks,
    check_save_and_resume,
    check_seeded_repeatability,
    check_stacked_equals_single,
    check_strategy,
)

__all__ = [
    "STRATEGY_CHECKS",
    "check_effect_on_training",
    "check_executor",
    "check_history_access",
    "check_memory_bound",
    "check_one_by_one_equals_blocks",
    "check_save_and_resume",
    "check_seeded_repeatability",
    "check_stacked_equals_single",
    "check_strategy",
]
