"""What a learner hears: from its parent, from threads, from signals; often told is told once."""

import os
import signal
from multiprocessing import Pipe

import pytest
from tests.service.processes import until

from clearwatt.service.learner.inbox import Inbox


@pytest.fixture
def ends():
    handler = signal.getsignal(signal.SIGTERM)
    ours, theirs = Pipe()
    yield ours, Inbox(theirs)
    signal.signal(signal.SIGTERM, handler)
    ours.close()


def test_nothing_is_heard_where_nothing_is_said(ends):
    _, inbox = ends
    assert not inbox.wait(0)
    assert not inbox.wait(0.01)


def test_many_calls_wake_once(ends):
    pipe, inbox = ends
    for _ in range(3):
        inbox.wake()
    assert inbox.wait(0)
    assert not inbox.wait(0)
    pipe.send(("wake",))
    assert inbox.wait(30)
    assert not inbox.stopped


@pytest.mark.parametrize(
    "say",
    [
        lambda pipe: pipe.send(("stop",)),
        lambda pipe: pipe.close(),
        lambda pipe: os.kill(os.getpid(), signal.SIGTERM),
    ],
    ids=["told", "parent gone", "SIGTERM"],
)
def test_there_are_three_ways_to_stop_it(ends, say):
    pipe, inbox = ends
    say(pipe)
    until(lambda: inbox.stopped)
    assert inbox.wait(30)
