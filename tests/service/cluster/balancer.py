"""HAProxy in front of the web nodes, configured as `deploy/haproxy.cfg`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.service.durability.feeding import free_port
from tests.service.processes import until

from clearwatt.service.client import Client, ServiceError, ServiceUnreachableError

ROOT = Path(__file__).parents[3]
PLACES = ("10.0.0.11:8000", "10.0.0.12:8000")
"""Addresses of the web nodes in the configuration that is shipped."""


@contextmanager
def balancer(folder: Path, ports: Sequence[str]) -> Iterator[str]:
    """Start a load balancer for web nodes at these ports; its address."""
    program = shutil.which("haproxy", path="/usr/sbin:/usr/bin") or _install(folder)
    port = free_port()
    text = (
        (ROOT / "deploy" / "haproxy.cfg").read_text().replace("0.0.0.0:8080", f"127.0.0.1:{port}")
    )
    for place, web in zip(PLACES, ports, strict=True):
        assert place in text
        text = text.replace(place, f"127.0.0.1:{web}")
    (folder / "haproxy.cfg").write_text(text)
    with (folder / "haproxy.log").open("w") as log:
        process = subprocess.Popen([program, "-f", folder / "haproxy.cfg"], stderr=log, stdout=log)
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: _answers(url))
        yield url
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with Client(url, patience=0.0) as client:
            client.zones()
    except (ServiceUnreachableError, ServiceError):
        return False
    return True


def _install(folder: Path) -> str:
    for words in (["update"], ["install", "-y", "--no-install-recommends", "haproxy"]):
        done = subprocess.run(
            ["apt-get", "-qq", *words], capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            pytest.skip(f"HAProxy could not be installed: {done.stderr.strip()[-300:]}")
    found = shutil.which("haproxy", path="/usr/sbin:/usr/bin")
    assert found is not None
    return found
