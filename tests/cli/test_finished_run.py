"""A finished experiment as the beginning of a service."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.clear.component import ClearSettings
from clearwatt.clear.instance import Instance
from clearwatt.cli.finished_run import read_finished_run
from clearwatt.cli.model_import import import_run
from clearwatt.compute import executor
from clearwatt.data import Dataset, Entity, Kind
from clearwatt.data.features import prepare
from clearwatt.errors import ConfigurationError, DataError, StateError
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import Grid
from clearwatt.experiment.protocol import Phases
from clearwatt.experiment.run import run
from clearwatt.service.files import ModelFiles
from clearwatt.service.learner.apply.zone_learning import ZoneLearning
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.store import open_store
from clearwatt.training.fleet import Training
from clearwatt.training.streams import drive


@pytest.fixture(scope="module")
def dataset():
    """Two zones, three entities, 900 hours."""
    rng = np.random.default_rng(11)
    times = pd.date_range("2024-01-01", periods=900, freq="h", tz="UTC", name="time")
    wind = {zone: 10 * rng.random(900) for zone in ("north", "south")}
    weather = {zone: pd.DataFrame({"wind": wind[zone]}, index=times) for zone in wind}
    power = {"farm": 3 * wind["north"], "mill": 9 - wind["north"], "town": 30 + wind["south"]}
    return Dataset(
        name="small",
        power=pd.DataFrame(power, index=times),
        weather=weather,
        entities=(
            Entity("farm", Kind.GENERATOR, 60.0, "north"),
            Entity("mill", Kind.CONSUMER, None, "north"),
            Entity("town", Kind.RESIDUAL, 100.0, "south"),
        ),
    )


@pytest.fixture(scope="module")
def finished(dataset, tmp_path_factory):
    """The folder of a run with two instances and ours, and the folder of its data set."""
    folder = tmp_path_factory.mktemp("finished")
    dataset.save(folder / "small")
    experiment = Experiment(
        preset="demo",
        entities=6,  # of a preset: as many as there are
        instances=("Re", "G", "A"),
        phases=Phases(warmup=300, updating=500, test=100),
        networks=Networks((1,), (8,), (4, 3), (1e-6,), (1,), (8,)),
        grid=Grid((60,), (0.9, 1.3), (1e4,), (1.0,), (3,)),
        warmup=Training(epochs=5, patience=None),
        update=Training(epochs=1, patience=None, averaging=0.9, work=5_000),
        equal_epochs=True,
        baseline=Training(epochs=1, patience=None),
        baseline_autoencoder=Training(epochs=1, patience=None),
    )
    with executor("serial") as compute:
        for _ in run(experiment, dataset, folder / "run", compute=compute):
            pass
    return folder / "run", folder / "small"


def test_generative_replay_of_an_earlier_release_keeps_its_last_models_only(finished):
    """Its run has no word of archives, which a service would then keep of every update."""
    ran = read_finished_run(finished[0], instance="G", data=str(finished[1]))
    assert ran.options
    earlier = replace(ran, options=False)
    assert "archives" not in earlier.settings(earlier.zones[0])["parameters"]


def folded(store, data_dir, zone):
    """The zone after its whole journal, as the learner would have it."""
    learning = ZoneLearning(zone, store=store, files=ModelFiles(data_dir))
    outcome = drive(
        learning.apply(store.journal(zone.id, after=0, limit=10_000), store.entities(zone.id))
    )
    return learning, outcome


@pytest.mark.parametrize(
    ("instance", "strategy"), [("RecentReplay", "RecentReplay"), ("G", "GenerativeReplay")]
)
def test_the_service_begins_with_the_runs_models_and_configuration(
    finished, dataset, tmp_path, instance, strategy
):
    folder, data = finished
    brought = read_finished_run(folder, instance=instance, data=str(data))
    store = open_store(tmp_path / "clearwatt.db")
    try:
        assert import_run(brought, store, tmp_path, defaults={"lateness": 7200}) == [
            "north",
            "south",
        ]
        for zone, warm in zip(store.zones(), brought.zones, strict=True):
            learning, outcome = folded(store, tmp_path, zone)
            assert [event.kind for event in outcome.events if event.key.startswith("command")] == [
                "adopt"
            ]
            settings = learning.state.settings
            assert (settings.strategy, settings.lateness) == (strategy, 7200)
            assert settings.novelty_capacity == 60
            assert settings.alpha == most_chosen(folder, warm, "alpha", strategy)
            x = prepare(dataset, warm.scaling, entities=warm.history.names).inputs[zone.id][600:700]
            expected = Instance.create_empty(
                ClearSettings(),
                x.shape[1],
                autoencoder=warm.autoencoder,
                predictors=list(warm.predictors.values()),
            ).predict(x)
            np.testing.assert_allclose(learning.state.models.instance.predict(x), expected)
            learned = learning.state.models.forecaster.book
            assert learning.state.rows.next == (learned.known + 1) * zone.step
            assert len(learned.steps) == 300
    finally:
        store.close()


@pytest.mark.parametrize("instance", ["RecentReplay", "G"])
def test_the_service_updates_its_models_as_the_run_did(finished, instance):
    folder, data = finished
    brought = read_finished_run(folder, instance=instance, data=str(data))
    for zone in brought.zones:
        served = ZoneSettings.read(brought.settings(zone)).clear_settings(3600)
        tried = brought.experiment.settings(zone.configuration)
        assert served.strategy == tried.strategy
        assert served.update == tried.update
        assert (served.update.averaging, served.update.work) == (0.9, 5_000)
        assert served.equal_epochs and tried.equal_epochs
        if instance == "G":
            assert served.strategy.archives == "all"


def most_chosen(folder, warm, name, strategy):
    trials = json.loads((folder / "results.json").read_text())["trials"]
    chosen = [
        trial["configuration"][name]
        for trial in trials
        if trial["chosen"] and trial["approach"] == strategy and trial["zone"] == warm.name
    ]
    return max((0.9, 1.3), key=chosen.count)


def test_the_same_command_again_brings_nothing_twice(finished, tmp_path):
    folder, data = finished
    brought = read_finished_run(folder, instance="RecentReplay", data=str(data))
    store = open_store(tmp_path / "clearwatt.db")
    try:
        import_run(brought, store, tmp_path, defaults={})
        heads = store.heads()
        assert import_run(brought, store, tmp_path, defaults={"lateness": 60}) == []
        assert store.heads() == heads
    finally:
        store.close()


def test_what_is_wrong_with_a_run_is_told(finished, dataset, tmp_path):
    folder, data = finished
    with pytest.raises(ConfigurationError, match=r"'small'.*--data"):
        read_finished_run(folder, instance="RecentReplay", data=None)
    with pytest.raises(ConfigurationError, match="RecentReplay, GenerativeReplay"):
        read_finished_run(folder, instance="OnlineEWC", data=str(data))
    replace(dataset, power=2 * dataset.power).save(tmp_path / "other")
    with pytest.raises(DataError, match="not what"):
        read_finished_run(folder, instance="RecentReplay", data=str(tmp_path / "other"))
    with pytest.raises(DataError):
        read_finished_run(tmp_path, instance="RecentReplay", data=str(data))


def test_a_run_whose_models_are_gone_is_refused(finished, tmp_path):
    folder, data = finished
    shutil.copytree(folder, tmp_path / "run")
    models = (tmp_path / "run" / "warmup").glob("*/state.json")
    next(file for file in models if '"Autoencoder"' in file.read_text()).unlink()
    with pytest.raises(StateError, match="missing or damaged"):
        read_finished_run(tmp_path / "run", instance="RecentReplay", data=str(data))


def test_the_adaptive_forecaster_of_a_run_is_no_instance_to_serve(finished):
    folder, data = finished
    with pytest.raises(ConfigurationError, match="choose one of RecentReplay, GenerativeReplay"):
        read_finished_run(folder, instance="A", data=str(data))
