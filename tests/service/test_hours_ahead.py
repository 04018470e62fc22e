"""In a running service, what has just been measured moves the next hours, and tomorrow hardly."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.schemas.forecasts import ForecastAnswer
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.client import Client, Series
from clearwatt.service.times import text

from .journals import STEP, World
from .processes import until
from .running import PATIENCE, running, settled

HISTORY, NOW, HOURS = 240, 480, 520
NAMES = ("e0", "e1")
CAPACITY = 100.0
SETTINGS = {"memory": 400, "novelty_days": None, "lateness": 12 * STEP, "refresh": 0}


class Meters:
    """Two meters of a service, read up to now."""

    def __init__(self, client: Client, world: World) -> None:
        self.client, self.world = client, world

    def begin(self) -> None:
        """Register the zone, send its history, and have it learned from."""
        zone = NewZone(id="north", step=STEP, variables=["wind", "sun"], settings=SETTINGS)
        self.client.add_zone(zone)
        self.client.add_entities(
            [NewEntity(id=name, zone="north", kind="consumer", capacity=CAPACITY) for name in NAMES]
        )
        times, weather = self.world.times, self.world.weather
        self.client.send_weather(
            "north",
            issued_at=text(int(times[0])),
            times=[text(int(each)) for each in times],
            values={"wind": weather[:, 0].tolist(), "sun": weather[:, 1].tolist()},
        )
        self.send_usual(0, HISTORY)
        self.client.warmup(zone="north")
        until(lambda: self.client.zone("north").state == "learning", PATIENCE)
        self.send_usual(HISTORY, NOW)

    def send_usual(self, start: int, stop: int) -> None:
        stamps = [text(int(each)) for each in self.world.times[start:stop]]
        power = self.world.power[start:stop].astype(float).T.tolist()
        self.client.send_measurements(
            [Series(name, stamps, own) for name, own in zip(NAMES, power, strict=True)]
        )

    def send(self, row: int, **values: float) -> None:
        stamp = text(int(self.world.times[row]))
        self.client.send_measurements(
            [Series(name, [stamp], [value]) for name, value in values.items()]
        )

    def forecasts(self, **rows: int) -> dict[str, ForecastAnswer]:
        """Forecasts of two days from now on, once they use readings up to these rows."""
        start = int(self.world.times[NOW])
        span = {"start": text(start), "end": text(start + 48 * STEP)}
        wanted = {name: text(int(self.world.times[row])) for name, row in rows.items()}

        def ask() -> dict[str, ForecastAnswer] | None:
            found = {each.entity: each for each in self.client.forecasts(NAMES, **span).forecasts}
            until_now = {name: found[name].measured_until for name in wanted}
            return found if until_now == wanted else None

        return until(ask, PATIENCE)


def values(forecast: ForecastAnswer) -> np.ndarray:
    return np.array(forecast.values, float)


@pytest.mark.slow
def test_a_reading_moves_the_next_hours_until_it_is_quarantined(tmp_path: Path):
    world = World.of(hours=HOURS).with_lasting_errors()
    days = (int(time.time()) - int(world.times[NOW])) // 86_400 - 1
    world = replace(world, times=world.times + 86_400 * days)
    with running(tmp_path / "data") as service, Client(service.url) as client:
        meters = Meters(client, world)
        meters.begin()
        before = meters.forecasts(e0=NOW - 1, e1=NOW - 1)

        # A thousand times the capacity moves nothing, while the other's reading counts. No row is
        # complete, so nothing is learned meanwhile.
        meters.send(NOW, e0=1000 * CAPACITY)
        meters.send(NOW + 1, e1=float(world.power[NOW + 1, 1]))
        unmoved = meters.forecasts(e0=NOW - 1, e1=NOW + 1)
        np.testing.assert_array_equal(values(unmoved["e0"]), values(before["e0"]))

        meters.send(NOW, e0=float(values(before["e0"])[0]) + 0.3 * CAPACITY)
        moved = meters.forecasts(e0=NOW)
        steps = values(moved["e0"]) - values(before["e0"])
        assert steps[1] > 0.08 * CAPACITY
        assert steps[1] > steps[4] > steps[10] >= 0
        assert np.abs(steps[25:]).max() < 0.02 * steps[1]
        service.kill()

    with running(tmp_path / "data") as service, Client(service.url) as client:
        meters = Meters(client, world)
        again = meters.forecasts(e0=NOW)  # nothing of it was saved, and it is back
        np.testing.assert_allclose(values(again["e0"]), values(moved["e0"]), rtol=1e-5)

        meters.send(NOW, e1=float(world.power[NOW, 1]))
        for row in range(NOW + 1, NOW + 9):
            meters.send_usual(row, row + 1)
        until(lambda: settled(client), PATIENCE)
        after = meters.forecasts(e0=NOW + 8)
        (rejected,) = client.quarantine().readings
        assert (rejected.entity, rejected.time) == ("e0", text(int(world.times[NOW])))
        difference = np.abs(values(after["e0"]) - values(before["e0"]))
        assert difference[9:24].max() < 0.12 * CAPACITY
        assert service.stop() == 0
