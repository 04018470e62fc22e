"""Number of torch threads in request threads."""

from __future__ import annotations

import torch


def use_one_thread() -> None:
    """Limit torch to one thread in the calling thread.

    OpenMP keeps this setting per thread, so the one made at process start does not apply to threads
    of a pool. On small networks, waiting for a second core takes 100 times as long as the product.
    """
    torch.set_num_threads(1)
