"""Whoever asks for a forecast gets quantiles, and can see how well they held."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.service.application import Web
from tests.service.journals import STEP, World
from tests.service.learner.apply.test_zone_learning import played

from clearwatt.intervals import LEVELS
from clearwatt.service.times import text
from clearwatt.service.views.gauges import StatusGauges


@pytest.fixture(scope="module")
def world():
    return World.of(700)


@pytest.fixture(scope="module")
def web(tmp_path_factory, world):
    folder = tmp_path_factory.mktemp("intervals") / "a"
    service = played(folder, world)
    made = Web(folder, store=service.store, files=service.files)
    yield made
    made.close()


def forecast(web, world, **query):
    start = int(world.times[len(world.power)])
    span = {"start": text(start), "end": text(start + 30 * STEP)}
    return web.ask("GET", "/v1/forecasts", params={"entity": "e0", **span, **query})


def answer(web, world, **query):
    answered = forecast(web, world, **query)
    assert answered.status_code == 200, answered.text
    return answered.json()["forecasts"][0]


def test_the_usual_quantiles_come_unasked(web, world):
    said = answer(web, world)
    assert said["levels"] == list(LEVELS)
    assert [len(each) for each in said["quantiles"]] == [30] * 7
    for time, source in enumerate(said["sources"]):
        column = [each[time] for each in said["quantiles"]]
        assert column == sorted(column) if source == "model" else column == [None] * 7
    assert "model" in said["sources"]


def test_other_quantiles_or_none_can_be_asked_for(web, world):
    said = answer(web, world, level=[0.2, 0.8])
    assert said["levels"] == [0.2, 0.8]
    assert len(said["quantiles"]) == 2
    without = answer(web, world, intervals=False)
    assert (without["levels"], without["quantiles"]) == ([], [])
    assert without["values"] == said["values"]


@pytest.mark.parametrize("levels", [[0.0], [1.5], [0.9, 0.1], [0.5, 0.5], ["nan"]])
def test_levels_that_make_no_sense_are_refused(web, world, levels):
    answered = forecast(web, world, level=levels)
    assert answered.status_code == 422
    assert "level" in answered.text


def test_the_coverage_of_intervals_is_reported(web):
    interval = web.ask("GET", "/v1/entities/e0").json()["interval"]
    assert interval["n_week"] == 7 * 24
    assert 0.5 < interval["coverage_week"] <= 1
    families = text_string_to_metric_families(StatusGauges(web.app.state.context.store).text())
    found = {family.name: family for family in families}
    (coverage,) = [
        sample.value
        for sample in found["clearwatt_interval_coverage_ratio"].samples
        if sample.labels["entity"] == "e0"
    ]
    assert coverage == pytest.approx(interval["coverage_week"])
    page = web.ask("GET", "/entities/e0").text
    assert f"contained {100 * coverage:.0f} % of the last week's readings" in page
