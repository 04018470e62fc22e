from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.service.journals import STEP, Service, World, digest

from clearwatt.service.learner.apply.clear_training import train_one_by_one
from clearwatt.service.learner.apply.learning import inputs_at
from clearwatt.service.records import READING, Flag
from clearwatt.service.status import ExcludedWindow
from clearwatt.training.streams import drive


@pytest.fixture
def world() -> World:
    return World.of()


def row_times(models):
    return models.forecaster.book.steps * models.step


def played(folder: Path, world: World, *, batch: int = 24, limit: int = 1000) -> Service:
    folder.mkdir()
    service = Service(folder, world)
    service.history()
    for start in range(300, len(world.power), batch):
        stop = min(start + batch, len(world.power))
        if (start - 300) % 24 == 0:
            service.weather(start + 24, start + 48)
        service.send(start, stop)
        if limit < 1000:
            service.catch_up(limit)
    service.catch_up(limit)
    return service


def test_readings_lead_to_updates_and_each_has_its_event_and_version(tmp_path, world):
    service = played(tmp_path / "a", world)
    status = service.status
    updates = service.store.events(kinds=["update"], limit=1000)
    assert any(event.entity == "e0" for event in updates), "the drift must be noticed"
    predictor = status.entities["e0"]
    assert predictor.state == "learning"
    assert predictor.component.updates >= 1
    deployed = service.store.version(predictor.predictor)
    assert deployed is not None
    assert deployed.status == "deployed"
    assert service.files.read(deployed.path).tensors
    assert predictor.live.n_day == 24
    assert len(predictor.spark) == 7
    assert predictor.spark[-1] == pytest.approx(predictor.live.rmse_day)
    assert service.store.version("predictor:e0:0").status == "superseded"


def test_the_service_learns_exactly_what_the_experiment_would(tmp_path, world):
    service = played(tmp_path / "a", world)
    state = service.learning.state
    (tmp_path / "b").mkdir()
    fresh = Service(tmp_path / "b", world)
    fresh.history()
    fresh.weather(300, len(world.times))
    fresh.catch_up()
    twin, closed = fresh.learning.state.models.instance, 300 + state.models.instance.step
    x = inputs_at(fresh.learning.state, world.times[300:closed])
    y = state.scaling.scale_power(world.power[300:closed], state.columns)
    drive(train_one_by_one(twin.stream(x, y)))
    twin.events = ()
    assert twin.predictors[0].updates, "without updates this shows little"
    assert twin.digest() == state.models.instance.digest()


@pytest.mark.parametrize("limit", [1, 3])
def test_how_entries_are_grouped_does_not_matter(tmp_path, world, limit):
    whole = played(tmp_path / "whole", world)
    pieces = played(tmp_path / "pieces", world, limit=limit)
    assert digest(whole) == digest(pieces)
    assert whole.status == pieces.status
    day = int(world.times[700] // 86_400 * 86_400)
    signals = [each.store.signals("north", start=day, end=day + 1) for each in (whole, pieces)]
    assert signals[0] == signals[1]


def test_order_and_repetition_within_the_lateness_do_not_matter(tmp_path, world):
    ordered = played(tmp_path / "ordered", world)
    (tmp_path / "shuffled").mkdir()
    service = Service(tmp_path / "shuffled", world)
    service.history()
    service.weather(300, len(world.times))
    rng = np.random.default_rng(0)
    readings = world.readings(300, len(world.power), service.numbers)
    delay = rng.uniform(0, 5 * STEP, len(readings))
    shuffled = readings[np.argsort(readings["time"] + delay)]
    for start in range(0, len(shuffled), 7):
        service.store.add_readings(shuffled[start : start + 7], at=0.0)
        service.store.add_readings(shuffled[start : start + 3], at=0.0)
        service.catch_up()
    assert digest(service) == digest(ordered)


def test_a_checkpoint_and_the_rest_of_the_journal_equal_never_having_stopped(tmp_path, world):
    ordered = played(tmp_path / "ordered", world)
    (tmp_path / "stopped").mkdir()
    service = Service(tmp_path / "stopped", world)
    service.history()
    service.weather(300, len(world.times))
    service.catch_up()
    for start in range(300, len(world.power), 24):
        service.send(start, start + 24)
        service.catch_up()
        if start % 5 == 0:
            service.learning.save(tmp_path / f"checkpoint-{start}")
        if start % 7 == 0:
            newest = max(tmp_path.glob("checkpoint-*"), key=lambda path: int(path.name[11:]))
            service.reload(newest)
    service.catch_up()
    assert digest(service) == digest(ordered)
    assert service.status.entities["e0"] == ordered.status.entities["e0"]


def test_a_late_reading_is_kept_and_learned_beside_the_stream(tmp_path, world):
    (tmp_path / "a").mkdir()
    service = Service(tmp_path / "a", world)
    service.history()
    service.weather(300, 400)
    readings = world.readings(300, 360, service.numbers)
    hole = readings["time"] == world.times[310]
    service.store.add_readings(readings[~hole], at=0.0)
    service.catch_up()
    before = service.learning.state.models.instance.inputs.next_row
    service.store.add_readings(readings[hole], at=0.0)
    service.catch_up()
    assert service.learning.state.models.instance.inputs.next_row == before + 1
    assert service.kinds().count("late") == 2
    series = service.store.readings(
        service.numbers[0], start=int(world.times[310]), end=int(world.times[311])
    )
    assert Flag(int(series.flags[0])) is Flag.LATE


def test_what_fails_the_checks_is_quarantined_and_can_be_released_or_dropped(tmp_path, world):
    (tmp_path / "a").mkdir()
    world.power[310, 0] = 900.0
    world.power[320, 0] = 900.0
    service = Service(tmp_path / "a", world)
    service.history()
    service.weather(300, 400)
    service.send(300, 360)
    service.catch_up()
    held = service.store.quarantine(entity=service.numbers[0])
    assert [reading.time for reading in held] == [int(world.times[320]), int(world.times[310])]
    assert "range" in held[0].reason
    service.command("release", "e0", times=[int(world.times[310])])
    service.command("drop", "e0", times=[int(world.times[320])])
    service.catch_up()
    assert service.store.quarantine() == []
    assert service.kinds()[-2:] == ["release", "drop"]
    service.command("release", "e0", times=[int(world.times[310])])
    service.catch_up()
    assert service.kinds()[-1] == "command refused"


def test_an_excluded_window_is_forgotten_and_stays_out(tmp_path, world):
    service = played(tmp_path / "a", world)
    state = service.learning.state
    start, end = int(world.times[870]), int(world.times[880])
    service.command("exclude", "e0", start=start, end=end, reason="meter swapped")
    service.catch_up()
    predictor = state.models.instance.predictors[0]
    times = row_times(state.models)[predictor.all_samples.rows]
    assert not ((times >= start) & (times < end)).any()
    event = service.store.events(kinds=["exclude"])[0]
    assert event.details["forgotten"] > 0
    assert "values" not in str(event.details)
    window = ExcludedWindow(start, end, "meter swapped", "test")
    assert service.status.entities["e0"].exclusions == (window,)


def test_a_held_entity_learns_nothing_and_its_neighbour_goes_on(tmp_path, world):
    (tmp_path / "a").mkdir()
    service = Service(tmp_path / "a", world)
    service.history()
    service.weather(300, len(world.times))
    service.command("hold", "e0")
    service.send(300, 600)
    service.catch_up()
    entities = service.status.entities
    assert entities["e0"].state == "held"
    assert entities["e0"].component.novel + entities["e0"].component.familiar == 0
    assert entities["e0"].component.updates == 0
    assert (
        entities["e1"].component.novel
        + entities["e1"].component.familiar
        + entities["e1"].component.updates
        > 0
    )
    service.command("resume", "e0")
    service.send(600, 660)
    service.catch_up()
    assert service.status.entities["e0"].state == "learning"
    assert service.status.entities["e0"].component.novel > 0


def test_rolling_back_puts_an_earlier_model_into_service_and_keeps_the_buffers(tmp_path, world):
    service = played(tmp_path / "a", world)
    before = service.status.entities["e0"]
    old = next(v for v in service.store.versions(entity="e0") if v.id == "predictor:e0:0")
    service.command("activate", "e0", version=old.id)
    service.catch_up()
    after = service.status.entities["e0"]
    assert after.predictor == "predictor:e0:0"
    assert (after.component.novel, after.component.familiar) == (
        before.component.novel,
        before.component.familiar,
    )
    assert after.component.threshold == pytest.approx(old.threshold)
    assert service.store.version(before.predictor).status == "superseded"


def test_a_model_that_awaits_approval_is_deployed_by_a_person(tmp_path):
    service = played(tmp_path / "a", World.of(approval=True))
    entity = service.status.entities["e0"]
    assert entity.state == "awaiting approval"
    assert entity.predictor == "predictor:e0:0"
    service.command("activate", "e0", version=entity.candidate)
    service.catch_up()
    after = service.status.entities["e0"]
    assert after.predictor == entity.candidate
    assert after.candidate is None


def test_a_correction_replaces_what_was_learned(tmp_path, world):
    service = played(tmp_path / "a", world)
    state = service.learning.state
    predictor = state.models.instance.predictors[0]
    row = int(predictor.all_samples.rows[-1])
    correction = np.array([(service.numbers[0], row_times(state.models)[row], 55.5)], READING)
    receipt = service.store.add_readings(correction, at=1.0)
    service.catch_up()
    assert receipt.corrections == 1
    held = predictor.all_samples
    assert held.targets[held.rows == row] == pytest.approx(0.555)
    assert "correction" in service.kinds()


def test_a_quarantined_reading_that_is_corrected_is_learned_from(tmp_path, world):
    (tmp_path / "a").mkdir()
    right = float(world.power[310, 0])
    world.power[310, 0] = 900.0
    service = Service(tmp_path / "a", world)
    service.history()
    service.weather(300, 400)
    service.send(300, 360)
    service.catch_up()
    assert len(service.store.quarantine()) == 1
    correction = np.array([(service.numbers[0], world.times[310], right)], READING)
    before = len(row_times(service.learning.state.models))
    service.store.add_readings(correction, at=1.0)
    service.catch_up()
    assert service.store.quarantine() == []
    assert service.status.entities["e0"].quarantined == 0
    assert len(row_times(service.learning.state.models)) == before + 1


def test_a_newer_candidate_takes_the_place_of_an_older_one(tmp_path):
    service = played(tmp_path / "a", World.of(approval=True, alpha=0.8))
    waiting = service.store.versions(entity="e0", status="awaiting")
    predictors = [version for version in waiting if version.component == "predictor"]
    assert [version.id for version in predictors] == [service.status.entities["e0"].candidate]
    assert service.status.entities["e0"].component.updates > 1


def test_an_entity_can_join_a_zone_that_learns(tmp_path, world):
    (tmp_path / "a").mkdir()
    service = Service(tmp_path / "a", world)
    service.store.add_weather(world.issue(0, len(world.times)), at=0.0)
    readings = world.readings(0, 500, service.numbers)
    one = readings["entity"] == service.numbers[0]
    service.store.add_readings(readings[one], at=0.0)
    service.command("warmup", "e0", end=int(world.times[299]))
    service.catch_up()
    assert service.status.entities["e1"].state == "waiting"
    service.store.add_readings(readings[~one], at=0.0)
    service.command("warmup", "e1")
    service.send(500, 560)
    service.catch_up()
    entities = service.status.entities
    assert entities["e1"].state == "learning", service.kinds()
    assert entities["e1"].judged > 0


def test_a_warm_up_without_history_is_refused_with_the_reason(tmp_path, world):
    (tmp_path / "a").mkdir()
    service = Service(tmp_path / "a", world)
    service.command("warmup", "e0")
    service.command("hold", "nobody")
    service.catch_up()
    first, second = reversed(service.store.events(kinds=["command refused"]))
    assert "no readings of e0" in first.message
    assert "nobody" in second.message
