"""The selection of trials in a run: by fitting error, and by live error."""

import json
from dataclasses import replace

import pytest
from tests.experiment.running import finished

from clearwatt.experiment.results import read_results

ERRORS = {
    "chosen": lambda trial: trial["predictor"]["fitting_error"],
    "chosen_live": lambda trial: trial["live"]["rmse"],
}


def test_one_trial_per_configuration_and_entity_is_recorded_and_one_chosen(done, tiny):
    _, results = done
    trials = results["trials"]
    assert len(trials) == len(tiny.configurations) * 3
    for flag in ERRORS:
        chosen = [(t["instance"], t["entity"]) for t in trials if t[flag]]
        assert len(chosen) == len(set(chosen)) == 7 * 3


@pytest.mark.parametrize("flag", ERRORS)
def test_the_lowest_error_of_the_updating_phase_is_chosen(done, flag):
    _, results = done
    for trial in results["trials"]:
        rivals = [
            ERRORS[flag](other)
            for other in results["trials"]
            if (other["instance"], other["entity"]) == (trial["instance"], trial["entity"])
        ]
        assert trial[flag] == (ERRORS[flag](trial) == min(rivals))


def test_the_selections_differ_and_only_their_trials_are_tested(done):
    trials = done[1]["trials"]
    assert any(trial["chosen"] != trial["chosen_live"] for trial in trials)
    for trial in trials:
        tested = trial["chosen"] or trial["chosen_live"]
        assert (trial["events"] is not None) == ("series" in trial) == tested
        for component in (
            ("autoencoder", "predictor") if trial["instance"] != "A" else ("predictor",)
        ):
            assert (trial[component]["prediction_error"] is not None) == tested


def test_only_the_models_of_chosen_trials_are_kept(done):
    out, results = done
    needed = sum(trial["chosen"] or trial["chosen_live"] for trial in results["trials"])
    assert len(list((out / "finalists").iterdir())) == needed


def test_another_selection_trains_nothing_again(done, grid, tiny):
    out, results = done
    before = {file: file.stat().st_mtime_ns for file in (out / "trials").iterdir()}
    other, _ = finished(replace(tiny, select="live"), grid, out)
    assert other == results | {"select": "live"}
    assert {file: file.stat().st_mtime_ns for file in (out / "trials").iterdir()} == before
    live = read_results(out)
    assert all(trial.chosen_live for trial in live.chosen_trials)
    assert finished(tiny, grid, out)[0] == results


def test_a_run_of_an_older_release_is_selected_from_its_records(done, tmp_path):
    out, results = done
    old = tmp_path / "run"
    old.mkdir()
    trials = [
        {name: value for name, value in trial.items() if name != "chosen_live"}
        for trial in results["trials"]
    ]
    timing = {"timing": {"update_seconds": 0.0}}
    document = results | {"trials": [trial | timing for trial in trials]}
    (old / "results.json").write_text(json.dumps(document))
    ways = [read_results(folder, "live").chosen_trials for folder in (out, old)]
    names = [[(t.instance, t.entity, t.configuration) for t in way] for way in ways]
    assert names[0] == names[1]
