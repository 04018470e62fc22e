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


def test_errors_by_lead_of_a_zone_and_its_entities(learned):
    times = learned.service.world.times
    learned.service.weather(320, 420)
    learned.service.send(320, 400)
    learned.service.catch_up()
    answer = learned.get("/v1/signals/leads", zone="north")
    by_lead = {each["lead"]: each for each in answer["leads"]}
    assert list(by_lead) == [3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600]
    span = {"entity": "e0", "start": text(int(times[310])), "end": text(int(times[390]))}
    own = learned.get("/v1/signals", **span)["leads"]
    assert own == next(each["leads"] for each in answer["entities"] if each["entity"] == "e0")
    assert len({each["rmse"] for each in own}) == 1  # "clear" does not use the last readings
    assert all(each["n"] > 24 and 0 <= each["coverage"] <= 1 for each in own)
    rmse = [
        [each["rmse"] for each in one["leads"] if each["lead"] == 3600]
        for one in answer["entities"]
    ]
    assert min(rmse)[0] <= by_lead[3600]["rmse"] <= max(rmse)[0]
    refused = learned.ask("GET", "/v1/signals/leads?zone=nowhere")
    assert (refused.status_code, "nowhere" in refused.text) == (404, True)
