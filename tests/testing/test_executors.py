"""The check of executors passes those that are built in and finds a fault in others."""

import pytest

from clearwatt.compute import executor
from clearwatt.errors import DataError
from clearwatt.testing import check_executor


@pytest.mark.parametrize("name", ["serial", "processes"])
def test_executor_conforms(name, tmp_path):
    with executor(name, workers=2) as compute:
        check_executor(compute, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_conforms(tmp_path):
    pytest.importorskip("ray", reason="Ray is an extra")
    with executor("ray", workers=2) as compute:
        check_executor(compute, tmp_path)


class _Broken:
    """An executor with one fault."""

    workers = 1

    def __init__(self, fault: str) -> None:
        self._fault = fault

    def map(self, work, shared, items):
        for position, item in enumerate(items):
            try:
                result = work(shared, item)
            except DataError:
                if self._fault == "hides errors":
                    continue
                raise
            if self._fault == "loses a result" and position == 3:
                continue
            yield position, result + (self._fault == "wrong result")

    def close(self) -> None:
        pass


@pytest.mark.parametrize("fault", ["loses a result", "wrong result", "hides errors"])
def test_the_conformance_check_finds_a_fault(fault, tmp_path):
    with pytest.raises(AssertionError):
        check_executor(_Broken(fault), tmp_path)
