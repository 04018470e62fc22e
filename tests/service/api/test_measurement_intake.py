"""A batch is taken whole or item by item, and what is not taken is named with the reason."""

import json

import numpy as np
import pytest
from tests.service.application import NOW, STEP, Web, reading

from clearwatt.service.times import text

DAY = 86_400


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.register("a", "b")
    yield made
    made.close()


def stored(web, entity, start=NOW - DAY, end=NOW + DAY):
    answer = web.get("/v1/measurements", entity=entity, start=text(start), end=text(end))
    return dict(zip(answer["times"], answer["values"], strict=True))


def counts(receipt):
    return receipt["new"], receipt["duplicates"], receipt["corrections"]


def test_items_and_columns_say_the_same(web):
    items = [reading("a", NOW, 1.5), reading("a", NOW - STEP, None), reading("b", NOW, -2)]
    assert counts(web.post("/v1/measurements", {"measurements": items})) == (3, 0, 0)
    columns = [
        {"entity": "a", "times": [text(NOW), text(NOW - STEP)], "values": [1.5, None]},
        {"entity": "b", "times": [text(NOW)], "values": [-2.0]},
    ]
    assert counts(web.post("/v1/measurements", {"series": columns})) == (0, 3, 0)
    assert stored(web, "a") == {text(NOW - STEP): None, text(NOW): 1.5}
    assert stored(web, "b") == {text(NOW): -2.0}


def test_the_same_again_changes_nothing_and_another_value_is_a_logged_correction(web):
    web.post("/v1/measurements", {"measurements": [reading("a", NOW, 1.0)]})
    receipt = web.post("/v1/measurements", {"measurements": [reading("a", NOW, 2.0)]})
    assert counts(receipt) == (0, 0, 1)
    assert stored(web, "a") == {text(NOW): 2.0}
    (event,) = web.get("/v1/events", kind="correction")["events"]
    assert event["entity"] == "a"


def test_a_batch_wakes_the_learner_only_if_it_brings_something(web):
    web.post("/v1/measurements", {"measurements": []})
    assert web.learner.woken == 0
    web.post("/v1/measurements", {"measurements": [reading("a", NOW)]})
    assert web.learner.woken == 1


BAD = {
    "an entity nobody knows": (reading("stranger", NOW), "register it at POST /v1/entities"),
    "no time zone": ({**reading("a", NOW), "time": "2024-06-01T00:00:00"}, "no time zone"),
    "seconds since 1970": ({**reading("a", NOW), "time": NOW}, "is a number"),
    "between two steps": (reading("a", NOW + 500), f"nearest step is {text(NOW + STEP)}"),
    "a fraction of a second": ({**reading("a", NOW), "time": "2024-06-01T00:00:00.5Z"}, "fraction"),
    "before 1990": (reading("a", NOW - 40 * 365 * DAY), "before 1990"),
    "the far future": (reading("a", NOW + 2 * DAY), "more than a day in the future"),
    "text for a number": (reading("a", NOW, "1.0"), "value"),
    "a truth for a number": (reading("a", NOW, True), "value"),
    "not a number": (reading("a", NOW, float("nan")), "NaN"),
    "infinite": (reading("a", NOW, float("-inf")), "infinities"),
    "absurdly large": (reading("a", NOW, 1e300), "value"),
    "larger than any float": (reading("a", NOW, 10**400), "value"),
    "an unknown field": ({**reading("a", NOW), "colour": "red"}, "'colour' is unknown"),
    "a missing field": ({"entity": "a", "time": text(NOW)}, "value is missing"),
    "no object": ("a", "object"),
    "an id that is no text": ({**reading("a", NOW), "entity": ["a"]}, "text"),
    "a broken character": ({**reading("a", NOW), "entity": "\ud800"}, "unknown"),
}


def sent(content):
    """JSON as lenient writers write it: with NaN and infinities."""
    return {"content": json.dumps(content), "headers": {"Content-Type": "application/json"}}


@pytest.mark.parametrize("case", BAD)
def test_one_bad_item_refuses_the_batch_unless_it_may_be_skipped(web, case):
    bad, why = BAD[case]
    items = [reading("b", NOW, 1.0), bad, reading("b", NOW - STEP, 2.0)]
    message = web.refused(422, "POST", "/v1/measurements", **sent({"measurements": items}))
    assert "measurements.1" in message
    assert why in message
    assert stored(web, "b") == {}
    answer = web.ask(
        "POST", "/v1/measurements", **sent({"measurements": items, "on_error": "skip"})
    )
    assert counts(answer.json()) == (2, 0, 0)
    (rejected,) = answer.json()["rejected"]
    assert rejected["where"] == "measurements.1"
    assert why in rejected["reason"]
    assert len(stored(web, "b")) == 2


def test_in_columns_single_readings_are_skipped_and_named(web):
    series = [
        {"entity": "a", "times": [text(NOW), text(NOW + 1)], "values": [1.0, 2.0]},
        {"entity": "b", "times": [text(NOW)], "values": [1.0, 2.0]},
        {"entity": "b", "times": "now", "values": []},
        {"entity": "b", "times": [text(NOW), text(NOW - STEP)], "values": [None, "x"]},
    ]
    answer = web.post("/v1/measurements", {"series": series, "on_error": "skip"})
    assert {each["where"] for each in answer["rejected"]} == {
        "series.0.1",
        "series.1",
        "series.2",
        "series.3.1",
    }
    assert counts(answer) == (2, 0, 0)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"measurements": [], "series": []},
        {"measurements": [], "on_error": "ignore"},
        {"measurements": [], "extra": 1},
        {"measurements": {}},
        [],
        None,
    ],
)
def test_what_is_no_batch_is_refused(web, content):
    web.refused(422, "POST", "/v1/measurements", json=content)


def test_a_batch_has_a_bound_in_either_form(web):
    times = [text(NOW)] * 30_000
    column = {"entity": "a", "times": times, "values": [1.0] * 30_000}
    answer = web.refused(422, "POST", "/v1/measurements", json={"series": [column, column]})
    assert "50000" in answer
    web.refused(422, "POST", "/v1/measurements", json={"measurements": [None] * 50_001})


def test_many_bad_items_are_counted_and_the_first_hundred_named(web):
    items = [reading("stranger", NOW)] * 500
    answer = web.ask("POST", "/v1/measurements", json={"measurements": items})
    error = answer.json()["error"]
    assert error["message"].startswith("500 of 500")
    assert len(error["details"]) == 100


def test_entities_registered_by_another_process_are_found(web):
    from clearwatt.service.records import RegisteredEntity

    web.get("/v1/entities/a")
    web.store.add_entities([RegisteredEntity("late", "north", "consumer")])
    web.app.state.context.registry.refresh()
    assert counts(web.post("/v1/measurements", {"measurements": [reading("late", NOW)]})) == (
        1,
        0,
        0,
    )


def test_entities_of_zones_with_different_clocks_share_a_batch(web):
    web.register("hourly", zone="south", step=3600)
    items = [reading("hourly", NOW), reading("a", NOW - STEP), reading("hourly", NOW - STEP)]
    answer = web.post("/v1/measurements", {"measurements": items, "on_error": "skip"})
    assert counts(answer) == (2, 0, 0)
    assert "3600" in answer["rejected"][0]["reason"]
    assert np.array_equal(sorted(web.store.heads().values()), [1, 1])


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:01Z", "1969-12-31T23:59:59Z"]
)
def test_a_time_at_the_end_of_the_calendar_is_skipped_and_the_others_are_taken(web, time):
    items = [reading("a", NOW), {"entity": "b", "time": time, "value": 1.0}]
    receipt = web.post("/v1/measurements", {"measurements": items, "on_error": "skip"})
    assert counts(receipt) == (1, 0, 0)
    (rejected,) = receipt["rejected"]
    assert rejected["where"] == "measurements.1"
    assert time in rejected["reason"]
