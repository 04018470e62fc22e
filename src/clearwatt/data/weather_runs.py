"""Weather forecast runs, each with its own lead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clearwatt.arrays import Float64Array, Int64Array
from clearwatt.clock import Steps


class WeatherRuns(NamedTuple):
    """Forecast runs, `r` in order of time, each with `h` steps of `v` variables at `z` places."""

    issued: Steps
    """Step at which each run was issued, `r`, ascending."""
    values: Float64Array
    """`r x h x z x v`; the first step is the one after the issue. NaN: withheld."""

    @property
    def length(self) -> int:
        """Steps `h` of a run."""
        return int(self.values.shape[1])

    def until(self, step: int) -> WeatherRuns:
        """The runs issued no later than a step, not copied."""
        count = int(np.searchsorted(self.issued, step, side="right"))
        return WeatherRuns(self.issued[:count], self.values[:count])

    def steps(self, rows: Int64Array) -> Steps:
        """Steps that some of the runs forecast, `n x h`."""
        return self.issued[rows][:, None] + np.arange(1, self.length + 1)

    def shifted(self, rows: Int64Array, by: int) -> Float64Array:
        """What is forecast `by` steps after each step of some runs, `n x h x z x v`.

        Each run forecasts its own steps. For steps up to its issue, the newest run issued before
        such a step does. NaN where no run does.
        """
        steps = self.steps(rows) + by
        newest = np.searchsorted(self.issued, steps, side="left") - 1
        return self._look_up(np.minimum(newest, rows[:, None]), steps)

    def earlier(self, rows: Int64Array, back: int) -> Float64Array:
        """What the run `back` runs before forecasts for the steps of some runs, `n x h x z x v`.

        NaN where it does not reach, or there is none.
        """
        steps = self.steps(rows)
        return self._look_up(np.broadcast_to(rows[:, None] - back, steps.shape), steps)

    def _look_up(self, runs: Int64Array, steps: Steps) -> Float64Array:
        """Forecasts of runs, `n x h`, for steps, `n x h`."""
        places = steps - self.issued[np.maximum(runs, 0)] - 1
        there = (runs >= 0) & (places >= 0) & (places < self.length)
        found = np.full((*steps.shape, *self.values.shape[2:]), np.nan)
        found[there] = self.values[runs[there], places[there]]
        return found
