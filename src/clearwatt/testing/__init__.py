"""Conformance checks for strategies, forecasters, executors and stores, also your own.

>>> from clearwatt.strategies import OnlineEWC
>>> from clearwatt.testing import check_strategy
>>> check_strategy(OnlineEWC())
"""

from clearwatt.testing.effect import check_effect_on_training
from clearwatt.testing.executors import check_executor
from clearwatt.testing.forecasters import FORECASTER_CHECKS, check_forecaster
from clearwatt.testing.past import check_history_access, check_memory_bound
from clearwatt.testing.store import (
    STORE_CHECKS,
    check_all_or_nothing,
    check_commit,
    check_corrections,
    check_events,
    check_idempotence,
    check_journal,
    check_latest,
    check_priors,
    check_registration,
    check_span,
    check_store,
    check_tokens,
    check_vintages,
    check_weather,
)
from clearwatt.testing.strategies import (
    STRATEGY_CHECKS,
    check_one_by_one_equals_blocks,
    check_save_and_resume,
    check_seeded_repeatability,
    check_stacked_equals_single,
    check_strategy,
)
from clearwatt.testing.writers import (
    check_concurrent_writers,
    check_exclusive,
    check_killed_writer,
)

__all__ = [
    "FORECASTER_CHECKS",
    "STORE_CHECKS",
    "STRATEGY_CHECKS",
    "check_all_or_nothing",
    "check_commit",
    "check_concurrent_writers",
    "check_corrections",
    "check_effect_on_training",
    "check_events",
    "check_exclusive",
    "check_executor",
    "check_forecaster",
    "check_history_access",
    "check_idempotence",
    "check_journal",
    "check_killed_writer",
    "check_latest",
    "check_memory_bound",
    "check_one_by_one_equals_blocks",
    "check_priors",
    "check_registration",
    "check_save_and_resume",
    "check_seeded_repeatability",
    "check_span",
    "check_stacked_equals_single",
    "check_store",
    "check_strategy",
    "check_tokens",
    "check_vintages",
    "check_weather",
]
