"""A service that has been at work for long: ten thousand entities, one with two years behind it.

All of it is put into the store as the learner would have; nothing is learned here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save as pack
from tests.service.plant import DAY, NOW, SIZE, STEP, Plant

from clearwatt.service.records import Outcome, RegisteredEntity, ServiceEvent, SignalDay, Zone
from clearwatt.service.status import ComponentStatus, EntityStatus, LiveErrors

ZONES, MEMBERS = 100, 100
DAYS = 730
UPDATES = 60
ROWS = DAY // STEP
STATES = ("learning", "learning", "learning", "held", "awaiting approval", "warming up")


def large_plant(folder: Path) -> Plant:
    """Zone "north" with models and a long past, and 99 others with a status each."""
    plant = Plant(folder, entities=MEMBERS)
    plant.deploy()
    plant.weather()
    _add_past(plant)
    _add_updates(plant)
    _add_others(plant)
    return plant


def _add_past(plant: Plant) -> None:
    """Two years of readings of the first entity, and of signals of everybody in its zone."""
    rng = np.random.default_rng(0)
    times = NOW - DAYS * DAY + STEP * np.arange(DAYS * ROWS, dtype=np.int64)
    day = SIZE / 2 * (1 + np.sin(2 * np.pi * times / DAY))
    plant.readings(0, times, day + rng.normal(0, 1, len(times)))
    numbers = np.array([entity.number for entity in plant.entities], np.int64)
    days = []
    for rows in np.split(np.arange(len(times)), DAYS):
        noise = rng.normal(0, 2, (ROWS, MEMBERS))
        content = {
            "times": times[rows],
            "reconstruction": rng.random(ROWS, np.float32),
            "forecast": (day[rows, None] + noise).astype(np.float32),
            "entities": numbers,
        }
        days.append(SignalDay("north", int(times[rows[0]]), pack(content)))
    status = plant.status(position=10, generation=10)
    plant.store.commit(Outcome(status=status, signals=tuple(days)))


def _add_updates(plant: Plant) -> None:
    for number in range(1, UPDATES + 1):
        time = NOW - DAYS * DAY + number * DAYS * DAY // (UPDATES + 1)
        details = {
            "component": "predictor",
            "threshold_before": 2.0 + 0.01 * number,
            "threshold_after": 2.01 + 0.01 * number,
            "before": f"predictor:e0:{number - 1}",
            "after": f"predictor:e0:{number}",
        }
        event = ServiceEvent(
            f"update:predictor:e0:{number}",
            "update",
            f"update {number}",
            float(time),
            zone="north",
            entity="e0",
            time=time,
            details=details,
        )
        plant.store.add_event(event)


def _add_others(plant: Plant) -> None:
    rng = np.random.default_rng(1)
    for number in range(1, ZONES):
        zone = f"zone-{number:02}"
        plant.store.add_zone(Zone(zone, STEP, ("wind", "sun")))
        names = [f"{zone}-meter-{k:02}" for k in range(MEMBERS)]
        plant.store.add_entities([RegisteredEntity(name, zone, "consumer", SIZE) for name in names])
        entities = {name: _status(rng) for name in names}
        plant.store.commit(
            Outcome(plant.status(zone=zone, position=1, generation=1, entities=entities))
        )


def _status(rng: np.random.Generator) -> EntityStatus:
    spark = rng.uniform(1, 3, 7).tolist()
    novel = int(rng.integers(0, 3000))
    return EntityStatus(
        state=rng.choice(STATES).item(),
        live=LiveErrors(96, spark[-1], spark[-1] / 2, 672, 2.0, 1.0),
        spark=tuple(spark),
        component=ComponentStatus(2.5, novel, 10 * novel, 3000, int(rng.integers(0, 40))),
        last_update=NOW - int(rng.integers(0, 60 * DAY)),
        quarantined=int(rng.integers(0, 20) == 0),
    )
