"""Two versions compared on two weeks and on the next day, for both forecasters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.service.journals import SETTINGS, STEP, Service, World

from clearwatt.service.forecasting.coverage import find_inputs
from clearwatt.service.forecasting.forecasts import ForecastService
from clearwatt.service.forecasting.library import Versions
from clearwatt.service.views.evidence import WINDOW, Evidence, VersionPair, find_evidence, next_day
from clearwatt.service.views.versions_in_service import versions_before, with_version

ADAPTIVE: dict[str, Any] = {
    "forecaster": "adaptive",
    "memory": 400,
    "novelty_days": 1.0,
    "lateness": 6 * STEP,
}
CLEAR = {**SETTINGS, "epochs": 20}
HISTORY, HOURS = 300, 900


class Learned:
    """A zone that has updated its models after a drift, and what forecasts with them."""

    def __init__(self, folder: Any, base: dict[str, Any]) -> None:
        self.service = Service(folder, World.of(hours=HOURS, base=base))
        self.service.history(HISTORY)
        self.service.weather(HISTORY, HOURS + 48)
        self.service.send(HISTORY, HOURS)
        self.service.catch_up()
        self.forecaster = ForecastService(self.service.store, self.service.files)
        self.entity, self.zone = self.service.entities[0], self.service.world.zone
        self.moment = int(self.service.world.times[HOURS])

    @property
    def current(self) -> Versions:
        found = self.forecaster.deployed("north").versions("e0")
        assert found is not None
        return found

    def served(self, times: Any) -> Any:
        """What the deployed models say, before it is clipped to its band."""
        deployed, store = self.forecaster.deployed("north"), self.service.store
        lead = deployed.lead_in(int(times[0]) // STEP)
        whole = np.arange(times[0] - lead * STEP, times[-1] + 1, STEP)
        issues = store.weather("north", start=int(whole[0]), end=int(whole[-1]) + 1)
        x = find_inputs(self.zone, deployed.scaling, issues, whole).x
        scaled = deployed.forecasts.forecast(x, whole // STEP, ["e0"]).power[0, lead:]
        return scaled * deployed.scaling.power["e0"]

    def evidence(self, pair: VersionPair) -> Evidence:
        return find_evidence(
            self.service.store,
            self.forecaster,
            pair,
            entity=self.entity,
            zone=self.zone,
            moment=self.moment,
        )


@pytest.fixture(scope="module", params=[CLEAR, ADAPTIVE], ids=["clear", "adaptive"])
def learned(request, tmp_path_factory):
    made = Learned(tmp_path_factory.mktemp("zone"), request.param)
    yield made
    made.forecaster.close()


def test_the_new_model_is_better_on_the_two_weeks_and_says_something_else_of_tomorrow(learned):
    old = with_version(learned.current, "predictor:e0:0")
    assert old != learned.current
    found = learned.evidence(VersionPair(old, learned.current))
    assert found.missing is None
    assert found.past.n == WINDOW // STEP
    assert found.past.after.mae < found.past.before.mae
    assert found.past.after.rmse >= found.past.after.mae
    assert len(found.day.times) == 24
    assert found.day.times[0] == learned.moment // 86_400 * 86_400 + 86_400 * (
        learned.moment % 86_400 > 0
    )
    time, largest = found.day.largest
    assert abs(largest) == np.abs(found.day.differences).max() > 0
    assert time in found.day.times
    assert np.isnan(found.day.measured).all()


def test_what_it_says_of_tomorrow_is_what_the_service_forecasts(learned):
    same = learned.evidence(VersionPair(learned.current, learned.current))
    served = learned.served(same.day.times)
    np.testing.assert_allclose(same.day.before, served, rtol=1e-4)
    assert same.day.differences.tolist() == [0.0] * 24
    assert same.past.before == same.past.after


def test_a_version_that_cannot_be_read_leaves_a_reason(learned):
    unknown = with_version(learned.current, "predictor:e0:999")
    found = learned.evidence(VersionPair(learned.current, unknown))
    assert found.past is None and found.day is None
    assert "predictor:e0:999 is not known" in found.missing


def test_a_refused_training_still_says_when_the_old_model_was_wrong(learned):
    found = learned.evidence(VersionPair(learned.current, None))
    assert found.past.before.mae > 0
    assert found.past.after is None and found.day is None


def test_the_versions_before_an_event(learned):
    changes = learned.service.store.events(entity="e0", shared=True, kinds=["update"])
    own = [each for each in changes if str(each.details["after"]).startswith("predictor:")]
    for event in own:
        before = versions_before(learned.service.store, learned.entity, event.seq, learned.current)
        assert before.predictor == event.details["before"]


def test_the_next_day_is_the_local_one():
    moment = 1_717_200_000  # midnight UTC: the day before has ended
    assert next_day(moment, "UTC") == (moment, moment + 86_400)
    assert next_day(moment, "Europe/Berlin") == (moment + 79_200, moment + 165_600)
    october = 1_729_900_800  # 2024-10-26; the next day in Berlin has 25 hours
    start, end = next_day(october, "Europe/Berlin")
    assert end - start == 25 * 3600
