"""Streams: generators that yield training jobs and receive the results.

Jobs of many streams can be trained stacked.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from clearwatt.training.fleet import Job, Trained, one_thread, train

Jobs = tuple[Job, ...]
TrainingResults = Sequence[Trained]
T = TypeVar("T")
Stream = Generator[Jobs, TrainingResults, T]


def drive(stream: Stream[T], *, stacked: bool = True) -> T:
    """Run a stream to its end on one thread, training the jobs it yields.

    Args:
        stream: What to run.
        stacked: Whether jobs that wait together train together. That is fast, but rounds
            differently with each set of jobs. A job trained by itself always gives the same bits.
    """
    with one_thread():
        try:
            jobs = next(stream)
            while True:
                jobs = stream.send(train(jobs, stack=None if stacked else 1))
        except StopIteration as stop:
            result: T = stop.value
            return result


def run_together(streams: Sequence[Stream[T]]) -> Stream[list[T]]:
    """Run streams side by side: each round collects the jobs of all that wait."""
    results: dict[int, T] = {}
    waiting: dict[int, Jobs] = {}

    def advance(index: int, trained: TrainingResults | None) -> None:
        try:
            stream = streams[index]
            waiting[index] = next(stream) if trained is None else stream.send(trained)
        except StopIteration as stop:
            results[index] = stop.value

    for index in range(len(streams)):
        advance(index, None)
    while waiting:
        asked, waiting = waiting, {}
        trained = yield tuple(job for jobs in asked.values() for job in jobs)
        start = 0
        for index, jobs in asked.items():
            advance(index, trained[start : start + len(jobs)])
            start += len(jobs)
    return [results[index] for index in range(len(streams))]
