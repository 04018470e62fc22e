"""The models of a zone whose forecaster is "adaptive"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from clearwatt.adaptive import AdaptiveForecaster, NetworkVersion
from clearwatt.adaptive.breaks import current_levels
from clearwatt.adaptive.change_watch import RUNS
from clearwatt.adaptive.events import NetworkChange
from clearwatt.adaptive.forecaster import EndedPeriod
from clearwatt.adaptive.latest import find_latest
from clearwatt.adaptive.publication import pack_networks, split_deployed, unpack_networks
from clearwatt.clock import steps_per_day
from clearwatt.files import SavedState, load_state, save_state
from clearwatt.forecaster import Version
from clearwatt.packing import Packed, pack, tensors_below, to_bytes, unpack, with_prefix
from clearwatt.service.learner.apply.adaptive_changes import model_change
from clearwatt.service.learner.apply.adaptive_leads import ForecastDistances
from clearwatt.service.learner.apply.adaptive_progress import (
    AdaptiveProgress,
    EarlierFastPart,
    PendingRows,
)
from clearwatt.service.learner.apply.earlier_days import days_to_keep
from clearwatt.service.learner.apply.forecaster_models import ForecasterModels
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.learner.apply.zone_models import (
    LateBlock,
    LearningResult,
    LiveRows,
    ModelChange,
    ModelSnapshot,
    OpenRows,
    PowerUnit,
    PowerUnits,
    RowBlock,
    ValidationErrors,
    WarmUpSamples,
)
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ComponentStatus
from clearwatt.strategies import ComponentName
from clearwatt.training.streams import Stream

ROWS_AT_ONCE = 2000
"""Maximum number of rows learned from in one call; limits memory."""
NO_INPUTS = 0
"""Intervals need the inputs only to follow a swap of models, which this forecaster does itself."""


class AdaptiveModels(ForecasterModels[AdaptiveForecaster]):
    """An adaptive forecaster.

    Live forecasts are those issued a delay before their time. They are compared with measurements
    at the end of a period of the forecaster's schedule, because the result then does not depend on
    how rows arrived.
    """

    def __init__(
        self, forecaster: AdaptiveForecaster, step: int, progress: AdaptiveProgress
    ) -> None:
        super().__init__(forecaster, step)
        self._progress = progress
        self._published = (-1, -1)

    @classmethod
    def start(
        cls,
        step: int,
        settings: ZoneSettings,
        names: Sequence[str],
        samples: WarmUpSamples,
        intervals: ZoneIntervals,
    ) -> Stream[AdaptiveModels]:
        """Train the first networks, then learn the last of the history as a stream.

        A forecast of the first row after the history is issued a delay before, when this part was
        not measured yet. A history that is shorter than two delays is trained on whole.
        """
        at, delay = samples.times // step, max(1, settings.delay // step)
        start = int(np.searchsorted(at, at[-1] + 1 - delay, side="right"))
        start = start if 2 * start >= len(at) else len(at)
        forecaster = yield from AdaptiveForecaster.start(
            samples.x[:start],
            samples.y[:start],
            at[:start],
            day=steps_per_day(timedelta(seconds=step)),
            columns=samples.columns,
            delay=delay,
            settings=settings.adaptive(),
            names=names,
            seed=settings.seed,
        )
        forecaster.require_approval(required=settings.approval)
        intervals.begin(
            forecaster.deployed.networks(samples.x, at),
            samples.y,
            x=np.empty((len(at), NO_INPUTS), np.float32),
            times=samples.times,
            limits=samples.limits,
        )
        if start < len(at):
            yield from forecaster.learn(samples.x[start:], samples.y[start:], at[start:])
        pending = PendingRows.empty(len(names))
        first = int(samples.times[0])
        return cls(forecaster, step, AdaptiveProgress(first, 0, int(at[-1]), 0, 0, pending))

    def next_number(self, name: str) -> int:
        """Number of the next version of an entity's networks."""
        place = self.forecaster.names.index(name)
        return int(self.forecaster.state.progress.updates[place]) + 1

    def continue_numbers(self, numbers: Mapping[str, int], revision: int) -> None:
        """Number versions and revisions on after those of models that these have replaced."""
        for name, number in numbers.items():
            self.forecaster.renumber(name, number)
        own = self._progress
        self._progress = replace(own, revision=max(own.revision, revision))
        self._count_change()

    @property
    def steps(self) -> int:
        """Number of rows learned from since the warm-up."""
        return self._progress.steps

    @property
    def rows_at_once(self) -> int:
        """Maximum number of rows to learn from in one call."""
        return ROWS_AT_ONCE

    def join(
        self, names: Sequence[str], samples: WarmUpSamples, intervals: ZoneIntervals
    ) -> Stream[ValidationErrors]:
        """Add entities with their warm-up."""
        at = samples.times // self.step
        for column, name in enumerate(names):
            measured = np.isfinite(samples.y[:, column])
            x, y = samples.x[measured], samples.y[measured, column]
            yield from self.forecaster.join(name, x, y, at[measured])
            fitted = self.forecaster.deployed.networks(x, at[measured])[:, -1]
            intervals.join(fitted, y, times=samples.times[measured], limits=samples.limits[column])
        self.note_joined(len(names))
        return {}

    def note_joined(self, count: int) -> None:
        """Note that entities have joined; rows that wait have no reading of theirs."""
        own = self._progress
        self._progress = replace(own, pending=own.pending.with_entities(count))
        self._count_change()

    def leave(self, name: str) -> None:
        """Remove an entity, which is not the only one."""
        own, column = self._progress, self.forecaster.names.index(name)
        # Nothing of an entity that left may stay.
        self._progress = replace(own, pending=own.pending.without_entity(column), days=())
        super().leave(name)

    def learn(
        self, rows: RowBlock, intervals: ZoneIntervals, units: PowerUnits
    ) -> Stream[LearningResult]:
        """Learn from closed rows; see `ZoneModels.learn`."""
        covered, own = rows.covered, self._progress
        pending, live, changes = own.pending.add(rows), [], []
        targets = rows.targets[covered]
        periods = yield from self.forecaster.learn_periods(
            rows.x[covered],
            targets if rows.learns else np.full_like(targets, np.nan),
            rows.times[covered] // self.step,
            after=own.compared,
            distances=self._distances.computed(rows.known_after),
        )
        for period in periods:
            ended, pending = pending.split(self._end_of(period))
            live.append(self._compare(ended, period, intervals, rows.known_after))
            changes += [self._change(each, units) for each in period.changes]
        self._progress = replace(
            own,
            steps=own.steps + int(covered.sum()),
            compared=periods[-1].last(own.compared) if periods else own.compared,
            revision=own.revision + len(rows.times),
            base=own.base + len(periods),
            pending=pending,
        )
        return LearningResult(tuple(live), tuple(changes))

    @property
    def _distances(self) -> ForecastDistances:
        return ForecastDistances(self.step, self.forecaster.state.frame.schedule.clock.delay)

    def _end_of(self, period: EndedPeriod) -> int:
        """The time of the first row after a period's forecasts."""
        return (period.last(self._progress.compared) + 1) * self.step

    def _compare(
        self, ended: PendingRows, period: EndedPeriod, intervals: ZoneIntervals, known_after: int
    ) -> LiveRows:
        """Rows of a period with the forecasts issued for them; NaN without weather."""
        forecasts = np.full(ended.known.shape, np.nan)
        errors = np.full(len(ended.times), np.nan, np.float32)
        issued = period.forecast.at * self.step
        _, rows, places = np.intersect1d(
            ended.times, issued, assume_unique=True, return_indices=True
        )
        forecasts[rows] = period.forecast.power[places]
        errors[rows] = period.input_errors[places]
        intervals.observe(
            forecasts[rows],
            ended.known[rows],
            x=np.empty((len(rows), NO_INPUTS), np.float32),
            times=ended.times[rows],
        )
        leads = None
        if period.leads is not None:
            leads = self._distances.compare(period.leads, intervals, known_after)
        return LiveRows(ended.times, forecasts, errors, ended.readings, leads)

    def learn_late(
        self, late: LateBlock, intervals: ZoneIntervals, units: PowerUnits
    ) -> Stream[LearningResult]:
        """Complete the rows of the last days; see `ZoneModels.learn_late`."""
        changes = yield from self.forecaster.learn(late.x, late.targets, late.times // self.step)
        self._count_change()
        return LearningResult(changes=tuple(self._change(each, units) for each in changes))

    def note_day(self, time: int) -> None:
        """Keep the fast part at the beginning of a day."""
        own, fast = self._progress, EarlierFastPart(time, self.forecaster.fast_part.to_single())
        kept = days_to_keep([*(day.time for day in own.days), time])
        days = tuple(day for day in (*own.days, fast) if day.time in kept)
        self._progress = replace(own, days=days)

    def goes_back(self, name: str, time: int) -> bool:
        """Whether the fast part of a day before a time is kept."""
        return any(day.is_right(name) and day.time <= time for day in self._progress.days)

    def retrain(
        self, name: str, before: SavedState | None, units: PowerUnits
    ) -> Stream[tuple[ModelChange, ...]]:
        """Train an entity's networks without samples that were excluded."""
        version = None if before is None else unpack_networks(before.values, before.tensors)
        changes = yield from self.forecaster.retrain(name, version)
        self._count_change()
        return tuple(self._change(each, units) for each in changes)

    def restore(self, name: str, time: int) -> None:
        """Go back to the fast part of the last day that began before a time, or the oldest."""
        own = self._progress
        right = [day for day in own.days if day.is_right(name)]
        before = [day for day in right if day.time <= time] or right[:1]
        if before:
            self.forecaster.restore_fast_part(name, before[-1].content)
        days = tuple(
            day if day.time <= time else day._replace(wrong=(*day.wrong, name)) for day in own.days
        )
        column = self.forecaster.names.index(name)
        pending = own.pending.without_readings(column, time)
        self._progress = replace(own, pending=pending, days=days)
        self._count_change()

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past that are held."""
        days = sum(day.content.nbytes for day in self._progress.days)
        return self.forecaster.retained_bytes + days

    def activate(self, key: str, saved: SavedState, intervals: ZoneIntervals) -> None:
        """Put stored networks into service; intervals follow their errors from then on."""
        self.forecaster.activate(unpack_networks(saved.values, saved.tensors))
        self._count_change()

    def change_settings(self, settings: ZoneSettings) -> None:
        """Update networks by other rules from now on."""
        own = settings.adaptive()
        self.forecaster.change_settings(novelty=own.novelty, gate=own.gate)

    def standing_since(self, name: str) -> int | None:
        """Time since which an entity stands still; None: it runs."""
        place = self.forecaster.names.index(name)
        since = int(self.forecaster.state.watch.standing[place])
        return None if since == RUNS else since * self.step

    def entity_status(self, name: str, unit: PowerUnit) -> ComponentStatus:
        """Threshold, novel samples and updates of an entity's networks."""
        state, place = self.forecaster.state, self.forecaster.names.index(name)
        novelty, progress = self.forecaster.settings.novelty, state.progress
        days = novelty.capacity
        novel, samples = int(progress.novel[place]), int(progress.samples[place])
        threshold = self._novelty_threshold(state.ensemble.versions[place], unit)
        return ComponentStatus(
            threshold=threshold if math.isfinite(threshold) else None,
            novel=novel,
            familiar=samples - novel,
            capacity=None if days is None else math.ceil(days * state.frame.schedule.clock.day),
            updates=int(progress.updates[place]),
            approval=name in self.forecaster.approvals,
        )

    def input_status(self) -> ComponentStatus:
        """The threshold above which inputs are novel; novel inputs cause no update."""
        state, alpha = self.forecaster.state, self.forecaster.settings.novelty.alpha
        novel, rows = int(state.progress.novel_inputs.max()), int(state.progress.rows.max())
        return ComponentStatus(alpha * state.inputs.error, novel=novel, familiar=rows - novel)

    def encoder_key(self, name: str) -> str | None:
        """None: the networks see the inputs themselves."""
        return None

    @property
    def revision(self) -> int | None:
        """Number that changes with what is published beside the versions."""
        return self._progress.revision

    def new_snapshot(self) -> ModelSnapshot | None:
        """What to publish beside the versions, if it has changed since the last call."""
        own = self._progress
        if self._published == (own.base, own.revision):
            return None
        base, rows = split_deployed(self.forecaster.deployed, self.forecaster.state.boundary)
        content = None if self._published[0] == own.base else to_bytes(base)
        self._published = (own.base, own.revision)
        return ModelSnapshot(own.revision, content, to_bytes(rows))

    def find_latest(self, read: Callable[[], OpenRows | None]) -> bytes | None:
        """What the last readings tell about the next hours; nothing is learned from them."""
        rows, state = read(), self.forecaster.state
        if rows is None:
            none = np.empty((0, len(state.names)), np.float32)
            rows = OpenRows(np.empty(0, np.int64), none, none)
        x, y = (part.astype(np.float64) for part in (rows.x, rows.targets))
        return to_bytes(find_latest(state, x, y, rows.times // self.step))

    def save(self, folder: Path) -> None:
        """Write the forecaster, and what is kept beside it."""
        own, (values, tensors) = pack(self._progress), self.forecaster.pack()
        save_state(
            folder / "adaptive",
            {"progress": own.values, "forecaster": values},
            with_prefix("progress.", own.tensors) | with_prefix("forecaster.", tensors),
        )

    @classmethod
    def load(cls, folder: Path, *, step: int) -> AdaptiveModels:
        """Read the models of a zone; what they published was stored before they were saved."""
        saved = load_state(folder / "adaptive")
        own = Packed(saved.values["forecaster"], tensors_below(saved.tensors, "forecaster."))
        progress = unpack(
            AdaptiveProgress, saved.values["progress"], tensors_below(saved.tensors, "progress.")
        )
        # Unpacked, arrays are in double precision.
        days = tuple(day._replace(content=day.content.to_single()) for day in progress.days)
        models = cls(AdaptiveForecaster.unpack(own), step, replace(progress, days=days))
        models._published = (progress.base, progress.revision)
        return models

    @property
    def _learned_steps(self) -> range:
        """From the first step of the warm-up to the last one learned from."""
        return range(self._progress.first // self.step, self.forecaster.state.known + 1)

    def _count_change(self) -> None:
        """Count a change of what forecasts are made with that is not just another row."""
        own = self._progress
        self._progress = replace(own, revision=own.revision + 1, base=own.base + 1)

    def _change(self, change: NetworkChange, units: PowerUnits) -> ModelChange:
        version = None if change.version is None else self._trained(change.version, units)
        return model_change(change, version, step=self.step, unit=units[str(change.event.entity)])

    def _key(self, version: Version) -> str:
        return f"predictor:{version.entity}"

    def _component(self, version: Version) -> ComponentName:
        return "predictor"

    def _threshold(self, version: Version, units: PowerUnits) -> float:
        own = _networks(version)
        return self._novelty_threshold(own, units[str(own.entity)])

    def _content(self, version: Version) -> Packed:
        return pack_networks(_networks(version))

    def _novelty_threshold(self, version: NetworkVersion, unit: PowerUnit) -> float:
        place = self.forecaster.names.index(version.entity)
        level = float(current_levels([version.breaks])[0])
        scale = level * float(self.forecaster.state.power.scale[place])
        return self.forecaster.settings.novelty.alpha * version.error * scale * unit.size


def _networks(version: Version) -> NetworkVersion:
    assert isinstance(version, NetworkVersion)
    return version
