"""The updater: what training itself would give, whatever happens to the workers."""

import os
import signal
import sys
from concurrent.futures import wait
from dataclasses import replace

import pytest
import torch
from tests.service.processes import PATIENCE, alive, niced, spawned, until

from clearwatt.compute import ATTEMPTS
from clearwatt.errors import ConfigurationError, MissingExtraError
from clearwatt.service.learner.updater import (
    NICENESS,
    TrainingLostError,
    Updater,
    UpdaterClosedError,
)
from clearwatt.training.fleet import Job, Training, train
from clearwatt.training.networks import Predictor

NETWORK = Predictor(inputs=3, width=8, layers=1)
FOREVER = 10_000_000


def job(seed, *, epochs=5):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(64, 3, generator=generator)
    training = Training(epochs=epochs, patience=None)
    return Job(NETWORK, NETWORK.initialise([seed]), x, x.sum(1, keepdim=True), training, seed)


def training_worker() -> int | None:
    return niced(NICENESS)


@pytest.fixture
def updater():
    started = Updater(workers=1)
    yield started
    started.close()
    assert spawned() == []


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.params.keys() == other.params.keys()
        assert all(torch.equal(one.params[name], other.params[name]) for name in other.params)


def test_jobs_are_trained_as_if_here(updater):
    jobs = [job(1), job(2), job(3, epochs=9)]
    first, second = updater.submit(jobs), updater.submit(jobs[:1])
    assert_same(first.result(PATIENCE), train(jobs))
    assert_same(second.result(PATIENCE), train(jobs[:1]))


def test_a_training_whose_worker_is_killed_is_done_again(updater):
    long = job(1, epochs=4000)
    future = updater.submit([long])
    os.kill(until(training_worker), signal.SIGKILL)
    assert_same(future.result(PATIENCE), train([long]))


@pytest.mark.slow
def test_a_training_that_always_loses_its_worker_is_given_up_and_the_next_goes_on(updater):
    future = updater.submit([job(1, epochs=FOREVER)])
    killed = set()
    while len(killed) < ATTEMPTS:
        pid = until(lambda: training_worker() or future.done())
        assert not future.done(), "given up too early"
        os.kill(pid, signal.SIGKILL)
        killed.add(pid)
        until(lambda pid=pid: not alive(pid))
    with pytest.raises(TrainingLostError, match=f"killed {ATTEMPTS} times.*fewer workers"):
        future.result(PATIENCE)
    assert_same(updater.submit([job(2)]).result(PATIENCE), train([job(2)]))


def test_the_error_of_a_training_is_raised_and_not_retried(updater):
    one = job(1)
    misfit = replace(one, params=dict(list(one.params.items())[:1]))
    future = updater.submit([misfit])
    worker = until(training_worker)
    with pytest.raises(KeyError):
        future.result(PATIENCE)
    assert spawned() == [worker], "the worker did not survive an error"
    assert_same(updater.submit([one]).result(PATIENCE), train([one]))


def test_closing_ends_trainings_and_workers_at_once():
    updater = Updater(workers=1)
    running, waiting = (updater.submit([job(seed, epochs=FOREVER)]) for seed in (1, 2))
    until(training_worker)
    updater.close()
    wait([running, waiting], timeout=PATIENCE)
    for future in (running, waiting, updater.submit([job(1)])):
        assert isinstance(future.exception(0), UpdaterClosedError)
    assert spawned() == []


def test_a_closed_updater_can_be_closed_again():
    updater = Updater(workers=2)
    updater.close()
    updater.close()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "threads"}, "'threads'; choose one of processes, ray"),
        ({"workers": 0}, "workers is 0"),
        ({"address": "auto"}, "needs the updater ray"),
    ],
)
def test_invalid_options_are_reported(options, says):
    with pytest.raises(ConfigurationError, match=says):
        Updater(**options)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"clearwatt\[ray\]"):
        Updater("ray")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_trains_the_same():
    pytest.importorskip("ray", reason="Ray is an extra")
    updater = Updater("ray", workers=2)
    try:
        futures = [updater.submit([job(seed)]) for seed in range(4)]
        for seed, future in enumerate(futures):
            assert_same(future.result(PATIENCE), train([job(seed)]))
    finally:
        updater.close()
