"""The state of a zone, with saving and loading."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from clearwatt.data.scaling import Scaling
from clearwatt.data.schema import Entity
from clearwatt.files import SavedState, load_state, save_state
from clearwatt.packing import tensors_below
from clearwatt.service.learner.apply.adaptive_models import AdaptiveModels
from clearwatt.service.learner.apply.clear_models import ClearModels, ClearZone
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.learner.apply.live import LiveForecasts
from clearwatt.service.learner.apply.rows import Rows
from clearwatt.service.learner.apply.weather import LatestWeather
from clearwatt.service.learner.apply.zone_models import PowerUnit, ZoneModels
from clearwatt.service.quality import RULES, describe
from clearwatt.service.records import READING, Readings, RegisteredEntity, Zone
from clearwatt.service.scaling import read_scaling, scaling_values
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ExcludedWindow

WHOLE_ZONE = ""
"""The key under which an exclusion or a hold of the whole zone is kept."""


class ZoneState:
    """The state of a zone; only `ZoneLearning` changes it.

    ``columns`` are the entities that learn, in the order of the models; ``waiting`` holds the
    readings of the others (by number) until their warm-up. ``models`` is None before the first.
    """

    def __init__(self, zone: Zone, *, position: int = 0) -> None:
        self.zone = zone
        self.settings = ZoneSettings.read(dict(zone.settings))
        self.position = self.removed = position
        self.generation = 0
        self.entities: dict[str, RegisteredEntity] = {}
        self.columns: list[str] = []
        self.weather = LatestWeather(zone.variables)
        self.rows: Rows | None = None
        self.waiting: dict[int, list[Readings]] = {}
        self.quarantined: dict[str, dict[int, float]] = {}
        self.flagged: set[str] = set()
        self.held: set[str] = set()
        self.exclusions: dict[str, list[ExcludedWindow]] = {}
        self.deployed: dict[str, str] = {}
        self.updated: dict[str, int] = {}
        self.warming: set[str] = set()
        self.models: ZoneModels | None = None
        self.scaling: Scaling | None = None
        self.live = LiveForecasts(zone.id)
        self.intervals = ZoneIntervals(zone.step)

    def set_entities(self, entities: Iterable[RegisteredEntity]) -> None:
        """Set the registered entities; nothing learned changes."""
        self.entities = {entity.id: entity for entity in entities}

    def remove_entity(self, name: str, *, position: int) -> None:
        """Forget an entity; the others are as they were. Without any, the zone waits again."""
        self.waiting.pop(self.entities.pop(name).number, None)
        for held in (self.quarantined, self.exclusions):
            held.pop(name, None)
        for names in (self.flagged, self.held, self.warming):
            names.discard(name)
        for key in (f"predictor:{name}", f"autoencoder:{self.zone.id}:{name}"):
            self.deployed.pop(key, None)
            self.updated.pop(key, None)
        if name in self.columns:
            self._remove_column(name)
        self.removed = position
        self.generation += 1

    def _remove_column(self, name: str) -> None:
        column = self.columns.index(name)
        self.columns.remove(name)
        if not self.columns:
            self.models = self.rows = self.scaling = None
            self.live, self.intervals = LiveForecasts(self.zone.id), ZoneIntervals(self.zone.step)
            self.deployed, self.updated = {}, {}
            return
        assert self.models is not None
        assert self.rows is not None
        assert self.scaling is not None
        self.models.leave(name)
        self.rows.remove_column(column)
        self.live.remove_column(column)
        self.intervals.leave(column)
        sizes = {other: size for other, size in self.scaling.power.items() if other != name}
        self.scaling = replace(self.scaling, power=sizes)

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

    def save(self, folder: Path) -> None:
        """Write the state to a folder."""
        tensors = {
            "knots.times": torch.from_numpy(self.weather.times.copy()),
            "knots.issued": torch.from_numpy(self.weather.issued.copy()),
            "knots.values": torch.from_numpy(self.weather.values.copy()),
            **{f"live.{name}": tensor for name, tensor in self.live.tensors().items()},
            **{f"intervals.{name}": each for name, each in self.intervals.tensors().items()},
        }
        for number, parts in self.waiting.items():
            held = np.concatenate(parts)
            tensors[f"waiting.{number}.times"] = torch.from_numpy(held["time"].copy())
            tensors[f"waiting.{number}.values"] = torch.from_numpy(held["value"].copy())
        if self.rows is not None:
            tensors["rows.values"] = torch.from_numpy(self.rows.values.copy())
            tensors["rows.reported"] = torch.from_numpy(self.rows.reported.astype(np.uint8))
        save_state(folder / "zone", self._values(), tensors)
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
            "rows": rows and [rows.step, rows.start, rows.next, rows.watermark],
            "quarantined": {
                name: [[time, value] for time, value in sorted(readings.items())]
                for name, readings in self.quarantined.items()
            },
            "flagged": sorted(self.flagged),
            "held": sorted(self.held),
            "exclusions": {name: list(each) for name, each in self.exclusions.items()},
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
        self.deployed, self.updated = dict(values["deployed"]), dict(values["updated"])
        self.scaling = None if values["scaling"] is None else read_scaling(values["scaling"])
        self.live.restore(values["live"], tensors)
        self.intervals.restore(values["intervals"], tensors_below(tensors, "intervals."))
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
