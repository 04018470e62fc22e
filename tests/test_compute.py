"""Executors: the same results from one process, several, or Ray, even when workers die."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.service.processes import alive, until

from clearwatt.compute import ATTEMPTS, executor
from clearwatt.errors import ClearwattError, ConfigurationError, MissingExtraError
from clearwatt.testing.executors import die, pid, power

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_work_that_always_kills_its_worker_is_given_up():
    with (
        executor("processes", workers=1) as compute,
        pytest.raises(ClearwattError, match=f"killed {ATTEMPTS} times.*fewer workers"),
    ):
        list(compute.map(die, None, [0]))


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_it_lacks(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from clearwatt.compute import executor\n"
        "from clearwatt.testing.executors import pid\n"
        "with executor('processes', workers=1) as compute:\n"
        "    print(list(compute.map(pid, None, [0])))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"ended by itself {ATTEMPTS} times" in last
    assert 'if __name__ == "__main__":' in last


def test_a_worker_killed_while_idle_is_replaced():
    with executor("processes", workers=1) as compute:
        [(_, process)] = compute.map(pid, None, [0])
        os.kill(process, signal.SIGKILL)
        assert list(compute.map(power, 2, [5])) == [(0, 32)]


@pytest.mark.slow
def test_results_of_work_given_up_do_not_appear_later():
    with executor("processes", workers=2) as compute:
        for _ in compute.map(power, 2, range(50)):
            break
        assert sorted(compute.map(power, 5, range(3))) == [(0, 1), (1, 5), (2, 25)]


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed():
    script = (
        "from clearwatt.compute import executor\n"
        "from clearwatt.testing.executors import pid\n"
        "import time\n"
        "with executor('processes', workers=1) as compute:\n"
        "    print(next(compute.map(pid, None, [0, 1]))[1], flush=True)\n"
        "    time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    until(lambda: not alive(worker))  # it does not outlive its parent


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "threads"}, "'threads'; choose one of serial, processes, ray"),
        ({"name": "processes", "workers": 0}, "workers is 0"),
        ({"name": "serial", "address": "auto"}, "needs the executor ray"),
    ],
)
def test_mistakes_are_told(options, says):
    with pytest.raises(ConfigurationError, match=says), executor(**options):
        pass


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"clearwatt\[ray\]"), executor("ray"):
        pass
