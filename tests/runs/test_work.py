"""The work of a run, whatever it is."""

from clearwatt.compute import executor
from clearwatt.runs.work import Progress, WorkItem, do_work


def double(factor: int, task: int) -> int:
    return factor * task


def test_what_is_not_done_is_done_the_costliest_first_and_saved_before_it_counts():
    saved: list[int] = []
    items = [
        WorkItem(task, cost, done, saved.append)
        for task, cost, done in [(1, 5.0, False), (2, 20.0, True), (3, 10.0, False)]
    ]
    with executor("serial") as compute:
        steps = do_work("s", items, double, 2, compute=compute, cost_after=7.0)
        seen = [(step, list(saved)) for step in steps]
    assert seen == [
        (Progress("s", 1, 3, 20.0, 35.0, 7.0), []),
        (Progress("s", 2, 3, 30.0, 35.0, 7.0), [6]),
        (Progress("s", 3, 3, 35.0, 35.0, 7.0), [6, 2]),
    ]


def test_a_stage_that_is_done_says_so_and_starts_nothing():
    items = [WorkItem(1, 2.0, True, lambda result: None)]
    with executor("serial") as compute:
        steps = list(do_work("s", items, double, 2, compute=compute))
    assert steps == [Progress("s", 1, 1, 2.0, 2.0)]
