"""A forecaster with the best defaults for real data: two speeds, and which to trust is learned.

A slow part (an ensemble of small networks) learns how weather and calendar make power, from a
bounded sample of the past. A fast part corrects it by what it has missed in the last days. Whom to
believe, for each entity and from day to day, is decided by the losses of each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive.aggregation import Aggregation
from clearwatt.adaptive.clock import Clock
from clearwatt.adaptive.correction import Correction
from clearwatt.adaptive.ensemble import Ensemble
from clearwatt.adaptive.journal import Entries, Journal, Steps
from clearwatt.adaptive.reservoir import Reservoir
from clearwatt.adaptive.saving import pack, parts_of, restore
from clearwatt.adaptive.settings import Settings
from clearwatt.adaptive.span import Span
from clearwatt.adaptive.steps import checked_steps, columns_of
from clearwatt.adaptive.terms import Terms
from clearwatt.adaptive.view import View
from clearwatt.arrays import Float64Array, checked_inputs, checked_targets
from clearwatt.errors import DataError, StateError
from clearwatt.files import load_state, save_state
from clearwatt.training.standardisation import Standardisation


class Issued(NamedTuple):
    """Forecasts of some steps, in units of power."""

    at: Steps
    """The steps, `n`."""
    power: Float64Array
    """What was issued, `n x e`."""
    experts: Float64Array
    """What each expert said, `n x e x k`."""


class AdaptiveForecaster:
    """Live forecasts for the entities of a zone, learning from each measurement as it arrives.

    Steps are numbers on a clock of `day` steps a day and may have gaps. A forecast of step `t` is
    made with measurements up to `t - delay`; `forecast` and `observe` may be called in blocks of
    any size, as long as each step is forecast before it is observed: the outcome is the same.

        forecaster = AdaptiveForecaster.fit(x, y, at, day=24)
        forecasts = forecaster.forecast(x_tomorrow, at_tomorrow)
        forecaster.observe(y_today, at_today)

    `live` does both over a whole stream. At most `settings.memory` past samples are held.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock,
        view: View,
        power: Standardisation,
        inputs: int,
        entities: int,
        seed: int = 0,
    ) -> None:
        slow, fast, day = settings.slow, settings.fast, clock.day
        self.settings, self.clock, self.view, self.power = settings, clock, view, power
        self.entities = entities
        self.rng = np.random.default_rng(seed)
        self.terms = Terms(clock)
        self.ensemble = Ensemble(
            slow, inputs=view.width, season=view.season, entities=entities, rng=self.rng
        )
        self.corrections = [
            Correction(entities, speed.terms, half_life=speed.half_life * day, ridge=fast.ridge)
            for speed in fast.speeds
        ]
        experts = len(slow.groups) + len(self.corrections) + self.terms.persistences
        self.aggregation = Aggregation(
            entities, experts, half_life=fast.trust * day, caution=fast.caution
        )
        self.reservoir = Reservoir(
            settings.memory - clock.journal,
            memory=settings.recency * day,
            inputs=view.width,
            entities=entities,
        )
        self.journal = Journal(
            Entries.blank(
                inputs=inputs,
                seen=view.width,
                entities=entities,
                terms=self.terms.width,
                experts=experts,
            )
        )
        self.span = Span(entities)
        self.trainings = 0
        self.learned = self.updated = self.newest = 0

    @classmethod
    def fit(
        cls,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        day: int,
        columns: Sequence[str] | None = None,
        delay: int | None = None,
        settings: Settings | None = None,
        seed: int = 0,
    ) -> Self:
        """Warm up.

        Args:
            x: Inputs, `n x d`, finite; see `clearwatt.data.features.prepare`.
            y: Measurements, `n x e`, NaN where there is none.
            at: Step of each row, `n`, ascending.
            day: Steps of a day: 24 for hours, 96 for quarter hours.
            columns: Names of the inputs, `d`, by which those that tell the time of year are known;
                None: weather, then the calendar, as `prepare` lays them out.
            delay: Steps until a measurement arrives; a day by default.
            settings: How to learn; the defaults by default.
            seed: Equal seeds give equal forecasts.
        """
        settings = settings or Settings()
        clock = settings.clock(day, delay)
        rows = checked_inputs(x, columns_of(x)).astype(np.float64)
        steps = checked_steps(at, len(rows))
        power = checked_targets(y, len(rows), range(columns_of(y))).astype(np.float64)
        view = View.fit(
            rows,
            steps,
            columns=columns,
            windows=[max(2, hours * day // 24) for hours in settings.slow.windows],
        )
        empty = np.flatnonzero(~np.isfinite(power).any(axis=0))
        if empty.size:
            raise DataError(f"entity {empty[0]} has no measurement in the warm-up; leave it out")
        scale = Standardisation.fit(power)
        forecaster = cls(
            settings,
            clock=clock,
            view=view,
            power=scale,
            inputs=rows.shape[1],
            entities=power.shape[1],
            seed=seed,
        )
        forecaster._warm_up(rows, scale.apply(power).astype(np.float64), steps)
        return forecaster

    def forecast(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Float64Array:
        """Forecasts, `n x e`, for inputs `n x d` of steps `n`, ascending.

        A step may be forecast again, with newer inputs, until its measurement is observed.
        """
        rows = checked_inputs(x, self.inputs).astype(np.float64)
        steps = checked_steps(at, len(rows))
        parts = [
            self._issue(rows[part], steps[part], int(boundary))
            for boundary, part in self._boundaries(steps)
        ]
        return self.power.undo(np.concatenate(parts))

    def observe(self, y: npt.ArrayLike, at: npt.ArrayLike) -> None:
        """Note measurements, `n x e`, of steps `n` that were forecast; NaN where there is none.

        What they teach is learned when the clock has come to the end of their hours.
        """
        power = checked_targets(y, np.size(at), range(self.entities)).astype(np.float64)
        steps = checked_steps(at, len(power))
        measured = self.power.apply(power).astype(np.float64)
        self.journal.measure(measured, steps)

    def live(self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike) -> Float64Array:
        """Forecasts, `n x e`, of a whole stream, each with the measurements known at its time."""
        return np.concatenate([issued.power for issued in self.stream(x, y, at)])

    def stream(self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike) -> Iterator[Issued]:
        """Like `live`, some hours at a time, with what each expert said.

        A stream must be run to its end. Inputs `n x d`, measurements `n x e`, steps `n`.
        """
        rows = checked_inputs(x, self.inputs)
        steps = checked_steps(at, len(rows))
        power = checked_targets(y, len(rows), range(self.entities))
        observed = 0
        for boundary, part in self._boundaries(steps):
            # Of these hours only what is a delay or more before a step enters its forecast.
            known = min(part.start, int(np.searchsorted(steps, boundary + self.clock.refresh)))
            self.observe(power[observed:known], steps[observed:known])
            observed = known
            forecasts = self.forecast(rows[part], steps[part])
            entries = self.journal.between(int(steps[part.start]), int(steps[part.stop - 1]) + 1)
            experts = self.power.undo(entries.experts.swapaxes(1, 2)).swapaxes(1, 2)
            yield Issued(steps[part], forecasts, experts)
        self.observe(power[observed:], steps[observed:])

    def fitted(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Float64Array:
        """What the networks by themselves say, `n x e`, of inputs `n x d`; nothing is noted.

        Of the warm-up that is how well they have learned it: what its intervals begin with.
        """
        rows = checked_inputs(x, self.inputs).astype(np.float64)
        seen = self.view.see(rows, checked_steps(at, len(rows)))
        return self.power.undo(self.ensemble.forecast(seen).mean(axis=2))

    @property
    def experts(self) -> tuple[str, ...]:
        """Names of the experts, `k`."""
        fast = [f"{each.terms}, {each.half_life:g} d" for each in self.settings.fast.speeds]
        return (
            *(each.name for each in self.settings.slow.groups),
            *fast,
            "same hour",
            "same weekday",
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything needed to go on into a folder, atomically."""
        save_state(path, *pack(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a forecaster back; it goes on as if it had never stopped."""
        saved = load_state(path)
        try:
            forecaster = cls(**parts_of(saved.values))
            restore(forecaster, saved.values, saved.tensors)
        except (KeyError, TypeError) as error:
            raise StateError(f"{path} holds no adaptive forecaster ({error!r})") from error
        return forecaster

    @property
    def held(self) -> int:
        """Past samples held."""
        return len(self.reservoir) + self.journal.entries.measured_at_all.size

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past: samples, what was issued, and the sums of the fast part."""
        samples = (self.reservoir.at, self.reservoir.x, self.reservoir.y)
        sums = [part for each in self.corrections for part in (each.moments, each.products)]
        arrays = (*self.journal.entries, *samples, *sums, self.aggregation.products)
        return sum(int(np.asarray(array).nbytes) for array in arrays)

    @property
    def inputs(self) -> int:
        """Width of the inputs."""
        return int(self.journal.entries.x.shape[1])

    def _boundaries(self, at: Steps) -> list[tuple[int, slice]]:
        """Rows between which nothing is learned, with the step up to which all is learned then."""
        refresh = self.clock.refresh
        ends = (at - self.clock.delay) // refresh * refresh
        values, starts = np.unique(ends, return_index=True)
        stops = [*starts[1:], len(at)]
        parts = zip(values, starts, stops, strict=True)
        return [(int(end), slice(int(start), int(stop))) for end, start, stop in parts]

    def _issue(self, x: Float64Array, at: Steps, boundary: int) -> Float64Array:
        """Learn what is known by then, forecast, and write it down."""
        if boundary > self.learned:
            self._learn(boundary)
        before = self.journal.between(int(at[0]) - self.view.reach, int(at[0]))
        rows, steps = np.concatenate([before.x, x]), np.concatenate([before.at, at])
        seen = self.view.see(rows, steps)[before.size :]
        groups = self.ensemble.forecast(seen)
        slow = groups.mean(axis=2)
        terms = self.terms.of(slow, at, self.journal, self.span)
        experts = np.concatenate(
            [groups, self._corrected(slow, terms), self._persisted(slow, at)], axis=2
        )
        issued = self.span.clip(self.aggregation.combine(experts))
        unknown = np.full_like(slow, np.nan)
        learned = np.zeros(slow.shape, np.bool_)
        self.journal.write(Entries(at, x, seen, slow, terms, experts, issued, unknown, learned))
        return issued

    def _corrected(self, slow: Float64Array, terms: Float64Array) -> Float64Array:
        return np.stack([slow + each.apply(terms) for each in self.corrections], axis=2)

    def _persisted(self, slow: Float64Array, at: Steps) -> Float64Array:
        """Past measurements as forecasts; the slow one where there is none."""
        found = np.stack(self.terms.persisted(at, self.journal, self.span), axis=2)
        return np.where(np.isfinite(found), found, slow[:, :, None])

    def _learn(self, boundary: int) -> None:
        """Learn from everything measured before a step, at two speeds."""
        passed = boundary - self.learned
        entries = self.journal.between(0, boundary)
        fresh = np.isfinite(entries.measured) & ~entries.learned
        rows = np.flatnonzero(fresh.any(axis=1))
        news = entries.pick(rows)
        measured = np.where(fresh[rows], self.span.believed(news.measured), np.nan)
        ages = (boundary - news.at).astype(np.float64)
        for correction in self.corrections:
            residuals = measured - news.slow
            correction.learn(news.terms, residuals, ages=ages, passed=passed)
        self.aggregation.learn(news.experts, measured, ages=ages, passed=passed)
        self.span.widen(measured)
        entries.learned[fresh] = True
        self.learned = boundary
        if boundary - self.updated >= self.clock.update:
            self._update(boundary)
        self.newest = max(self.newest, int(news.at.max(initial=-1)))
        # Without measurements nothing is newer; forecasts that wait for theirs must not pile up.
        self._retire(max(self.newest + 1, boundary - self.clock.same_weekday))

    def _update(self, boundary: int) -> None:
        """Go on training the networks on what is held of the past."""
        recent = self.journal.between(0, boundary)
        x = np.concatenate([self.reservoir.x, recent.seen])
        measured = self.span.believed(recent.measured).astype(np.float32)
        y = np.concatenate([self.reservoir.y, measured])
        at = np.concatenate([self.reservoir.at, recent.at])
        self.ensemble.update(x, y, ages=(boundary - at) / self.clock.day)
        self.trainings += 1
        self.updated = boundary

    def _retire(self, now: int) -> None:
        """Move what is no longer the last week to the reservoir."""
        old = self.journal.retire(now - self.clock.same_weekday).measured_at_all
        measured = self.span.believed(old.measured).astype(np.float32)
        self.reservoir.offer(old.at, old.seen, measured, rng=self.rng)

    def _warm_up(self, x: Float64Array, y: Float64Array, at: Steps) -> None:
        self.span.begin(y)
        seen = self.view.see(x, at)
        self.ensemble.warm_up(seen, y.astype(np.float32))
        self.learned = self.updated = (int(at[-1]) // self.clock.refresh + 1) * self.clock.refresh
        shape = self.journal.entries
        nothing = [np.full((len(x), *part.shape[1:]), np.nan) for part in shape[3:7]]
        self.journal.write(Entries._make([at, x, seen, *nothing, y, np.ones(y.shape, np.bool_)]))
        self.newest = int(at[-1])
        self._retire(self.newest + 1)
