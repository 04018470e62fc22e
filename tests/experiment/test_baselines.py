"""Both baselines in a run."""

import json

import numpy as np
import pytest


def test_both_baselines_are_scored_for_every_entity(done):
    _, results = done
    found = {(each["baseline"], each["entity"]) for each in results["baselines"]}
    assert found == {(name, entity) for name in "LU" for entity in ("farm", "park", "town")}
    for each in results["baselines"]:
        for component in ("autoencoder", "predictor"):
            assert each[component]["fitting_error"] > 0
            assert each[component]["prediction_error"] > 0
            assert each["validation"][component] > 0


def test_the_days_of_a_baseline_make_up_its_fitting_error(done):
    out, results = done
    for each in results["baselines"]:
        series = json.loads((out / each["series"]).read_text())
        assert len(series["days"]) == len(series["live_rmse"]) > 10
        days = np.array(series["live_rmse"][:-1], float)  # the last may be short; None: no reading
        found = np.sqrt(np.nanmean(days**2))
        assert found == pytest.approx(each["predictor"]["fitting_error"], rel=0.05)
