"""Forecasts by lead: from weather runs as they are issued, and what has just been measured.

A sample is a run and one of its steps: the weather that the run forecasts, the same hour in
earlier runs, and the measurements known when it was issued, which count less the longer the lead.
Each entity has a kernel regression of its samples whose state does not grow. It learns from each
measurement once, as soon as that is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from clearwatt.adaptive.kernel_features import KernelFeatures
from clearwatt.adaptive.lead_inputs import InputScales, lead_inputs, recent_means
from clearwatt.adaptive.lead_regression import LeadRegression
from clearwatt.arrays import Float32Array, Float64Array, Int64Array
from clearwatt.clock import HOURS_PER_DAY, Steps
from clearwatt.data.weather_runs import WeatherRuns
from clearwatt.errors import ConfigurationError, DataError, require_whole

CHUNK = 8_192
"""Samples whose features are computed at once."""


@dataclass(frozen=True)
class LeadSettings:
    """How forecasts by lead are learned; docs/decisions.md says how the defaults were chosen.

    Args:
        landmarks: Past samples that others are compared with.
        features: Features that are made of the comparisons.
        ridge: Prior belief that every coefficient is 0, in samples.
        half_life: Days after which a sample counts half; None: all count alike.
        fade: Steps of lead until what was measured last counts 1/e among the inputs.
        scales: How finely each group of inputs is resolved.
    """

    landmarks: int = 600
    features: int = 300
    ridge: float = 1.0
    half_life: float | None = None
    fade: float = 12.0
    scales: InputScales = field(default_factory=InputScales)

    def __post_init__(self) -> None:
        require_whole(landmarks=self.landmarks, features=self.features)
        for name in ("ridge", "fade"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigurationError(f"{name} is {getattr(self, name)}; it must be positive")
        if self.half_life is not None and not 0 < self.half_life < float("inf"):
            raise ConfigurationError(f"half_life is {self.half_life}; it must be positive or None")


class LeadSamples(NamedTuple):
    """Samples of one entity, `n` in order of issue and lead."""

    x: Float32Array
    """Inputs, `n x d`."""
    measured: Float64Array
    """`n`."""
    at: Steps
    """Steps that they are about, `n`."""


@dataclass(frozen=True, eq=False)
class LeadModel:
    """The regression of one entity.

    Args:
        level: Mean power of the warm-up.
        features: What the regression is of.
        regression: The sums of all samples so far.
        low: Lowest power measured.
        high: Highest power measured.
    """

    level: float
    features: KernelFeatures
    regression: LeadRegression
    low: float
    high: float

    @classmethod
    def fit(cls, x: Float32Array, level: float, settings: LeadSettings, seed: int) -> Self:
        """A model that has chosen its features, for inputs like these, and learned nothing."""
        rng = np.random.default_rng(seed)
        features = KernelFeatures.fit(
            x, landmarks=settings.landmarks, features=settings.features, rng=rng
        )
        days = settings.half_life
        regression = LeadRegression.empty(
            features.width,
            ridge=settings.ridge,
            half_life=None if days is None else days * HOURS_PER_DAY,
        )
        return cls(level, features, regression, np.inf, -np.inf)

    def learn(self, samples: LeadSamples, *, known: int, passed: int) -> Self:
        """The model after new samples, `passed` steps after the last ones."""
        if not len(samples.at):
            return self
        regression = self.regression
        for start in range(0, len(samples.at), CHUNK):
            part = slice(start, start + CHUNK)
            regression = regression.learn(
                self.features.apply(samples.x[part]),
                samples.measured[part],
                ages=(known - samples.at[part]).astype(np.float64),
                passed=0.0 if start else float(passed),
            )
        return replace(
            self,
            regression=regression,
            low=min(self.low, float(samples.measured.min())),
            high=max(self.high, float(samples.measured.max())),
        )

    def forecast(self, x: Float32Array) -> Float64Array:
        """Forecasts, `n`, within what was measured so far."""
        power = self.features.apply(x) @ self.regression.solve()
        return np.clip(power, self.low, self.high)


class LeadForecaster:
    """Forecasts of `e` entities, one at each place of the weather runs.

    Args:
        settings: How it learns.
        seed: Equal seeds give equal forecasts.
    """

    def __init__(self, settings: LeadSettings | None = None, *, seed: int = 0) -> None:
        self.settings, self._seed = settings or LeadSettings(), seed
        self.models: tuple[LeadModel, ...] = ()
        self.known = -1
        """Last step learned from."""

    def learn(self, measured: Float64Array, runs: WeatherRuns) -> None:
        """Learn from the measurements since the last call; the first call is the warm-up.

        Args:
            measured: Power of all steps from 0 to the present, `steps x e`; NaN where there is
                none. Those of the steps before the last call must be as they were.
            runs: Weather runs issued so far.
        """
        known = len(measured) - 1
        recent = np.flatnonzero(runs.issued > self.known - runs.length)
        models = []
        for place in range(measured.shape[1]):
            model = self.models[place] if self.models else None
            level = _mean(measured[:, place]) if model is None else model.level
            samples = self._samples(measured, runs, recent, place, level)
            if model is None:
                if not len(samples.at):
                    raise DataError(f"there is no sample of place {place}; give measurements")
                model = LeadModel.fit(samples.x, level, self.settings, self._seed + place)
            models.append(model.learn(samples, known=known, passed=known - self.known))
        self.models, self.known = tuple(models), known

    def forecast(self, measured: Float64Array, runs: WeatherRuns) -> Float64Array:
        """Forecasts of the steps of the newest run, `h x e`, with what `learn` has learned."""
        newest = np.array([len(runs.issued) - 1])
        power = [
            model.forecast(self._inputs(measured, runs, newest, place, model.level)[0])
            for place, model in enumerate(self.models)
        ]
        return np.stack(power, axis=1)

    def _samples(
        self,
        measured: Float64Array,
        runs: WeatherRuns,
        rows: Int64Array,
        place: int,
        level: float,
    ) -> LeadSamples:
        """Samples of an entity that have become known since the last call."""
        x, steps = self._inputs(measured, runs, rows, place, level), runs.steps(rows)
        new = (steps > self.known) & (steps < len(measured))
        power = np.full(steps.shape, np.nan)
        power[new] = measured[steps[new], place]
        used = np.isfinite(power) & np.isfinite(x).all(axis=2)
        return LeadSamples(x[used], power[used], steps[used])

    def _inputs(
        self,
        measured: Float64Array,
        runs: WeatherRuns,
        rows: Int64Array,
        place: int,
        level: float,
    ) -> Float32Array:
        own = measured[:, [place]]
        recent = np.nan_to_num(recent_means(own, runs.issued[rows])[:, :, 0] - level)
        settings = self.settings
        return lead_inputs(runs, rows, recent, place, settings.scales, fade=settings.fade)


def _mean(measured: Float64Array) -> float:
    """Mean of what was measured; 0 if nothing was."""
    found = measured[np.isfinite(measured)]
    return float(found.mean()) if len(found) else 0.0
