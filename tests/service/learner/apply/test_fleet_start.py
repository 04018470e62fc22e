"""An entity without history forecasts from the fleet, as a function of the journal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.service.fleets import small_prior
from tests.service.journals import Service, World, digest

from clearwatt.adaptive.latest import LatestMeasurements
from clearwatt.packing import from_bytes
from clearwatt.service.forecasting.deployments import Deployments
from clearwatt.service.learner.apply import zone_state
from clearwatt.service.priors import PriorLostError, add_prior

HOUR = 3600
BASE = {"lateness": 6 * HOUR}


def service(folder: Path, hours: int = 400, entities: int = 2) -> Service:
    """A zone whose entities have no history, with a prior."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Service(folder, World.of(hours, entities, base=BASE))
    add_prior(made.store, small_prior().to_bytes(), origin="imported", actor="test", at=0.0)
    made.weather(0, hours)
    return made


def start(made: Service, name: str, row: int) -> None:
    made.command("start", name, prior=small_prior().digest, at=int(made.world.times[row]))


def states(made: Service) -> dict[str, str]:
    return {name: entity.state for name, entity in made.status.entities.items()}


def live(folder: Path, entities: int = 2) -> Service:
    """A zone that starts from the fleet at row 100 and is measured from then on, an hour at a time.

    Its second entity is measured two days later.
    """
    made = service(folder, entities=entities)
    for number in range(entities):
        start(made, f"e{number}", 100)
    for row in range(100, 300):
        numbers = made.numbers if row >= 150 else made.numbers[:1]
        part = made.world.readings(row, row + 1, made.numbers)
        made.store.add_readings(part[np.isin(part["entity"], numbers)], at=0.0)
    return made


def test_an_entity_forecasts_from_the_fleet_until_its_own_networks_take_over(tmp_path):
    made = live(tmp_path)
    made.run(made.store.journal("north", after=0, limit=4))
    first = made.status.entities["e0"]
    assert (first.state, first.predictor) == ("from the fleet", "predictor:e0:0")
    assert made.store.intervals("north") is not None
    made.send(300, 390)
    made.catch_up()
    last = made.status.entities["e0"]
    assert (last.state, last.received) == ("learning", 0)
    assert last.predictor != "predictor:e0:0"
    assert last.live.n_week > 100
    assert last.live.rmse_week < 5.0
    assert last.interval.coverage_week > 0.8


@pytest.mark.slow
def test_the_state_is_a_function_of_the_journal(tmp_path):
    together, one_by_one = live(tmp_path / "a"), live(tmp_path / "b")
    together.catch_up()
    one_by_one.catch_up(limit=1)
    assert digest(one_by_one) == digest(together)
    killed = live(tmp_path / "c")
    entries = killed.store.journal("north", after=0)
    killed.run(entries[:60])
    killed.learning.save(tmp_path / "checkpoint")
    killed.run(entries[60:80])
    killed.reload(tmp_path / "checkpoint")
    killed.catch_up()
    assert digest(killed) == digest(together)
    assert killed.status.entities == together.status.entities


def test_the_first_reading_changes_no_earlier_row_however_entries_are_grouped(tmp_path):
    found = []
    for name, cut in (("together", 0), ("apart", 40)):
        made = service(tmp_path / name)
        start(made, "e0", 100)
        start(made, "e1", 100)
        for row in range(100, 142):
            part = made.world.readings(row, row + 1, made.numbers)
            made.store.add_readings(part[: 1 if row < 140 else 2], at=0.0)
        entries = made.store.journal("north", after=0)
        for group in (entries[:cut], entries[cut:]):
            made.run(group)
        found.append((made.status.until, digest(made)))
    assert found[0] == found[1]


def test_history_after_own_networks_is_late_however_entries_are_grouped(tmp_path):
    found = []
    for name, cut in (("together", 0), ("apart", 4)):
        made = service(tmp_path / name)
        start(made, "e0", 100)
        start(made, "e1", 100)
        made.send(100, 390)
        made.send(50, 52)
        entries = made.store.journal("north", after=0)
        for group in (entries[:cut], entries[cut:]):
            made.run(group)
        assert made.status.entities["e0"].state == "learning"
        assert "late" in made.kinds()
        found.append((digest(made), made.status.entities))
    assert found[0] == found[1]


def test_a_start_ends_after_some_months(tmp_path, monkeypatch):
    monkeypatch.setattr(zone_state, "LONGEST_START", 48 * HOUR)
    made = service(tmp_path)
    start(made, "e0", 100)
    made.send(100, 110)
    made.catch_up()
    assert made.status.entities["e0"].state == "from the fleet"
    made.send(140, 150)
    made.catch_up()
    status = made.status.entities["e0"]
    assert (status.state, status.received) == ("learning", 0)


def test_the_first_readings_count_for_the_next_hours(tmp_path):
    made = service(tmp_path)
    start(made, "e0", 100)
    made.send(100, 102)
    made.catch_up()
    forecasts = Deployments(made.store, made.files)
    before = forecasts.of("north").forecasts
    assert before.measured_until("e0") is None
    forecasts.refresh("north", from_bytes(LatestMeasurements, made.learning.find_latest()))
    after = forecasts.of("north").forecasts
    assert after.measured_until("e0") == int(made.world.times[101]) // HOUR


def test_rows_do_not_wait_for_an_entity_that_is_not_measured_yet(tmp_path):
    made = service(tmp_path)
    start(made, "e0", 100)
    start(made, "e1", 100)
    part = made.world.readings(100, 148, made.numbers)
    made.store.add_readings(part[part["entity"] == made.numbers[0]], at=0.0)
    made.catch_up()
    newest, settles = int(made.world.times[147]), made.learning.state.rows_to_settle
    assert made.status.until == newest - settles * HOUR
    assert made.status.entities["e1"].state == "from the fleet"


def test_an_entity_joins_those_that_have_learned(tmp_path):
    made = service(tmp_path)
    part = made.world.readings(0, 300, made.numbers)
    made.store.add_readings(part[part["entity"] == made.numbers[0]], at=0.0)
    made.command("warmup", "e0")
    made.catch_up()
    start(made, "e1", 300)
    made.catch_up()
    assert states(made) == {"e0": "learning", "e1": "from the fleet"}
    made.send(300, 350)
    made.catch_up()
    assert made.status.until > int(made.world.times[330])
    made.send(0, 300)  # its history, which comes later
    made.command("warmup", "e1")
    made.catch_up()
    made.send(350, 400)
    made.catch_up()
    assert made.status.until > int(made.world.times[380])
    assert states(made) == {"e0": "learning", "e1": "learning"}


def test_a_history_replaces_a_past_that_was_learned_from_others(tmp_path):
    made = service(tmp_path, hours=450)
    part = made.world.readings(0, 300, made.numbers)
    made.store.add_readings(part[part["entity"] == made.numbers[0]], at=0.0)
    made.command("warmup", "e0")
    start(made, "e1", 300)
    made.send(300, 300 + 5 * 24 + 6)
    made.catch_up()
    (networks,) = (v for v in made.learning.state.models.forecaster.versions if v.entity == "e1")
    assert not networks.fleet, "its past was learned from e0, which tells it"
    assert states(made) == {"e0": "learning", "e1": "from the fleet"}
    made.send(0, 300)
    made.command("warmup", "e1")
    made.catch_up()
    assert states(made) == {"e0": "learning", "e1": "learning"}


def test_what_was_excluded_before_an_entity_joined_is_not_reconstructed(tmp_path):
    made = service(tmp_path)
    part = made.world.readings(0, 300, made.numbers)
    made.store.add_readings(part[part["entity"] == made.numbers[0]], at=0.0)
    made.command("warmup", "e0")
    begin, end = (int(made.world.times[row]) for row in (140, 160))
    made.command("exclude", "e1", start=begin, end=end, reason="not built yet")
    start(made, "e1", 300)
    made.catch_up()
    (first,) = made.learning.state.models.forecaster.state.first_steps
    assert first.entity == "e1"
    assert set(first.excluded) == set(range(begin // HOUR, end // HOUR))


def test_a_warm_up_replaces_the_fleet_as_if_there_had_been_none(tmp_path):
    plain, made = service(tmp_path / "plain"), service(tmp_path / "fleet")
    start(made, "e0", 320)
    start(made, "e1", 320)
    for each in (plain, made):
        each.send(0, 300)  # history, which is not learned from as late readings
        each.send(300, 340)
    made.catch_up()
    assert {each.state for each in made.status.entities.values()} == {"from the fleet"}
    assert "late" not in made.kinds()
    before = made.status
    for each in (plain, made):
        each.command("warmup")
        each.catch_up()
    own, others = (each.learning.state.models.forecaster for each in (made, plain))
    assert [version.number for version in own.versions] == [1, 1]
    for mine, theirs in zip(own.versions, others.versions, strict=True):
        assert all(torch.equal(mine.params[name], theirs.params[name]) for name in mine.params)
    after = made.status
    assert {each.state for each in after.entities.values()} == {"learning"}
    assert after.deployed > before.deployed
    assert after.intervals > before.intervals
    made.send(340, 380)
    made.catch_up()
    assert made.status.until > after.until


def test_a_warm_up_with_some_hours_starts_from_the_fleet_and_learns_them(tmp_path):
    made = service(tmp_path)
    made.send(100, 130)
    made.command("warmup", priors=dict.fromkeys(("e0", "e1"), small_prior().digest))
    made.catch_up()
    assert made.kinds()[-1] == "warmup"
    assert {each.state for each in made.status.entities.values()} == {"from the fleet"}
    assert made.status.steps > 0


def test_some_hours_are_not_enough_without_a_prior(tmp_path):
    made = service(tmp_path)
    made.send(100, 130)
    made.command("warmup", "e0")
    made.catch_up()
    (event, *_) = made.store.events(kinds=["command refused"])
    assert "30 readings" in event.message


def test_an_entity_without_capacity_or_in_a_zone_of_the_paper_is_refused(tmp_path):
    world = World.of(100, 1)  # its settings are those of "clear"
    made = Service(tmp_path, world)
    add_prior(made.store, small_prior().to_bytes(), origin="imported", actor="test", at=0.0)
    made.weather(0, 100)
    start(made, "e0", 50)
    made.catch_up()
    (event, *_) = made.store.events(kinds=["command refused"])
    assert "adaptive" in event.message


def test_a_prior_that_is_lost_stops_the_zone_instead_of_changing_its_past(tmp_path):
    made = service(tmp_path)
    start(made, "e0", 100)
    with made.store.write_session() as session:
        session.run("DELETE FROM priors")
    with pytest.raises(PriorLostError, match="import it again"):
        made.catch_up()
    assert "names a prior that is not stored" in made.store.find_damage()
    add_prior(made.store, small_prior().to_bytes(), origin="imported", actor="test", at=0.0)
    assert made.store.find_damage() is None


def test_a_deleted_entity_leaves_the_fleet(tmp_path):
    made = live(tmp_path)
    made.run(made.store.journal("north", after=0, limit=10))
    made.store.remove_entity(made.entities[0], actor="test", at=0.0)
    made.catch_up()
    assert "e0" not in made.learning.state.fleet
    assert made.status.entities["e1"].state in ("from the fleet", "learning")


def test_a_refused_warm_up_leaves_the_models_from_the_fleet_in_service(tmp_path):
    made = Service(tmp_path, World.of(400, 2, base={**BASE, "delay": 7 * 24 * HOUR}))
    add_prior(made.store, small_prior().to_bytes(), origin="imported", actor="test", at=0.0)
    made.weather(0, 400)
    start(made, "e0", 398)
    start(made, "e1", 398)
    history = made.world.readings(0, 396, made.numbers)
    short = (history["entity"] == made.numbers[1]) & (history["time"] < made.world.times[280])
    made.store.add_readings(history[~short], at=0.0)
    made.catch_up()
    before = digest(made)
    made.command("warmup")
    made.catch_up()
    assert made.kinds()[-1] == "command refused"
    assert states(made) == {"e0": "from the fleet", "e1": "from the fleet"}
    assert digest(made) == before
    made.send(398, 400)
    made.catch_up()
    assert made.status.entities["e0"].predictor == "predictor:e0:0"


def test_models_that_were_withdrawn_can_be_taken_back_beside_others(tmp_path):
    made = service(tmp_path)
    start(made, "e0", 100)
    start(made, "e1", 100)
    made.send(100, 200)
    made.catch_up()
    state, before = made.learning.state, digest(made)
    learned = state.copy_learned()
    state.withdraw("e0")
    assert state.columns == ["e1"]
    state.take_back(learned)
    assert digest(made) == before
    made.send(200, 230)
    made.catch_up()
    assert set(states(made).values()) <= {"from the fleet", "learning"}


def test_a_start_asked_for_during_a_warm_up_is_no_failure(tmp_path):
    made = service(tmp_path)
    made.send(0, 300)
    made.command("warmup")
    start(made, "e0", 300)
    made.catch_up()
    assert made.kinds() == ["warmup", "start"]
    assert states(made)["e0"] == "learning"
