"""How fast a calibrator learns and forgets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CalibrationRates:
    """Half-lives, weights and step sizes of a calibrator; times are days with measurements.

    Args:
        usual: Half-life of the long-term statistics: cells and histograms.
        recent: Half-life of the recent statistics.
        trust: Weight of the recent size, 0 to 1; the rest stays at the long-term size.
        bias: Weight of the recent bias, 0 to 1.
        step: Step of a tracker on a day on which every reading is beyond its quantile, in units of
            the long-term size.
        start_days: Days that the warm-up counts for. Its residuals are too small, because the
            models were trained on them.
        start_wide: Initial widening of quantiles, as a share of their width.
        swap_wide: Widening of quantiles when a model is new.
        narrowing: Half-life of the widening.
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


DEFAULT_RATES = CalibrationRates()
