"""A running service returns the memory that it has freed, without being asked."""

import platform
import subprocess
import sys

import pytest

CODE = """
import time
from pathlib import Path
import numpy as np
from clearwatt.service.memory_release import MemoryRelease
def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000
with MemoryRelease(interval=0.05):
    arrays = [np.ones(8_000) for _ in range(2_000)]
    held, before = arrays[::50], resident()
    del arrays
    end = time.monotonic() + 60
    while resident() > before - 64 and time.monotonic() < end:
        time.sleep(0.05)
    print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can return memory")
def test_gaps_between_what_is_held_are_returned_while_the_service_runs():
    shown = subprocess.run(
        [sys.executable, "-c", CODE], check=True, capture_output=True, text=True
    ).stdout
    assert float(shown) > 64
