"""A process of the service computes on one thread and returns the memory it has freed."""

import platform
import subprocess
import sys

import pytest

THREADS = """
import numpy, torch
from threadpoolctl import threadpool_info
from clearwatt.service.resources import limit_threads
limit_threads()
print(torch.get_num_threads(), *(each["num_threads"] for each in threadpool_info()))
"""
MEMORY = """
from pathlib import Path
import numpy as np
from clearwatt.service.resources import release_memory
def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000
arrays = [np.ones(8_000) for _ in range(2_000)]
held = arrays[::50]
del arrays
before = resident()
release_memory()
print(before - resident())
"""


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_products_are_computed_on_one_thread():
    assert set(run(THREADS).split()) == {"1"}


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can return memory")
def test_freed_memory_is_returned_while_arrays_between_are_held():
    megabytes = float(run(MEMORY))
    assert megabytes > 64
