"""Entities worse than persistence or with narrow intervals have events, once, at midnight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load as unpack
from tests.service.journals import STEP, Service, World
from tests.service.learner.apply.test_zone_learning import played

from clearwatt.files import load_state, save_state
from clearwatt.service.learner.apply.zone_learning import ZoneLearning

DAY = 86_400
KINDS = [
    "worse than persistence",
    "better than persistence",
    "coverage low",
    "coverage restored",
]


@pytest.fixture(scope="module")
def world() -> World:
    """Days of e0 are alike, then alternate in level, then alike; those of e1 always alternate."""
    made = World.of(hours=1300, novelty_capacity=100_000, learning_rate=0.02)
    rng = np.random.default_rng(5)
    hour, day = np.arange(1300) % 24, np.arange(1300) // 24
    same = 50 + 20 * np.sin(hour / 24 * 2 * np.pi) + rng.normal(0, 0.2, 1300)
    level = np.where(day % 2 == 0, 15, -15)
    made.power[:, 0] = same + np.where((day >= 34) & (day < 44), level, 0)
    made.power[:, 1] = same + level
    return made


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, world: World) -> Service:
    return played(tmp_path_factory.mktemp("accuracy") / "a", world)


def changes(service: Service) -> list[tuple]:
    """Time, entity and kind of the events, in order."""
    events = reversed(service.store.events(kinds=KINDS, limit=1000))
    return [(event.time, event.entity, event.kind) for event in events]


def live_series(service: Service, column: int, *, lag: int = 24) -> pd.DataFrame:
    """Forecasts and readings of an entity as the store has them."""
    days = [unpack(each.content) for each in service.store.signals("north", start=0, end=2**40)]
    times = np.concatenate([day["times"] for day in days])
    forecast = np.concatenate([day["forecast"][:, column] for day in days])
    series = service.store.readings(service.numbers[column], start=0, end=2**40)
    frame = pd.DataFrame({"forecast": forecast.astype(float)}, times)
    frame["reading"] = pd.Series(series.values, series.times).reindex(times)
    # Persistence begins a lag after the first live row.
    frame["persistence"] = frame["reading"].shift(lag)
    return frame


def test_events_are_those_of_an_independent_computation(service):
    for column, entity in enumerate(("e0", "e1")):
        frame = live_series(service, column).dropna()
        first = (frame.index[0] + 14 * DAY) // DAY * DAY
        squares = frame.sub(frame["reading"], axis=0) ** 2
        expected, worse = [], False
        for midnight in range(first, frame.index[-1] + 1, DAY):
            window = squares[(squares.index >= midnight - 14 * DAY) & (squares.index < midnight)]
            means = window.mean()
            if worse != (means["forecast"] > means["persistence"]):
                worse = not worse
                expected.append((midnight, entity, KINDS[0 if worse else 1]))
        found = [each for each in changes(service) if each[1] == entity and each[2] in KINDS[:2]]
        assert found == expected
        status = service.status.entities[entity].skill
        assert status.rmse == pytest.approx(means["forecast"] ** 0.5, rel=1e-5)
        assert status.rmse_persistence == pytest.approx(means["persistence"] ** 0.5, rel=1e-5)
        assert status.worse == worse
        assert (entity == "e0") == bool(expected), "e0 changes, e1 does not"


def test_persistence_of_an_adaptive_zone_is_known_when_its_forecasts_are_issued(tmp_path):
    made = World.of(hours=860, base={"lateness": 6 * STEP, "memory": 400}, delay=2 * DAY)
    services = [played(tmp_path / f"{limit}", made, limit=limit) for limit in (1000, 2)]
    first, second = (each.status.entities for each in services)
    assert [first[name].skill for name in first] == [second[name].skill for name in second]
    assert first["e0"].interval == second["e0"].interval
    assert changes(services[0]) == changes(services[1])
    for column, entity in enumerate(("e0", "e1")):
        frame = live_series(services[0], column, lag=48).dropna()
        end = frame.index[-1] // DAY * DAY
        frame = frame[(frame.index >= end - 14 * DAY) & (frame.index < end)]
        means = (frame.sub(frame["reading"], axis=0) ** 2).mean() ** 0.5
        skill = first[entity].skill
        assert skill.n == len(frame) > 13 * 24
        assert skill.rmse == pytest.approx(means["forecast"], rel=1e-5)
        assert skill.rmse_persistence == pytest.approx(means["persistence"], rel=1e-5)


def test_a_change_says_what_was_compared_over_which_two_weeks(service):
    event = service.store.events(kinds=KINDS[:1])[0]
    assert (event.key, event.zone) == (f"skill:e0:{event.time}", "north")
    assert "repeating the same hour of the last known day" in event.message
    assert event.details["end"] - event.details["start"] == 14 * DAY
    assert event.details["skill"] < 0


def test_coverage_is_that_of_the_intervals_seen_along_the_way(tmp_path, service, world):
    """The ends of the intervals are collected at each commit, for all of the stream."""
    (tmp_path / "a").mkdir()
    twin, seen = Service(tmp_path / "a", world), {}
    twin.history()
    twin.weather(300, len(world.times))
    for start in range(300, len(world.power), 24):
        twin.send(start, min(start + 24, len(world.power)))
        twin.catch_up()
        held = twin.learning.state.intervals
        rows = zip(held.window.y[:, 0], held.low[:, 0], held.high[:, 0], strict=True)
        seen.update(zip(held.window.steps * STEP, rows, strict=True))
    frame = pd.DataFrame(seen, ["y", "low", "high"]).T.dropna()
    inside = (frame["y"] >= frame["low"]) & (frame["y"] <= frame["high"])
    expected, low = [], False
    for midnight in range((frame.index[0] // DAY + 14) * DAY, frame.index[-1] + 1, DAY):
        window = inside[(inside.index >= midnight - 14 * DAY) & (inside.index < midnight)]
        if low != (window.mean() < 0.8):
            low = not low
            expected.append((midnight, "e0", KINDS[2 if low else 3]))
    assert [each[2] for each in expected] == KINDS[2:], "it becomes low and recovers"
    assert [each for each in changes(service) if each[2] in KINDS[2:]] == expected
    quality = service.status.entities["e0"].interval
    assert quality.n_two_weeks == len(window)
    assert quality.coverage_two_weeks == pytest.approx(window.mean())


def test_events_do_not_depend_on_how_entries_are_grouped(tmp_path, service, world):
    twin = played(tmp_path / "b", world, batch=6, limit=1)
    assert changes(twin) == changes(service) != []
    assert twin.status.entities == service.status.entities


def test_replaying_from_a_checkpoint_records_each_event_once(tmp_path, world):
    (tmp_path / "c").mkdir()
    service = Service(tmp_path / "c", world)
    service.history()
    service.weather(300, len(world.times))
    service.send(300, 700)
    service.catch_up()
    service.learning.save(tmp_path / "checkpoint")
    service.send(700, len(world.power))
    service.catch_up()
    before, status = changes(service), service.status
    assert len(before) == 4
    service.reload(tmp_path / "checkpoint")
    service.catch_up()
    assert changes(service) == before
    assert service.status.entities == status.entities


def test_a_checkpoint_of_an_earlier_version_goes_on(tmp_path: Path, service, world):
    service.learning.save(tmp_path)
    saved = load_state(tmp_path / "zone")
    tensors = {
        name: each
        for name, each in saved.tensors.items()
        if not name.startswith(("live.skill.", "live.readings", "intervals.coverage."))
    }
    tensors["live.errors"] = tensors["live.forecasts"] - saved.tensors["live.readings"]
    save_state(tmp_path / "zone", saved.values, tensors)
    found = ZoneLearning.load(tmp_path, zone=world.zone, store=service.store, files=service.files)
    for column in (0, 1):
        week, expected = (
            each.state.live.errors_of(column).rmse_week for each in (found, service.learning)
        )
        assert week == pytest.approx(expected, rel=1e-5)
        assert found.state.live.skill_of(column).n == 0
        assert found.state.intervals.quality(column, 1.0).n_two_weeks == 0


def test_an_excluded_window_is_not_counted_in_the_coverage(tmp_path, world):
    (tmp_path / "d").mkdir()
    service = Service(tmp_path / "d", world)
    service.history()
    service.weather(300, len(world.times))
    service.send(300, 700)
    service.catch_up()
    counts = service.learning.state.intervals.coverage.sums
    day = sorted(counts)[-4]
    before = {each: sums.copy() for each, sums in counts.items()}
    assert before[day][:, 0].tolist() == [24, 24]
    service.command("exclude", "e0", start=day + 6 * STEP, end=day + DAY + 2 * STEP)
    service.catch_up()
    after = service.learning.state.intervals.coverage.sums
    assert after[day][:, 0].tolist() == [6, 24]
    assert after[day + DAY][:, 0].tolist() == [22, 24]
    assert (after[day][1] == before[day][1]).all()
    untouched = set(before) - {day, day + DAY}
    assert all((after[each] == before[each]).all() for each in untouched)
