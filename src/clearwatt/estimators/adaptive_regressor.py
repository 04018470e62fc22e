"""AdaptiveRegressor: the adaptive forecaster behind scikit-learn's estimator interface."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils import check_random_state

from clearwatt.adaptive import AdaptiveForecaster, AdaptiveSettings
from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.errors import ConfigurationError, DataError, StateError
from clearwatt.estimators.stream_regressor import StreamRegressor, quantile_levels
from clearwatt.estimators.timeline import Timeline, times_of
from clearwatt.files import load_state, save_state
from clearwatt.forecaster import Event
from clearwatt.intervals import PARTS, Calibrator, PowerLimits, checked_limits
from clearwatt.packing import Packed, from_plain, tensors_below, to_plain, with_prefix
from clearwatt.training.fleet import one_thread

SEASON, HOUR = "week_sin", "hour_sin"
"""Names by which the forecaster knows an input of the season, and another of the calendar."""
_CALIBRATOR = "calibrator."


class AdaptiveRegressor(StreamRegressor):
    """A regressor for power that learns from every sample as it arrives.

    Networks learn when there is novelty, corrections every few hours, and trust mixes them with
    past measurements. The first `fit` or `partial_fit` is the warm-up.

    Samples have times: the DatetimeIndex of X, or `at` (dates or step numbers). Without times, the
    samples of `fit` and `partial_fit` follow each other step by step, and each row of `predict` is
    forecast by itself as the next step.

    Args:
        steps_per_day: Samples per day; None: from the times, or 24 without dates.
        delay: Steps until a measurement is known; None: a day.
        calendar: Names or positions of inputs that tell the time of day, week or year; all others
            are weather. None: by the names of `clearwatt.data.features`; an array has none.
        season: Those of them that tell the time of the year; None: by name.
        settings: How to learn; None: the defaults.
        limits: Lowest and highest possible value, in units of y; forecasts and quantiles stay
            within. Each is None (no limit), a number, or one number per entity.
        random_state: Seed of everything random.

    Attributes:
        events_: Every update and every shift of trust so far, in order.
        trust_: Weight of each expert, by its name: a number, or an array over entities.
        forecaster_: The adaptive forecaster itself.
        n_features_in_: Inputs per sample.
    """

    forecaster_: AdaptiveForecaster
    events_: tuple[Event, ...]
    _calibrator: Calibrator

    def __init__(
        self,
        *,
        steps_per_day: int | None = None,
        delay: int | None = None,
        calendar: Sequence[str | int] | None = None,
        season: Sequence[str | int] | None = None,
        settings: AdaptiveSettings | None = None,
        limits: PowerLimits | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.steps_per_day = steps_per_day
        self.delay = delay
        self.calendar = calendar
        self.season = season
        self.settings = settings
        self.limits = limits
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, *, at: npt.ArrayLike | None = None) -> Self:
        """Warm up on inputs (n x d) and targets (n, or n x entities; NaN: not measured).

        If it fails, an estimator that was fitted before stays as it was.
        """
        with self._restore_on_error():
            self._warm_up(X, y, at)
        return self

    def partial_fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, *, at: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from a block of the stream, of any size; the first block is the warm-up."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, at=at)
        inputs, targets = self._check_block(X, y, self.forecaster_.names)
        steps = self._steps(X, at, len(inputs))
        calibrator, events = self._calibrator.copy(), list(self.events_)
        with one_thread(), self.forecaster_.checkpoint():
            for forecast, changes in self.forecaster_.follow(inputs, targets, steps):
                rows = np.searchsorted(steps, forecast.at)
                calibrator.observe(forecast.power, targets[rows], forecast.at)
                events += [change.event for change in changes]
        self._calibrator, self.events_ = calibrator, tuple(events)
        return self

    def predict(
        self,
        X: npt.ArrayLike,
        quantiles: bool | Sequence[float] | None = None,
        *,
        at: npt.ArrayLike | None = None,
    ) -> Float64Array:
        """Forecasts for inputs (n x d): n, or n x entities.

        Args:
            X: Inputs; with times, the rows from the step after the last one learned from.
            quantiles: True for the 5, 10, 25, 50, 75, 90 and 95 % quantiles, or ascending levels
                between 0 and 1: the result then has a last axis, one place per level.
            at: Times of the rows, ascending; None: the index of X. Without times each row is
                forecast by itself as the next step.
        """
        self.require_warm_up("predict")
        inputs = self._check_inputs(X)
        given = times_of(X, at)
        if given is None and self._timeline.has_times:
            raise DataError("X has no times; give at, or a data frame with a DatetimeIndex")
        deployed = self.forecaster_.deployed
        with one_thread():
            if given is None:
                steps = np.full(len(inputs), deployed.known + 1)
                rows = [deployed.forecast(row[None], steps[:1]).power for row in inputs]
                power = np.concatenate(rows)
            else:
                steps = self._timeline.steps(given, len(inputs))
                power = deployed.forecast(inputs, steps).power
        levels = quantile_levels(quantiles)
        if levels is None:
            return self._drop_entity_axis(np.clip(power, *self._limits))
        return self._drop_entity_axis(self._calibrator.snapshot.quantiles(power, steps, levels))

    @property
    def trust_(self) -> dict[str, float | Float64Array]:
        """Weight of each expert by its name: a number, or an array over entities."""
        self.require_warm_up("trust_")
        weights = self.forecaster_.deployed.experts.weights
        names = self.forecaster_.settings.experts
        return {
            name: float(weights[0, place]) if self._single else weights[:, place].copy()
            for place, name in enumerate(names)
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a folder (safetensors and JSON), atomically."""
        self.require_warm_up("save")
        values, tensors = self.forecaster_.pack()
        calibrator, arrays = self._calibrator.state()
        learned = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        own = {"estimator": self._pack(), "calibrator": calibrator}
        save_state(path, values | own, {**tensors, **with_prefix(_CALIBRATOR, learned)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a saved model; it continues as if it had never stopped, without its past events."""
        saved = load_state(path)
        if "estimator" not in saved.values or "calibrator" not in saved.values:
            raise StateError(f"{path} holds no AdaptiveRegressor")
        own = saved.values.pop("estimator")
        learned = tensors_below(saved.tensors, _CALIBRATOR)
        arrays = {name: tensor.numpy() for name, tensor in learned.items()}
        try:
            parameters = own["parameters"]
            if parameters["settings"] is not None:
                parameters["settings"] = from_plain(AdaptiveSettings, parameters["settings"])
            model = cls(**parameters)
            model._unpack_fit(own)
            model._timeline = Timeline(**own["timeline"])
            model._calibrator = Calibrator.from_state(saved.values.pop("calibrator"), arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"the state in {path} is incomplete ({error!r})") from error
        others = {k: v for k, v in saved.tensors.items() if not k.startswith(_CALIBRATOR)}
        model.forecaster_ = AdaptiveForecaster.unpack(Packed(saved.values, others))
        model._limits = checked_limits(model.limits, len(model.forecaster_.names))
        model.events_ = ()
        return model

    def _part(self, name: str) -> object:
        given = getattr(self, name)
        return AdaptiveSettings() if name == "settings" and given is None else given

    def __sklearn_is_fitted__(self) -> bool:
        """Whether it was warmed up."""
        return hasattr(self, "forecaster_")

    def _warm_up(self, X: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike | None) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        inputs, targets, names = self._check_warm_up(X, y)
        given = times_of(X, at)
        self._timeline = Timeline.of(given, self.steps_per_day)
        steps = (
            np.arange(len(inputs)) if given is None else self._timeline.steps(given, len(inputs))
        )
        with one_thread():
            forecaster = AdaptiveForecaster.fit(
                inputs,
                targets,
                steps,
                day=self._timeline.day,
                columns=self._columns(inputs.shape[1]),
                delay=self.delay,
                settings=self.settings,
                names=names,
                seed=seed,
            )
            fitted = forecaster.deployed.networks(inputs, steps)
        low, high = self._limits
        self._calibrator = Calibrator.start(
            fitted,
            targets,
            steps,
            day=self._timeline.day,
            parts=PARTS if self._timeline.has_times else 1,
            lag=forecaster.state.frame.schedule.clock.lag_days,
            low=low,
            high=high,
        )
        self.events_ = ()
        self.forecaster_ = forecaster

    def _columns(self, width: int) -> list[str]:
        """Names of the inputs by which the forecaster tells weather, calendar and season."""
        named = getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(width)] if named is None else list(map(str, named))
        if self.calendar is None and self.season is None:
            return names
        season = self._places(self.season or (), names)
        calendar = self._places(self.calendar or (), names) | season
        roles = {place: SEASON if place in season else HOUR for place in calendar}
        return [roles.get(place, f"weather {place}") for place in range(width)]

    def _places(self, given: Sequence[str | int], names: list[str]) -> set[int]:
        for each in given:
            if each not in names and each not in range(len(names)):
                raise ConfigurationError(
                    f"there is no input {each!r}; name one of {', '.join(names)} or a position "
                    f"below {len(names)}"
                )
        return {each if isinstance(each, int) else names.index(each) for each in given}

    def _steps(self, X: npt.ArrayLike, at: npt.ArrayLike | None, rows: int) -> Steps:
        given = times_of(X, at)
        if given is not None:
            return self._timeline.steps(given, rows)
        if self._timeline.origin is not None:
            raise DataError("X has no times; give at, or a data frame with a DatetimeIndex")
        first = self.forecaster_.state.known + 1
        return np.arange(first, first + rows)

    def _pack(self) -> dict[str, Any]:
        values = self._pack_fit()
        if self.settings is not None:
            values["parameters"]["settings"] = to_plain(self.settings)
        return {**values, "timeline": asdict(self._timeline)}
