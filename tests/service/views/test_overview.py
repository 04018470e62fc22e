"""What needs somebody, and when statuses are read again."""

from dataclasses import replace

import pytest

from clearwatt.service.learner.supervisor import Health
from clearwatt.service.records import Outcome, RegisteredEntity, Zone
from clearwatt.service.registry import Registry
from clearwatt.service.status import (
    ComponentStatus,
    EntityStatus,
    ForecastSkill,
    IntervalQuality,
    LiveErrors,
    SuspicionStatus,
    ZoneStatus,
)
from clearwatt.service.store import open_store
from clearwatt.service.views.overview import Overview, view_of

WELL = Health(alive=True, restarts=0, heartbeat_age=0.1)
ZONE = Zone("north", 900, ("wind",))
A, B = (
    RegisteredEntity("a", "north", "generator", number=1),
    RegisteredEntity("b", "north", "consumer", number=2),
)
GOOD = EntityStatus(
    "learning",
    "predictor:a:1",
    live=LiveErrors(n_day=96, rmse_day=1.0, rmse_week=1.0),
    spark=(1.0,) * 7,
    component=ComponentStatus(novel=30, capacity=100),
)


def status_of(a=GOOD, b=GOOD, **zone):
    return ZoneStatus("north", 1, 1, "learning", entities={"a": a, "b": b}, **zone)


def view(status, health=WELL):
    return view_of(ZONE, [A, B], status, health=health)


def alerts(status, health=WELL):
    """The alerts of the first entity, by kind."""
    return [alert.kind for alert in view(status, health).members[0].alerts]


def live(day, week, count=96):
    return replace(GOOD, live=LiveErrors(n_day=count, rmse_day=day, rmse_week=week))


def test_an_entity_that_gets_on_needs_nobody():
    member = view(status_of()).members[0]
    assert (member.state, member.alerts, member.severity) == ("learning", (), 0)
    assert member.trend == 1.0
    assert member.status.component.fill == 0.3


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (live(2.1, 1.0), ["degraded"]),
        (live(2.0, 1.0), []),
        (live(2.1, 1.0, 24), ["degraded"]),
        (live(2.1, 1.0, 23), []),
        (live(None, None, 0), []),
        (live(0.0, 0.0), []),
    ],
)
def test_a_day_twice_as_bad_as_the_week_is_worth_a_look(own, expected):
    assert alerts(status_of(own)) == expected


def test_an_error_of_the_zone_is_an_alert_for_everybody_in_it():
    for found in (
        view(status_of(error="DataError: odd")),
        view(status_of(), replace(WELL, degraded={"north": "DataError: odd"})),
    ):
        assert {member.state for member in found.members} == {"degraded"}
        assert "DataError: odd" in found.members[1].alerts[0].message
        assert found.status.error == "DataError: odd"


def test_a_meter_that_is_silent_while_others_report_is_degraded():
    silent = replace(GOOD, spark=(1.0,) * 6 + (None,))
    assert alerts(status_of(silent)) == ["degraded"]
    assert alerts(status_of(silent, silent)) == []
    assert alerts(status_of(silent, settings={"lateness": 2 * 86_400})) == []
    longer = replace(GOOD, spark=(1.0,) * 5 + (None,) * 2)
    assert alerts(status_of(longer, settings={"lateness": 2 * 86_400})) == ["degraded"]


def test_what_waits_for_a_person_is_an_alert():
    waiting = replace(GOOD, state="awaiting approval", candidate="predictor:a:2")
    assert alerts(status_of(waiting)) == ["awaiting approval"]
    assert alerts(status_of(replace(GOOD, quarantined=3))) == ["quarantine"]
    both = view(status_of(replace(waiting, quarantined=1))).members[0]
    assert [alert.kind for alert in both.alerts] == ["awaiting approval", "quarantine"]
    assert both.severity == 3


def test_a_suspected_meter_is_an_alert_that_explains_all_else():
    own = replace(GOOD, state="suspected", suspicion=SuspicionStatus("noise", 0, "Readings jump."))
    member = view(status_of(replace(own, quarantined=500, spark=(None,) * 7))).members[0]
    assert member.state == "suspected"
    assert [alert.kind for alert in member.alerts] == ["suspected"]
    assert "Readings jump." in member.alerts[0].message


def test_an_entity_worse_than_persistence_or_with_narrow_intervals_is_inaccurate():
    worse = replace(GOOD, skill=ForecastSkill(1344, 5.0, 4.0, worse=True))
    narrow = replace(GOOD, interval=IntervalQuality(coverage_two_weeks=0.71, too_narrow=True))
    found = view(status_of(worse, narrow), replace(WELL, updating=("north",))).members
    assert [member.state for member in found] == ["inaccurate"] * 2
    assert [member.severity for member in found] == [2, 2]
    (first,), (second,) = (member.alerts for member in found)
    assert "25 % above that of repeating the same hour of the last known day" in first.message
    assert "only 71 % of the readings" in second.message


def test_a_skill_below_zero_that_is_not_judged_yet_is_no_alert():
    early = replace(
        GOOD,
        skill=ForecastSkill(96, 5.0, 4.0),
        interval=IntervalQuality(n_two_weeks=96, coverage_two_weeks=0.2),
    )
    assert alerts(status_of(early)) == []


def test_a_held_entity_keeps_its_state_and_has_the_alert():
    held = replace(GOOD, state="held", skill=ForecastSkill(1344, 5.0, 0.0, worse=True))
    member = view(status_of(held)).members[0]
    assert (member.state, [alert.kind for alert in member.alerts]) == ("held", ["inaccurate"])


def test_a_zone_in_training_updates_those_that_learn():
    states = [
        member.state
        for member in view(
            status_of(replace(GOOD, state="held")), replace(WELL, updating=("north",))
        ).members
    ]
    assert states == ["held", "updating"]


def test_a_zone_never_applied_is_waiting():
    (member, _) = view_of(ZONE, [A, B], None, health=WELL).members
    assert (member.state, member.trend, member.status.component.fill) == ("waiting", None, 0.0)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "clearwatt.db")
    for zone in ("north", "south"):
        opened.add_zone(Zone(zone, 900, ("wind",)))
    opened.add_entities([A, RegisteredEntity("c", "south", "consumer")])
    yield opened
    opened.close()


def test_only_zones_that_moved_on_are_read_again(store, monkeypatch):
    overview, asked, read = Overview(store, Registry(store)), [], store.statuses

    def statuses(zones=None):
        asked.append(zones)
        return read(zones)

    def states():
        asked.clear()
        return {member.entity.id: member.state for member in overview.members(health)}

    monkeypatch.setattr(store, "statuses", statuses)
    health = WELL
    assert states() == {"a": "waiting", "c": "waiting"}
    assert asked == [["north", "south"]]
    assert states() == {"a": "waiting", "c": "waiting"}
    assert asked == []
    store.commit(Outcome(replace(status_of(), generation=0)))
    assert states() == {"a": "learning", "c": "waiting"}
    assert asked == [["north"]]
    health = replace(WELL, degraded={"south": "odd"})
    assert states() == {"a": "learning", "c": "degraded"}
    assert asked == [["south"]]
    health = WELL
    assert states() == {"a": "learning", "c": "waiting"}


def test_new_entities_appear(store):
    registry = Registry(store)
    overview = Overview(store, registry)
    assert len(overview.members(WELL)) == 2
    registry.add_entities([RegisteredEntity("d", "south", "consumer")])
    assert [member.entity.id for member in overview.members(WELL)] == ["a", "c", "d"]
