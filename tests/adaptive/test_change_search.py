"""Changes as part of a forecaster: any cut, resumed, undone, approved, forgotten with an entity."""

from itertools import pairwise

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveForecaster, PastRescaled
from clearwatt.packing import Packed
from clearwatt.testing.changes import (
    CHANGE,
    DAY,
    LENGTH,
    WARM_UP,
    followed,
    multiplied,
    of_kind,
    started,
    steady_stream,
)

STOP = CHANGE + 8 * DAY


@pytest.fixture(scope="module")
def whole():
    return followed(multiplied(3.0), stop=STOP)[0]


@pytest.mark.parametrize("size", [17, 5 * DAY + 7])
def test_any_cut_of_a_stream_that_changes_gives_the_same_state(whole, size):
    stream, other = multiplied(3.0), started(multiplied(3.0))
    cuts = [*range(WARM_UP, STOP, size), STOP]
    for low, high in pairwise(cuts):
        other.observe(*stream.part(low, high))
    assert other.digest() == whole.digest()


@pytest.mark.parametrize("hours", [-30, 50, 75, 100])
def test_saved_around_a_change_and_continued_equals_never_stopped(whole, hours):
    stream, stop = multiplied(3.0), CHANGE + hours
    resumed, _ = followed(stream, stop=stop)
    resumed = AdaptiveForecaster.unpack(resumed.pack())
    resumed.observe(*stream.part(stop, STOP))
    assert resumed.digest() == whole.digest()


def test_live_forecasts_around_a_change_are_those_that_were_issued():
    stream = multiplied(3.0)
    live = started(stream).live(*stream.part(WARM_UP, STOP))
    forecaster, _ = followed(stream, stop=CHANGE)
    for start in range(CHANGE, STOP - DAY, 6):
        ahead = stream.part(start, start + DAY)
        issued = forecaster.deployed.forecast(ahead.x, ahead.at)
        last = issued.day_ahead[-1]
        np.testing.assert_allclose(last, live[start + DAY - 1 - WARM_UP], rtol=1e-6)
        forecaster.observe(*stream.part(start, start + 6))


def test_a_state_from_before_changes_were_sought_goes_on():
    stream = multiplied(3.0)
    forecaster, _ = followed(stream, stop=CHANGE - DAY)
    values, tensors = forecaster.pack()
    state = {name: each for name, each in values["state"].items() if name != "earlier"}
    old = {
        name: each
        for name, each in tensors.items()
        if not name.startswith(("state.watch.", "state.earlier."))
    }
    for network in values["past"]["networks"]:
        del network["breaks"]
    del state["frame"]["settings"]["changes"]
    resumed = AdaptiveForecaster.unpack(Packed(values | {"state": state}, old))
    resumed.observe(*stream.part(CHANGE - DAY, LENGTH))
    (found,) = resumed.versions[0].breaks
    assert found.factor == pytest.approx(3.0, rel=0.05)


def test_the_version_before_a_change_undoes_it():
    stream = multiplied(3.0)
    forecaster = started(stream)
    forecaster.observe(*stream.part(WARM_UP, CHANGE))
    before, held = forecaster.versions[0], forecaster.state.reservoir
    ahead = stream.part(CHANGE + 5 * DAY, CHANGE + 6 * DAY)
    events = [each.event for each in forecaster.observe(*stream.part(CHANGE, CHANGE + 5 * DAY))]
    assert of_kind(events, PastRescaled)
    after = forecaster.versions[0]
    rescaled = forecaster.deployed.forecast(ahead.x, ahead.at).power[:, 0]
    forecaster.activate(before)
    undone = forecaster.deployed.forecast(ahead.x, ahead.at)
    assert np.abs(undone.day_ahead[:, 0] - ahead.y[:, 0] / 3).mean() < 0.5
    assert np.abs(rescaled - ahead.y[:, 0]).mean() < 0.5
    both = np.isin(forecaster.state.reservoir.at, held.at).nonzero()[0]
    order = {step: row for row, step in enumerate(held.at.tolist())}
    rows = [order[step] for step in forecaster.state.reservoir.at[both].tolist()]
    np.testing.assert_allclose(forecaster.state.reservoir.y[both], held.y[rows], rtol=1e-5)
    forecaster.activate(after)
    again = forecaster.deployed.forecast(ahead.x, ahead.at).day_ahead[:, 0]
    assert np.abs(again - ahead.y[:, 0]).mean() < 0.6


def test_networks_of_before_a_change_are_compared_at_their_own_level():
    stream = multiplied(3.0)
    forecaster, _ = followed(stream, stop=CHANGE)
    before, untouched = forecaster.versions
    forecaster.observe(*stream.part(CHANGE, CHANGE + 5 * DAY))
    deployed = forecaster.deployed
    ahead = stream.part(CHANGE + 5 * DAY, CHANGE + 6 * DAY)
    now = deployed.networks(ahead.x, ahead.at)
    then = deployed.with_version(0, before).networks(ahead.x, ahead.at)
    assert np.abs(now[:, 0] - ahead.y[:, 0]).mean() < 0.6
    assert np.abs(then[:, 0] - ahead.y[:, 0] / 3).mean() < 0.2
    same = deployed.with_version(1, untouched).networks(ahead.x, ahead.at)
    np.testing.assert_array_equal(same[:, 0], now[:, 0])


def test_an_undone_change_is_not_found_again_at_once():
    stream = multiplied(3.0)
    forecaster, _ = followed(stream, stop=CHANGE)
    before = forecaster.versions[0]
    forecaster.observe(*stream.part(CHANGE, CHANGE + 5 * DAY))
    forecaster.activate(before)
    events = [each.event for each in forecaster.observe(*stream.part(CHANGE + 5 * DAY, LENGTH))]
    assert not of_kind(events, PastRescaled)


def test_with_approval_the_past_is_rescaled_when_a_person_says_so():
    stream = multiplied(3.0)
    forecaster = started(stream)
    forecaster.require_approval()
    stop = CHANGE + 4 * DAY
    events = [each.event for each in forecaster.observe(*stream.part(WARM_UP, stop))]
    (event,) = of_kind(events, PastRescaled)
    assert not event.accepted
    assert "approval" in event.explanation
    assert forecaster.versions[0].breaks == ()
    (waiting,) = [each for each in forecaster.candidates if each.entity == 0]
    forecaster.activate(waiting)
    ahead = stream.part(stop, stop + DAY)
    forecast = forecaster.deployed.forecast(ahead.x, ahead.at).day_ahead[:, 0]
    assert np.abs(forecast - ahead.y[:, 0]).mean() < 0.6


def test_readings_of_before_a_change_that_come_late_are_of_the_old_level():
    stream = multiplied(3.0)
    late = CHANGE - 2 * DAY
    gap = stream._replace(y=stream.y.copy())
    gap.y[late : late + DAY, 0] = np.nan
    forecaster, _ = followed(gap, stop=CHANGE + 4 * DAY)
    assert forecaster.versions[0].breaks
    forecaster.observe(*stream.part(late, late + DAY))
    recent = forecaster.state.recent
    rows = np.isin(recent.at, stream.at[late : late + DAY])
    held = recent.measured[rows, 0]
    assert len(held) == DAY
    plain, _ = followed(steady_stream(), stop=late + DAY)
    own = np.isin(plain.state.recent.at, stream.at[late : late + DAY])
    np.testing.assert_allclose(held, plain.state.recent.measured[own, 0], rtol=1e-5)


def test_an_entity_that_leaves_takes_what_was_kept_of_it_along(whole):
    other = AdaptiveForecaster.unpack(whole.pack())
    other.leave(0)
    assert other.state.earlier is None
    assert len(other.state.watch.examined) == 1
    other.observe(
        *multiplied(3.0).part(STOP, STOP + DAY)._replace(y=multiplied(3.0).y[STOP : STOP + DAY, 1:])
    )
