"""Threads that answer requests compute alone."""

from __future__ import annotations

import torch


def compute_alone() -> None:
    """Have the calling thread share its matrix products with no others.

    OpenMP counts per thread: what is set when the process starts does not hold for the threads of
    a pool, and on small networks waiting for a second core takes a hundred times the product.
    """
    torch.set_num_threads(1)
