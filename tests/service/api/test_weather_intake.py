"""A weather forecast has every variable of its zone at sensible times, or is refused."""

import numpy as np
import pytest
from tests.service.application import NOW, Web

from clearwatt.service.times import text

DAY = 86_400


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path)
    made.register("a")
    yield made
    made.close()


def issue(**changes):
    return {
        "zone": "north",
        "issued_at": text(NOW),
        "times": [text(NOW), text(NOW + 3600)],
        "values": {"sun": [1.0, 2.0], "wind": [3.0, None]},
        **changes,
    }


def test_values_are_kept_in_the_order_of_the_zones_variables(web):
    assert web.post("/v1/weather", issue())["times"] == 2
    (kept,) = web.store.weather("north", start=NOW, end=NOW + DAY)
    np.testing.assert_array_equal(kept.values, [[3.0, 1.0], [np.nan, 2.0]])
    assert kept.times.tolist() == [NOW, NOW + 3600]
    assert web.learner.woken == 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"values": {"sun": [1.0, 2.0]}}, "'wind' is missing"),
        ({"values": {"sun": [1, 2], "wind": [1, 2], "fog": [1, 2]}}, "'fog' is unknown"),
        ({"values": {"sun": [1.0, 2.0], "wind": [3.0]}}, "values.wind: 1 values for 2 times"),
        ({"values": {"sun": [1.0, "x"], "wind": [3.0, 4.0]}}, "values.sun.1"),
        ({"times": [text(NOW + 3600), text(NOW)]}, "times.1"),
        ({"times": [text(NOW), text(NOW)]}, "send each once"),
        ({"times": [text(NOW), text(NOW + 3601)]}, "whole minute"),
        ({"times": [text(NOW), text(NOW + 61 * DAY)]}, "60 days"),
        ({"times": [text(NOW), "2024-06-01T01:00:00"]}, "times.1"),
        ({"times": [text(NOW), NOW + 3600]}, "is a number"),
        ({"times": []}, "times"),
        ({"issued_at": text(NOW + 2 * DAY)}, "issued_at"),
        ({"issued_at": "1989-12-31T23:59:59Z"}, "1990"),
        ({"unit": "m/s"}, "unit"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(web, changes, why):
    assert why in web.refused(422, "POST", "/v1/weather", json=issue(**changes))
    assert web.store.heads().get("north", 0) == 0


def test_weather_of_a_zone_nobody_knows(web):
    web.refused(404, "POST", "/v1/weather", json=issue(zone="south"))
