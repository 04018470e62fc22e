"""The entities of an adaptive forecaster: warm-up, start without history, who joins and leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive.events import EntityJoined, NetworkChange
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.leaving import leave_entity
from clearwatt.adaptive.prior import FleetPrior
from clearwatt.adaptive.prior_start import join_from_prior, start_from_prior
from clearwatt.adaptive.prior_weights import Ranges
from clearwatt.adaptive.settings import AdaptiveSettings
from clearwatt.adaptive.start import join_entity, start_state
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.steps import checked_steps, columns_of
from clearwatt.adaptive.view import View
from clearwatt.arrays import checked_inputs, checked_targets
from clearwatt.errors import DataError
from clearwatt.forecaster import Forecaster, Name
from clearwatt.training.streams import Stream, drive


class AdaptiveEntities(Forecaster):
    """The part of `AdaptiveForecaster` that starts it and changes whom it forecasts."""

    def __init__(self, state: LearnerState, rng: np.random.Generator) -> None:
        self.state, self.rng = state, rng
        self.approvals: frozenset[Name] = frozenset()
        """Entities whose trained versions wait for approval."""

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
        settings: AdaptiveSettings | None = None,
        names: Sequence[Name] | None = None,
        seed: int = 0,
    ) -> Self:
        """Train the warm-up.

        Args:
            x: Inputs, `n x d`, finite; see `clearwatt.data.features.prepare`.
            y: Measurements, `n x e`, NaN where there is none.
            at: Step of each row, `n`, ascending.
            day: Steps per day: 24 for hours, 96 for quarter hours.
            columns: Names of the inputs, `d`; calendar and season are recognised by name. None:
                weather, then the calendar, in the order of `prepare`.
            delay: Steps until a measurement is known; a day by default.
            settings: How to learn; the defaults by default.
            names: Names of the entities; by default numbers from 0 on.
            seed: Equal seeds give equal forecasts.
        """
        stream = cls.start(
            x,
            y,
            at,
            day=day,
            columns=columns,
            delay=delay,
            settings=settings,
            names=names,
            seed=seed,
        )
        return drive(stream)

    @classmethod
    def start(
        cls,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        day: int,
        columns: Sequence[str] | None = None,
        delay: int | None = None,
        settings: AdaptiveSettings | None = None,
        names: Sequence[Name] | None = None,
        seed: int = 0,
    ) -> Stream[Self]:
        """Like `fit`, but hand out the training jobs."""
        settings = settings or AdaptiveSettings()
        schedule = settings.schedule(day, delay)
        rows = checked_inputs(x, columns_of(x)).astype(np.float64)
        steps = checked_steps(at, len(rows))
        labels = tuple(names if names is not None else range(columns_of(y)))
        power = checked_targets(y, len(rows), labels).astype(np.float64)
        windows = [max(2, hours * day // 24) for hours in settings.networks.windows]
        view = View.fit(rows, steps, columns=columns, windows=windows)
        memory = settings.memory_for(schedule, len(labels))
        frame = Frame(settings, schedule, view, rows.shape[1], memory)
        rng = np.random.default_rng(seed)
        state = yield from start_state(frame, labels, rows, power, steps, rng=rng)
        return cls(state, rng)

    @classmethod
    def from_prior(
        cls,
        prior: FleetPrior,
        *,
        kinds: Sequence[str],
        sizes: Sequence[float],
        at: int,
        day: int,
        columns: Sequence[str] | None = None,
        delay: int | None = None,
        settings: AdaptiveSettings | None = None,
        names: Sequence[Name] | None = None,
        ranges: Ranges | None = None,
        seed: int = 0,
    ) -> Self:
        """Start without a warm-up: forecast with the networks of a fleet until the own take over.

        Args:
            prior: Of the fleet.
            kinds: Kind of each entity, `e`, as the prior names it.
            sizes: Capacity of each entity, in units of power, `e`.
            at: First step to be forecast and learned from.
            day: Steps per day; may differ from the fleet's.
            columns: Names of the inputs; by default those of the prior.
            delay: Steps until a measurement is known; a day by default.
            settings: How to learn; the networks' shape is that of the prior.
            names: Names of the entities; by default numbers from 0 on.
            ranges: How the weather variables are scaled; by default as the prior has them.
            seed: Equal seeds give equal forecasts.
        """
        state = start_from_prior(
            prior,
            tuple(names if names is not None else range(len(kinds))),
            [prior.kind(kind) for kind in kinds],
            sizes,
            at=at,
            day=day,
            delay=delay,
            columns=prior.columns if columns is None else columns,
            ranges=prior.ranges if ranges is None else ranges,
            settings=settings or AdaptiveSettings(),
        )
        return cls(state, np.random.default_rng(seed))

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the entities, `e`."""
        return self.state.names

    @property
    def settings(self) -> AdaptiveSettings:
        """How it learns."""
        return self.state.frame.settings

    def join(
        self, name: Name, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[NetworkChange, ...]]:
        """Let another entity join; see `Forecaster.join`."""
        rows = checked_inputs(x, self.state.frame.inputs).astype(np.float64)
        steps = checked_steps(at, len(rows))
        power = checked_targets(np.reshape(y, (-1, 1)), len(rows), [name]).astype(np.float64)
        self.state = yield from join_entity(self.state, name, rows, power, steps, rng=self.rng)
        version = self.state.ensemble.versions[-1]
        event = EntityJoined(name, self.state.known, int(np.isfinite(power).sum()))
        return (NetworkChange(event, version),)

    def join_from_prior(
        self,
        name: Name,
        prior: FleetPrior,
        *,
        kind: str,
        size: float,
        columns: Sequence[str],
        ranges: Ranges,
    ) -> None:
        """Let an entity without history join; see `from_prior`.

        Args:
            name: Of the entity.
            prior: Of the fleet.
            kind: Of the entity, as the prior names it.
            size: Its capacity, in units of power.
            columns: Names of the inputs, `d`.
            ranges: How the weather variables are scaled.
        """
        self.state = join_from_prior(
            self.state, prior, name, prior.kind(kind), size, columns=columns, ranges=ranges
        )

    def leave(self, name: Name) -> None:
        """Let an entity leave; see `Forecaster.leave`."""
        (place,) = self._places([name])
        self.state = leave_entity(self.state, place)
        self.approvals -= {name}

    def renumber(self, name: Name, number: int) -> None:
        """Give the networks of an entity another number; later ones are counted from it.

        For an entity that joins again, so that no two of its versions have the same number.
        """
        (place,) = self._places([name])
        past = []
        for each in self.state.past:
            versions = list(each.ensemble.versions)
            versions[place] = replace(versions[place], number=number)
            past.append(replace(each, ensemble=replace(each.ensemble, versions=tuple(versions))))
        updates = self.state.progress.updates.copy()
        updates[place] = number
        progress = replace(self.state.progress, updates=updates)
        self.state = self.state._replace(past=tuple(past), progress=progress)

    def _places(self, entities: Sequence[Name]) -> list[int]:
        unknown = [name for name in entities if name not in self.names]
        if unknown:
            raise DataError(f"there is no entity {unknown[0]!r}; there are {self.names}")
        return [self.names.index(name) for name in entities]
