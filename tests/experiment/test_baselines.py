"""Both baselines in a run."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.experiment.running import finished

from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import INSTANCES, Grid
from clearwatt.experiment.protocol import divide
from clearwatt.training.streams import drive


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


def test_the_upper_baseline_is_trained_on_warm_up_and_updating_phase(grid, one_point, tmp_path):
    """Training both baselines alike leaves one difference: what they have seen."""
    same = replace(
        one_point,
        instances=("Ra",),
        baseline=one_point.warmup,
        baseline_autoencoder=one_point.warmup,
    )
    results, _ = finished(same, grid, tmp_path / "run")
    division = divide(grid, None, ("farm", "park", "town"))
    for each in results["baselines"]:
        zone = next(zone for zone in division.zones if each["entity"] in zone.entities)
        column = zone.entities.index(each["entity"])
        span = zone.warmup.concatenate(zone.updating) if each["baseline"] == "U" else zone.warmup
        warmup = WarmUp(same.warmup, seed=same.seed)
        (encoder,) = same.networks.representations(zone.inputs, variational=False)
        (head,) = same.networks.predictors(encoder.latent)
        train = warmup.finished_autoencoder if each["baseline"] == "U" else warmup.autoencoder
        networks, trained = InstanceNetworks(encoder, head), drive(train(encoder, span.x))
        autoencoder, predictors = drive(
            warmup.models(networks, span.x, span.y, autoencoder=trained)
        )
        assert autoencoder.validation_rmse == pytest.approx(
            each["validation"]["autoencoder"], rel=1e-4
        )
        assert predictors[column].validation_rmse == pytest.approx(
            each["validation"]["predictor"], rel=1e-4
        )


@pytest.mark.slow
def test_the_upper_baseline_reconstructs_better_than_every_approach(grid, tiny, tmp_path):
    """With the default training; the approaches train with the default of an update."""
    defaults = Experiment()
    upper = replace(
        tiny,
        instances=tuple(INSTANCES),
        grid=Grid((60,), (1.3,), (1e4,), (1.0,), (3,)),
        networks=Networks((2,), (12,), (4,), (1e-6,), (2,), (12,)),
        update=defaults.update,
        baseline_autoencoder=defaults.baseline_autoencoder,
    )
    results, _ = finished(upper, grid, tmp_path / "run")
    bound = {
        each["entity"]: each["autoencoder"]["fitting_error"]
        for each in results["baselines"]
        if each["baseline"] == "U"
    }
    for trial in results["trials"]:
        # With a patience of 10 and one learning rate it is more than half of Generative Replay's.
        assert bound[trial["entity"]] < 0.4 * trial["autoencoder"]["fitting_error"]
