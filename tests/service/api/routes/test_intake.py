"""Incoming weather and readings."""

from tests.service.application import reading
from tests.service.plant import DAY, NOW

from clearwatt.service.store import StoreFullError
from clearwatt.service.times import text


def test_new_weather_counts_at_once(planted):
    span = {"entity": "e0", "start": text(NOW), "end": text(NOW + 3600)}
    before = planted.get("/v1/forecasts", **span)["forecasts"][0]
    times = [text(NOW + 3600 * hour) for hour in range(3)]
    issue = {
        "zone": "north",
        "issued_at": text(NOW + 60),
        "times": times,
        "values": {"sun": [800, 800, None], "wind": [19.0, 19.0, 19.0]},
    }
    assert planted.post("/v1/weather", issue)["new"] is True
    assert planted.post("/v1/weather", issue)["new"] is False
    after = planted.get("/v1/forecasts", **span)["forecasts"][0]
    assert after["weather"]["newest"] == text(NOW + 60)
    assert after["values"] != before["values"]


def test_the_newest_day_is_shown_where_no_times_are_given(planted):
    items = [reading("e0", NOW - 900 * k, float(k)) for k in range(200)]
    planted.post("/v1/measurements", {"measurements": items})
    answer = planted.get("/v1/measurements", entity="e0")
    assert (answer["times"][-1], len(answer["times"])) == (text(NOW), 96)
    # Data of the past that are being replayed: now is where the replay is.
    planted.now += 400 * DAY
    (forecast,) = planted.get("/v1/forecasts", entity="e0")["forecasts"]
    assert forecast["times"][0] == text(NOW + 900)


def test_a_full_disk_stops_what_comes_in_and_not_what_goes_out(planted, monkeypatch):
    def full(*_, **__):
        raise StoreFullError("the disk is full; free space and send it again")

    monkeypatch.setattr(planted.store, "add_readings", full)
    monkeypatch.setattr(planted.store, "add_vintages", full)
    batch = {"measurements": [reading("e0", NOW)]}
    assert "free space" in planted.refused(507, "POST", "/v1/measurements", json=batch)
    assert planted.get("/v1/forecasts", entity="e0")["forecasts"][0]["fallback"] is False


def test_a_deletion_during_a_request_refuses_only_the_readings_of_that_entity(planted):
    batch = {"measurements": [reading("e0", NOW), reading("e1", NOW)], "on_error": "skip"}
    planted.post("/v1/measurements", batch)
    (deleted,) = (each for each in planted.store.entities() if each.id == "e1")
    planted.store.remove_entity(deleted, actor="Ada", at=1.0)  # the cache still has it
    batch["measurements"] = [reading("e0", NOW - 900), reading("e1", NOW - 900)]
    answer = planted.post("/v1/measurements", batch)
    assert answer["new"] == 1
    assert [each["where"] for each in answer["rejected"]] == ["measurements.1"]
    assert "'e1' is unknown" in answer["rejected"][0]["reason"]
