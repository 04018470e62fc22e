"""The models of a zone over any forecaster: what does not depend on its kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.clock import Steps
from clearwatt.forecaster import Forecaster, Version
from clearwatt.packing import Packed
from clearwatt.service.learner.apply.zone_models import (
    ChangeKind,
    PowerUnits,
    TrainedVersion,
    ZoneModels,
)
from clearwatt.service.times import Times
from clearwatt.strategies import ComponentName

F = TypeVar("F", bound=Forecaster)


class ForecasterModels(ZoneModels, Generic[F]):
    """A forecaster on the clock of a zone: a step is a time in units of its step.

    Args:
        forecaster: The forecaster.
        step: Seconds of a step.
    """

    def __init__(self, forecaster: F, step: int) -> None:
        self.forecaster, self.step = forecaster, step

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past that are held."""
        return self.forecaster.retained_bytes

    def was_learned(self, times: Times) -> BoolArray:
        """Which times (n) are known to have been learned from; none by default."""
        return np.zeros(len(times), np.bool_)

    def correct(self, time: int, name: str, value: float) -> None:
        """Replace a scaled reading; NaN removes it."""
        at = time // self.step
        if np.isfinite(value):
            self.forecaster.correct(at, name, value)
        else:
            self.forecaster.forget([at], [name])
        self._count_change()

    def forget(self, names: Sequence[str] | None, start: int, end: int) -> tuple[int, Times]:
        """Forget samples with start <= time < end; see `ZoneModels.forget`."""
        learned = self._learned_steps
        first, last = (
            max(-(-start // self.step), learned.start),
            min(-(-end // self.step), learned.stop),
        )
        at: Steps = np.arange(first, max(first, last), dtype=np.int64)
        count = self.forecaster.forget(at, names)
        self._count_change()
        return count, at * self.step

    def leave(self, name: str) -> None:
        """Remove an entity, which is not the only one."""
        self.forecaster.leave(name)
        self._count_change()

    def first_versions(self, units: PowerUnits) -> list[TrainedVersion]:
        """The models in service, as versions."""
        return [self._trained(version, units) for version in self.forecaster.versions]

    def candidate(self, key: str) -> int | None:
        """The number of the version of a component that waits for approval."""
        version = self._candidate(key)
        return None if version is None else version.number

    def drop_candidate(self, key: str) -> None:
        """Drop the version of a component that waits for approval."""
        version = self._candidate(key)
        if version is not None:
            self.forecaster.reject(version)

    def require_approval(self, name: str | None, *, required: bool) -> None:
        """Whether new versions of an entity (None: of all) wait for approval."""
        self.forecaster.require_approval(name, required=required)

    def has_component(self, key: str) -> bool:
        """Whether there is a component with this key."""
        return any(self._key(version) == key for version in self.forecaster.versions)

    def digest(self) -> str:
        """Checksum of the forecaster."""
        return self.forecaster.digest()

    @property
    @abstractmethod
    def _learned_steps(self) -> range:
        """From the first step of the warm-up to the last one learned from."""

    @abstractmethod
    def _key(self, version: Version) -> str:
        """The key of the component that a version belongs to, unique across zones."""

    @abstractmethod
    def _component(self, version: Version) -> ComponentName:
        """The kind of component that a version belongs to."""

    @abstractmethod
    def _threshold(self, version: Version, units: PowerUnits) -> float:
        """The error above which a sample is novel to a version, in the unit of its errors."""

    @abstractmethod
    def _content(self, version: Version) -> Packed:
        """A version as it is stored."""

    def _count_change(self) -> None:
        """Called when something else than rows has changed."""

    def _candidate(self, key: str) -> Version | None:
        waiting = (version for version in self.forecaster.candidates if self._key(version) == key)
        return next(waiting, None)

    def _trained(self, version: Version, units: PowerUnits) -> TrainedVersion:
        return TrainedVersion(
            key=self._key(version),
            component=self._component(version),
            entity=None if version.entity is None else str(version.entity),
            number=version.number,
            threshold=self._threshold(version, units),
            content=self._content(version),
        )


def change_kind(version: Version | None, *, accepted: bool) -> ChangeKind:
    """What happened to a trained model: it serves, it waits for approval, or it was refused."""
    if accepted:
        return "update"
    return "refused" if version is None else "awaiting"
