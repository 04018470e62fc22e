"""A zone with a forecaster of the paper: its folder, and folders of earlier releases."""

import shutil
from pathlib import Path

import numpy as np
import torch
from tests.service.journals import STEP, Service, World, digest

from clearwatt.files import load_state, save_state
from clearwatt.service.learner.apply.clear_models import ClearModels
from clearwatt.service.records import READING, Entry


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


def test_a_late_reading_of_an_open_row_leaves_the_stream_as_it_is(tmp_path):
    """It is learned beside the stream; its row and those before it are streamed later on."""
    service = Service(tmp_path, World.of(hours=420))
    service.history()
    service.weather(300, 468)
    first, lateness = service.numbers[0], 6 * STEP

    def send(start: int, stop: int) -> None:
        readings = service.world.readings(start, stop, service.numbers)
        silent = (readings["entity"] == first) & (readings["time"] >= service.world.times[330])
        service.store.add_readings(readings[~silent], at=0.0)
        service.catch_up()

    send(300, 360)
    overdue = int(service.world.times[359]) - lateness - STEP
    service.store.add_readings(np.array([(first, overdue, 21.0)], READING), at=1.0)
    service.catch_up()
    send(360, 420)
    rows = service.learning.state.rows
    assert rows is not None
    closed = (rows.next - int(service.world.times[300])) // STEP
    assert models(service).forecaster.instance.step == closed
    assert models(service).forecaster.book.known == rows.next // STEP - 1


def test_an_exclusion_reaches_samples_that_joined_while_the_zone_was_held(tmp_path):
    service = Service(tmp_path, World.of(hours=500))
    service.store.add_weather(service.world.issue(0, 548), at=0.0)
    first, second = service.numbers
    readings = service.world.readings(0, 500, service.numbers)
    service.store.add_readings(readings[: 2 * 300][readings["entity"][:600] == first], at=0.0)
    service.command("warmup", "e0")
    service.command("hold")
    later = readings[2 * 300 :]
    service.store.add_readings(later[later["entity"] == first], at=0.0)
    service.catch_up()
    own = readings[readings["entity"] == second]
    service.store.add_readings(own[:480], at=0.0)
    service.command("warmup", "e1")
    service.catch_up()
    start, end = (int(service.world.times[hour]) for hour in (400, 450))
    service.command("exclude", "e1", start=start, end=end, reason="meter swapped")
    service.catch_up()
    forecaster = models(service).forecaster
    times = forecaster.book.steps * STEP
    held = forecaster.instance.predictors[1].all_samples.rows
    assert (times > start).any()
    assert not ((times[held] >= start) & (times[held] < end)).any()


def test_a_held_zone_learns_no_late_reading(tmp_path):
    service = Service(tmp_path, World.of(hours=500))
    service.history()
    service.weather(300, 548)
    readings = service.world.readings(300, 400, service.numbers)
    late = (readings["entity"] == service.numbers[0]) & (
        readings["time"] == service.world.times[350]
    )
    service.store.add_readings(readings[~late], at=0.0)
    service.command("hold")
    service.catch_up()
    before = models(service).forecaster.instance.inputs.next_row
    service.store.add_readings(readings[late], at=1.0)
    service.catch_up()
    assert models(service).forecaster.instance.inputs.next_row == before
