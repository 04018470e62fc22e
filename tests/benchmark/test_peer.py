"""What is asked of every peer: no look ahead, a forecast for every step, honest costs."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.adaptive import AdaptiveSettings, NetworkSettings
from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.peer import Forecasts
from clearwatt.benchmark.peers import PEERS
from clearwatt.benchmark.peers.adaptive import Adaptive
from clearwatt.benchmark.peers.clear import Clear
from clearwatt.benchmark.peers.network import PlainNetwork
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import Grid
from clearwatt.training.fleet import Training

SMALL = Experiment(
    networks=Networks((2,), (12,), (4,), (1e-6,), (2,), (12,)),
    grid=Grid((100,), (1.3,), (1e4,), (1.0,), (3,)),
    warmup=Training(epochs=30, patience=10),
    update=Training(epochs=5, patience=None),
)

OURS = [peer for peer in PEERS if peer.key.startswith("clear")]
LEARNERS = [peer for peer in PEERS if not peer.key.startswith(("persistence", "last-value"))]


def quick(peer):
    """The same peer with models that train in a moment."""
    if isinstance(peer, Clear):
        return replace(peer, experiment=SMALL)
    if isinstance(peer, Adaptive):
        return replace(peer, settings=AdaptiveSettings(networks=NetworkSettings(members=1)))
    if isinstance(peer, PlainNetwork):
        return replace(peer, every=200, width=16, training=Training(epochs=40, patience=None))
    return peer


@pytest.fixture(scope="module", params=PEERS, ids=lambda peer: peer.key)
def peer(request):
    found = quick(request.param)
    if found.missing_requirement():
        pytest.skip(found.missing_requirement())
    return found


@pytest.fixture(scope="module")
def history(peer, coast):
    """Entities by turns gain nothing from each other, so one of them is enough."""
    return coast if peer.together else coast.select_entities([0])


@pytest.fixture(scope="module")
def forecasts(peer, history):
    return peer.forecast(history)


def test_every_step_of_every_entity_is_forecast(forecasts, history):
    assert forecasts.power.shape == (history.steps, len(history.entities))
    assert np.isfinite(forecasts.power).all()
    assert len(forecasts.costs) == len(history.entities)


STEP = 350


def disturbed(history: ZoneHistory) -> ZoneHistory:
    """Other measurements than may be known when `STEP` is forecast."""
    changed = history.measured.copy()
    changed[history.at > history.at[history.first + STEP] - history.delay] += 5
    return replace(history, measured=changed)


def test_no_forecast_depends_on_what_is_measured_within_its_delay(peer, forecasts, history):
    again = peer.forecast(disturbed(history))
    assert_same_until(STEP, again, forecasts)


LEADS = (1, 6, 24, 48)
"""Steps, which are hours here."""
ISSUED = 230
"""Step of the stream after which all is noise; every peer has learned by then."""
QUICK_PAIRS = {("clear-adaptive", 6), ("clear-adaptive", 48)}
"""Peers that train for seconds, and the leads at which they are tested in the quick run."""


def peers_by_lead() -> list:
    """Every peer at every lead; most of those that train for seconds in the slow run."""
    cheap = ("persistence", "last-value", "climatology", "lightgbm-lags-last")
    return [
        pytest.param(
            peer,
            lead,
            id=f"{peer.key}-{lead}h-ahead",
            marks=()
            if peer.key.startswith(cheap) or (peer.key, lead) in QUICK_PAIRS
            else pytest.mark.slow,
        )
        for peer in map(quick, PEERS)
        for lead in LEADS
    ]


@pytest.mark.parametrize(("peer", "lead"), peers_by_lead())
def test_noise_in_all_that_is_not_known_leaves_forecasts_by_lead_as_they_are(peer, lead, coast):
    if peer.missing_requirement():
        pytest.skip(peer.missing_requirement())
    history = ending_after(ISSUED, replace(coast.select_entities([0]), delay=lead))
    found, again = peer.forecast(history), peer.forecast(with_noise_after(ISSUED, history))
    said = slice(0, ISSUED + 1)
    np.testing.assert_array_equal(again.power[said], found.power[said])
    assert again.quantiles.keys() == found.quantiles.keys()
    for level, each in found.quantiles.items():
        np.testing.assert_array_equal(again.quantiles[level][said], each[said])


def ending_after(step: int, history: ZoneHistory) -> ZoneHistory:
    """Without what comes more than a few hours after a step, which takes as long to learn."""
    end = history.first + step + 10
    parts = {name: getattr(history, name)[:end] for name in ("wide", "measured", "at", "times")}
    return replace(history, **parts, test=end - 5)


def with_noise_after(step: int, history: ZoneHistory) -> ZoneHistory:
    """With noise in measurements not known when a step is forecast, and in later weather."""
    rng, row = np.random.default_rng(5), history.first + step
    measured, wide = history.measured.copy(), history.wide.copy()
    unknown = history.at > history.at[row] - history.delay
    measured[unknown] = rng.normal(size=measured[unknown].shape)
    wide[row + 1 :] = rng.normal(size=wide[row + 1 :].shape)
    return replace(history, measured=measured, wide=wide)


def assert_same_until(step: int, found: Forecasts, wanted: Forecasts) -> None:
    """Models that train stacked may round differently with what else is in the stack."""
    said = slice(0, step + 1)
    np.testing.assert_allclose(found.power[said], wanted.power[said], atol=1e-3)
    for level, each in wanted.quantiles.items():
        np.testing.assert_allclose(found.quantiles[level][said], each[said], atol=1e-3)


@pytest.mark.parametrize("peer", OURS, indirect=True, ids=lambda peer: peer.key)
def test_quantiles_of_our_own_ascend_and_hold_what_they_say(forecasts, history):
    levels = sorted(forecasts.quantiles)
    said = np.stack([forecasts.quantiles[level] for level in levels])
    assert (np.diff(said, axis=0) >= 0).all()
    assert said[:, :, 0].min() >= 0  # the farm gives between nothing and its rating
    assert said[:, :, 0].max() <= max(1, np.nanmax(history.known_samples().y[:, 0]))
    wanted = history.measured[history.first :]
    inside = (wanted >= said[0]) & (wanted <= said[-1])
    assert inside[~np.isnan(wanted)].mean() > 0.75


def test_one_that_peeks_a_single_step_ahead_would_be_found(coast):
    ahead = replace(coast, delay=coast.delay - 1).lagged_power(coast.delay - 1)
    again = replace(disturbed(coast), delay=coast.delay - 1).lagged_power(coast.delay - 1)
    assert np.nanmax(np.abs(again - ahead)[: coast.first + STEP + 1]) > 1


# The farm's power is drawn anew each hour: yesterday's says nothing about it.
@pytest.mark.parametrize("peer", LEARNERS, indirect=True, ids=lambda peer: peer.key)
def test_it_forecasts_better_than_the_mean(forecasts, history):
    wanted = history.measured[history.first : history.first + 250]  # before the farm grows
    said = forecasts.power[:250]
    mean = np.nanmean(history.known_samples().y, axis=0)
    errors = np.sqrt(np.nanmean(np.square(wanted - said), axis=0))
    assert (errors <= 1.05 * np.sqrt(np.nanmean(np.square(wanted - mean), axis=0))).all()


def test_a_gap_in_the_weather_stops_nobody(peer, hills):
    assert np.isfinite(peer.forecast(hills).power).all()


def test_costs_are_counted(peer, forecasts, history):
    for cost in forecasts.costs:
        assert cost.seconds >= 0
        assert 0 <= cost.held_bytes <= 3 * len(history.x) * history.sample_bytes
    assert peer.seconds(history) > 0
