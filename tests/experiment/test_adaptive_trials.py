"""Trials of the adaptive forecaster: its figures, and what a run refuses or resumes."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.experiment.running import finished

from clearwatt.adaptive import AdaptiveForecaster, NetworkUpdate, PastRescaled
from clearwatt.benchmark.peers.adaptive import Adaptive
from clearwatt.benchmark.run import Benchmark
from clearwatt.benchmark.scores import score_forecasts
from clearwatt.compute import executor
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.protocol import divide
from clearwatt.experiment.run import run

DAY = 24


def rmse(targets, outputs):
    return float(np.sqrt(np.nanmean((targets - outputs) ** 2)))


@pytest.fixture(scope="module")
def adaptive(one_point):
    return replace(one_point, instances=("A",))


@pytest.fixture(scope="module")
def ran(adaptive, grid, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    return out, finished(adaptive, grid, out)[0]


def test_its_figures_are_those_of_the_forecaster_streamed_by_hand(ran, grid):
    """The paper's equations for the networks; the live error of the whole forecast."""
    trials = {trial["entity"]: trial for trial in ran[1]["trials"]}
    division = divide(grid, None, grid.names)
    updates: Counter[str] = Counter()
    rescaled: Counter[str] = Counter()
    for zone, test in zip(division.zones, division.test, strict=True):
        samples = zone.warmup.concatenate(zone.updating)
        known = int(np.sum(samples.at <= zone.updating.at[0] - DAY))
        forecaster = AdaptiveForecaster.fit(
            samples.x[:known], samples.y[:known], samples.at[:known], day=DAY, names=zone.entities
        )
        first = forecaster.deployed
        before = first.networks(zone.warmup.x, zone.warmup.at)
        frozen = first.networks(zone.updating.x, zone.updating.at)
        live, last = [], {}
        for issued, changes in forecaster.follow(*(part[known:] for part in samples)):
            live.append(issued.power)
            for event in (change.event for change in changes):
                if isinstance(event, NetworkUpdate):
                    last[event.entity] = event.step
                    updates[event.entity] += 1
                rescaled[event.entity] += isinstance(event, PastRescaled)
        power = np.concatenate(live)[-len(zone.updating.at) :]
        final = forecaster.deployed
        for column, name in enumerate(zone.entities):
            trial, measured = trials[name], [span.y[:, column] for span in zone_spans(zone, test)]
            warm, fitted, tested = (
                final.networks(span.x, span.at)[:, column] for span in zone_spans(zone, test)
            )
            assert trial["live"]["rmse"] == pytest.approx(rmse(measured[1], power[:, column]))
            assert trial["frozen_rmse"] == pytest.approx(rmse(measured[1], frozen[:, column]))
            until = zone.updating.at < last[name]
            score = trial["predictor"]
            assert score["fitting_error"] == pytest.approx(rmse(measured[1][until], fitted[until]))
            assert score["prediction_error"] == pytest.approx(rmse(measured[2], tested))
            ratio = rmse(measured[0], warm) / rmse(measured[0], before[:, column]) - 1
            assert score["forgetting_ratio"] == pytest.approx(max(0.0, ratio))
            assert score["updates"] == updates[name] == len(trial["events"])
            assert forecaster.trainings[column] == updates[name] + rescaled[name]
            assert trial["held_samples"] == forecaster.held_samples
            assert 0 < trial["retained_bytes"] <= forecaster.retained_bytes
    assert updates.total() > 6


def zone_spans(zone, test):
    return zone.warmup, zone.updating, test


def test_its_live_error_is_that_of_the_leaderboard(adaptive, grid, tmp_path):
    """Also of data that begin at an hour at which no period of the forecaster begins."""
    late = grid.slice(start=grid.times[4])
    results, _ = finished(replace(adaptive, entities=("town",)), late, tmp_path / "run")
    (trial,) = results["trials"]
    (history,) = Benchmark(entities=("town",)).histories(late)
    (record,) = score_forecasts(Adaptive(), history, Adaptive().forecast(history))
    assert (trial["live"]["rmse"], trial["live"]["mae"]) == pytest.approx(
        (record.updating.rmse, record.updating.mae), rel=1e-9
    )


def test_it_has_no_autoencoder_and_says_so_with_nothing(ran):
    for trial in ran[1]["trials"]:
        assert set(trial["autoencoder"].values()) == {None}


def test_only_entities_of_a_zone_and_only_one_trial_each(ran):
    assert [trial["entity"] for trial in ran[1]["trials"]] == ["farm", "park", "town"]
    assert all(trial["chosen"] for trial in ran[1]["trials"])


def test_an_update_is_recorded_at_the_last_sample_it_learned(ran, grid):
    (farm,) = (trial for trial in ran[1]["trials"] if trial["entity"] == "farm")
    (zone,) = (each for each in divide(grid, None, ("farm",)).zones)
    for event in farm["events"]:
        assert event["time"] == grid.times[zone.updating.at[event["step"] - 1]].isoformat()
        assert event["component"] == "predictor"
    others = len(farm["events"]) - 1
    triggers = Counter(event["trigger"] for event in farm["events"])
    assert triggers == {"novelty": others, "change": 1}, "it doubles once"
    series = json.loads((ran[0] / farm["series"]).read_text())
    assert len(series["components"]["predictor"]["updates"]) == farm["predictor"]["updates"]


def test_an_interrupted_run_goes_on_to_the_same_numbers(ran, adaptive, grid, tmp_path):
    out = tmp_path / "run"
    with executor("serial") as compute:
        steps = run(adaptive, grid, out, compute=compute)
        while not list((out / "trials").glob("*.json")):
            next(steps)
        steps.close()
    before = {file.name: file.read_bytes() for file in (out / "trials").glob("*.json")}
    assert 0 < len(before) < 3 and not (out / "results.json").exists()
    assert finished(adaptive, grid, out)[0] == ran[1]
    assert {name: (out / "trials" / name).read_bytes() for name in before} == before


def test_a_lost_final_model_is_made_anew(ran, adaptive, grid, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(ran[0], out)
    models = sorted((out / "finalists").iterdir())
    shutil.rmtree(models[0])
    next(models[1].glob("*.safetensors")).write_bytes(b"")
    assert finished(adaptive, grid, out)[0] == ran[1]


def test_what_its_trials_cannot_use_is_refused_before_anything_is_computed(
    adaptive, grid, tmp_path
):
    with pytest.raises(ConfigurationError, match="no measurement of the warm-up is known at the"):
        finished(replace(adaptive, delay=180), grid, tmp_path / "run")
    with pytest.raises(ConfigurationError, match=r"memory is 60000 .* leave out A \(--instances\)"):
        finished(replace(adaptive, delay=40_000), grid, tmp_path / "run")
    assert not (tmp_path / "run").exists()
