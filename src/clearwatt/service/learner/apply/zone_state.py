"""The state of a zone, with saving and loading."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from clearwatt.arrays import Float64Array
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.scaling import Scaling
from clearwatt.data.schema import Entity
from clearwatt.data.suspicion import Lie, MeterWatch, explain
from clearwatt.files import SavedState, load_state, save_state
from clearwatt.packing import pack, tensors_below, unpack, with_prefix
from clearwatt.service.learner.apply.adaptive_models import AdaptiveModels
from clearwatt.service.learner.apply.clear_models import ClearModels, ClearZone
from clearwatt.service.learner.apply.errors_by_lead import ErrorsByLead
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.learner.apply.live import LiveForecasts
from clearwatt.service.learner.apply.reporting_delay import ReportingDelays
from clearwatt.service.learner.apply.rows import Rows
from clearwatt.service.learner.apply.weather import LatestWeather
from clearwatt.service.learner.apply.zone_models import PowerUnit, ZoneModels
from clearwatt.service.quality import RULES, describe
from clearwatt.service.records import (
    READING,
    Readings,
    RegisteredEntity,
    StoredVersion,
    Zone,
)
from clearwatt.service.scaling import read_scaling, scaling_values
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ExcludedWindow
from clearwatt.service.times import text as written

LONGEST_START = 120 * SECONDS_PER_DAY
"""Seconds of readings after which an entity from the fleet needs no warm-up; limits memory."""
WHOLE_ZONE = ""
"""The key under which an exclusion or a hold of the whole zone is kept."""


KEPT_SERVED = 14 * SECONDS_PER_DAY
"""Seconds for which it is known which versions were in service; a lie is told sooner."""


_LEARNED = (
    *("columns", "fleet", "rows", "scaling", "models", "live", "intervals", "leads"),
    *("watch", "day", "suspicions", "doubted", "deployed", "updated", "served", "awaiting"),
)
"""Attributes of a state that `ZoneState.withdraw` changes."""


class Suspicion(NamedTuple):
    """What a meter is suspected of, since which reading, and the size of the lie."""

    lie: Lie
    since: int
    size: float = 0.0

    @property
    def reason(self) -> str:
        """The suspicion as an operator reads it."""
        return f"readings since {written(self.since)} {explain(self.lie, self.size)}"


class ZoneState:
    """The state of a zone; only `ZoneLearning` changes it.

    ``columns`` are the entities that learn, in the order of the models; ``waiting`` holds the
    readings of the others (by number) until their warm-up. ``fleet`` has the columns whose networks
    are those of a fleet prior, with the time of the first row that each learns from; ``waiting``
    has their readings, too, in case of a warm-up. ``models`` is None before the first.
    ``doubted`` are the times of readings that are in quarantine because their meter is suspected,
    ``day`` is the last day of which the watch has seen a row, ``served`` are the versions of each
    component that were in service lately, in that order, ``awaiting`` the last one of each that was
    to be approved.
    """

    def __init__(self, zone: Zone, *, position: int = 0) -> None:
        self.zone = zone
        self.settings = ZoneSettings.read(dict(zone.settings))
        self.position = self.removed = position
        self.generation = 0
        self.entities: dict[str, RegisteredEntity] = {}
        self.columns: list[str] = []
        self.fleet: dict[str, int] = {}
        self.weather = LatestWeather(zone.variables)
        self.rows: Rows | None = None
        self.waiting: dict[int, list[Readings]] = {}
        self.quarantined: dict[str, dict[int, float]] = {}
        self.flagged: set[str] = set()
        self.held: set[str] = set()
        self.exclusions: dict[str, list[ExcludedWindow]] = {}
        self.watch: MeterWatch | None = None
        self.suspicions: dict[str, Suspicion] = {}
        self.doubted: dict[str, set[int]] = {}
        self.day = -1
        self.served: dict[str, list[StoredVersion]] = {}
        self.awaiting: dict[str, StoredVersion] = {}
        self.deployed: dict[str, str] = {}
        self.updated: dict[str, int] = {}
        self.warming: set[str] = set()
        self.models: ZoneModels | None = None
        self.scaling: Scaling | None = None
        self.live = LiveForecasts(zone.id)
        self.intervals = ZoneIntervals(zone.step)
        self.leads = ErrorsByLead(zone.step)
        self.arrivals = ReportingDelays()

    def set_entities(self, entities: Iterable[RegisteredEntity]) -> None:
        """Set the registered entities; nothing learned changes."""
        self.entities = {entity.id: entity for entity in entities}

    def remove_entity(self, name: str, *, position: int) -> None:
        """Forget an entity; the others are as they were. Without any, the zone waits again."""
        number = self.entities.pop(name).number
        self.waiting.pop(number, None)
        self.arrivals.remove(number)
        for held in (self.quarantined, self.exclusions, self.suspicions, self.doubted):
            held.pop(name, None)
        self.fleet.pop(name, None)
        for names in (self.flagged, self.held, self.warming):
            names.discard(name)
        for key in (f"predictor:{name}", f"autoencoder:{self.zone.id}:{name}"):
            self.deployed.pop(key, None)
            self.updated.pop(key, None)
            self.served.pop(key, None)
            self.awaiting.pop(key, None)
        if name in self.columns:
            self._remove_column(name)
        self.removed = position
        self.generation += 1

    def withdraw(self, name: str) -> None:
        """Take the models from an entity that started from the fleet; it waits for a warm-up."""
        del self.fleet[name]
        for held in (self.suspicions, self.doubted):
            held.pop(name, None)
        for known in (self.deployed, self.updated, self.served, self.awaiting):
            known.pop(f"predictor:{name}", None)
        self._remove_column(name)

    def copy_learned(self) -> dict[str, Any]:
        """A copy of all that `withdraw` changes; the scaling is immutable, so it is shared."""
        shared = {id(self.scaling): self.scaling}
        return copy.deepcopy({name: getattr(self, name) for name in _LEARNED}, shared)

    def take_back(self, learned: Mapping[str, Any]) -> None:
        """Undo `withdraw`, with a copy from before."""
        for name, value in learned.items():
            setattr(self, name, value)

    def _remove_column(self, name: str) -> None:
        column = self.columns.index(name)
        self.columns.remove(name)
        if not self.columns:
            self.models = self.rows = self.scaling = None
            self.live, self.intervals = LiveForecasts(self.zone.id), ZoneIntervals(self.zone.step)
            self.leads = ErrorsByLead(self.zone.step)
            self.deployed, self.updated, self.served, self.awaiting = {}, {}, {}, {}
            self.watch, self.day = None, -1
            return
        assert self.models is not None
        assert self.rows is not None
        assert self.scaling is not None
        self.models.leave(name)
        if self.watch is not None:
            self.watch.leave(column)
        self.rows.remove_column(column)
        self.live.remove_column(column)
        self.leads.weeks.remove_column(column)
        self.intervals.leave(column)
        sizes = {other: size for other, size in self.scaling.power.items() if other != name}
        self.scaling = replace(self.scaling, power=sizes)

    def waiting_readings(self, name: str) -> Readings:
        """Readings of an entity that a warm-up would learn from."""
        parts = self.waiting.get(self.entities[name].number, [])
        return np.concatenate([np.empty(0, READING), *parts])

    def leave_fleet(self, name: str) -> None:
        """Note that an entity has networks of its own, and needs no warm-up any more."""
        if self.fleet.pop(name, None) is not None:
            self.waiting.pop(self.entities[name].number, None)

    def fleet_limits(self, readings: Readings) -> tuple[bool, list[str]]:
        """Whether readings have history of entities from the fleet, and for whom the start ends."""
        history, ended = False, []
        for name, since in self.fleet.items():
            times = readings["time"][readings["entity"] == self.entities[name].number]
            history |= bool((times < since).any())
            if (times > since + LONGEST_START).any():
                ended.append(name)
        return history, ended

    @property
    def expected(self) -> npt.NDArray[np.bool_]:
        """Which columns rows wait for: not those of entities without any reading so far."""
        return np.array([self.is_expected(name) for name in self.columns], np.bool_)

    def is_expected(self, name: str) -> bool:
        """Whether rows wait for the reading of an entity."""
        since = self.fleet.get(name)
        if since is None:
            return True
        parts = self.waiting.get(self.entities[name].number, [])
        return any(bool((part["time"] >= since).any()) for part in reversed(parts))

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The store's numbers of the columns."""
        return np.array([self.entities[name].number for name in self.columns], np.int64)

    @property
    def descriptions(self) -> tuple[Entity, ...]:
        """The entities of the columns, as the quality checks use them."""
        return tuple(describe(self.entities[name]) for name in self.columns)

    @property
    def rows_to_keep(self) -> int:
        """Number of closed rows to keep for quality checks and late readings."""
        past = int(RULES.lookback.total_seconds()) + self.settings.lateness
        return past // self.zone.step + self.rows_to_settle + 1

    @property
    def rows_to_settle(self) -> int:
        """Number of further rows until the quality verdict on a reading is final."""
        step = pd.Timedelta(seconds=self.zone.step)
        longest = max(
            (RULES.settles_after(entity, step) for entity in self.descriptions),
            default=pd.Timedelta(0),
        )
        return -int(-longest.total_seconds() // self.zone.step)

    @property
    def reporting_delay(self) -> int | None:
        """Seconds until a measurement is known, as told or as estimated; None: not known yet."""
        told = self.settings.reporting_delay
        return self.arrivals.delay if told is None else told

    @property
    def known_after(self) -> int:
        """The reporting delay in whole steps, in seconds, as far as it is known.

        Less than a step does not count: forecasts are refreshed when readings have arrived.
        """
        return self.known_after_with(self.arrivals)

    def known_after_with(self, arrivals: ReportingDelays) -> int:
        """The same, as it is with other arrivals."""
        told = self.settings.reporting_delay
        delay = arrivals.delay if told is None else told
        return (delay or 0) // self.zone.step * self.zone.step

    def reporting_delay_of(self, name: str) -> int | None:
        """The same for an entity."""
        told = self.settings.reporting_delay
        return self.arrivals.delay_of(self.entities[name].number) if told is None else told

    @property
    def clear_zone(self) -> ClearZone:
        """What an instance of CLeaR knows of the zone."""
        return ClearZone(self.zone.id, self.zone.step, self.settings)

    @property
    def units(self) -> dict[str, PowerUnit]:
        """The unit of power of each entity that learns."""
        return {name: self.unit(name) for name in self.columns}

    def unit(self, name: str) -> PowerUnit:
        """The unit of power of an entity that learns."""
        return PowerUnit(self.power_size(name), self.entities[name].unit)

    def note_served(self, version: StoredVersion) -> None:
        """Remember that a version came into service; those long before the newest are forgotten."""
        key = version.id.rpartition(":")[0]
        served = [*self.served.get(key, []), version.without_clock()]
        newest = max((each.time or 0) for each in served)
        recent = [(each.time or 0) >= newest - KEPT_SERVED for each in served]
        first = max(0, recent.index(True) - 1)
        self.served[key] = served[first:]

    def exclusion_mask(self, name: str, times: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which times (n) are excluded from learning for an entity."""
        inside = np.zeros(len(times), np.bool_)
        for window in self.excluded_windows(name):
            inside |= (times >= window.start) & (times < window.end)
        return inside

    def excluded_windows(self, name: str) -> tuple[ExcludedWindow, ...]:
        """The windows that an entity does not learn from, those of the whole zone last."""
        return (*self.exclusions.get(name, []), *self.exclusions.get(WHOLE_ZONE, []))

    def power_size(self, name: str) -> float:
        """The power that is scaled to 1, in the entity's unit."""
        return 1.0 if self.scaling is None else self.scaling.power[name]

    @property
    def sizes(self) -> Float64Array:
        """The power that is scaled to 1 (columns), in the unit of each entity."""
        return np.array([self.power_size(name) for name in self.columns])

    def save(self, folder: Path) -> None:
        """Write the state to a folder."""
        tensors = {
            "knots.times": torch.from_numpy(self.weather.times.copy()),
            "knots.issued": torch.from_numpy(self.weather.issued.copy()),
            "knots.values": torch.from_numpy(self.weather.values.copy()),
            **{f"live.{name}": tensor for name, tensor in self.live.tensors().items()},
            **{f"intervals.{name}": each for name, each in self.intervals.tensors().items()},
            **{f"leads.{name}": each for name, each in self.leads.weeks.tensors().items()},
            **{f"arrivals.{name}": each for name, each in self.arrivals.tensors().items()},
        }
        watch = None if self.watch is None else pack(self.watch)
        if watch is not None:
            tensors |= with_prefix("watch.", watch.tensors)
        for number, parts in self.waiting.items():
            held = np.concatenate(parts)
            tensors[f"waiting.{number}.times"] = torch.from_numpy(held["time"].copy())
            tensors[f"waiting.{number}.values"] = torch.from_numpy(held["value"].copy())
        if self.rows is not None:
            tensors["rows.values"] = torch.from_numpy(self.rows.values.copy())
            tensors["rows.reported"] = torch.from_numpy(self.rows.reported.astype(np.uint8))
        values = self._values() | {"watch": None if watch is None else watch.values}
        save_state(folder / "zone", values, tensors)
        if self.models is not None:
            self.models.save(folder)

    def _values(self) -> dict[str, Any]:
        rows = self.rows
        return {
            "zone": self.zone.id,
            "position": self.position,
            "generation": self.generation,
            "removed": self.removed,
            "settings": self.settings.plain(),
            "columns": self.columns,
            "fleet": self.fleet,
            "rows": rows and [rows.step, rows.start, rows.next, rows.watermark],
            "quarantined": {
                name: [[time, value] for time, value in sorted(readings.items())]
                for name, readings in self.quarantined.items()
            },
            "flagged": sorted(self.flagged),
            "held": sorted(self.held),
            "exclusions": {name: list(each) for name, each in self.exclusions.items()},
            "suspicions": {name: list(each) for name, each in self.suspicions.items()},
            "doubted": {name: sorted(times) for name, times in self.doubted.items()},
            "day": self.day,
            "served": {
                key: [list(astuple(version)) for version in versions]
                for key, versions in self.served.items()
            },
            "awaiting": {key: list(astuple(each)) for key, each in self.awaiting.items()},
            "deployed": self.deployed,
            "updated": self.updated,
            "scaling": None if self.scaling is None else scaling_values(self.scaling),
            "live": self.live.values(),
            "intervals": self.intervals.values(),
            "learns": self.models is not None,
        }

    @classmethod
    def load(cls, folder: Path, zone: Zone) -> ZoneState:
        """Read a zone back; anything missing or damaged is a StateError."""
        saved = load_state(folder / "zone")
        state = cls(zone)
        state._restore(saved)
        if not saved.values["learns"]:
            return state
        if state.settings.forecaster == "clear":
            state.models = ClearModels.load(folder, state.clear_zone, saved.tensors)
        else:
            state.models = AdaptiveModels.load(folder, step=zone.step)
        return state

    def _restore(self, saved: SavedState) -> None:
        values, tensors = saved.values, saved.tensors
        self.position, self.generation = values["position"], values["generation"]
        self.removed = values.get("removed", 0)
        self.settings = ZoneSettings.read(values["settings"])
        self.columns = list(values["columns"])
        self.fleet = {name: int(since) for name, since in values.get("fleet", {}).items()}
        self.weather.times = tensors["knots.times"].numpy()
        self.weather.issued = tensors["knots.issued"].numpy()
        self.weather.values = tensors["knots.values"].numpy()
        self.quarantined = {
            name: {int(time): float(value) for time, value in readings}
            for name, readings in values["quarantined"].items()
        }
        self.flagged, self.held = set(values["flagged"]), set(values["held"])
        self.exclusions = {
            name: [ExcludedWindow(*window) for window in windows]
            for name, windows in values["exclusions"].items()
        }
        self._restore_suspicions(saved)
        self.deployed, self.updated = dict(values["deployed"]), dict(values["updated"])
        self.scaling = None if values["scaling"] is None else read_scaling(values["scaling"])
        self.live.restore(values["live"], tensors)
        self.intervals.restore(values["intervals"], tensors_below(tensors, "intervals."))
        self.leads.weeks.restore(tensors_below(tensors, "leads."), columns=len(self.columns))
        self.arrivals.restore(tensors_below(tensors, "arrivals."))
        for name, tensor in tensors.items():
            if name.startswith("waiting.") and name.endswith(".times"):
                number = int(name.split(".")[1])
                held = np.empty(len(tensor), READING)
                held["entity"], held["time"] = number, tensor.numpy()
                held["value"] = tensors[f"waiting.{number}.values"].numpy()
                self.waiting[number] = [held]
        if values["rows"] is not None:
            step, start, following, watermark = values["rows"]
            self.rows = Rows(step=step, start=start, columns=len(self.columns))
            self.rows.next, self.rows.watermark = following, watermark
            self.rows.values = tensors["rows.values"].numpy()
            self.rows.reported = tensors["rows.reported"].numpy().astype(np.bool_)

    def _restore_suspicions(self, saved: SavedState) -> None:
        """What the watch knows; earlier releases had none."""
        values = saved.values
        if values.get("watch") is not None:
            self.watch = unpack(MeterWatch, values["watch"], tensors_below(saved.tensors, "watch."))
        self.suspicions = {
            name: Suspicion(Lie(lie), since, size)
            for name, (lie, since, size) in values.get("suspicions", {}).items()
        }
        self.doubted = {name: set(times) for name, times in values.get("doubted", {}).items()}
        self.day = values.get("day", -1)
        self.served = {
            key: [StoredVersion(*version) for version in versions]
            for key, versions in values.get("served", {}).items()
        }
        self.awaiting = {
            key: StoredVersion(*version) for key, version in values.get("awaiting", {}).items()
        }
