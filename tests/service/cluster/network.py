"""A host of its own behind a link that can be cut, and a database that both sides reach."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.service.conftest import SCRIPT


class NoNetworkError(Exception):
    """A network namespace cannot be made here; the message says why."""


class Addresses(NamedTuple):
    """Addresses of a database: by its socket, and over the link."""

    near: str
    far: str


class Network:
    """A network namespace, joined to this host by one link."""

    def __init__(self) -> None:
        self.name, self.link = f"cw{os.getpid()}", f"cwl{os.getpid()}"
        subnet = f"10.231.{os.getpid() % 250}"  # processes of tests that run side by side
        self.here, self.there = f"{subnet}.1", f"{subnet}.2"

    @property
    def prefix(self) -> tuple[str, ...]:
        """What runs a command in it."""
        return ("ip", "netns", "exec", self.name)

    def start(self) -> None:
        """Make the host and the link; NoNetworkError if that is not possible."""
        if shutil.which("ip") is None:
            raise NoNetworkError("there is no command 'ip' to make a network with")
        for command in (
            ("ip", "netns", "add", self.name),
            ("ip", "link", "add", self.link, "type", "veth", "peer", "eth0", "netns", self.name),
            ("ip", "addr", "add", f"{self.here}/24", "dev", self.link),
            ("ip", "link", "set", self.link, "up"),
            (*self.prefix, "ip", "addr", "add", f"{self.there}/24", "dev", "eth0"),
            (*self.prefix, "ip", "link", "set", "eth0", "up"),
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NoNetworkError(f"no network can be made: {done.stderr.strip()}")

    def cut(self, *, off: bool) -> None:
        """Cut the link, or join it again."""
        subprocess.run(["ip", "link", "set", self.link, "down" if off else "up"], check=True)

    def remove(self) -> None:
        """Remove the host; the link goes with it."""
        if shutil.which("ip") is not None:
            subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


def start_server(folder: Path, network: Network | None) -> Addresses:
    """Start PostgreSQL in a folder; without a network both addresses are the same."""
    if network is not None:
        for word in ("start", "stop"):
            subprocess.run([SCRIPT, word, folder], check=True, capture_output=True, timeout=600)
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(f"listen_addresses = '{network.here}'\n")
        with (folder / "data" / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {network.there}/32 scram-sha-256\n")
    started = subprocess.run(
        [SCRIPT, "start", folder], check=True, capture_output=True, text=True, timeout=600
    )
    near = started.stdout.strip()
    if network is None:
        return Addresses(near, near)
    password = near.removeprefix("postgresql://clearwatt:").partition("@")[0]
    return Addresses(near, f"postgresql://clearwatt:{password}@{network.here}/postgres")
