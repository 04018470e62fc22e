"""Forecasts are refreshed soon after readings, but not more often than told."""

import math
import time

from clearwatt.service.learner.refresh import Refresh


class Readings:
    """A zone whose journal is applied up to entry 5."""

    position = 5
    refresh_interval = 60.0

    def find_latest(self) -> bytes | None:
        return b"new"


def test_the_first_refresh_is_due_at_once_and_the_next_after_the_interval():
    sent = []
    refresh, readings = Refresh("town", lambda *message: sent.append(message)), Readings()
    assert refresh.next_due(readings, 5) == math.inf
    refresh.request()
    assert refresh.next_due(readings, 5) <= time.monotonic()
    refresh.run(readings)
    assert sent == [("town", b"new")]
    assert refresh.next_due(readings, 5) == math.inf
    refresh.request()
    assert 30 < refresh.next_due(readings, 5) - time.monotonic() <= 60


def test_a_backlog_is_waited_for_but_not_forever():
    refresh, readings = Refresh("town", lambda *message: None), Readings()
    refresh.request()
    refresh.request()
    assert 30 < refresh.next_due(readings, 6) - time.monotonic() <= 60
    assert refresh.next_due(readings, 5) <= time.monotonic()
