"""A strategy gets no more of the past than it declares."""

from dataclasses import dataclass

import pytest

from clearwatt import testing
from clearwatt.strategies import (
    Objective,
    RecentReplay,
    Update,
)


def test_a_recent_strategy_may_not_ask_for_everything() -> None:
    @dataclass(frozen=True)
    class AsksForAll(RecentReplay):
        def objective(self, update: Update) -> Objective:
            return Objective(update.past.everything())

    with pytest.raises(AssertionError, match=r"'recent' but touched past\.everything"):
        testing.check_history_access(AsksForAll())
