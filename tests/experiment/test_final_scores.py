"""Scores that read the test phase, in a run."""

import json
from dataclasses import replace

import numpy as np
from tests.experiment.running import finished


def test_chosen_trials_have_events_recoveries_and_a_series(done):
    out, results = done
    chosen = [t for t in results["trials"] if t["chosen"] or t["chosen_live"]]
    for trial in chosen:
        counts = [e["component"] for e in trial["events"]]
        for component in ("autoencoder", "predictor"):
            assert counts.count(component) == (trial[component]["updates"] or 0)
        assert [each["what"] for each in trial["recovery"]] == (
            ["meter"] if trial["entity"] == "farm" else []
        )
        series = json.loads((out / trial["series"]).read_text())
        for event in trial["events"]:
            assert series["days"][0] <= event["time"] <= results["data"]["end"]
        assert len(series["days"]) == len(series["live_rmse"])
        for component, own in series["components"].items():
            assert len(own["updates"]) == trial[component]["updates"]
    assert sum(trial["predictor"]["updates"] for trial in chosen) > 0


def test_garbage_in_the_test_phase_changes_nothing_but_prediction_errors(
    done, grid, tiny, tmp_path
):
    first = len(grid.times) - min(zone["test"] for zone in done[1]["zones"])
    rng = np.random.default_rng(0)

    def garbled(frame, start):
        values = frame.copy()
        garbage = 1e3 * rng.normal(size=values.iloc[start:].shape)
        values.iloc[start:] = garbage.astype(np.float32)
        return values

    # Weather is interpolated between its neighbours, so that of the first step stays.
    spoilt = replace(
        grid,
        power=garbled(grid.power, first),
        weather={zone: garbled(frame, first + 1) for zone, frame in grid.weather.items()},
    )
    results, _ = finished(tiny, spoilt, tmp_path / "run")

    def without_prediction_errors(document):
        if isinstance(document, dict):
            return {
                key: without_prediction_errors(value)
                for key, value in document.items()
                if key != "prediction_error"
            }
        if isinstance(document, list):
            return [without_prediction_errors(each) for each in document]
        return document

    assert without_prediction_errors(results) == without_prediction_errors(done[1])
    assert results != done[1]


def test_an_entity_not_measured_in_the_test_phase_has_no_prediction_error(
    grid, one_point, tmp_path
):
    power = grid.power.copy()
    power.iloc[-60:, 0] = np.nan
    results, _ = finished(one_point, replace(grid, power=power), tmp_path / "run")
    errors = {
        trial["entity"]: trial["predictor"]["prediction_error"] for trial in results["trials"]
    }
    assert errors["farm"] is None and errors["town"] > 0
