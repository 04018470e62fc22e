"""The interface of a forecaster: a learner, and the immutable value that forecasts are made with.

    forecaster = AdaptiveForecaster.fit(x, y, at, day=24)
    changes = forecaster.observe(x, y, at)            # samples, as their measurements become known
    forecast = forecaster.deployed.forecast(x_tomorrow, at_tomorrow)

The service, the experiment, the benchmark and the estimators are written against it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, Self

import numpy.typing as npt

from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.files import load_state, save_state
from clearwatt.packing import Packed
from clearwatt.training.streams import Stream, drive

Name = int | str
"""Name of an entity."""


class Forecast(NamedTuple):
    """Forecasts of `n` steps for `e` entities, in units of power."""

    at: Steps
    """Steps, `n`."""
    power: Float64Array
    """Forecasts, `n x e`."""
    experts: Float64Array
    """Forecasts of the `k` parts they are made of, `n x e x k`; `k` may be 0."""
    day_ahead: Float64Array | None = None
    """Forecasts without what has just been measured, `n x e`; None: they are the same."""
    spread: Float64Array | None = None
    """Usual error as a share of that of `day_ahead`, `n x e`; None: 1."""


class Deployed(ABC):
    """What forecasts are made with at a moment: immutable, small, saved and loaded by itself."""

    names: tuple[Name, ...]
    """Names of the entities, `e`."""
    known: int
    """Last step learned from."""

    @abstractmethod
    def forecast(self, x: npt.ArrayLike, at: npt.ArrayLike) -> Forecast:
        """Forecasts for inputs `n x d` of steps `n`, ascending. A pure function.

        Give the rows from the step after `known` on: inputs may be averaged over the past hours.
        """

    @abstractmethod
    def pack(self) -> Packed:
        """As plain values and tensors."""

    @classmethod
    @abstractmethod
    def unpack(cls, packed: Packed) -> Self:
        """The opposite of `pack`."""


class Event(Protocol):
    """Something that happened to a forecaster, for a person to read."""

    @property
    def entity(self) -> Name | None:
        """The entity that it concerns; None: all."""

    @property
    def step(self) -> int:
        """When it happened, as the forecaster counts steps."""

    @property
    def explanation(self) -> str:
        """What happened, why, and what it changed."""


class Version(Protocol):
    """A trained model of one entity, which can be activated."""

    @property
    def entity(self) -> Name | None:
        """The entity of the model; None: all entities share it."""

    @property
    def number(self) -> int:
        """Number of the training of this model; 0 is the warm-up."""


class Change(Protocol):
    """An event, and the version that resulted from it."""

    @property
    def event(self) -> Event:
        """What happened."""

    @property
    def version(self) -> Version | None:
        """The trained version, in service or waiting for approval; None if there is none."""


class Forecaster(ABC):
    """Learns from samples as they become known, and hands out training jobs."""

    @property
    @abstractmethod
    def names(self) -> tuple[Name, ...]:
        """Names of the entities, `e`."""

    @property
    @abstractmethod
    def deployed(self) -> Deployed:
        """What forecasts are made with now."""

    @abstractmethod
    def learn(
        self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[Change, ...]]:
        """Learn from samples that have become known; yields training jobs.

        Samples may be cut into blocks in any way. Those of a step that has passed are late. A
        stream must be run to its end; see `checkpoint`.

        Args:
            x: Inputs, `n x d`.
            y: Measurements, `n x e`; NaN where there is none.
            at: Steps, `n`, ascending.
        """

    @abstractmethod
    def join(
        self, name: Name, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> Stream[tuple[Change, ...]]:
        """Let another entity join, with the samples of its warm-up: `n x d`, `n`, `n`."""

    @abstractmethod
    def leave(self, name: Name) -> None:
        """Let an entity leave, with everything held of it.

        The other entities, of which there must be one, forecast and learn as before.
        """

    @abstractmethod
    def forget(self, at: npt.ArrayLike, entities: Sequence[Name] | None = None) -> int:
        """Remove the measurements of some steps, of all entities unless some are named.

        Models that learned from them do not change. Returns how many were removed.
        """

    @abstractmethod
    def correct(self, at: int, entity: Name, value: float) -> int:
        """Replace a measurement wherever it is held; returns in how many places."""

    @abstractmethod
    def activate(self, version: Version) -> None:
        """Put a version of one entity into service: a candidate, or an earlier one."""

    @abstractmethod
    def require_approval(self, entity: Name | None = None, *, required: bool = True) -> None:
        """Whether trained versions of an entity (None: of all) wait as candidates from now on."""

    @abstractmethod
    def reject(self, version: Version) -> None:
        """Drop a candidate."""

    @property
    @abstractmethod
    def versions(self) -> tuple[Version, ...]:
        """The versions in service."""

    @property
    @abstractmethod
    def candidates(self) -> tuple[Version, ...]:
        """The versions that wait for approval, the newest of each entity."""

    @property
    @abstractmethod
    def held_samples(self) -> int:
        """Past samples held."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Past samples held at most."""

    @property
    @abstractmethod
    def retained_bytes(self) -> int:
        """Bytes of the past that are held."""

    @abstractmethod
    def checkpoint(self) -> AbstractContextManager[object]:
        """Snapshot of the state; restored if the with-block raises."""

    @abstractmethod
    def pack(self) -> Packed:
        """Everything needed to continue, as plain values and tensors."""

    @classmethod
    @abstractmethod
    def unpack(cls, packed: Packed) -> Self:
        """The opposite of `pack`; it continues as if it had never stopped."""

    @abstractmethod
    def digest(self) -> str:
        """Checksum of the state; forecasters with equal digests continue alike."""

    @property
    @abstractmethod
    def stacked(self) -> bool:
        """Whether jobs that wait together may train together, which rounds differently."""

    def observe(self, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike) -> tuple[Change, ...]:
        """Like `learn`, but train here. All or nothing: a failure leaves the state as it was."""
        with self.checkpoint():
            return drive(self.learn(x, y, at), stacked=self.stacked)

    def add(
        self, name: Name, x: npt.ArrayLike, y: npt.ArrayLike, at: npt.ArrayLike
    ) -> tuple[Change, ...]:
        """Like `join`, but train here. All or nothing."""
        with self.checkpoint():
            return drive(self.join(name, x, y, at), stacked=self.stacked)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything needed to continue into a folder, atomically."""
        save_state(path, *self.pack())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a forecaster; it continues as if it had never stopped."""
        saved = load_state(path)
        return cls.unpack(Packed(saved.values, saved.tensors))
