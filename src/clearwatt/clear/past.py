"""The part of a component's history that its strategy may see, under the deployed encoder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clearwatt.arrays import Int64Array
from clearwatt.clear.buffers import SampleRows, TaskHistory
from clearwatt.errors import ConfigurationError
from clearwatt.memory import Policy
from clearwatt.strategies import Access, Batch, Past, Strategy

SampleView = Callable[[SampleRows], Batch]
"""Converts samples to what the component's network sees, under the deployed encoder."""


class HistoryPast(Past):
    """A history under the deployed encoder, without held-back rows."""

    def __init__(
        self,
        history: TaskHistory,
        *,
        access: Access,
        view: SampleView,
        rng: np.random.Generator,
        held_back: Int64Array,
    ) -> None:
        self._history, self._access, self._view, self._rng = history, access, view, rng
        self._held_back = held_back

    def replay(self, policy: Policy, budget: int) -> Batch:
        """A draw from the closed tasks; held-back rows are in the open one."""
        return self._view(self._history.replay(policy, budget, self._rng))

    def count(self) -> int:
        """Number of samples of the closed tasks."""
        return self._history.boundaries[-1] - self._history.boundaries[0]

    def everything(self) -> Batch:
        """Every sample observed so far, the open window included."""
        if self._access is not Access.ALL:
            raise ConfigurationError(
                f"a strategy with access {self._access.value!r} asked for everything; "
                "declare access = Access.ALL"
            )
        samples = self._history.samples
        if len(self._held_back):
            samples = samples.at(~np.isin(samples.rows, self._held_back))
        return self._view(samples)


class NoPast(Past):
    """No history; every request raises a ConfigurationError."""

    def replay(self, policy: Policy, budget: int) -> Batch:
        """Raise a ConfigurationError."""
        raise ConfigurationError(
            f"a strategy with access 'none' asked for a {policy!r} replay of {budget} samples; "
            "declare access = Access.RECENT or Access.ALL"
        )

    def count(self) -> int:
        """None."""
        return 0

    def everything(self) -> Batch:
        """Raise a ConfigurationError."""
        raise ConfigurationError(
            "a strategy with access 'none' asked for everything; declare access = Access.ALL"
        )


def history_for(strategy: Strategy, *, labelled: bool) -> TaskHistory | None:
    """An empty history for a strategy; None if it has no access to the past."""
    if strategy.access is Access.NONE:
        return None
    return TaskHistory(labelled=labelled, recent_updates=strategy.window)


def past_of(
    strategy: Strategy,
    history: TaskHistory | None,
    view: SampleView,
    *,
    rng: np.random.Generator,
    held_back: Int64Array,
) -> Past:
    """The past that a strategy gets at an update."""
    if history is None:
        return NoPast()
    return HistoryPast(history, access=strategy.access, view=view, rng=rng, held_back=held_back)
