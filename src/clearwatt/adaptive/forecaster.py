"""The adaptive forecaster: networks that learn on novelty, corrections, and trust in either.

Networks learn how power depends on weather and calendar, from a bounded sample of the past, when
there is enough novelty. Corrections learn the networks' errors of the last days, every few hours.
Trust weighs networks, corrections and past measurements by their recent errors, per entity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clearwatt.adaptive.deployed import AdaptiveDeployed, undo_experts
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.events import EntityJoined, NetworkChange
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.learning import latest_errors, recall
from clearwatt.adaptive.leaving import leave_entity
from clearwatt.adaptive.novelty import InputModel
from clearwatt.adaptive.period import end_period, with_version
from clearwatt.adaptive.samples import (
    SampleBlock,
    correct_measurement,
    forget_measurements,
    with_rows,
)
from clearwatt.adaptive.settings import AdaptiveSettings, NoveltySettings
from clearwatt.adaptive.start import join_entity, start_state
from clearwatt.adaptive.state import LearnerState, pack_state, unpack_state
from clearwatt.adaptive.steps import checked_steps, columns_of
from clearwatt.adaptive.view import View
from clearwatt.arrays import (
    Float32Array,
    Float64Array,
    Int64Array,
    checked_inputs,
    checked_targets,
)
from clearwatt.clear.gate import Gate
from clearwatt.errors import ClearwattError, DataError, StateError
from clearwatt.files import digest_of
from clearwatt.forecaster import Forecast, Forecaster, Name, Version
from clearwatt.packing import Packed, Values
from clearwatt.training.streams import Stream, drive


class EndedPeriod(NamedTuple):
    """The forecasts of a period as issued, how novel its inputs are, and what changed at its end.

    All are empty for samples within a period.
    """

    forecast: Forecast
    seen: Float32Array
    """Inputs of each step, as the networks see them, `n x v`."""
    inputs: InputModel
    """What they were novel to."""
    changes: tuple[NetworkChange, ...]

    @property
    def input_errors(self) -> Float64Array:
        """Reconstruction error of the inputs of each step, `n`."""
        return self.inputs.errors(self.seen)

    def last(self, otherwise: int) -> int:
        """Step of the last forecast; another value if there is none."""
        return int(self.forecast.at[-1]) if len(self.forecast.at) else otherwise


class AdaptiveForecaster(Forecaster):
    """Forecasts of the entities of a zone, learning from each measurement as it becomes known.

    Steps are numbers on a clock of `day` steps a day and may have gaps. A forecast of step `t` is
    made with measurements up to `t - delay`.

        forecaster = AdaptiveForecaster.fit(x, y, at, day=24)
        forecaster.observe(x_today, y_today, at_today)
        forecast = forecaster.deployed.forecast(x_tomorrow, at_tomorrow)

    `live` forecasts and learns over a whole stream. At most `memory` samples are held.
    """

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

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of the entities, `e`."""
        return self.state.names

    @property
    def settings(self) -> AdaptiveSettings:
        """How it learns."""
        return self.state.frame.settings

    @property
    def deployed(self) -> AdaptiveDeployed:
        """What forecasts are made with now."""
        state = recall(self.state)
        return AdaptiveDeployed(
            frame=state.frame,
            names=state.names,
            power=state.power,
            experts=state.past[-1],
            recent=state.recent.lags,
            known=state.known,
            latest=latest_errors(state),
        )

    def learn(
        self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[NetworkChange, ...]]:
        """Learn from samples that have become known; see `Forecaster.learn`."""
        changes: list[NetworkChange] = []
        for block in self._blocks(x, y, at):
            found = yield from self._take(block)
            changes += found
        return tuple(changes)

    def live(self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike) -> Float64Array:
        """Forecasts, `n x e`, of a whole stream, each as `deployed` makes it a delay before."""
        return np.concatenate([each.power for each, _ in self.follow(x, y, at)])

    def follow(
        self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Iterator[tuple[Forecast, tuple[NetworkChange, ...]]]:
        """Like `live`, a period at a time: forecasts of all experts, and what has changed."""
        last = -1
        for block in self._blocks(x, y, at):
            last = max(last, int(block.at[0]) - 1) if last < 0 else last
            ended = drive(self._follow_block(block, last))
            last = ended.last(last)
            yield ended.forecast, ended.changes
        if last >= 0:
            state = recall(self.state)
            yield self._issued(state, _recalled_after(state, last)), ()

    def learn_periods(
        self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike, *, after: int
    ) -> Stream[list[EndedPeriod]]:
        """Like `learn`, with the forecasts of the periods that ended meanwhile, as issued.

        Args:
            x: Inputs, `n x d`.
            y: Measurements, `n x e`; NaN where there is none.
            at: Steps, `n`, ascending.
            after: Step of the last forecast that was returned before.
        """
        periods: list[EndedPeriod] = []
        for block in self._blocks(x, y, at):
            ended = yield from self._follow_block(block, after)
            after = ended.last(after)
            if len(ended.forecast.at) or ended.changes:
                periods.append(ended)
        return periods

    def _follow_block(self, block: SampleBlock, last: int) -> Stream[EndedPeriod]:
        """Learn from samples; returns the forecasts of the ended periods, as issued."""
        if self._ends_period(block):  # its rows may be retired once it is learned
            self.state = recall(self.state)
        rows, inputs = _recalled_after(self.state, last), self.state.inputs
        issued, seen = self._issued(self.state, rows), self.state.recent.seen[rows]
        changes = yield from self._take(block)
        return EndedPeriod(issued, seen, inputs, changes)

    def _issued(self, state: LearnerState, rows: Int64Array) -> Forecast:
        """Forecasts as issued of rows that were recalled."""
        at, power = state.recent.at[rows], state.power.undo(state.recent.power[rows])
        _, experts = state.unlearned.of_steps(at, len(state.names))
        return Forecast(at, power, undo_experts(state.power, experts))

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

    def leave(self, name: Name) -> None:
        """Let an entity leave; see `Forecaster.leave`."""
        (place,) = self._places([name])
        self.state = leave_entity(self.state, place)
        self.approvals -= {name}

    def forget(self, at: npt.ArrayLike, entities: Sequence[Name] | None = None) -> int:
        """Delete measurements; see `Forecaster.forget`."""
        steps = np.asarray(at, np.int64).reshape(-1)
        places = self._places(self.names if entities is None else entities)
        self.state, count = forget_measurements(self.state, steps, places)
        return count

    def correct(self, at: int, entity: Name, value: float) -> int:
        """Replace a measurement wherever it is held; see `Forecaster.correct`."""
        if not abs(value) <= float(np.finfo(np.float32).max):
            raise DataError(f"the corrected value is {value}; it must be finite, else use forget")
        (place,) = self._places([entity])
        self.state, count = correct_measurement(self.state, at, place, value)
        return count

    def activate(self, version: Version) -> None:
        """Put networks of an entity into service; see `Forecaster.activate`."""
        if not isinstance(version, NetworkVersion) or version.entity not in self.names:
            raise StateError(f"{version!r} is no version of {', '.join(map(str, self.names))}")
        (place,) = self._places([version.entity])
        self.state = with_version(self.state, place, version)

    def require_approval(self, entity: Name | None = None, *, required: bool = True) -> None:
        """Whether trained versions wait; see `Forecaster.require_approval`."""
        chosen = set(self.names) if entity is None else {entity}
        self.approvals = self.approvals | chosen if required else self.approvals - chosen

    def reject(self, version: Version) -> None:
        """Drop a candidate."""
        others = tuple(each for each in self.state.candidates if each.entity != version.entity)
        self.state = self.state._replace(candidates=others)

    def change_settings(self, *, novelty: NoveltySettings, gate: Gate | None) -> None:
        """Use other settings for later updates of the networks."""
        settings = replace(self.settings, novelty=novelty, gate=gate)
        self.state = self.state._replace(frame=replace(self.state.frame, settings=settings))

    @property
    def versions(self) -> tuple[NetworkVersion, ...]:
        """The networks in service, `e`."""
        return self.state.ensemble.versions

    @property
    def candidates(self) -> tuple[NetworkVersion, ...]:
        """Trained networks that wait for approval."""
        return self.state.candidates

    @property
    def trainings(self) -> npt.NDArray[np.int64]:
        """Updates of each entity's networks, `e`."""
        return self.state.progress.updates

    @property
    def held_samples(self) -> int:
        """Past samples held."""
        return len(self.state.reservoir) + len(self.state.recent.measured_rows)

    @property
    def memory(self) -> int:
        """Maximum of past samples held."""
        return self.state.reservoir.capacity + self.state.frame.schedule.recent_steps

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past: samples, forecasts as issued, and the sums of the fast part."""
        state, reservoir = self.state, self.state.reservoir
        arrays = (
            *(*state.recent, *state.unlearned),
            *(reservoir.at, reservoir.seen, reservoir.lagged, reservoir.y, reservoir.novel),
            *(state.corrections.moments, state.corrections.products, state.trust.products),
        )
        return state.leads.nbytes + sum(int(np.asarray(array).nbytes) for array in arrays)

    @contextmanager
    def checkpoint(self) -> Iterator[None]:
        """Snapshot of the state; restored if the with-block raises."""
        state, random = self.state, self.rng.bit_generator.state
        try:
            yield
        except BaseException:
            self.state, self.rng.bit_generator.state = state, random
            raise

    def pack(self) -> Packed:
        """Everything needed to continue, as plain values and tensors."""
        values, tensors = pack_state(self.state)
        own: Values = {
            "random": self.rng.bit_generator.state,
            "approvals": sorted(self.approvals, key=str),
        }
        return Packed(values | own, tensors)

    def digest(self) -> str:
        """Checksum of the state; forecasters with equal digests continue in the same way."""
        return digest_of(*self.pack())

    @property
    def stacked(self) -> bool:
        """Jobs that wait together train together."""
        return True

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Inverse of `pack`; it continues as if it had never stopped."""
        rng = np.random.default_rng()
        try:
            rng.bit_generator.state = packed.values["random"]
            forecaster = cls(unpack_state(packed), rng)
            forecaster.approvals = frozenset(packed.values.get("approvals", ()))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, ClearwattError):
                raise
            raise StateError(f"the state holds no adaptive forecaster ({error!r})") from error
        return forecaster

    def _blocks(self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike) -> list[SampleBlock]:
        """Samples cut where a period of the schedule ends."""
        rows = checked_inputs(x, self.state.frame.inputs).astype(np.float64)
        steps = checked_steps(at, len(rows))
        power = checked_targets(y, len(rows), self.names).astype(np.float64)
        measured = self.state.power.apply(power).astype(np.float64)
        periods = steps // self.state.frame.schedule.refresh
        cuts = [0, *(np.flatnonzero(np.diff(periods)) + 1).tolist(), len(steps)]
        parts = [slice(low, high) for low, high in pairwise(cuts) if high > low]
        return [SampleBlock(steps[part], rows[part], measured[part]) for part in parts]

    def _ends_period(self, block: SampleBlock) -> bool:
        """Whether the samples belong to a later period than the newest one."""
        start = self.state.frame.schedule.period_start(int(block.at[-1]))
        return start > self.state.boundary

    def _take(self, block: SampleBlock) -> Stream[tuple[NetworkChange, ...]]:
        """Add the samples of one period; learn from the period before if it has ended."""
        changes: tuple[NetworkChange, ...] = ()
        if self._ends_period(block):
            self.state, changes = yield from end_period(
                self.state,
                self.state.frame.schedule.period_start(int(block.at[-1])),
                since=int(block.at[0]),
                rng=self.rng,
                approvals=self.approvals,
            )
        self.state = with_rows(self.state, block)
        return changes

    def _places(self, entities: Sequence[Name]) -> list[int]:
        unknown = [name for name in entities if name not in self.names]
        if unknown:
            raise DataError(f"there is no entity {unknown[0]!r}; there are {self.names}")
        return [self.names.index(name) for name in entities]


def _recalled_after(state: LearnerState, last: int) -> Int64Array:
    """Positions of the recalled rows after a step."""
    start = int(state.recent.at.searchsorted(last, side="right"))
    return start + np.flatnonzero(state.recent.recalled[start:])
