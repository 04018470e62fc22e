"""The first visitor finds everything prepared, and a store that is away stops nothing."""

import pytest
from tests.service.application import Web

from clearwatt.service.dashboard.preparation import prepare
from clearwatt.service.store import StoreUnavailableError


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.register("a", "b")
    yield made
    made.close()


def test_the_first_page_reads_no_status(web, monkeypatch):
    prepare(web.app.state.context)

    def read(zones=None):
        raise AssertionError(f"the statuses of {zones} are read again")

    monkeypatch.setattr(web.store, "statuses", read)
    assert web.ask("GET", "/").text.count("data-entity=") == 2


def test_a_store_that_is_away_is_for_visitors_to_hear_of(web, monkeypatch, caplog):
    def away():
        raise StoreUnavailableError("the database does not answer")

    monkeypatch.setattr(web.store, "positions", away)
    prepare(web.app.state.context)
    assert "fleet not read" in caplog.text
    assert web.ask("GET", "/").status_code == 503
