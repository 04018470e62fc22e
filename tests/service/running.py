"""A real service in processes of its own, and a small grid to play into it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd

from clearwatt.data import Dataset, Entity, Kind
from clearwatt.service.client import Client

from .processes import PATIENCE, until

SETTINGS = {
    "novelty_capacity": 60,
    "epochs": 1,
    "warmup_epochs": 3,
    "width": 8,
    "layers": 1,
    "latent": 4,
    "lateness": 7200,
    "gate_margin": None,
}
"""Small networks, short trainings, frequent updates."""


class Running:
    """A service that listens at ``url``."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """As an administrator would; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)


@contextmanager
def running(data_dir: Path, *options: str, prefix: Sequence[str] = ()) -> Iterator[Running]:
    """Start a service on any free port; it is gone with the block, whatever happens."""
    command = [*prefix, sys.executable, "-m", "clearwatt", "serve", "--data-dir", str(data_dir)]
    with (data_dir.parent / f"{data_dir.name}.log").open("a") as log:
        process = subprocess.Popen(
            [*command, "--port", "0", "--workers", "1", *options],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("serving at http://127.0.0.1:"), line or log.name
        yield Running(process, line.split()[2])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def small_grid(hours: int = 900) -> Dataset:
    """A windy and a sunny zone whose meters change after two thirds, with gaps."""
    rng = np.random.default_rng(11)
    times = pd.date_range("2024-01-01", periods=hours, freq="h", tz="UTC", name="time")
    wind = {zone: 10 * rng.random(hours) for zone in ("north", "south")}
    sun = {zone: 800 * rng.random(hours) for zone in wind}
    weather = {
        zone: pd.DataFrame({"wind": wind[zone], "sun": sun[zone]}, index=times) for zone in wind
    }
    power = pd.DataFrame(
        {
            "farm": 3 * wind["north"],
            "park": 0.05 * sun["north"],
            "town": 30 + 0.02 * sun["south"] - wind["south"],
        },
        index=times,
    )
    power.iloc[2 * hours // 3 :] *= 1.8
    power.iloc[40:44, 1] = np.nan
    return Dataset(
        name="small",
        power=power,
        weather=weather,
        entities=(
            Entity("farm", Kind.GENERATOR, 60.0, "north"),
            Entity("park", Kind.GENERATOR, 80.0, "north", {"unit": "MW"}),
            Entity("town", Kind.RESIDUAL, 100.0, "south"),
        ),
    )


def get(url: str, **options: Any) -> httpx.Response:
    """An answer, however long a busy machine takes for it."""
    return httpx.get(url, timeout=PATIENCE, **options)


def is_ready(url: str) -> bool:
    """Whether a service says that it is ready, its learner included."""
    return get(f"{url}/readyz").status_code == 200


def settled(client: Client) -> bool:
    """Whether all that arrived has been learned from."""
    return all(zone.position == zone.journal for zone in client.zones().zones)


def standing(client: Client) -> dict[str, object]:
    """What a user sees of the state of all models.

    Live errors are by the model in service when a row was folded, with however many others, so
    how they were grouped shows in them.
    """
    until(lambda: settled(client), PATIENCE)
    entities = client.entities().entities
    zones = [
        (zone.id, zone.until, zone.encoder, zone.reconstruction) for zone in client.zones().zones
    ]
    models = [(m.id, m.status, m.threshold, m.time) for m in client.models().models]
    return {
        "zones": zones,
        "models": sorted(models),
        "entities": [entity.model_dump() for entity in entities],
    }
