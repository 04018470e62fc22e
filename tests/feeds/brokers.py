"""A real mosquitto with a session store, and a publisher of readings."""

from __future__ import annotations

import getpass
import json
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from tests.service.durability.feeding import free_port
from tests.service.processes import PATIENCE, until

SCRIPT = Path(__file__).parents[2] / "scripts" / "mosquitto"


def mosquitto_path() -> str:
    """The broker's program; skipped, with the reason, where it cannot be installed."""
    found = subprocess.run([SCRIPT], capture_output=True, text=True, check=False, timeout=600)
    if found.returncode:
        pytest.skip(f"mosquitto could not be installed: {found.stderr.strip()[-500:]}")
    return found.stdout.strip()


class Mosquitto:
    """A broker in a folder, at the same port after each start; it keeps sessions on disk."""

    def __init__(self, program: str, folder: Path, *settings: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = int(free_port())
        self._log = folder / "log"
        configuration = folder / "mosquitto.conf"
        lines = [
            f"user {getpass.getuser()}",  # root would become another user
            f"listener {self.port} 127.0.0.1",
            "persistence true",
            f"persistence_location {folder}/",
            "max_queued_messages 0",
            *(settings or ("allow_anonymous true",)),
        ]
        configuration.write_text("\n".join(lines) + "\n")
        self._command = [program, "-c", str(configuration)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        with self._log.open("ab") as log:
            started = len(self._log.read_bytes())
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        until(lambda: b"running" in self._log.read_bytes()[started:])

    def stop(self) -> None:
        """As an administrator would; sessions are written to disk."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=PATIENCE)
            self._process = None

    def log(self) -> str:
        return self._log.read_text(errors="replace")


class Publisher:
    """Publishes messages with QoS 1; ``published`` counts those that the broker has."""

    def __init__(self, broker: Mosquitto, **login: str) -> None:
        self.published = 0
        self._client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        self._client.max_inflight_messages_set(1000)
        self._client.reconnect_delay_set(1, 1)
        if login:
            self._client.username_pw_set(login["user"], login["password"])
            self._client.tls_set(login["authority"])
        self._client.on_publish = self._count
        self._client.connect("127.0.0.1", broker.port)
        self._client.loop_start()

    def _count(self, *_: object) -> None:
        self.published += 1

    def send(self, messages: Iterable[tuple[str, object]], *, qos: int = 1) -> None:
        """Publish topics with payloads (text as it is, anything else as JSON)."""
        for topic, payload in messages:
            content = payload if isinstance(payload, str | bytes) else json.dumps(payload)
            self._client.publish(topic, content, qos=qos)

    def send_and_wait(self, *messages: tuple[str, object], qos: int = 1) -> None:
        """Publish, and wait until the broker has all."""
        before = self.published
        self.send(messages, qos=qos)
        until(lambda: self.published >= before + len(messages))

    def retain(self, topic: str, payload: str) -> None:
        """Publish a message that the broker shows to later subscribers."""
        self._client.publish(topic, payload, qos=1, retain=True).wait_for_publish(PATIENCE)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
