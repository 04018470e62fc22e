"""A zone with a forecaster of the paper: its folder, and folders of earlier releases."""

import shutil
from pathlib import Path

import torch
from tests.service.journals import Service, World, digest

from clearwatt.files import load_state, save_state
from clearwatt.service.learner.apply.clear_models import ClearModels
from clearwatt.service.records import Entry


def models(service: Service) -> ClearModels:
    found = service.learning.state.models
    assert isinstance(found, ClearModels)
    return found


def begun(folder: Path) -> Service:
    service = Service(folder, World.of(hours=500))
    service.history()
    service.weather(300, 548)
    service.send(300, 400)
    service.catch_up()
    return service


def learn_rest(service: Service) -> list[Entry]:
    """Learn the rest; returns its journal, to learn it again."""
    before = service.learning.position
    service.send(400, 500)
    service.catch_up()
    return service.store.journal("north", after=before, limit=1000)


def as_written_before(service: Service, folder: Path) -> None:
    """Write a checkpoint as earlier releases did: an instance, and the times of its rows."""
    service.learning.state.save(folder)
    own = models(service)
    own.forecaster.instance.save(folder / "instance")
    zone = load_state(folder / "zone")
    times = torch.from_numpy(own.forecaster.book.steps * own.step)
    save_state(folder / "zone", zone.values, {**zone.tensors, "row_times": times})
    shutil.rmtree(folder / "clear")


def test_a_folder_of_an_earlier_release_goes_on(tmp_path):
    service = begun(tmp_path)
    as_written_before(service, tmp_path / "earlier")
    entries = learn_rest(service)
    expected = models(service).forecaster
    service.reload(tmp_path / "earlier")
    assert models(service).forecaster is not expected
    service.run(entries)
    found = models(service).forecaster
    assert found.instance.events == () and found.instance.digest() == expected.instance.digest()
    assert found.book.steps.tolist() == expected.book.steps.tolist()
    assert found.book.known == expected.book.known


def test_a_saved_zone_goes_on_as_if_it_had_never_stopped(tmp_path):
    service = begun(tmp_path)
    service.learning.state.save(tmp_path / "saved")
    entries = learn_rest(service)
    expected = digest(service)
    service.reload(tmp_path / "saved")
    service.run(entries)
    assert digest(service) == expected
