"""Threads and memory of a process of the service."""

from __future__ import annotations

import ctypes

import torch
from threadpoolctl import threadpool_limits


def limit_threads() -> None:
    """Compute products of torch and numpy on one thread in this process.

    Products of this size take longer on several threads. How numpy divides them among threads
    changes their last digits, and with these a zone's state, which must not depend on the machine.
    """
    torch.set_num_threads(1)
    threadpool_limits(1)


def release_memory() -> None:
    """Return freed memory to the system.

    The C library keeps it for the next arrays: 43 of 147 MB after a day of five zones.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only the GNU C library has it
    if trim is not None:
        trim(0)
