"""Tables of means and standard deviations over entities, and the best of each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clearwatt.own_code import short_name
from clearwatt.strategies import ComponentName

COMPONENTS: tuple[ComponentName, ...] = ("autoencoder", "predictor")

BASELINES = ("U", "L")
INSTANCES = ("E", "F", "Ra", "Re", "ReD", "G")
"""Keys of the paper's instances."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of a table. The ``better`` end is bold; ``None``: neither.

    The paper prints three decimals.
    """

    key: str
    heading: str
    short: str
    better: Literal["low", "high"] | None = "low"
    decimals: int = 3


COMPONENT_METRICS = (
    Metric("fitting_error", "Fitting Error", "FE"),
    Metric("prediction_error", "Prediction Error", "PE"),
    Metric("forgetting_ratio", "Forgetting Ratio", "FR"),
    Metric("updates", "Number of Updates", "updates"),
)

OPERATION_METRICS = (
    Metric("live_rmse", "Live RMSE", "live RMSE"),
    Metric("live_mae", "Live MAE", "live MAE"),
    Metric("recovered", "Drifts Recovered From [%]", "recovered %", "high", 0),
    Metric("recovery_days", "Days to Recover", "days", None, 1),
    Metric("retained_megabytes", "Past Retained [MB]", "MB kept", decimals=2),
    Metric("held_samples", "Past Samples Held", "samples", decimals=0),
    Metric("update_seconds", "Update Time [s]", "update s", decimals=2),
)

INTERVAL_METRICS = (
    Metric("coverage_90", "Inside the 90 % Interval [%]", "in 90 %", None, 1),
    Metric("coverage_50", "Inside the 50 % Interval [%]", "in 50 %", None, 1),
    Metric("after_updates", "In 90 %, After Updates [%]", "after updates", None, 1),
    Metric("after_drifts", "In 90 %, After Drifts [%]", "after drifts", None, 1),
    Metric("kept", "At Least 80 % After Every Update [%]", "80 % kept", "high", 0),
    Metric("width_90", "Width of the 90 % Interval", "width"),
    Metric("pinball", "Pinball Loss", "pinball", decimals=4),
    Metric("crps", "CRPS", "CRPS", decimals=4),
)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of ``count`` values.

    The deviation is that of a sample (n - 1); ``None`` for a single value.
    """

    mean: float | None
    deviation: float | None
    count: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Spread:
        """Mean and deviation of the values that are not None."""
        known = [value for value in values if value is not None]
        if not known:
            return cls(None, None, 0)
        deviation = float(np.std(known, ddof=1)) if len(known) > 1 else None
        return cls(float(np.mean(known)), deviation, len(known))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by key, each a ``Spread`` per metric that applies.

    Keys are U, L, E, F, Ra, Re, ReD, G, A, or "package.module:name" of a user's own strategy.
    """

    name: str
    title: str
    metrics: Sequence[Metric]
    rows: Mapping[str, Mapping[str, Spread]]
    note: str = ""

    def mean(self, row: str, metric: str) -> float | None:
        """The mean in a cell; ``None`` if the row was not run or the metric does not apply."""
        spread = self.rows.get(row, {}).get(metric)
        return spread.mean if spread else None

    def best(self, metric: Metric) -> frozenset[str]:
        """The instances with the best mean, without baselines; none if all are equal."""
        means = {row: self.mean(row, metric.key) for row in self.rows if row not in BASELINES}
        known = {row: mean for row, mean in means.items() if mean is not None}
        if metric.better is None or len(set(known.values())) < 2:
            return frozenset()
        target = min(known.values()) if metric.better == "low" else max(known.values())
        return frozenset(row for row, mean in known.items() if mean == target)


def row_name(row: str) -> str:
    """The name of a row, as in the paper: Baseline_U, CLeaR_E; CLeaR_MyStrategy."""
    return f"{'Baseline' if row in BASELINES else 'CLeaR'}_{short_name(row)}"
