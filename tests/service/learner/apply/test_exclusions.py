"""Excluded windows: kept with their reason, undone, and learned again, for both forecasters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.journals import SETTINGS, STEP, Service, World, digest

from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.records import Flag
from clearwatt.service.status import EntityStatus, ExcludedWindow

ADAPTIVE: dict[str, Any] = {"forecaster": "adaptive", "memory": 400, "lateness": 6 * STEP}
HISTORY, HOURS = 300, 460
OLD, RECENT = (20, 30), (430, 440)
"""Hours of the warm-up, and of the last days."""


def played(folder: Path, base: dict[str, Any]) -> Service:
    service = Service(folder, World.of(hours=HOURS, base=base))
    service.history(HISTORY)
    service.weather(HISTORY, HOURS + 48)
    service.send(HISTORY, HOURS)
    service.catch_up()
    return service


@pytest.fixture(params=[SETTINGS, ADAPTIVE], ids=["clear", "adaptive"])
def service(request, tmp_path) -> Service:
    return played(tmp_path, request.param)


def window(service: Service, hours: tuple[int, int]) -> dict[str, int]:
    first, last = hours
    return {"start": int(service.world.times[first]), "end": int(service.world.times[last])}


def command(service: Service, kind: Any, entity: str | None = "e0", **arguments: Any) -> Any:
    """Give a command; the event of its outcome."""
    service.command(kind, entity, **arguments)
    service.catch_up()
    return service.store.events(limit=1)[0]


def flags(service: Service, hours: tuple[int, int], column: int = 0) -> list[Flag]:
    found = service.store.readings(service.numbers[column], **window(service, hours))
    return [Flag(each) for each in found.flags]


@pytest.mark.parametrize("hours", [OLD, RECENT], ids=["old", "recent"])
def test_an_exclusion_is_undone_and_its_readings_are_learned_again(service, hours):
    span = window(service, hours)
    if hours == OLD:  # as weeks later
        service.learning.state.weather.forget_before(int(service.world.times[400]))
    first = command(service, "exclude", **span, reason="meter swapped")
    assert first.details["forgotten"] > 0
    assert set(flags(service, hours)) == {Flag.EXCLUDED}
    forgotten = digest(service)
    undone = command(service, "include", **span)
    assert (undone.kind, undone.details["learned"]) == ("include", 10)
    assert undone.details["reason"] == "meter swapped"
    assert digest(service) != forgotten
    assert set(flags(service, hours)) == {Flag.RELEASED}
    assert service.status.entity("e0").exclusions == ()
    again = command(service, "exclude", **span, reason="it was right the first time")
    assert again.details["forgotten"] == 10


def test_a_replay_learns_the_readings_of_that_moment_not_those_corrected_later(service, tmp_path):
    span, world = window(service, RECENT), service.world
    command(service, "exclude", **span, reason="meter swapped")
    service.learning.save(tmp_path / "checkpoint")
    command(service, "include", **span)
    readings = world.readings(432, 436, service.numbers)
    readings = readings[readings["entity"] == service.numbers[0]].copy()
    readings["value"] += 15
    service.store.add_readings(readings, at=0.0)
    service.catch_up()
    expected = digest(service)
    service.reload(tmp_path / "checkpoint")
    service.catch_up()
    assert digest(service) == expected


def test_the_reason_is_kept_over_a_restart(service, tmp_path):
    span = window(service, RECENT)
    command(service, "exclude", **span, reason="meter swapped")
    kept = ExcludedWindow(**span, reason="meter swapped", actor="test")
    assert service.status.entity("e0").exclusions == (kept,)
    service.learning.state.save(tmp_path / "saved")
    found = ZoneState.load(tmp_path / "saved", service.world.zone)
    assert found.excluded_windows("e0") == (kept,)


def test_windows_of_an_earlier_release_have_no_reason():
    status = EntityStatus.from_json({"exclusions": [[0, 3600]]})
    assert status.exclusions == (ExcludedWindow(0, 3600),)
    assert EntityStatus.from_json(status.to_json()) == status


def test_what_another_window_excludes_stays_out(service):
    first, last = RECENT
    inner = (first + 4, last)
    for hours in (RECENT, inner):
        command(service, "exclude", **window(service, hours), reason="twice")
    undone = command(service, "include", **window(service, RECENT))
    assert undone.details["learned"] == 4
    assert flags(service, RECENT) == [Flag.RELEASED] * 4 + [Flag.EXCLUDED] * 6


def test_a_window_of_the_whole_zone_is_undone_for_all(service):
    span = window(service, RECENT)
    command(service, "exclude", None, **span, reason="storm")
    (seen,) = service.status.entity("e1").exclusions
    assert seen.whole_zone
    undone = command(service, "include", None, **span)
    assert undone.details["learned"] == 20
    assert service.status.entity("e1").exclusions == ()


def test_what_cannot_be_undone_is_refused_with_the_reason(service):
    span = window(service, RECENT)
    unknown = command(service, "include", **span)
    assert unknown.kind == "command refused"
    assert "has no excluded window from" in unknown.message
    command(service, "exclude", **span, reason="x")
    command(service, "hold")
    held = command(service, "include", **span)
    assert held.kind == "command refused"
    assert "resume it first" in held.message
    assert len(service.status.entity("e0").exclusions) == 1


def test_readings_that_must_not_be_learned_stay_out(tmp_path):
    service = Service(tmp_path, World.of(hours=HOURS, base=SETTINGS))
    service.history(HISTORY)
    service.weather(HISTORY, HOURS + 48)
    service.world.power[432:434, 0] = 5000.0
    service.send(HISTORY, HOURS)
    service.catch_up()
    times = service.world.times
    assert sorted(service.learning.state.quarantined["e0"]) == times[432:434].tolist()
    command(service, "exclude", **window(service, RECENT), reason="x")
    command(service, "drop", times=[int(times[433])])
    undone = command(service, "include", **window(service, RECENT))
    assert undone.details["learned"] == 8
    kept = np.array(flags(service, RECENT))
    assert kept[2] == Flag.QUARANTINED and kept[3] == Flag.DROPPED
    assert set(np.delete(kept, [2, 3])) == {Flag.RELEASED}
