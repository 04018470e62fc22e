"""A feed in a process of its own, as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.service.processes import PATIENCE


class RunningFeed:
    """A feed process; what it writes goes to files beside its state."""

    def __init__(self, state: Path, *options: str, **environment: str) -> None:
        self._out, self._err = state.with_suffix(".out"), state.with_suffix(".err")
        command = [sys.executable, "-m", "clearwatt", "feed", *options]
        with self._out.open("w") as out, self._err.open("a") as err:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=err, env={**os.environ, **environment}
            )

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> dict[str, Any]:
        """As systemd would; returns the last counts."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=PATIENCE) == 0, self.notices()
        last: dict[str, Any] = json.loads(self._out.read_text().splitlines()[-1])
        return last

    def receives(self) -> bool:
        """Whether the broker keeps for it what is published from now on."""
        return "receiving" in self.notices()

    def notices(self) -> str:
        return self._err.read_text()


@contextmanager
def running_mqtt(
    state: Path, broker: str, url: str, *options: str, **environment: str
) -> Iterator[RunningFeed]:
    """An MQTT feed with JSON counts; it is gone with the block, whatever happens."""
    fixed = ["--broker", broker, "--url", url, "--state", str(state), "--json"]
    feed = RunningFeed(state, "mqtt", *fixed, *options, **environment)
    try:
        yield feed
    finally:
        feed.kill()
