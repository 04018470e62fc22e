"""A meter that lies: quarantine from its first wrong reading, what was learned undone, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.service.journals import SETTINGS, STEP, Service, World, digest

from clearwatt.files import digest_of, load_state
from clearwatt.service.learner.apply.zone_learning import ZoneLearning
from clearwatt.service.records import Flag

ADAPTIVE: dict[str, Any] = {"forecaster": "adaptive", "memory": 400, "lateness": 6 * STEP}
BASES = {"clear": SETTINGS, "adaptive": ADAPTIVE}
DAY = 24
HISTORY = 40 * DAY
BEGIN, REPAIRED = HISTORY + 2 * DAY + 10, HISTORY + 9 * DAY
"""Hours between which the first meter lies."""
TOLD = HISTORY + 6 * DAY
"""By then it is suspected."""

Way = Literal["mirror", "thousandth"]


def world_of(base: str, lie: Way | None = "thousandth", **settings: Any) -> World:
    world = World.of(hours=REPAIRED + 4 * DAY, base=BASES[base], **settings)
    lying = world.power[BEGIN:REPAIRED, 0]
    if lie is not None:
        world.power[BEGIN:REPAIRED, 0] = 60 - lying if lie == "mirror" else lying / 1000
    return world


def played(folder: Path, world: World, until: int = TOLD) -> Service:
    service = Service(folder, world)
    service.history(HISTORY)
    service.weather(HISTORY - DAY, len(world.times))
    go_on(service, HISTORY, until)
    return service


def go_on(service: Service, start: int, until: int) -> None:
    for hour in range(start, until, DAY):
        service.send(hour, min(hour + DAY, until))
        service.catch_up()


@pytest.fixture(params=["clear", pytest.param("adaptive", marks=pytest.mark.slow)])
def base(request) -> str:
    return str(request.param)


def flags(service: Service, start: int, stop: int, column: int = 0) -> list[Flag]:
    times = service.world.times
    found = service.store.readings(
        service.numbers[column], start=int(times[start]), end=int(times[stop])
    )
    return [Flag(each) for each in found.flags]


def event(service: Service, kind: str) -> Any:
    return next(each for each in service.store.events(limit=100) if each.kind == kind)


def state_of(service: Service) -> tuple[Any, ...]:
    state = service.learning.state
    return (digest(service), state.suspicions, state.doubted, state.quarantined, state.deployed)


def saved_state(service: Service, folder: Path) -> list[str]:
    """Digests of all that a checkpoint has, except how many entries there were."""
    service.learning.save(folder)
    found = []
    for part in sorted(path.parent for path in folder.rglob("state.json")):
        saved = load_state(part)
        values = {name: each for name, each in saved.values.items() if name != "position"}
        found.append(digest_of(values, saved.tensors))
    assert found
    return found


def test_readings_are_in_quarantine_from_the_first_wrong_one_with_a_reason(tmp_path, base):
    service = played(tmp_path, world_of(base))
    status = service.status.entity("e0")
    assert status.state == "suspected"
    assert status.suspicion is not None
    assert status.suspicion.since == service.world.times[BEGIN]
    assert "a thousandth of before: unit?" in status.suspicion.reason
    closed = (service.status.until - service.world.times[0]) // STEP + 1
    assert set(flags(service, BEGIN, closed)) == {Flag.QUARANTINED}
    assert set(flags(service, HISTORY, BEGIN)) == {Flag.ACCEPTED}
    assert set(flags(service, HISTORY, closed, column=1)) == {Flag.ACCEPTED}
    assert service.status.entity("e1").suspicion is None
    found = event(service, "suspicion")
    assert found.entity == "e0"
    assert "a thousandth of before: unit?" in found.message


@pytest.mark.parametrize("base", BASES)
def test_what_a_lie_taught_is_undone(tmp_path, base):
    """As in a zone whose meter was silent instead; without protection it is not."""
    epochs = {"epochs": 60} if base == "clear" else {}
    lying = played(tmp_path / "lying", world_of(base, **epochs))
    silent_world = world_of(base, None, **epochs)
    silent_world.power[BEGIN:, 0] = np.nan
    silent = played(tmp_path / "silent", silent_world)
    misled = played(tmp_path / "misled", world_of(base, suspicion="off", **epochs))
    assert lying.status.entity("e0").predictor == silent.status.entity("e0").predictor
    assert "suspicion" not in misled.kinds()
    assert all(version.at > 0 for version in lying.store.versions())  # when it was trained
    every = (lying, silent, misled)
    expected = forecasts(silent)
    errors = [np.abs(forecasts(each) - expected).max() for each in (lying, misled)]
    usual = np.abs(expected).mean()
    assert errors[0] < 0.03 * usual
    assert errors[1] > 0.1 * usual
    if base == "adaptive":  # what would wear off without being undone
        ranges = [each.learning.state.models.forecaster.fast_part.limits.low[0] for each in every]
        assert ranges[0] == ranges[1] > ranges[2]


def forecasts(service: Service) -> np.ndarray:
    """Of the lying entity for the day after the last reading."""
    from clearwatt.service.learner.apply.learning import inputs_at

    state = service.learning.state
    start = state.rows.next
    times = start + STEP * np.arange(DAY)
    forecaster = state.models.forecaster
    made = forecaster.deployed.forecast(inputs_at(state, times), times // STEP)
    return np.asarray(made.power[:, 0])


def test_open_and_late_readings_of_a_suspected_meter_do_not_count(tmp_path):
    from clearwatt.service.learner.apply.open_rows import plausible_rows

    service = played(tmp_path, world_of("adaptive"))
    rows = plausible_rows(service.learning.state)
    assert rows is not None
    assert np.isnan(rows.targets[:, 0]).all()
    assert np.isfinite(rows.targets[:, 1]).any()
    before = service.status.entity("e0").quarantined
    readings = service.world.readings(BEGIN + 5, BEGIN + 8, service.numbers)
    corrected = readings[readings["entity"] == service.numbers[0]].copy()
    corrected["value"] += 0.5
    service.store.add_readings(corrected, at=0.0)
    service.catch_up()
    assert service.status.entity("e0").quarantined == before
    assert set(flags(service, BEGIN + 5, BEGIN + 8)) == {Flag.QUARANTINED}


def test_a_repaired_meter_learns_again_by_itself(tmp_path, base):
    service = played(tmp_path, world_of(base), until=REPAIRED + 4 * DAY)
    status = service.status.entity("e0")
    assert (status.state, status.suspicion) == ("learning", None)
    assert event(service, "suspicion ended").entity == "e0"
    assert set(flags(service, BEGIN, REPAIRED)) == {Flag.QUARANTINED}
    assert set(flags(service, REPAIRED, REPAIRED + 2 * DAY)) == {Flag.ACCEPTED}, "also the first"
    assert status.quarantined == REPAIRED - BEGIN
    assert service.learning.state.doubted == {}


@pytest.mark.parametrize("base", BASES)
def test_a_person_confirms_and_a_replay_leads_to_the_same_state(tmp_path, base):
    service = played(tmp_path, world_of(base, "mirror"))
    service.learning.save(tmp_path / "checkpoint")
    held = service.status.entity("e0").quarantined
    assert held > 2 * DAY
    service.command("confirm", "e0", reason="the feeder was turned around")
    service.catch_up()
    found = event(service, "confirm")
    assert found.details["learned"] == held
    assert found.details["reason"] == "the feeder was turned around"
    status = service.status.entity("e0")
    assert (status.state, status.suspicion, status.quarantined) == ("learning", None, 0)
    assert set(flags(service, BEGIN, TOLD - DAY)) == {Flag.RELEASED}
    go_on(service, TOLD, REPAIRED)
    assert service.status.entity("e0").suspicion is None, "it is not suspected of the same again"
    expected = state_of(service)
    service.reload(tmp_path / "checkpoint")
    service.catch_up()
    assert state_of(service) == expected


def test_what_is_not_suspected_or_held_cannot_be_confirmed(tmp_path):
    service = played(tmp_path, world_of("clear"))
    service.command("confirm", "e1")
    service.command("hold", "e0")
    service.command("confirm", "e0")
    service.catch_up()
    refused = [each for each in service.store.events(limit=20) if each.kind == "command refused"]
    messages = [each.message for each in refused]
    assert any("e1 is not suspected" in message for message in messages)
    assert any("resume it first" in message for message in messages)
    assert service.status.entity("e0").suspicion is not None


def test_neither_restarts_nor_blocks_change_what_happens(tmp_path, base):
    world = world_of(base)
    expected = played(tmp_path / "whole", world, until=REPAIRED + 3 * DAY)
    service = Service(tmp_path / "parts", world)
    service.history(HISTORY)
    service.weather(HISTORY - DAY, len(world.times))
    for hour in range(HISTORY, REPAIRED + 3 * DAY, DAY):
        service.send(hour, hour + DAY)
    while entries := service.store.journal("north", after=service.learning.position, limit=3):
        service.run(entries)
        service.learning.save(tmp_path / "checkpoint")
        service.reload(tmp_path / "checkpoint")
    assert state_of(service) == state_of(expected)
    assert saved_state(service, tmp_path / "mine") == saved_state(expected, tmp_path / "other")


def test_the_setting_switches_it_off_and_ends_suspicions(tmp_path):
    service = played(tmp_path, world_of("clear"))
    held = service.status.entity("e0").quarantined
    service.command("settings", suspicion="off")
    service.catch_up()
    assert service.status.entity("e0").suspicion is None
    assert service.status.entity("e0").quarantined == held, "a person decides about these"
    assert "1 suspicions ended" in event(service, "settings").message
    assert service.learning.state.watch is None


def test_an_entity_that_is_deleted_takes_its_suspicion_with_it(tmp_path, base):
    service = played(tmp_path, world_of(base))
    service.store.remove_entity(service.entities[0], actor="test", at=0.0)
    service.catch_up()
    state = service.learning.state
    assert (state.suspicions, state.doubted) == ({}, {})
    service.learning.save(tmp_path / "checkpoint")
    again = ZoneLearning.load(
        tmp_path / "checkpoint", zone=service.world.zone, store=service.store, files=service.files
    )
    assert again.state.watch is not None
    assert again.state.watch.power.shape[1] == 1


def test_times_of_versions_after_a_repair_do_not_depend_on_how_entries_are_grouped(tmp_path):
    """A later suspicion goes back by them."""
    found = []
    for name, limit in (("together", 1000), ("apart", 1)):
        world = world_of("clear", alpha=0.05, novelty_capacity=7, epochs=1)
        (tmp_path / name).mkdir()
        service = played(tmp_path / name, world, until=HISTORY)
        service.catch_up()
        for hour in range(HISTORY, len(world.power), DAY):
            service.send(hour, hour + DAY)
        service.catch_up(limit=limit)
        assert "suspicion ended" in service.kinds()
        served = service.learning.state.served["predictor:e0"]
        found.append([(version.id, version.time) for version in served])
    assert found[0] == found[1]


def test_intervals_are_as_wide_as_before_a_lie(tmp_path, base):
    lying, silent_world = world_of(base), world_of(base, None)
    silent_world.power[BEGIN:, 0] = np.nan
    widths = []
    for name, world in (("lying", lying), ("silent", silent_world)):
        (tmp_path / name).mkdir()
        service = played(tmp_path / name, world)
        service.learning.save(tmp_path / name / "checkpoint")
        service.reload(tmp_path / name / "checkpoint")
        intervals = service.learning.state.intervals
        at = np.arange(DAY)
        calibrators = [intervals.stream.calibrator]
        calibrators += [] if intervals.near is None else intervals.near.calibrators
        found = [
            each.snapshot.quantiles(np.full((DAY, 2), 0.4), at, levels=[0.05, 0.95])[:, 0]
            for each in calibrators
        ]
        widths.append([float(np.mean(each[:, 1] - each[:, 0])) for each in found])
    ratios = np.divide(*widths)
    assert (ratios > 0.5).all()
    assert (ratios < 2).all()
