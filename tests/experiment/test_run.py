"""An experiment from beginning to end, on three entities of two zones."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from clearwatt.clear.instance import Instance
from clearwatt.clear.warm_up import WarmUp
from clearwatt.compute import executor
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.experiment.protocol import divide
from clearwatt.experiment.results import read_document
from clearwatt.experiment.run import run
from clearwatt.training.streams import drive


def finished(experiment, dataset, out, name="serial"):
    with executor(name, workers=2 if name != "serial" else None) as compute:
        steps = list(run(experiment, dataset, out, compute=compute))
    return numbers(read_document(out)), steps


def numbers(document):
    """Without what the clock says."""
    if isinstance(document, dict):
        return {key: numbers(value) for key, value in document.items() if key != "timing"}
    return [numbers(each) for each in document] if isinstance(document, list) else document


@pytest.fixture(scope="module")
def done(grid, tiny, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    results, _ = finished(tiny, grid, out)
    return out, results


def test_one_trial_per_configuration_and_entity_is_recorded_and_one_chosen(done, tiny):
    _, results = done
    trials = results["trials"]
    assert len(trials) == len(tiny.configurations) * 3
    chosen = [(t["instance"], t["entity"]) for t in trials if t["chosen"]]
    assert len(chosen) == len(set(chosen)) == 6 * 3


def test_the_lowest_fitting_error_is_chosen_and_only_it_is_tested(done):
    _, results = done
    for trial in results["trials"]:
        rivals = [
            other["predictor"]["fitting_error"]
            for other in results["trials"]
            if (other["instance"], other["entity"]) == (trial["instance"], trial["entity"])
        ]
        best = trial["predictor"]["fitting_error"] == min(rivals)
        assert trial["chosen"] == best
        for component in ("autoencoder", "predictor"):
            assert (trial[component]["prediction_error"] is not None) == best


@pytest.mark.parametrize("instance", ["Ra", "G"])
def test_learning_fits_the_inputs_better_than_a_frozen_model(done, instance):
    _, results = done
    frozen = {
        each["entity"]: each["autoencoder"]["fitting_error"]
        for each in results["baselines"]
        if each["baseline"] == "L"
    }
    own = [each for each in results["trials"] if each["chosen"] and each["instance"] == instance]
    assert len(own) == 3
    for trial in own:
        assert trial["autoencoder"]["updates"] > 0
        assert trial["autoencoder"]["fitting_error"] < frozen[trial["entity"]]


def test_the_figures_of_a_trial_are_those_of_its_instance_streamed_by_hand(grid, tiny, tmp_path):
    """The paper's equations, and the live error, from nothing but the models at each update."""
    experiment = replace(tiny, instances=("Ra",), entities=("farm", "town"), delay=7)
    results, _ = finished(experiment, grid, tmp_path / "run")
    division = divide(grid, None, ("farm", "town"))
    compared = 0
    for trial in results["trials"]:
        zone = next(each for each in division.zones if trial["entity"] in each.entities)
        column = zone.entities.index(trial["entity"])
        models = warm_models(experiment, zone, column)
        configuration = next(
            each for each in experiment.configurations if each.to_dict() == trial["configuration"]
        )
        instance = Instance.start(
            experiment.settings(configuration),
            zone.warmup.x,
            zone.warmup.y[:, [column]],
            autoencoder=models[0],
            predictors=[models[1]],
            names=[trial["entity"]],
        )
        inputs, power = zone.updating.x, zone.updating.y[:, column]
        before = rmse(zone.warmup.y[:, column], instance.predict(zone.warmup.x)[:, 0])
        at, said, queue, last = zone.updating.at, [], [(0, instance.predict(inputs)[:, 0])], {}
        for row in range(len(inputs)):
            for event in instance.observe(inputs[row : row + 1], power[row : row + 1, None]):
                last[event.component] = row
                queue.append((at[row] + experiment.delay, instance.predict(inputs)[:, 0]))
            said.append([said for since, said in queue if since <= at[row]][-1][row])
        assert trial["live"]["rmse"] == pytest.approx(rmse(power, np.array(said)), rel=1e-4)
        until = last.get("predictor", len(power) - 1) + 1
        fitted = instance.predict(inputs)[:until, 0]
        assert trial["predictor"]["fitting_error"] == pytest.approx(
            rmse(power[:until], fitted), rel=1e-4
        )
        until = last.get("autoencoder", len(power) - 1) + 1
        assert trial["autoencoder"]["fitting_error"] == pytest.approx(
            rmse(inputs[:until], instance.reconstruct(inputs)[:until]), rel=1e-4
        )
        after = rmse(zone.warmup.y[:, column], instance.predict(zone.warmup.x)[:, 0])
        assert trial["predictor"]["forgetting_ratio"] == pytest.approx(
            max(0.0, (after - before) / before), rel=1e-3
        )
        compared += len(last)
    assert compared >= 4  # both components were updated


def warm_models(experiment, zone, column):
    """The warm-up's choice: the lowest validation error of all candidates."""
    warmup = WarmUp(experiment.warmup, seed=experiment.seed)
    networks = experiment.networks
    encoders = [
        drive(warmup.autoencoder(each, zone.warmup.x))
        for each in networks.representations(zone.inputs, variational=False)
    ]
    encoder = min(encoders, key=lambda model: model.validation_rmse)
    targets = zone.warmup.y[:, [column]]
    heads = [
        drive(warmup.predictors(each, encoder, zone.warmup.x, targets))[0]
        for each in networks.predictors(encoder.network.latent)
    ]
    return encoder, min(heads, key=lambda model: model.validation_rmse)


def rmse(targets, outputs):
    return float(np.sqrt(np.nanmean((targets - outputs) ** 2)))


def test_an_update_that_diverges_is_none(grid, one_point, tmp_path):
    wild = replace(one_point.update, learning_rate=1e30)
    results, _ = finished(
        replace(one_point, instances=("Ra",), update=wild), grid, tmp_path / "run"
    )
    frozen = {
        each["entity"]: each["predictor"]["fitting_error"]
        for each in results["baselines"]
        if each["baseline"] == "L"
    }
    assert any(trial["events"] for trial in results["trials"])
    for trial in results["trials"]:
        assert not any(event["accepted"] for event in trial["events"])
        assert (trial["autoencoder"]["updates"], trial["predictor"]["updates"]) == (0, 0)
        found = trial["predictor"]["fitting_error"]
        assert found == pytest.approx(frozen[trial["entity"]], rel=1e-4)


def test_a_candidate_that_diverges_is_passed_over(grid, one_point, tmp_path):
    networks = replace(one_point.networks, kl_weights=(1e38, 1e-6))
    results, _ = finished(
        replace(one_point, instances=("G",), networks=networks), grid, tmp_path / "run"
    )
    assert all(trial["predictor"]["fitting_error"] > 0 for trial in results["trials"])


def test_a_search_in_which_all_diverge_names_the_zone(grid, one_point, tmp_path):
    wild = replace(one_point.warmup, learning_rate=1e30)
    with pytest.raises(DataError, match="every candidate of the autoencoder of zone 'north'"):
        finished(replace(one_point, warmup=wild), grid, tmp_path / "run")


def test_what_the_data_decide_is_written_down(done, tiny, grid):
    out, results = done
    resolved = json.loads((out / "run.json").read_text())["resolved"]
    assert resolved["entities"] == ["farm", "park", "town"]
    assert resolved["delay_steps"] == results["delay_steps"] == 24
    assert sum(resolved["phases"].values()) == len(grid.times)


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


def test_chosen_trials_have_events_recoveries_and_a_series(done):
    out, results = done
    chosen = [trial for trial in results["trials"] if trial["chosen"]]
    for trial in chosen:
        counts = [e["component"] for e in trial["events"]]
        for component in ("autoencoder", "predictor"):
            assert counts.count(component) == trial[component]["updates"]
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


def test_configuration_versions_seed_and_machine_are_stored(done, tiny):
    out, _ = done
    about = json.loads((out / "run.json").read_text())
    assert about["experiment"]["grid"]["alpha"] == list(tiny.grid.alpha)
    assert about["seed"] == tiny.seed
    assert set(about["versions"]) >= {"clearwatt", "torch", "numpy", "python"}
    assert about["machine"]["cores"] >= 1


def test_processes_give_the_same_numbers(done, grid, tiny, tmp_path):
    results, _ = finished(tiny, grid, tmp_path / "run", "processes")
    assert results == done[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_same_numbers(done, grid, tiny, tmp_path):
    pytest.importorskip("ray", reason="Ray is an extra")
    results, _ = finished(tiny, grid, tmp_path / "run", "ray")
    assert results == done[1]


def test_a_finished_run_is_not_done_again(done, grid, tiny):
    out, results = done
    before = {file: file.stat().st_mtime_ns for file in (out / "trials").iterdir()}
    again, steps = finished(tiny, grid, out)
    assert again == results
    assert {file: file.stat().st_mtime_ns for file in (out / "trials").iterdir()} == before
    first = {step.stage: step for step in reversed(steps)}
    assert first["updating"].done == first["updating"].tasks


def test_what_is_missing_or_damaged_is_done_again_with_the_same_outcome(done, grid, tiny, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(done[0], out)
    trials = sorted((out / "trials").iterdir())
    trials[0].unlink()
    trials[-1].write_text('{"trial": {')
    shutil.rmtree(sorted((out / "finalists").iterdir())[0])
    warm = sorted((out / "warmup").iterdir())
    shutil.rmtree(warm[0])
    next(warm[1].glob("*.safetensors")).write_bytes(b"")
    assert finished(tiny, grid, out)[0] == done[1]


def test_only_the_models_of_chosen_trials_are_kept(done):
    out, _ = done
    assert len(list((out / "finalists").iterdir())) == 6 * 3


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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 1}, "another experiment .experiment.seed is 0 there and 1 here"),
        ({"entities": ("farm",)}, "another experiment"),
    ],
)
def test_the_folder_of_another_experiment_is_refused_untouched(done, grid, tiny, change, says):
    out, _ = done
    before = {file: file.read_bytes() for file in out.rglob("*.json")}
    with pytest.raises(ConfigurationError, match=says):
        finished(replace(tiny, **change), grid, out)
    assert {file: file.read_bytes() for file in out.rglob("*.json")} == before


def test_a_run_begun_with_other_versions_is_refused_untouched(done, grid, tiny, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(done[0], out)
    about = json.loads((out / "run.json").read_text())
    about["versions"]["torch"] = "1.0"
    (out / "run.json").write_text(json.dumps(about))
    before = {file: file.read_bytes() for file in out.rglob("*.json")}
    with pytest.raises(ConfigurationError, match=r"other versions \(torch is '1.0' there and"):
        finished(tiny, grid, out)
    assert {file: file.read_bytes() for file in out.rglob("*.json")} == before


def test_an_interruption_of_the_very_first_write_can_be_gone_on_after(grid, one_point, tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".run.json.4711.part").write_text("{")
    finished(one_point, grid, tmp_path)


def test_a_folder_with_anything_else_is_refused_untouched(grid, tiny, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ConfigurationError, match="something other than a run"):
        finished(tiny, grid, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_runs_do_not_write_into_one_folder(grid, one_point, tmp_path):
    with executor("serial") as compute:
        first = run(one_point, grid, tmp_path / "run", compute=compute)
        next(first)
        with pytest.raises(ConfigurationError, match="in use by another run"):
            finished(one_point, grid, tmp_path / "run")
        first.close()
    finished(one_point, grid, tmp_path / "run")
