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

from clearwatt.adaptive.deployed import AdaptiveDeployed
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.entities import AdaptiveEntities
from clearwatt.adaptive.events import NetworkChange
from clearwatt.adaptive.fast_part import FastPart
from clearwatt.adaptive.fast_restoration import fast_part_of, with_fast_part
from clearwatt.adaptive.lead_forecasts import LeadForecasts, lead_forecasts
from clearwatt.adaptive.learning import latest_errors, recall
from clearwatt.adaptive.levels import power_now, to_deviations, to_power
from clearwatt.adaptive.novelty import InputModel
from clearwatt.adaptive.period import end_period, held_samples, with_version
from clearwatt.adaptive.refit import refit_corrections
from clearwatt.adaptive.retraining import retrain_networks
from clearwatt.adaptive.samples import (
    SampleBlock,
    correct_measurement,
    forget_measurements,
    with_rows,
)
from clearwatt.adaptive.settings import NoveltySettings
from clearwatt.adaptive.standstill import forget_standstills
from clearwatt.adaptive.state import LearnerState, pack_state, unpack_state
from clearwatt.adaptive.steps import checked_steps
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
from clearwatt.forecaster import Forecast, Name, Version
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
    leads: LeadForecasts | None = None
    """Forecasts by lead of the days that ended; None: none ended, or none were asked for."""

    @property
    def input_errors(self) -> Float64Array:
        """Reconstruction error of the inputs of each step, `n`."""
        return self.inputs.errors(self.seen)

    def last(self, otherwise: int) -> int:
        """Step of the last forecast; another value if there is none."""
        return int(self.forecast.at[-1]) if len(self.forecast.at) else otherwise


class AdaptiveForecaster(AdaptiveEntities):
    """Forecasts of the entities of a zone, learning from each measurement as it becomes known.

    Steps are numbers on a clock of `day` steps a day and may have gaps. A forecast of step `t` is
    made with measurements up to `t - delay`.

        forecaster = AdaptiveForecaster.fit(x, y, at, day=24)
        forecaster.observe(x_today, y_today, at_today)
        forecast = forecaster.deployed.forecast(x_tomorrow, at_tomorrow)

    `live` forecasts and learns over a whole stream. At most `memory` samples are held.
    """

    @property
    def deployed(self) -> AdaptiveDeployed:
        """What forecasts are made with now."""
        state = recall(self.state)
        return AdaptiveDeployed(
            frame=state.frame,
            names=state.names,
            power=power_now(state),
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
        last: int | None = None
        for block in self._blocks(x, y, at):
            last = int(block.at[0]) - 1 if last is None else last
            ended = drive(self._follow_block(block, last))
            last = ended.last(last)
            yield ended.forecast, ended.changes
        if last is not None:
            state = recall(self.state)
            yield self._issued(state, _recalled_after(state, last)), ()

    def learn_periods(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        at: npt.ArrayLike,
        *,
        after: int,
        distances: Sequence[int] = (),
    ) -> Stream[list[EndedPeriod]]:
        """Like `learn`, with the forecasts of the periods that ended meanwhile, as issued.

        Args:
            x: Inputs, `n x d`.
            y: Measurements, `n x e`; NaN where there is none.
            at: Steps, `n`, ascending.
            after: Step of the last forecast that was returned before.
            distances: Steps from the last known measurement for `EndedPeriod.leads`.
        """
        periods: list[EndedPeriod] = []
        for block in self._blocks(x, y, at):
            ended = yield from self._follow_block(block, after, distances)
            after = ended.last(after)
            if len(ended.forecast.at) or ended.changes:
                periods.append(ended)
        return periods

    def _follow_block(
        self, block: SampleBlock, last: int, distances: Sequence[int] = ()
    ) -> Stream[EndedPeriod]:
        """Learn from samples; returns the forecasts of the ended periods, as issued."""
        leads = None
        if self._ends_period(block):  # its rows may be retired once it is learned
            self.state = recall(self.state)
            boundary = self.state.frame.schedule.period_start(int(block.at[-1]))
            leads = lead_forecasts(self.state, boundary, distances)
        rows, inputs = _recalled_after(self.state, last), self.state.inputs
        issued, seen = self._issued(self.state, rows), self.state.recent.seen[rows]
        changes = yield from self._take(block)
        return EndedPeriod(issued, seen, inputs, changes, leads)

    def _issued(self, state: LearnerState, rows: Int64Array) -> Forecast:
        """Forecasts as issued of rows that were recalled."""
        at = state.recent.at[rows]
        _, experts = state.unlearned.of_steps(at, len(state.names))
        power = to_power(state, at, state.recent.power[rows])
        return Forecast(at, power, to_power(state, at, experts))

    def forget(self, at: npt.ArrayLike, entities: Sequence[Name] | None = None) -> int:
        """Delete measurements; see `Forecaster.forget`."""
        steps = np.asarray(at, np.int64).reshape(-1)
        places = self._places(self.names if entities is None else entities)
        state, count = forget_measurements(self.state, steps, places)
        self.state = forget_standstills(state, self.state)
        return count

    def retrain(
        self, entity: Name, before: NetworkVersion | None = None
    ) -> Stream[tuple[NetworkChange, ...]]:
        """Train an entity's networks again after samples that they had learned were forgotten.

        Args:
            entity: Its name.
            before: A version from before these samples; None: new networks are trained on what is
                held.
        """
        (place,) = self._places([entity])
        if before is not None and before.entity != entity:
            raise StateError(f"version {before.number} of {before.entity} is none of {entity}")
        self.state, changes = yield from retrain_networks(
            self.state, place, before, rng=self.rng, approvals=self.approvals
        )
        return changes

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
        before = self.versions[place]
        self.state = with_version(self.state, place, version)
        from_fleet = any(each.fleet or each.from_fleet for each in (before, version))
        # A kernel regression fits the held samples too well for corrections to learn from it.
        if from_fleet and version.kernel is None:
            held = held_samples(self.state)
            self.state = refit_corrections(self.state, place, version, held)

    @property
    def fast_part(self) -> FastPart:
        """Everything learned besides networks and held samples, to go back to it later."""
        return fast_part_of(self.state)

    def restore_fast_part(self, entity: Name, earlier: FastPart) -> None:
        """Go back to an earlier fast part of one entity; forget its measurements since then, too.

        An entity that joined since then keeps what it has.
        """
        self._places([entity])
        if entity in earlier.names:
            self.state = with_fast_part(self.state, earlier, entity)

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
        earlier = 0 if state.earlier is None else state.earlier.nbytes
        sums = sum(int(np.asarray(array).nbytes) for array in arrays)
        landmarks = sum(each.kernel.nbytes for each in self.versions if each.kernel is not None)
        return state.leads.nbytes + earlier + sums + landmarks

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
        periods = steps // self.state.frame.schedule.refresh
        cuts = [0, *(np.flatnonzero(np.diff(periods)) + 1).tolist(), len(steps)]
        parts = [slice(low, high) for low, high in pairwise(cuts) if high > low]
        return [SampleBlock(steps[part], rows[part], power[part]) for part in parts]

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
        # Only now: a change that has just been found alters the level.
        measured = to_deviations(self.state, block.at, block.measured)
        self.state = with_rows(self.state, block._replace(measured=measured))
        return changes


def _recalled_after(state: LearnerState, last: int) -> Int64Array:
    """Positions of the recalled rows after a step."""
    start = int(state.recent.at.searchsorted(last, side="right"))
    return start + np.flatnonzero(state.recent.recalled[start:])
