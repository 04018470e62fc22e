"""Peers of the competition: what they may know, and what they make of it."""

from dataclasses import replace

import numpy as np
import pytest
from tests.benchmark.competition.wind_task import wind_task
from threadpoolctl import threadpool_limits

from clearwatt.adaptive.leads import LeadSettings
from clearwatt.benchmark.competition.adaptive import AdaptiveByLead
from clearwatt.benchmark.competition.lightgbm import LightGBMByLead
from clearwatt.benchmark.competition.peer import BlockPersistence
from clearwatt.benchmark.competition.peers import COMPETITION_PEERS, choose_competition_peers
from clearwatt.errors import ConfigurationError

SMALL_PEERS = (
    BlockPersistence(),
    LightGBMByLead(trees=60, days=3),
    AdaptiveByLead(LeadSettings(landmarks=100, features=50)),
)


def forecasts(peer, task):
    forecaster = peer.start(seed=0)
    with threadpool_limits(1):
        return np.stack([forecaster.forecast(task.known_at(int(issue))) for issue in task.issues])


def with_noise_after(task, issue):
    """The task with other values of everything that is not known at a step."""
    rng = np.random.default_rng(9)
    measured, weather = task.measured.copy(), task.runs.values.copy()
    measured[issue + 1 :] = rng.random(measured[issue + 1 :].shape)
    later = task.runs.issued > issue
    weather[later] = 20 * rng.random(weather[later].shape)
    return replace(
        task,
        measured=measured,
        runs=task.runs._replace(values=weather),
        solution=rng.random(task.solution.shape),
        benchmark=rng.random(task.benchmark.shape),
    )


@pytest.fixture(scope="module")
def task():
    return wind_task(days=40, blocks=3)


def test_every_peer_is_tested():
    assert [peer.key for peer in SMALL_PEERS] == [peer.key for peer in COMPETITION_PEERS]


@pytest.mark.parametrize("peer", SMALL_PEERS, ids=lambda peer: peer.key)
def test_noise_in_what_is_not_known_yet_changes_no_bit(peer, task):
    plain = forecasts(peer, task)
    for block in (0, 1):
        noisy = forecasts(peer, with_noise_after(task, int(task.issues[block])))
        assert (noisy[: block + 1] == plain[: block + 1]).all()
        assert (noisy[block + 1 :] != plain[block + 1 :]).any()  # the noise is there


@pytest.mark.parametrize("peer", SMALL_PEERS[1:], ids=lambda peer: peer.key)
def test_learning_from_weather_halves_the_error_of_persistence(peer, task):
    def squares(one):
        return np.square(forecasts(one, task) - task.solution).mean()

    assert squares(peer) < 0.25 * squares(BlockPersistence())


def test_persistence_repeats_the_last_measurement_before_the_block(task):
    assert (forecasts(BlockPersistence(), task) == task.benchmark).all()


def test_lightgbm_trains_again_after_its_days(task):
    rare = forecasts(LightGBMByLead(trees=20), task)
    often = forecasts(LightGBMByLead(trees=20, days=3), task)
    assert (rare[0] == often[0]).all()
    assert (rare[1] != often[1]).any()


def test_peers_are_chosen_by_key():
    assert [peer.key for peer in choose_competition_peers(["last-value"])] == ["last-value"]
    assert choose_competition_peers(None) == COMPETITION_PEERS
    with pytest.raises(ConfigurationError, match="no peer 'river'"):
        choose_competition_peers(["river"])
