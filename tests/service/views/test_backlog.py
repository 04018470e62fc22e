"""What was sent and not learned yet, and where a forecast begins meanwhile."""

import numpy as np
import pytest
from tests.service.application import NOW, STEP, Web

from clearwatt.service.records import READING, Outcome
from clearwatt.service.status import ZoneStatus
from clearwatt.service.times import text

DAY = 86_400
PAST = NOW - 30 * DAY


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.register("a", "b", "c")
    yield made
    made.close()


def send(web, entity, *times):
    readings = np.zeros(len(times), READING)
    readings["entity"] = web.app.state.context.registry.entity(entity).number
    readings["time"], readings["value"] = times, 1.0
    web.store.add_readings(readings, at=web.now)


def learn(web, *, until):
    head = web.store.heads()["north"]
    web.store.commit(Outcome(ZoneStatus("north", head, 1, watermark=until)))


def forecast(web):
    return web.get("/v1/forecasts", entity="a")


def test_a_forecast_begins_after_the_newest_reading_sent_and_says_what_is_not_learned(web):
    send(web, "a", *range(PAST, PAST + DAY, STEP))
    learn(web, until=PAST + DAY - STEP)
    assert forecast(web)["forecasts"][0]["times"][0] == text(PAST + DAY)
    assert forecast(web)["behind"] == []
    send(web, "a", *range(PAST + DAY, PAST + 3 * DAY, STEP))
    found = forecast(web)
    assert found["forecasts"][0]["times"][0] == text(PAST + 3 * DAY)
    assert found["behind"] == [
        {
            "zone": "north",
            "entries": 1,
            "sent_until": text(PAST + 3 * DAY - STEP),
            "learned_until": text(PAST + DAY - STEP),
        }
    ]


def test_before_anything_is_learned(web):
    send(web, "a", *range(PAST, PAST + DAY, STEP))
    found = forecast(web)
    assert found["forecasts"][0]["times"][0] == text(PAST + DAY)
    assert found["behind"][0]["learned_until"] is None


def test_a_learner_that_is_minutes_behind_is_not_mentioned(web):
    send(web, "a", *range(PAST, PAST + DAY, STEP))
    learn(web, until=PAST + DAY - STEP)
    send(web, "a", PAST + DAY)
    assert forecast(web)["behind"] == []


def test_a_single_reading_dated_ahead_does_not_move_the_start(web):
    for entity in ("a", "b", "c"):
        send(web, entity, *range(PAST, PAST + DAY, STEP))
    send(web, "c", NOW)
    assert forecast(web)["forecasts"][0]["times"][0] == text(PAST + DAY)


def test_readings_of_this_week_mean_that_now_is_now(web):
    send(web, "a", PAST, NOW - DAY)
    assert forecast(web)["forecasts"][0]["times"][0] == text(NOW)
