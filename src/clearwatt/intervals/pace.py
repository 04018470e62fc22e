"""How fast intervals learn and forget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """How fast what is learned and forgotten; times are days with measurements.

    Args:
        usual: half-life of what is usual, cells and shapes.
        recent: half-life of how residuals are these days.
        trust: how far a size of these days is believed, 0 to 1; the rest stays as usual.
        bias: how far a bias of these days is believed, 0 to 1.
        step: how far a tracker moves in a day on which every reading is beyond its quantile, in
            units of the usual size.
        start_days: how many days the warm-up counts for: its residuals are too small, because the
            models were trained on them.
        start_wide: how much wider quantiles are at first.
        swap_wide: how much wider they are at first when a model is new.
        narrowing: half-life of that.
    """

    usual: float = 60.0
    recent: float = 3.0
    trust: float = 0.7
    bias: float = 0.5
    step: float = 0.1
    start_days: float = 10.0
    start_wide: float = 0.3
    swap_wide: float = 2.0
    narrowing: float = 1.5


PACE = Pace()
