"""Regular work: goes on after failures, which are logged once, and only if it may."""

import threading

from tests.service.processes import until

from clearwatt.errors import StateError
from clearwatt.service.regular_work import RegularWork


class Work(RegularWork):
    """Fails as often as it is told to."""

    thread_name = "work"
    complaint = "work not done"

    def __init__(self, failures: int) -> None:
        super().__init__(0.01)
        self.failures, self.rounds, self.done = failures, 0, threading.Event()

    def run_round(self) -> None:
        self.rounds += 1
        if self.rounds <= self.failures:
            raise StateError("the same reason")
        self.done.set()


def test_a_failure_is_logged_once_and_the_work_goes_on(caplog):
    with Work(failures=5) as work:
        assert work.done.wait(60)
    assert caplog.text.count("work not done") == 1


def test_it_runs_only_while_it_may(monkeypatch):
    monkeypatch.setattr("clearwatt.service.regular_work.AGAIN", 0.01)
    asked = []

    def may_run() -> bool:
        asked.append(True)
        return len(asked) > 3

    with Work(failures=0).run_only_if(may_run) as work:
        until(lambda: work.rounds)
    assert len(asked) > 3
