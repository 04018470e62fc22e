"""Trials of the updating phase, in a run and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from tests.experiment.running import finished

from clearwatt.clear.instance import Instance
from clearwatt.clear.warm_up import WarmUp
from clearwatt.experiment import updating
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.protocol import divide
from clearwatt.training import streams
from clearwatt.training.fleet import Training, train
from clearwatt.training.streams import drive


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


def test_replay_of_any_kind_shares_the_updates_that_are_the_same(
    grid, one_point, tmp_path, monkeypatch
):
    """The results are those of training every update of every configuration."""
    counts: list[int] = []

    def counted(jobs, *, stack=None):
        counts.append(len(jobs))
        return train(jobs, stack=stack)

    experiment = replace(
        one_point,
        instances=("Ra", "Re", "ReD"),
        grid=replace(one_point.grid, recent_updates=(2, 3)),
    )
    monkeypatch.setattr(streams, "train", counted)
    shared, _ = finished(experiment, grid, tmp_path / "shared")
    trained_shared = sum(counts)
    counts.clear()
    monkeypatch.setattr(updating, "drive", lambda stream, reuse: drive(stream))
    every, _ = finished(experiment, grid, tmp_path / "every")
    updates = sum(len(trial["events"] or ()) for trial in every["trials"] if trial["chosen"])
    assert updates > 0
    assert trained_shared < 0.8 * sum(counts)
    for one, other in zip(shared["trials"], every["trials"], strict=True):
        assert (one["instance"], one["configuration"]) == (
            other["instance"],
            other["configuration"],
        )
        for part in ("autoencoder", "predictor"):
            assert one[part]["updates"] == other[part]["updates"]
            for figure in ("fitting_error", "forgetting_ratio"):
                assert one[part][figure] == pytest.approx(other[part][figure], rel=1e-3)
        assert one["live"] == pytest.approx(other["live"], rel=1e-3)


def test_the_figures_of_a_trial_are_those_of_its_instance_streamed_by_hand(grid, tiny, tmp_path):
    """The paper's equations, and the live error, from nothing but the models at each update."""
    experiment = replace(
        tiny,
        instances=("Ra",),
        entities=("farm", "town"),
        delay=7,
        networks=Networks((1,), (12,), (4,), (1e-6,), (2,), (12, 8)),
        warmup=Training(epochs=120, patience=30, learning_rate=1e-2),
        update=replace(tiny.update, learning_rate=0.1),  # so that models forget
    )
    results, _ = finished(experiment, grid, tmp_path / "run")
    division = divide(grid, None, ("farm", "town"))
    compared, forgotten = 0, 0
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
        rebuilt = rmse(zone.warmup.x, instance.reconstruct(zone.warmup.x))
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
        again = rmse(zone.warmup.x, instance.reconstruct(zone.warmup.x))
        assert trial["autoencoder"]["forgetting_ratio"] == pytest.approx(
            max(0.0, (again - rebuilt) / rebuilt), rel=1e-3
        )
        forgotten += again > rebuilt
        compared += len(last)
    assert compared >= 4  # both components were updated
    assert forgotten, "no autoencoder forgot anything, so its ratio was not tested"


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


@pytest.mark.parametrize(("equal", "own"), [(False, 4), (True, 6)])
def test_autoencoders_of_single_entities_can_train_as_long_as_shared_ones(
    grid, one_point, tmp_path, equal, own
):
    """With this limit of work networks train for 4 epochs, a shared autoencoder for all 6."""
    update = Training(epochs=6, patience=None, work=1)
    novel = replace(one_point.grid, alpha=(0.9,))
    experiment = replace(
        one_point, entities=("farm",), grid=novel, update=update, equal_epochs=equal
    )
    results, _ = finished(experiment, grid, tmp_path / "run")
    epochs = {
        (trial["instance"], event["component"]): event["epochs"]
        for trial in results["trials"]
        for event in trial["events"]
    }
    assert epochs == {
        ("Ra", "autoencoder"): 6,
        ("Ra", "predictor"): 4,
        ("G", "autoencoder"): own,
        ("G", "predictor"): 4,
    }
