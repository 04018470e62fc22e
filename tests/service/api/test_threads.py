"""A thread of a pool computes alone once it was told to."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from threadpoolctl import threadpool_info

from clearwatt.service.api.threads import use_one_thread


def of_openmp() -> int:
    ours = [pool for pool in threadpool_info() if "torch" in pool["filepath"]]
    return max(pool["num_threads"] for pool in ours if pool["user_api"] == "openmp")


def test_settings_of_the_process_apply_to_each_thread():
    torch.set_num_threads(1)
    with ThreadPoolExecutor(1) as pool:
        if pool.submit(of_openmp).result() == 1:
            pytest.skip("one core, or OMP_NUM_THREADS is 1: there is nothing to tell")
        pool.submit(use_one_thread).result()
        assert pool.submit(of_openmp).result() == 1
