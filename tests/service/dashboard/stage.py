"""A real service with a small grid played into it, to be looked at by real browsers."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tests.service.durability.feeding import free_port
from tests.service.processes import until
from tests.service.running import PATIENCE, SETTINGS, Running, running, settled, small_grid

from clearwatt.data import Dataset
from clearwatt.service.api.schemas.entities import NewEntity
from clearwatt.service.api.security.auth import create_token
from clearwatt.service.client import Client
from clearwatt.service.client.replay import Plan, Replay
from clearwatt.service.store import open_store

EVIL = '<img src=x onerror="document.documentElement.dataset.owned=1">'
"""A name that runs as soon as it is anything but text."""
HOURS, CHANGED, PLAYED, WARMUP = 900, 560, 700, 200
"""Hours of the grid; from shortly before its change on, models of the town wait for approval."""
SPEED = 3600 * 200.0
"""Twenty hours at a time."""
SPIKES = (660, 661, 662)
"""Hours at which the meter of the farm says what no farm can."""


class Stage:
    """A service, those who may use it, and the rest of a grid that has not been played yet."""

    def __init__(self, folder: Path) -> None:
        self._data_dir = folder / "data"
        self.operator, self.reader = self._tokens()
        self._stack = ExitStack()
        self._service = self._start(free_port())
        self.url = self._service.url
        self.client = Client(self.url, self.operator, patience=PATIENCE)
        plan = Plan(speed=SPEED, warmup=WARMUP, settings=SETTINGS)
        self._replay = Replay(self.client, spiked(small_grid(HOURS)), plan).run()
        self.play(CHANGED)
        self.client.approval(required=True, entity="town")
        self.play(PLAYED)
        self.client.add_entities(
            [NewEntity(id="evil", zone="north", kind="consumer", name=EVIL, unit="kW")]
        )

    def play(self, hours: int) -> None:
        """Play the grid up to an hour, and wait until all of it has been learned from."""
        for progress in self._replay:
            if progress.stage == "live" and progress.time - progress.start >= 3600 * hours:
                break
        until(lambda: settled(self.client), PATIENCE)

    def plays_on(self) -> bool:
        """Play a little more; False once there is nothing left."""
        return next(self._replay, None) is not None

    def stop(self) -> None:
        """Stop the service; whatever is open stays open."""
        assert self._service.stop() == 0
        self._stack.close()

    def start_again(self) -> None:
        """Start it at the same address with what it had."""
        self._service = self._start(self.url.rpartition(":")[2])

    def close(self) -> None:
        """End everything."""
        self.client.close()
        self._stack.close()

    def _start(self, port: str) -> Running:
        return self._stack.enter_context(running(self._data_dir, "--port", port))

    def _tokens(self) -> tuple[str, str]:
        self._data_dir.mkdir()
        store = open_store(self._data_dir / "clearwatt.db")
        made = create_token(EVIL, "operate"), create_token("reader", "read")
        for each in made:
            store.add_token(each.token)
        store.close()
        return made[0].text, made[1].text


def spiked(grid: Dataset) -> Dataset:
    """The grid with readings that must not be learned from."""
    power = grid.power.copy()
    power.iloc[list(SPIKES), power.columns.get_loc("farm")] = 900.0
    return replace(grid, power=power)
