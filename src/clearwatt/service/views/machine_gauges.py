"""Prometheus gauges of the disk and the memory that a service uses, read at each scrape."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_PROCESSES = Path("/proc")


class MachineGauges:
    """Gauges of a machine; what the system does not tell is left out.

    Args:
        data_dir: Folder on the disk that is reported.
        processes: Folder in which Linux describes its processes.
    """

    def __init__(self, data_dir: Path, *, processes: Path = _PROCESSES) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Machine(data_dir, processes))

    def text(self) -> str:
        """Current values in the text format of Prometheus."""
        return generate_latest(self._registry).decode()


class _Machine(Collector):
    def __init__(self, data_dir: Path, processes: Path) -> None:
        self._data_dir, self._processes = data_dir, processes

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering reads nothing."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Current values."""
        disk = GaugeMetricFamily(
            "clearwatt_disk_bytes", "Size of the data directory's disk.", labels=["part"]
        )
        memory = GaugeMetricFamily(
            "clearwatt_memory_bytes", "Resident memory of the service.", labels=["process"]
        )
        try:
            usage = shutil.disk_usage(self._data_dir)
        except OSError:
            pass
        else:
            disk.add_metric(["free"], usage.free)
            disk.add_metric(["used"], usage.used)
        running = _running_processes(self._processes)
        if own := running.get(os.getpid()):
            memory.add_metric(["web"], own.size)
            children = _descendants(os.getpid(), running)
            memory.add_metric(["learner"], sum(child.size for child in children))
        return [disk, memory]


class _Process(NamedTuple):
    """A process that runs; its memory in bytes."""

    number: int
    parent: int
    size: int


def _running_processes(folder: Path) -> dict[int, _Process]:
    """All processes of this machine that this one may see."""
    found = {}
    for path in folder.glob("[0-9]*/status"):
        try:
            lines = (line.split(":") for line in path.read_text().splitlines())
        except OSError:  # it has ended
            continue
        fields = {name: rest for name, *(rest, *_) in lines if name in ("PPid", "VmRSS")}
        if len(fields) == 2:  # one that has ended has no memory
            number = int(path.parent.name)
            size = 1024 * int(fields["VmRSS"].split()[0])
            found[number] = _Process(number, int(fields["PPid"]), size)
    return found


def _descendants(parent: int, processes: Mapping[int, _Process]) -> Iterator[_Process]:
    """Processes that a process started, and those that they started."""
    for process in processes.values():
        if process.parent == parent:
            yield process
            yield from _descendants(process.number, processes)
