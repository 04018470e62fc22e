"""Progress of a long run on stderr, with an estimate of the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

from clearwatt.runs.work import Progress

RATE = 15e9
"""Multiply-adds per second and core, until the rate of this run is known."""
QUIET_SECONDS = 20.0
"""Least seconds between two lines where stderr is no terminal."""


def show_progress(steps: Iterable[Progress], workers: int) -> None:
    """Run through the steps and show the progress of each."""
    console = Console(stderr=True)
    if console.is_terminal:
        _draw(steps, workers, console)
    else:
        _write(steps, workers)


def _draw(steps: Iterable[Progress], workers: int, console: Console) -> None:
    columns = (
        TextColumn("{task.description:13}"),
        BarColumn(),
        TextColumn("{task.fields[tasks]:>9}  {task.fields[left]}"),
    )
    with Bars(*columns, console=console) as bars:
        stopwatch, bar = _Stopwatch(workers), None
        for step in steps:
            if stopwatch.enters_stage(step):
                bar = bars.add_task(step.stage, total=step.cost or 1.0, tasks="", left="")
            if bar is not None:
                tasks, left = f"{step.done}/{step.tasks}", stopwatch.time_left(step)
                done = step.cost_done if step.cost else 1.0
                bars.update(bar, completed=done, tasks=tasks, left=left)


def _write(steps: Iterable[Progress], workers: int) -> None:
    stopwatch, last = _Stopwatch(workers), 0.0
    for step in steps:
        new = stopwatch.enters_stage(step)
        if new or step.done == step.tasks or time.monotonic() - last > QUIET_SECONDS:
            last = time.monotonic()
            text = (
                f"{step.stage}: {step.done} of {step.tasks} done{stopwatch.time_left(step, ', ')}\n"
            )
            sys.stderr.write(text)
            sys.stderr.flush()


class _Stopwatch:
    """Estimates the time left of the whole run from the work done since this start."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._stage: str | None = None
        self._began = time.monotonic()
        self._worked, self._seen = 0.0, 0.0

    def enters_stage(self, step: Progress) -> bool:
        """Whether this is the first step of its stage."""
        if step.stage == self._stage:
            return False
        self._stage, self._seen = step.stage, step.cost_done  # done by an earlier start
        return True

    def time_left(self, step: Progress, before: str = "") -> str:
        """Estimated time of the rest of the run, as text."""
        self._worked += step.cost_done - self._seen
        self._seen = step.cost_done
        left = step.cost - step.cost_done + step.cost_after
        if not left:
            return ""
        elapsed = time.monotonic() - self._began
        rate = self._worked / elapsed if self._worked and elapsed else RATE * self._workers
        return f"{before}about {timedelta(seconds=round(left / rate))} left in all"
