"""Every conformance check holds for both stores, and every check can fail."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from clearwatt import testing
from clearwatt.service.records import Receipt, StoredSeries
from clearwatt.service.store import open_store
from clearwatt.service.store.sqlite import SqliteStore

CHECKS = {check.__name__: check for check in testing.STORE_CHECKS}


@pytest.mark.parametrize("check", CHECKS.values(), ids=list(CHECKS))
def test_a_store_conforms(address, check):
    check(partial(open_store, address))


# A check, the method of a real store that is spoilt, and how what it gives is changed.
SPOILT: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("check_registration", "add_zone", lambda found: True),
    ("check_idempotence", "add_readings", lambda found: Receipt(sum(found), 0, 0)),
    ("check_corrections", "events", lambda found: [replace(e, message="7.125") for e in found]),
    ("check_journal", "journal", lambda found: found[::-1]),
    ("check_weather", "weather", lambda found: found[::-1]),
    ("check_commit", "version", lambda found: found and replace(found, status="deployed")),
    ("check_all_or_nothing", "events", lambda found: [*found, "half an outcome"]),
    ("check_events", "events", lambda found: sorted(found, key=lambda event: event.seq)),
    ("check_span", "span", lambda found: found and (found[0], found[1] + 900)),
    ("check_latest", "latest", lambda found: {n: (t + 900, v) for n, (t, v) in found.items()}),
    ("check_vintages", "vintages", lambda found: found[:1]),
    ("check_tokens", "tokens", lambda found: []),
    ("check_priors", "priors", lambda found: found[::-1]),
    ("check_removal", "removed_entities", lambda found: []),
    ("check_cluster", "renew_zones", lambda found: {}),
    ("check_concurrent_writers", "journal", lambda found: found[1:]),
    ("check_killed_writer", "readings", lambda found: StoredSeries(*(part[:-1] for part in found))),
    ("check_exclusive", "exclusive", lambda found: nullcontext()),
]


@pytest.mark.parametrize(("check", "method", "spoil"), SPOILT, ids=[row[0] for row in SPOILT])
def test_a_spoilt_store_fails_its_check(check, method, spoil, tmp_path, monkeypatch):
    whole = getattr(SqliteStore, method)
    monkeypatch.setattr(SqliteStore, method, lambda *a, **named: spoil(whole(*a, **named)))
    with pytest.raises(AssertionError):
        CHECKS[check](partial(open_store, tmp_path / "clearwatt.db"))


def test_check_store_stops_at_the_first_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(SqliteStore, "add_zone", lambda store, zone: False)
    with pytest.raises(AssertionError, match="a new zone is not new"):
        testing.check_store(partial(open_store, tmp_path / "clearwatt.db"))


def test_every_check_has_a_store_that_fails_it():
    assert [check for check, *_ in SPOILT] == list(CHECKS)
