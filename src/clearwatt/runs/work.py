"""The work of a run: tasks that are not done yet are done, the costliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from clearwatt.compute import Executor

MULTIPLY_ADDS = 6e9
"""Approximate multiply-adds per second and core, to convert cost into time."""
Shared = TypeVar("Shared")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Progress:
    """How far a stage of a run is, in tasks and in their cost (multiply-adds).

    ``cost_after`` is an estimate of the cost of all later stages.
    """

    stage: str
    done: int
    tasks: int
    cost_done: float
    cost: float
    cost_after: float = 0.0


@dataclass(frozen=True, eq=False)
class WorkItem(Generic[T, R]):
    """A task of a run.

    Args:
        task: input of the work.
        cost: about how many multiply-adds it takes.
        done: whether an earlier start of the run finished it.
        save: writes its result.
    """

    task: T
    cost: float
    done: bool
    save: Callable[[R], None]


def do_work(
    stage: str,
    items: Sequence[WorkItem[T, R]],
    work: Callable[[Shared, T], R],
    shared: Shared,
    *,
    compute: Executor,
    cost_after: float = 0.0,
) -> Iterator[Progress]:
    """Do the items that are not done; each result is saved before the next progress.

    The costliest come first, so that no worker starts on a long task when the others are finished.

    Args:
        stage: name of this part of the run.
        items: all tasks of the stage, finished or not.
        work: function of a module, called with ``shared`` and a task.
        shared: what all tasks need.
        compute: who does the work.
        cost_after: estimated cost of the stages after this one.

    Yields:
        The progress at the start, and after each task.
    """
    left = sorted((item for item in items if not item.done), key=lambda item: -item.cost)
    cost = sum(item.cost for item in items)
    done, cost_done = len(items) - len(left), cost - sum(item.cost for item in left)
    yield Progress(stage, done, len(items), cost_done, cost, cost_after)
    for position, result in compute.map(work, shared, [item.task for item in left]):
        left[position].save(result)
        done, cost_done = done + 1, cost_done + left[position].cost
        yield Progress(stage, done, len(items), cost_done, cost, cost_after)
