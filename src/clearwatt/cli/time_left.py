"""Progress of a long run on stderr, with an honest guess of the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

RATE = 15e9
"""Multiply-adds a core does per second, until this run's own rate is known."""
QUIET_SECONDS = 20.0
"""Where stderr is no terminal, a line is written at most this often."""


class Step(Protocol):
    """How far a stage is: pieces of work, and their cost in multiply-adds."""

    @property
    def stage(self) -> str:
        """What is being done."""

    @property
    def done(self) -> int:
        """Pieces that are finished."""

    @property
    def pieces(self) -> int:
        """All of them."""

    @property
    def cost_done(self) -> float:
        """Cost of those that are finished."""

    @property
    def cost(self) -> float:
        """Cost of all of them."""

    @property
    def cost_after(self) -> float:
        """A guess of what the stages after this one will cost."""


def show_progress(steps: Iterable[Step], workers: int) -> None:
    """Go through the steps and show them."""
    console = Console(stderr=True)
    if console.is_terminal:
        _draw(steps, workers, console)
    else:
        _write(steps, workers)


def _draw(steps: Iterable[Step], workers: int, console: Console) -> None:
    columns = (
        TextColumn("{task.description:13}"),
        BarColumn(),
        TextColumn("{task.fields[pieces]:>9}  {task.fields[left]}"),
    )
    with Progress(*columns, console=console) as bars:
        clock, bar = _Clock(workers), None
        for step in steps:
            if clock.begins(step):
                bar = bars.add_task(step.stage, total=step.cost or 1.0, pieces="", left="")
            if bar is not None:
                pieces, left = f"{step.done}/{step.pieces}", clock.left(step)
                done = step.cost_done if step.cost else 1.0
                bars.update(bar, completed=done, pieces=pieces, left=left)


def _write(steps: Iterable[Step], workers: int) -> None:
    clock, last = _Clock(workers), 0.0
    for step in steps:
        new = clock.begins(step)
        if new or step.done == step.pieces or time.monotonic() - last > QUIET_SECONDS:
            last = time.monotonic()
            text = f"{step.stage}: {step.done} of {step.pieces} done{clock.left(step, ', ')}\n"
            sys.stderr.write(text)
            sys.stderr.flush()


class _Clock:
    """Guesses the time left of the whole run from the work done since it was started."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._stage: str | None = None
        self._began = time.monotonic()
        self._worked, self._seen = 0.0, 0.0

    def begins(self, step: Step) -> bool:
        """Whether this is the first step of its stage."""
        if step.stage == self._stage:
            return False
        self._stage, self._seen = step.stage, step.cost_done  # an earlier start did that
        return True

    def left(self, step: Step, before: str = "") -> str:
        """How long the rest of the run may take."""
        self._worked += step.cost_done - self._seen
        self._seen = step.cost_done
        left = step.cost - step.cost_done + step.cost_after
        if not left:
            return ""
        elapsed = time.monotonic() - self._began
        rate = self._worked / elapsed if self._worked and elapsed else RATE * self._workers
        return f"{before}about {timedelta(seconds=round(left / rate))} left in all"
