"""The checks of the database go on, whatever happens to one of them."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from clearwatt.service.integrity import IntegrityCheck
from clearwatt.service.store import StoreUnavailableError, open_store

DEADLINE = 60.0


@pytest.mark.parametrize("error", [StoreUnavailableError("no answer"), ValueError("a defect")])
def test_a_check_that_fails_is_logged_and_the_next_one_runs(tmp_path, monkeypatch, caplog, error):
    errors, checked = [error], threading.Event()
    with closing(open_store(tmp_path / "clearwatt.db")) as store:
        find = store.find_damage

        def fail_once(*, rows):
            if errors:
                raise errors.pop()
            found = find(rows=rows)
            checked.set()
            return found

        monkeypatch.setattr(store, "find_damage", fail_once)
        with IntegrityCheck(store, interval=0.01):
            assert checked.wait(DEADLINE), "there was no second check"
    (record,) = [each for each in caplog.records if each.message == "database not checked"]
    assert record.reason == str(error)
