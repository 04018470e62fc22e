"""Readings and forecasts over time."""

import pytest

from clearwatt.service.times import text


def test_signals_show_readings_beside_forecasts_in_as_many_points_as_wanted(learned):
    times = learned.service.world.times
    learned.service.weather(320, 420)
    learned.service.send(320, 400)
    learned.service.catch_up()
    span = {"entity": "e0", "start": text(int(times[310])), "end": text(int(times[390]))}
    whole = learned.get("/v1/signals", **span)
    assert len(whole["times"]) == 80
    both = [k for k, said in enumerate(whole["forecast"]) if said is not None]
    assert len(both) > 60
    for k in both:
        error = abs(whole["forecast"][k] - whole["measured"][k])
        assert whole["error"][k] == pytest.approx(error)
    assert whole["threshold"] > 0
    thin = learned.get("/v1/signals", **span, points=10)
    assert len(thin["times"]) == 10
    mean = sum(whole["measured"][:8]) / 8
    assert thin["measured"][0] == pytest.approx(mean)
