"""Statuses as JSON: nothing is lost, and those of earlier versions can be read."""

import json

from clearwatt.service.status import (
    ComponentStatus,
    EntityStatus,
    ExcludedWindow,
    ForecastSkill,
    IntervalQuality,
    LiveErrors,
    ReconstructionStatus,
    ZoneStatus,
)

COMPONENT = ComponentStatus(0.5, novel=3, familiar=9, capacity=60, updates=2, approval=True)
ENTITY = EntityStatus(
    state="awaiting approval",
    predictor="predictor:a:1",
    encoder="autoencoder:north:0",
    candidate="predictor:a:2",
    judged=7,
    live=LiveErrors(4, 1.0, 0.5, 28, 2.0, None),
    skill=ForecastSkill(28, 2.0, 1.6, worse=True),
    spark=(1.0, None),
    interval=IntervalQuality(28, 0.9, 3.0, 56, 0.7, too_narrow=True),
    last_update=900,
    component=COMPONENT,
    held=True,
    exclusions=(ExcludedWindow(0, 900, "meter replaced", "Ada"), ExcludedWindow(1800, 2700)),
    quarantined=1,
    received=5,
    number=7,
)
ZONE = ZoneStatus(
    zone="north",
    position=12,
    generation=3,
    state="learning",
    until=900,
    watermark=1800,
    pending_rows=1,
    steps=40,
    retained_bytes=100,
    scaling={"power": {"a": 1.0}},
    columns=("wind", "hour"),
    settings={"lateness": 900},
    encoder="autoencoder:north:0",
    reconstruction=ReconstructionStatus(COMPONENT, error_day=0.1),
    intervals=4,
    entities={"a": ENTITY, "b": EntityStatus(received=2)},
    error="DataError: odd",
)


def read(content, **columns):
    return ZoneStatus.from_json(json.loads(json.dumps(content)), zone="north", **columns)


def test_a_status_is_the_same_after_writing_and_reading():
    assert read(ZONE.to_json(), position=12, generation=3) == ZONE
    assert read(ZoneStatus("north").to_json()) == ZoneStatus("north")


def test_the_keys_of_a_component_stand_beside_those_of_its_entity():
    content = ENTITY.to_json()
    assert (content["threshold"], content["novel"], content["capacity"]) == (0.5, 3, 60)
    assert content["live"]["rmse_day"] == 1.0
    first, second = [0, 900, "meter replaced", "Ada", False], [1800, 2700, "", "", False]
    assert content["exclusions"] == [first, second]
    assert ZONE.to_json()["reconstruction"] == {
        **{"threshold": 0.5, "novel": 3, "familiar": 9, "capacity": 60},
        **{"updates": 2, "approval": True, "error_day": 0.1},
    }


def test_an_entity_without_a_model_has_only_what_is_known():
    keys = {"state", "predictor", "held", "exclusions", "quarantined", "received"}
    assert EntityStatus("warming up", received=2).to_json().keys() == keys


def test_the_status_of_a_deleted_entity_is_not_that_of_another_with_its_id():
    assert ZONE.entity("a", number=7) == ZONE.entity("a") == ENTITY
    assert ZONE.entity("a", number=8) == EntityStatus()
    assert ZONE.entity("b", number=8).received == 2, "an earlier release wrote no number"


def test_an_error_is_written_only_where_there_is_one():
    assert ZONE.to_json()["error"] == "DataError: odd"
    assert "error" not in ZoneStatus("north").to_json()


def test_statuses_of_other_versions_can_be_read():
    assert read({}) == ZoneStatus("north")
    later = {"state": "held", "new": 1, "entities": {"a": {"state": "held", "new": {"x": 1}}}}
    assert read(later) == ZoneStatus("north", state="held", entities={"a": EntityStatus("held")})
    assert read({"entities": {"a": {"interval": None}}}).entity("a") == EntityStatus()


def test_statuses_without_skill_and_coverage_can_be_read():
    content = ENTITY.to_json()
    del content["skill"]
    for key in ("n_two_weeks", "coverage_two_weeks", "too_narrow"):
        del content["interval"][key]
    found = EntityStatus.from_json(content)
    assert found.skill == ForecastSkill()
    assert found.interval == IntervalQuality(28, 0.9, 3.0)


def test_the_skill_is_relative_to_persistence():
    assert ENTITY.skill.skill == 1 - 2.0 / 1.6
    assert ForecastSkill().skill is None
    assert ForecastSkill(28, 2.0, 0.0).skill is None


def test_an_entity_that_was_never_seen_waits():
    assert ZONE.entity("a") is ENTITY
    assert ZONE.entity("nobody") == EntityStatus("waiting")


def test_the_fill_of_a_buffer_that_is_not_there_is_zero():
    assert COMPONENT.fill == 3 / 60
    assert ComponentStatus().fill == 0.0
