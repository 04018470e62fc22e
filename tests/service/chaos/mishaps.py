"""What happens to the service, at random: kills, damage, a full disk, restarts of its database."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import httpx
import numpy as np
import psycopg
from tests.service.conftest import SCRIPT
from tests.service.durability.delivery import ZONES
from tests.service.durability.harm import damage, fill, kill, trains
from tests.service.processes import spawned, until
from tests.service.running import PATIENCE, Running

from clearwatt.service.files import Checkpoints
from clearwatt.service.store import open_store

from .load import Windows

FULL_SECONDS = 3.0
PAUSE = (0.5, 4.0)
"""Seconds between two mishaps."""


class Mishaps:
    """Random mishaps to a service that is started again whenever it was killed.

    Args:
        data_dir: on a small disk of its own.
        start: starts the service.
        database: address of PostgreSQL; None: SQLite in the directory.
        server: folder of the PostgreSQL server, which may be killed.
        windows: where restarts are noted.
    """

    def __init__(
        self,
        data_dir: Path,
        start: Callable[[], Running],
        *,
        database: str | None,
        server: Path | None,
        windows: Windows,
    ) -> None:
        self.data_dir, self.start, self.windows = data_dir, start, windows
        self.database, self.server = database, server
        self.service = start()
        self.counts, self.damaged = Counter[str](), set[str]()
        self._rng = np.random.default_rng(7)
        self.kinds = [
            self.kill_service,
            self.kill_all,
            self.kill_learner,
            self.kill_worker,
            self.fill_disk,
            self.damage_checkpoint,
            self.damage_model,
            *((self.stop_database, self.kill_database) if server else ()),
        ]

    def happen(self, seconds: float) -> None:
        """Let one mishap after the other happen for so long, each kind at least once."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for position in self._rng.permutation(len(self.kinds)).tolist():
                kind = self.kinds[position]
                kind()
                self.counts[kind.__name__] += 1
                assert self.service.process.poll() is None, "the service has ended by itself"
                time.sleep(self._rng.uniform(*PAUSE))  # not for anything: any moment will do

    def kill_service(self) -> None:
        """The web process dies; the others must end by themselves."""
        self._restart(all_at_once=False)

    def kill_all(self) -> None:
        """All processes die at once, as in a power cut."""
        self._restart(all_at_once=True)

    def kill_learner(self) -> None:
        """The learner dies, if it has started."""
        for pid in spawned(self.service.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_worker(self) -> None:
        """A training worker dies, if one is training."""
        worker = trains(self.service)
        if worker is not None:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def fill_disk(self) -> None:
        """The disk of the data directory is full for some seconds, in which the learner dies."""
        ballast = self.data_dir / "ballast"
        try:
            fill(ballast)
            self.kill_learner()
            time.sleep(FULL_SECONDS)
        finally:
            ballast.unlink()

    def damage_checkpoint(self) -> None:
        """The newest checkpoint of a zone rots, and the learner must start from disk."""
        zone = list(ZONES)[int(self._rng.integers(len(ZONES)))]
        found = list(Checkpoints(self.data_dir).newest(zone))
        if len(found) < 2:
            return
        folder = self.data_dir / found[0].path
        models = folder / ("clear" if (folder / "clear").exists() else "adaptive")
        with suppress(FileNotFoundError, ValueError):  # replaced meanwhile
            damage(models)
        self.kill_learner()

    def damage_model(self) -> None:
        """A model in use rots, and the web process must load it again."""
        with closing(open_store(self.database or self.data_dir / "clearwatt.db")) as store:
            versions = [each for each in store.versions(limit=1000) if each.status == "deployed"]
        if not versions:
            return
        version = versions[int(self._rng.integers(len(versions)))]
        with suppress(FileNotFoundError, ValueError):
            damage(self.data_dir / version.path)
            self.damaged.add(version.id)
        self._restart(all_at_once=False)

    def stop_database(self) -> None:
        """PostgreSQL is restarted by its administrator."""
        with self.windows.restart():
            subprocess.run([SCRIPT, "stop", self.server], check=True, timeout=60)
            self._start_database()

    def kill_database(self) -> None:
        """PostgreSQL is killed, and started again."""
        assert self.server is not None
        with self.windows.restart():
            pid = int((self.server / "data" / "postmaster.pid").read_text().split()[0])
            os.kill(pid, signal.SIGKILL)
            self._start_database()

    def _start_database(self) -> None:
        """Start it until the service uses it.

        Just after a kill it still seems to be running, and serves connections that are open.
        """
        command = [SCRIPT, "start", str(self.server)]

        def started() -> bool:
            start = subprocess.run(command, capture_output=True, check=False)
            return start.returncode == 0 and self._accepts_connections() and self._is_ready()

        until(started, PATIENCE)

    def _restart(self, *, all_at_once: bool) -> None:
        with self.windows.restart():
            kill(self.service, all_at_once=all_at_once)
            self.service = self.start()

    def _accepts_connections(self) -> bool:
        assert self.database is not None
        with suppress(psycopg.OperationalError), psycopg.connect(self.database, connect_timeout=10):
            return True
        return False

    def _is_ready(self) -> bool:
        with suppress(httpx.HTTPError):
            found = httpx.get(f"{self.service.url}/readyz", timeout=10).json()
            return not any(reason.startswith("store") for reason in found["reasons"])
        return False
