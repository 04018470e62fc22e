"""Disk and memory of a service, as its machine tells them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from prometheus_client.parser import text_string_to_metric_families

from clearwatt.service.views.machine_gauges import MachineGauges

MEGABYTES = 40
WORKER = f"import sys; held = bytearray(b'1' * {MEGABYTES} * 2**20); print(flush=True); input()"
LEARNER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORKER!r}])"


def samples(gauges: MachineGauges) -> dict[tuple[str, str], float]:
    families = text_string_to_metric_families(gauges.text())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_disk_is_that_of_the_data_directory(small_disk):
    gauges = MachineGauges(small_disk)
    before = samples(gauges)
    (small_disk / "readings").write_bytes(bytes(2**20))
    after, usage = samples(gauges), shutil.disk_usage(small_disk)
    assert after["clearwatt_disk_bytes", "free"] == usage.free
    assert after["clearwatt_disk_bytes", "used"] == usage.used
    assert before["clearwatt_disk_bytes", "free"] - usage.free == 2**20


def test_memory_of_processes_that_others_started_counts(tmp_path):
    gauges = MachineGauges(tmp_path)
    before = samples(gauges)
    learner = subprocess.Popen(
        [sys.executable, "-c", LEARNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with learner:
        learner.stdout.readline()  # its worker holds the memory now
        grown = samples(gauges)["clearwatt_memory_bytes", "learner"]
        learner.communicate(b"\n")
    assert grown - before["clearwatt_memory_bytes", "learner"] > MEGABYTES * 2**20
    assert before["clearwatt_memory_bytes", "web"] > 10 * 2**20


def test_a_system_that_tells_nothing_costs_no_scrape(tmp_path):
    gauges = MachineGauges(tmp_path / "gone", processes=tmp_path)
    assert samples(gauges) == {}
    assert "# TYPE clearwatt_memory_bytes gauge" in gauges.text()


def test_processes_that_end_meanwhile_are_left_out(tmp_path):
    (tmp_path / "17").mkdir()
    (tmp_path / "17" / "status").write_text("Name:\tgone\nPPid:\t1\n")  # ended, not reaped
    (tmp_path / str(os.getpid())).mkdir()
    (tmp_path / str(os.getpid()) / "status").write_text("Name:\tweb\nPPid:\t1\nVmRSS:\t5 kB\n")
    found = samples(MachineGauges(tmp_path, processes=tmp_path))
    assert found["clearwatt_memory_bytes", "web"] == 5 * 1024
    assert found["clearwatt_memory_bytes", "learner"] == 0
