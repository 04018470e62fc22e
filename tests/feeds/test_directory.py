from contextlib import closing

import pytest

from clearwatt.errors import DataError
from clearwatt.feeds import directory
from clearwatt.feeds.directory import EntityDirectory
from clearwatt.feeds.stopping import StopRequest
from clearwatt.service.client import Client


def test_a_running_feed_forgets_a_deleted_entity(web, url, monkeypatch):
    with closing(Client(url)) as client:
        known = EntityDirectory(client, StopRequest())
        assert known.find("park", "north").unit == "kW"
        assert web.ask("DELETE", "/v1/entities/park").status_code < 300
        known.expire()
        assert known.find("park", "north").id == "park"  # fresh enough
        monkeypatch.setattr(directory, "FRESH", 0.0)
        known.expire()
        with pytest.raises(DataError, match="'park' is not registered"):
            known.find("park", "north")
        assert known.find("mill", "north").id == "mill"
        assert known.last_known("park").unit == "kW"
