"""The benchmark of the first days: folds, and results that are stored."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from clearwatt.data import Dataset

FILE = Path(__file__).parents[2] / "benchmarks" / "cold_start.py"
NAMES = [f"park{number}" for number in range(5)]
HOURS = 24 * 800


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("cold_start", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # named tuples look their annotations up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of five wind parks, each with its own weather."""
    times = pd.date_range("2012-01-01", periods=HOURS, freq="h", tz="UTC", name="time")
    rng = np.random.default_rng(0)
    weather = {name: pd.DataFrame({"wind": rng.random(HOURS)}, index=times) for name in NAMES}
    power = pd.DataFrame({name: own["wind"] ** 2 for name, own in weather.items()}, index=times)
    entities = pd.DataFrame(
        {"kind": "generator", "capacity": 1.0, "zone": NAMES, "subtype": "wind"}, index=NAMES
    )
    target = tmp_path_factory.mktemp("data") / "parks"
    Dataset.from_frames(power, weather, entities).save(target)
    return target


def folds_of(benchmark, folder, **options):
    options = {"folds": 0, "quick": False, "seed": 0} | options
    return benchmark.folds_of(folder, (), **options)


def test_each_entity_is_left_out_once(benchmark, folder):
    for count, size in ((0, 1), (2, 3), (9, 1)):
        folds = folds_of(benchmark, folder, folds=count)
        out = [trial.new.name for fold in folds for trial in fold.trials]
        assert sorted(out) == NAMES
        assert max(len(fold.new) for fold in folds) == size
        for fold in folds:
            assert not {each.name for each in fold.new} & {each.name for each in fold.others}
            assert all(len(each.at) and each.at.max() < fold.first for each in fold.others)


def test_chosen_entities_have_the_same_others(benchmark, folder):
    (fold,) = benchmark.folds_of(folder, ["park2"], folds=2, quick=False, seed=0)
    assert [each.name for each in fold.new] == ["park2"]
    assert {each.name for each in fold.others} == {"park1", "park3"}


def test_the_fleet_is_of_the_same_sort(benchmark, folder):
    (fold, *_) = folds_of(benchmark, folder, folds=2)
    (trial, *_) = fold.trials
    assert trial.kind == "generator wind"
    assert len(fold.samples(trial.kind)[1]) == sum(len(each.at) for each in fold.others)


@pytest.fixture
def calls(benchmark, monkeypatch):
    """Ways of forecasting that count how often they are asked."""
    calls = []

    def own(trial):
        calls.append("own")
        rows = len(trial.live.at)
        return np.zeros(rows), np.tile([-1.0, 2.0], (rows, 1))

    def peer(trial):
        calls.append("peer")
        return trial.live.y

    monkeypatch.setattr(benchmark, "from_prior", own)
    monkeypatch.setattr(benchmark, "PEERS", {"peer": peer})
    return calls


def run(benchmark, folder, results, *, again=False):
    stored = benchmark.Stored(results, again=again)
    return benchmark.run(folds_of(benchmark, folder, folds=2), stored, Console(quiet=True))


def test_a_stored_result_is_not_made_again(benchmark, folder, calls, tmp_path):
    first = run(benchmark, folder, tmp_path)
    assert sorted(calls) == ["own"] * 5 + ["peer"] * 5
    assert first["park0"]["peer"]["days 1-7"] == 0
    assert first["park0"]["inside"]["days 1-7"] == 1
    calls.clear()
    assert run(benchmark, folder, tmp_path) == first
    assert not calls


def test_a_run_is_resumed_where_it_stopped(benchmark, folder, calls, tmp_path):
    first = run(benchmark, folder, tmp_path)
    (tmp_path / "park3.json").unlink()
    part = {"from the fleet": first["park1"]["from the fleet"], "inside": first["park1"]["inside"]}
    (tmp_path / "park1.json").write_text(json.dumps(part))
    calls.clear()
    assert run(benchmark, folder, tmp_path) == first
    assert sorted(calls) == ["own", "peer", "peer"]


def test_peers_are_kept_when_the_start_is_measured_again(benchmark, folder, calls, tmp_path):
    first = run(benchmark, folder, tmp_path)
    calls.clear()
    assert run(benchmark, folder, tmp_path, again=True) == first
    assert calls == ["own"] * 5


def test_an_entity_joins_the_others_of_its_zone_but_its_multiples(benchmark, tmp_path):
    times = pd.date_range("2012-01-01", periods=HOURS, freq="h", tz="UTC", name="time")
    weather = pd.DataFrame({"wind": np.random.default_rng(0).random(HOURS)}, index=times)
    noise = np.random.default_rng(1).random((HOURS, 4))
    power = pd.DataFrame(noise + weather.to_numpy() ** 2, index=times, columns=NAMES[:4])
    power["park3"] = 2 * power["park0"]
    entities = pd.DataFrame(
        {"kind": "generator", "capacity": 4.0, "zone": "coast", "subtype": "wind"}, index=NAMES[:4]
    )
    Dataset.from_frames(power, {"coast": weather}, entities).save(tmp_path / "coast")
    (fold,) = benchmark.folds_of(tmp_path / "coast", ["park0"], folds=0, quick=False, seed=0)
    assert [each.name for each in fold.neighbours("coast")] == ["park1", "park2"]
    found = fold.forecasts_in_zone("coast")["park0"]
    assert found.shape == fold.trials[0].live.y.shape
    assert np.isfinite(found).all()


def test_an_entity_alone_in_its_zone_joins_none(benchmark, folder):
    (fold, *_) = folds_of(benchmark, folder)
    assert fold.neighbours(fold.new[0].zone) == []
