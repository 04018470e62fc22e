"""A new park forecasts within a minute of its registration, over HTTP, from an imported prior."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.service.fleets import small_prior
from tests.service.journals import World
from tests.service.processes import until
from tests.service.running import PATIENCE, get, is_ready, running, settled, standing

from clearwatt.cli import main
from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client, Series, ServiceError
from clearwatt.service.fleet_starts import FleetStarts
from clearwatt.service.priors import add_prior
from clearwatt.service.records import Command, RegisteredEntity, Zone
from clearwatt.service.registry import Registry
from clearwatt.service.store import open_store

HOUR = timedelta(hours=1)


def weather_at(times: list[datetime]) -> dict[str, list[float]]:
    hour = np.array([time.hour for time in times])
    sun = np.maximum(0, np.sin((hour - 6) / 12 * np.pi))
    return {"wind": (6 + np.sin(hour / 5)).tolist(), "sun": sun.tolist()}


def register(
    client: Client, *, zone: str = "north", variables=("wind", "sun"), past: int = 30, **settings
):
    """A zone with weather of yesterday, today and the days to come, and nobody's history."""
    client.add_zone(NewZone(id=zone, step=3600, variables=list(variables), settings=settings))
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    times = [now + number * HOUR for number in range(-past, 72)]
    values = weather_at(times)
    client.send_weather(
        zone, issued_at=times[0], times=times, values={name: values[name] for name in variables}
    )
    return now


def forecast(client: Client, entity: str, now: datetime):
    (found,) = client.forecasts(
        [entity], start=now, end=now + 24 * HOUR, levels=[0.05, 0.95]
    ).forecasts
    return found


def park(name: str = "park", **values) -> NewEntity:
    return NewEntity(id=name, zone="north", kind="generator", **{"capacity": 50.0} | values)


@pytest.mark.slow
def test_a_new_park_forecasts_within_a_minute_and_a_kill_changes_nothing(tmp_path, capsys):
    prior, data = tmp_path / "region.prior", tmp_path / "data"
    small_prior().save(prior)
    with running(data) as service, Client(service.url) as client:
        assert main(["prior", "import", str(prior), "--url", service.url]) == 0
        now = register(client)
        until(lambda: is_ready(service.url), PATIENCE)
        began = time.monotonic()
        client.add_entities([park()])
        until(lambda: forecast(client, "park", now).predictor, 60)
        assert time.monotonic() - began < 60
        found = forecast(client, "park", now)
        assert set(found.sources) == {"model"}
        assert client.entity("park").state == "from the fleet"
        values, (low, high) = np.array(found.values), np.array(found.quantiles)
        assert ((low <= values) & (values <= high)).all()
        assert (high - low).mean() > 1.0
        assert "from the fleet" in get(f"{service.url}/entities/park").text
        assert main(["entities", "list", "--url", service.url]) == 0
        assert "from the fleet" in capsys.readouterr().out
        before = standing(client)
        service.kill()
    with running(data) as service, Client(service.url) as client:
        assert standing(client) == before
        assert forecast(client, "park", now).values == found.values
        client.send_measurements([Series("park", [now - HOUR, now], [20.0, 22.0])])
        client.add_entities([park("second")])
        service.kill()
    with running(data) as service, Client(service.url) as client:
        until(lambda: client.entity("second").state == "from the fleet", PATIENCE)
        until(lambda: settled(client), PATIENCE)
        after = standing(client)
        assert service.stop() == 0
    assert main(["doctor", "--data-dir", str(data)]) == 0
    copy, elsewhere = tmp_path / "copy", tmp_path / "elsewhere"
    assert main(["backup", "--to", str(copy), "--data-dir", str(data)]) == 0
    assert main(["restore", str(copy), "--data-dir", str(elsewhere)]) == 0
    shutil.rmtree(elsewhere / "zones")  # everything again from the journal
    with running(elsewhere) as service, Client(service.url) as client:
        assert standing(client) == after
        assert client.priors().priors[0].digest == small_prior().digest
        out = tmp_path / "out.prior"
        assert main(["prior", "export", "--out", str(out), "--url", service.url]) == 0
        assert out.read_bytes() == prior.read_bytes()


@pytest.mark.slow
def test_the_service_trains_a_prior_from_its_own_entities(tmp_path):
    data = tmp_path / "data"
    with running(data) as service, Client(service.url) as client:
        now = register(client, past=20 * 24)
        old = [park(name, capacity=size) for name, size in (("old", 50.0), ("older", 20.0))]
        client.add_entities(old)
        times = [now - number * HOUR for number in range(20 * 24, 0, -1)]
        wind = np.array(weather_at(times)["wind"])
        client.send_measurements(
            [Series(each.id, times, (each.capacity * wind / 10).tolist()) for each in old]
        )
        register(client, zone="private", past=20 * 24, share_with_fleet=False)
        own = [
            NewEntity(id=f"own-{number}", zone="private", kind="consumer", capacity=10.0)
            for number in range(2)
        ]
        client.add_entities(own)
        client.send_measurements([Series(each.id, times, wind.tolist()) for each in own])
        until(lambda: settled(client), PATIENCE)
        assert service.stop() == 0
    with running(data) as service, Client(service.url) as client:
        (prior,) = until(lambda: client.priors().priors, PATIENCE)
        assert (prior.origin, prior.weather) == ("trained", ["wind", "sun"])
        assert [(each.kind, each.entities) for each in prior.kinds] == [("generator", 2)]
        client.add_entities([park("new", capacity=10.0)])
        until(lambda: forecast(client, "new", now).predictor, PATIENCE)
        found = np.array(forecast(client, "new", now).values)
        hours = [now + number * HOUR for number in range(24)]
        assert np.abs(found - np.array(weather_at(hours)["wind"])).mean() < 1.0
        before = forecast(client, "old", now)
        assert before.predictor == "predictor:old:0"
        client.warmup(entity="old")
        until(lambda: forecast(client, "old", now).predictor == "predictor:old:1", PATIENCE)
        assert forecast(client, "old", now).values != before.values
        states = {each.id: each.state for each in client.entities().entities}
        assert states == {
            "new": "from the fleet",
            "old": "learning",
            "older": "from the fleet",
            "own-0": "waiting",
            "own-1": "waiting",
        }
        (reason, *_) = client.events(zone="private", kinds=["no start"]).events
        assert "knows only generator" in reason.message


@pytest.mark.slow
def test_what_is_no_prior_or_does_not_fit_is_refused(tmp_path, capsys):
    damaged = bytearray(small_prior().to_bytes())
    damaged[len(damaged) // 2] ^= 1
    kind = next(iter(small_prior().kinds))
    known = small_prior().kinds[kind]
    foreign = replace(known, params={name: each[:1] for name, each in known.params.items()})
    lost = replace(known, params={name: each * np.nan for name, each in known.params.items()})
    with running(tmp_path / "data") as service, Client(service.url) as client:
        for content, reason in (
            (bytes(damaged), "checksum differs"),
            (b"something else", "cannot be read"),
            (replace(small_prior(), experts=("other",)).to_bytes(), "expert 0"),
            (replace(small_prior(), kinds={}).to_bytes(), "no kind"),
            (replace(small_prior(), kinds={kind: foreign}).to_bytes(), "does not fit"),
            (replace(small_prior(), kinds={kind: lost}).to_bytes(), "not finite"),
        ):
            with pytest.raises(ServiceError, match=reason) as refused:
                client.add_prior(content)
            assert refused.value.status == 422
        with pytest.raises(ServiceError, match="unknown"):
            client.prior("0" * 64)
        assert client.priors().priors == []
        out = ["--out", str(tmp_path / "out"), "--url", service.url]
        assert main(["prior", "export", *out]) == 2
    assert "there are: none" in capsys.readouterr().err


class Office:
    """A store with an adaptive zone and its weather, and the search for entities to start."""

    def __init__(self, folder, *, variables=("wind", "sun"), prior=True, **settings) -> None:
        folder.mkdir(exist_ok=True)
        self.world = World.of(100, 1, base={})
        self.store = open_store(folder / "clearwatt.db")
        self.zone = Zone("north", 3600, variables, settings=settings)
        self.store.add_zone(self.zone)
        self.now = float(self.world.times[40])
        if prior:
            content = small_prior().to_bytes()
            add_prior(self.store, content, origin="imported", actor="test", at=0.0)
        self.woken = 0
        self.starts = FleetStarts(
            self.store, Registry(self.store), started=self._wake, clock=lambda: self.now
        )

    def _wake(self) -> None:
        self.woken += 1

    def send_weather(self) -> None:
        issue = self.world.issue(0, 80)
        width = len(self.zone.variables)
        self.store.add_weather(replace(issue, values=issue.values[:, :width]), at=0.0)

    def register(self, name: str = "park", **values) -> None:
        values = {"kind": "generator", "capacity": 50.0} | values
        self.store.add_entities([RegisteredEntity(name, "north", **values)])
        self.starts._registry.refresh()

    @property
    def commands(self):
        entries = self.store.journal("north", after=0)
        return [each.content for each in entries if isinstance(each.content, Command)]


def test_an_entity_starts_once_when_there_is_weather(tmp_path):
    office = Office(tmp_path)
    office.register()
    office.starts.run_round()
    assert office.commands == []
    office.send_weather()
    for _ in range(3):
        office.starts.run_round()
    (command,) = office.commands
    assert (command.kind, command.entity, office.woken) == ("start", "park", 1)
    assert command.arguments == {"prior": small_prior().digest, "at": int(office.now)}


@pytest.mark.parametrize(
    ("office", "entity", "reason"),
    [
        ({"variables": ("wind",)}, {}, "prior 1 needs the weather variables sun"),
        ({}, {"capacity": None}, "capacity is not known"),
        ({}, {"kind": "residual"}, "prior 1 knows only consumer, generator"),
    ],
)
def test_an_entity_that_cannot_start_says_why_once(tmp_path, office, entity, reason):
    made = Office(tmp_path, **office)
    made.send_weather()
    made.register(**entity)
    made.starts.run_round()
    made.starts.run_round()
    (event,) = made.store.events(kinds=["no start"])
    assert reason in event.message
    assert "warm-up" in event.message
    assert made.commands == []


@pytest.mark.parametrize("office", [{"prior": False}, {"forecaster": "clear"}])
def test_nothing_changes_without_a_prior_or_in_a_zone_of_the_paper(tmp_path, office):
    made = Office(tmp_path, **office)
    made.send_weather()
    made.register()
    made.starts.run_round()
    assert made.commands == []
    assert made.store.events() == []


def test_the_prior_that_sees_most_weather_is_chosen(tmp_path):
    office = Office(tmp_path)
    less = small_prior(("wind",))
    add_prior(office.store, less.to_bytes(), origin="imported", actor="test", at=0.0)
    office.send_weather()
    office.register()
    office.starts.run_round()
    assert office.commands[0].arguments["prior"] == small_prior().digest
    windy = Office(tmp_path / "windy", variables=("wind",))
    add_prior(windy.store, less.to_bytes(), origin="imported", actor="test", at=0.0)
    windy.send_weather()
    windy.register()
    windy.starts.run_round()
    assert windy.commands[0].arguments["prior"] == less.digest
