import json

import pandas as pd
import pytest
from tests.experiment.finished_run import DAYS, UPDATING, run_document, with_adaptive

from clearwatt.errors import DataError
from clearwatt.experiment import Results


@pytest.fixture
def results(write_run):
    return Results.load(write_run(with_adaptive(run_document())))


def test_trials_have_hyperparameters_and_metrics_as_columns(results):
    trials = results.trials
    assert len(trials) == 7 * 3 and trials["chosen"].all()
    row = trials.set_index(["instance", "entity"]).loc[("Ra", "pv_01")]
    assert (row["alpha"], row["novelty_capacity"], row["kind"]) == (0.9, 300, "generator")
    assert row["live_rmse"] == pytest.approx(0.09)
    assert trials.groupby("instance")["predictor_fitting_error"].mean()["G"] == pytest.approx(
        trials.query("instance == 'G' and entity == 'household_01'")[
            "predictor_fitting_error"
        ].item()
    )
    adaptive = trials.query("instance == 'A'")
    assert adaptive["alpha"].isna().all() and adaptive["autoencoder_fitting_error"].isna().all()


def test_updates_have_times(results):
    own = results.updates.query("instance == 'E' and entity == 'pv_01'")
    assert list(own["component"]) == ["autoencoder", "predictor", "predictor"]
    assert own["time"].iloc[0] == pd.Timestamp(UPDATING) + 300 * pd.Timedelta(minutes=15)


def test_daily_errors_have_days_and_those_of_baselines_are_beside(results):
    daily = results.daily
    own = daily.query("instance == 'L' and entity == 'pv_01'").set_index("day")["live_rmse"]
    assert len(own) == DAYS and own.index[0] == pd.Timestamp(UPDATING)
    assert pd.isna(own.iloc[0]) and own.iloc[3] == pytest.approx(0.13)
    assert set(daily["instance"]) == {"E", "F", "Ra", "Re", "ReD", "G", "A", "L", "U"}


def test_baselines_recovery_and_entities_are_there(results):
    assert len(results.baselines) == 6
    assert "predictor_validation_rmse" in results.baselines
    assert results.recovery["steps"].isna().sum() == len(results.recovery) / 2
    assert list(results.entities["name"]) == ["pv_01", "household_01", "village_01"]


def test_a_run_without_series_and_updates_has_empty_frames(write_run):
    document = run_document(instances=("E",), entities=("pv_01",))
    bare = {"series": None, "events": None, "recovery": []}
    document["trials"] = [trial | bare for trial in document["trials"]]
    document["baselines"] = [each | {"series": None} for each in document["baselines"]]
    folder = write_run(run_document(), name="other")
    (folder / "results.json").write_text(json.dumps(document))
    found = Results.load(folder)
    assert found.daily.empty and "live_rmse" in found.daily
    assert found.updates.empty and found.recovery.empty and len(found.trials) == 1


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(DataError, match="is not an experiment"):
        Results.load(tmp_path)
