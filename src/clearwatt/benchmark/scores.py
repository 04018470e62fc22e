"""Scores of forecasts: errors of each phase, the pinball loss, and the loss of each day."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.peer import Cost, Forecasts, Peer
from clearwatt.errors import StateError
from clearwatt.intervals import pinball_losses

INTERVAL = (0.05, 0.95)
"""Levels of the quantiles between which 90 % of measurements should lie."""


@dataclass(frozen=True)
class PhaseScore:
    """Live errors over a phase; None where nothing was measured or a forecast is not finite."""

    rmse: float | None
    mae: float | None
    pinball: float | None
    """Mean over the quantiles of a peer; None if it has none."""
    coverage: float | None = None
    """Share of measurements within the quantiles of `INTERVAL`; None if it has not both."""
    width: float | None = None
    """Mean distance of these two quantiles."""


@dataclass(frozen=True)
class PeerRecord:
    """The scores of one peer for one entity.

    ``daily`` is the mean squared error of each day of the updating phase, ``test_daily`` of the
    test phase, None where nothing was measured; the significance test compares them.
    """

    peer: str
    label: str
    entity: str
    zone: str
    updating: PhaseScore
    test: PhaseScore
    cost: Cost
    daily: tuple[float | None, ...]
    test_daily: tuple[float | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PeerRecord:
        """The opposite of `to_dict`."""
        try:
            return cls(
                **{
                    **values,
                    "updating": PhaseScore(**values["updating"]),
                    "test": PhaseScore(**values["test"]),
                    "cost": Cost(**values["cost"]),
                    "daily": tuple(values["daily"]),
                    "test_daily": tuple(values["test_daily"]),
                }
            )
        except (KeyError, TypeError) as error:
            raise StateError(f"a record of a benchmark is incomplete ({error!r})") from error


def score_forecasts(peer: Peer, history: ZoneHistory, forecasts: Forecasts) -> list[PeerRecord]:
    """Score every entity of a history."""
    wanted = history.measured[history.first :].astype(np.float64)
    cut = history.test - history.first
    updating, test = slice(None, cut), slice(cut, None)
    at = history.at[history.first :]
    found = []
    for column, entity in enumerate(history.entities):
        power = forecasts.power[:, column]
        quantiles = {level: each[:, column] for level, each in forecasts.quantiles.items()}
        scores = [
            _score(
                wanted[part, column], power[part], {q: each[part] for q, each in quantiles.items()}
            )
            for part in (updating, test)
        ]
        daily = [
            _daily(wanted[part, column] - power[part], (at[part] - at[part][:1]) // history.day)
            for part in (updating, test)
        ]
        found.append(
            PeerRecord(
                peer=peer.key,
                label=peer.label,
                entity=entity,
                zone=history.zone,
                updating=scores[0],
                test=scores[1],
                cost=forecasts.costs[column],
                daily=daily[0],
                test_daily=daily[1],
            )
        )
    return found


def _score(
    wanted: Float64Array, power: Float64Array, quantiles: Mapping[float, Float64Array]
) -> PhaseScore:
    errors = (wanted - power)[~np.isnan(wanted)]
    if not len(errors):
        return PhaseScore(None, None, None)
    with np.errstate(over="ignore", invalid="ignore"):  # of forecasts that went out of bounds
        rmse, mae = math.sqrt(np.square(errors).mean()), float(np.abs(errors).mean())
    loss = _mean_pinball(wanted, quantiles) if quantiles else None
    return PhaseScore(
        _finite(rmse), _finite(mae), _finite(loss), *_interval_score(wanted, quantiles)
    )


def _interval_score(
    wanted: Float64Array, quantiles: Mapping[float, Float64Array]
) -> tuple[float | None, float | None]:
    """Coverage and mean width of `INTERVAL` over the measured steps; None without it."""
    if any(level not in quantiles for level in INTERVAL):
        return None, None
    measured = ~np.isnan(wanted)
    low, high = (quantiles[level][measured] for level in INTERVAL)
    inside = (wanted[measured] >= low) & (wanted[measured] <= high)
    return float(inside.mean()), _finite(float((high - low).mean()))


def _mean_pinball(wanted: Float64Array, quantiles: Mapping[float, Float64Array]) -> float:
    """The pinball loss, mean over the levels and over the measured steps."""
    losses = [
        np.nanmean(pinball_losses(wanted, given, level)) for level, given in quantiles.items()
    ]
    return float(np.mean(losses))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _daily(errors: Float64Array, days: npt.NDArray[np.int64]) -> tuple[float | None, ...]:
    """The mean squared error of each day, rounded: a thousand days are kept for each record."""
    measured = ~np.isnan(errors)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        length = int(days[-1]) + 1 if len(days) else 0
        sums = np.bincount(days[measured], np.square(errors[measured]), length)
        means = sums / np.bincount(days[measured], minlength=length)
    return tuple(float(f"{each:.6g}") if math.isfinite(each) else None for each in means)
