"""A zone with models in service, put there as the learner does it, but without learning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.clear.component import ClearSettings, Component, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.model_saving import pack_version
from clearwatt.data.scaling import Extrema, Scaling
from clearwatt.service.files import ModelFiles
from clearwatt.service.records import (
    READING,
    Outcome,
    RegisteredEntity,
    StoredVersion,
    WeatherIssue,
    Zone,
)
from clearwatt.service.scaling import scaling_values
from clearwatt.service.status import (
    ComponentStatus,
    EntityStatus,
    LiveErrors,
    ReconstructionStatus,
    ZoneStatus,
)
from clearwatt.service.store import open_store
from clearwatt.strategies import GenerativeReplay, RecentReplay
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder

STEP = 900
HOUR = 3600
DAY = 86_400
NOW = 1_717_200_000  # 2024-06-01, midnight UTC
SIZE = 50.0


class Plant:
    """Zone "north" with entities e0, e1, ... of 50 kW, random models, and a store in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        entities: int = 3,
        synchronous: bool = False,
        zone: str = "north",
        kind: Any = "residual",
        capacity: float | None = SIZE,
        store: Any = None,
    ) -> None:
        self.store = store or open_store(folder / "clearwatt.db")
        self.folder, self.files = folder, ModelFiles(folder)
        self.zone = Zone(zone, STEP, ("wind", "sun"))
        self.store.add_zone(self.zone)
        prefix = "" if zone == "north" else f"{zone}-"
        names = [f"{prefix}e{k}" for k in range(entities)]
        self.entities = self.store.add_entities(
            [RegisteredEntity(name, zone, kind, capacity=capacity) for name in names]
        )
        self.synchronous, self.generation, self.numbers = synchronous, 0, {}
        self.scaling = Scaling(
            {zone: {"wind": Extrema(0.0, 20.0), "sun": Extrema(0.0, 900.0)}},
            dict.fromkeys(names, SIZE),
        )
        self.instance = self._instance(names)

    def _instance(self, names: list[str]) -> Instance:
        strategy = GenerativeReplay() if self.synchronous else RecentReplay()
        shape = VariationalAutoencoder if self.synchronous else Autoencoder
        encoder = shape(inputs=12, width=8, layers=1, latent=4)
        predictor = Predictor(4, width=8, layers=2)
        x = np.random.default_rng(0).random((40, 12), np.float32)
        y = np.random.default_rng(1).random((40, len(names)), np.float32)
        return Instance.start(
            ClearSettings(strategy=strategy),
            x,
            y,
            autoencoder=Model(encoder, encoder.initialise([0])),
            predictors=[Model(predictor, predictor.initialise([k])) for k in range(len(names))],
            names=names,
        )

    @property
    def components(self) -> tuple[Component, ...]:
        return (*self.instance.autoencoders, *self.instance.predictors)

    def deploy(self, *names: str, **changes: Any) -> None:
        """Write versions of the named components (all by default) and commit that they serve."""
        self.generation += 1
        chosen = [c for c in self.components if not names or self.key(c) in names]
        versions = [self._version(component) for component in chosen]
        status = self.status(**changes)
        self.store.commit(Outcome(status=status, versions=tuple(versions)))

    def _version(self, component: Component) -> StoredVersion:
        number = self.numbers[self.key(component)] = self.numbers.get(self.key(component), -1) + 1
        identity = f"{self.key(component)}:{number}"
        return StoredVersion(
            id=identity,
            component=component.name,
            zone=self.zone.id,
            entity=None if component.entity is None else str(component.entity),
            number=number,
            status="deployed",
            at=float(NOW),
            time=NOW,
            threshold=1.0,
            path=self.files.write(identity, *pack_version(component.version)),
        )

    def key(self, component: Component) -> str:
        if component.name == "predictor":
            return f"predictor:{component.entity}"
        owner = self.zone.id if component.entity is None else f"{self.zone.id}:{component.entity}"
        return f"autoencoder:{owner}"

    def serving(self, component: Component) -> str:
        return f"{self.key(component)}:{self.numbers[self.key(component)]}"

    def status(self, **changes: Any) -> ZoneStatus:
        """The status of the zone with its models in service; ``changes`` are of the zone."""
        component = ComponentStatus(0.2, novel=30, familiar=50, capacity=60, updates=2)
        entities = {
            entity.id: EntityStatus(
                state="learning",
                predictor=self.serving(self.instance.predictors[column]),
                encoder=self.serving(self.instance.autoencoder_of(column)),
                quarantined=4,
                judged=100,
                live=LiveErrors(rmse_day=1.5, mae_day=1.0, rmse_week=2.5),
                component=component,
            )
            for column, entity in enumerate(self.entities)
        }
        status = ZoneStatus(
            zone=self.zone.id,
            position=self.generation,
            generation=self.generation,
            state="learning",
            until=NOW,
            watermark=NOW,
            pending_rows=3,
            steps=100,
            retained_bytes=1000,
            scaling=scaling_values(self.scaling),
            columns=tuple(self.scaling.columns(self.zone.id)),
            encoder=None if self.synchronous else self.serving(self.instance.autoencoders[0]),
            reconstruction=ReconstructionStatus(component, error_day=0.1),
            entities=entities,
        )
        return replace(status, **changes)

    def change(self, column: int, factor: float) -> None:
        """Have the predictor of an entity say something else, until it is deployed unseen."""
        predictor = self.instance.predictors[column]
        predictor.params = {name: factor * t for name, t in predictor.params.items()}

    def weather(
        self,
        issued_at: int = NOW,
        *,
        start: int = NOW,
        hours: int = 48,
        step: int = HOUR,
        seed: int = 0,
    ) -> WeatherIssue:
        times = start + step * np.arange(hours * HOUR // step + 1, dtype=np.int64)
        shares = np.random.default_rng(seed).random((len(times), 2))
        issue = WeatherIssue(
            self.zone.id, issued_at, times, (shares * [20, 900]).astype(np.float32)
        )
        self.store.add_weather(issue, at=float(issued_at))
        return issue

    def readings(self, column: int, times: npt.NDArray[np.int64], values: npt.ArrayLike) -> None:
        readings = np.zeros(len(times), READING)
        readings["entity"], readings["time"] = self.entities[column].number, times
        readings["value"] = values
        self.store.add_readings(readings, at=float(NOW))

    def inputs(self, issue: WeatherIssue, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """What the models see at these times under one issue."""
        frame = pd.DataFrame(
            issue.values,
            index=pd.to_datetime(issue.times, unit="s", utc=True),
            columns=list(self.zone.variables),
        )
        moments = pd.DatetimeIndex(pd.to_datetime(times, unit="s", utc=True))
        return self.scaling.inputs(self.zone.id, frame, moments)

    def damage(self, version: str) -> None:
        """Flip bytes in the weights of a version."""
        record = self.store.version(version)
        assert record is not None
        with self.files.open(record.path) as folder:
            (file,) = folder.glob("*.safetensors")
            content = bytearray(file.read_bytes())
            content[-1] ^= 0xFF
            file.write_bytes(bytes(content))
