"""Streams: generators that yield training jobs and receive the results.

Jobs of many streams can be trained stacked.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from clearwatt.training.fleet import Job, JobIdentity, Trained, one_thread, train

Jobs = tuple[Job, ...]
TrainingResults = Sequence[Trained]
T = TypeVar("T")
Stream = Generator[Jobs, TrainingResults, T]


def drive(stream: Stream[T], *, stacked: bool = True, reuse: bool = False) -> T:
    """Run a stream to its end on one thread, training the jobs it yields.

    Args:
        stream: What to run.
        stacked: Whether jobs that wait together train together. That is fast, but rounds
            differently with each set of jobs. A job trained by itself always gives the same bits.
        reuse: Whether equal jobs are trained once. Configurations of a search that differ in how
            far back they look make the same updates until one looks less far.
    """
    stack = None if stacked else 1
    known: dict[JobIdentity, Trained] = {}
    with one_thread():
        try:
            jobs = next(stream)
            while True:
                trained = (
                    _train_new(jobs, known, stack=stack) if reuse else train(jobs, stack=stack)
                )
                jobs = stream.send(trained)
        except StopIteration as stop:
            result: T = stop.value
            return result


def _train_new(
    jobs: Jobs, known: dict[JobIdentity, Trained], *, stack: int | None
) -> TrainingResults:
    """Train the jobs without a known result, and add theirs."""
    keys = [job.identity for job in jobs]
    new = {key: job for key, job in zip(keys, jobs, strict=True) if key not in known}
    known.update(zip(new, train(tuple(new.values()), stack=stack), strict=True))
    return [known[key] for key in keys]


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
