"""What a zone learns with: the interface of its models, and the records of what they did."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from clearwatt.arrays import BoolArray, Float32Array, Float64Array
from clearwatt.files import SavedState
from clearwatt.packing import Packed
from clearwatt.service.learner.apply.errors_by_lead import LeadRows
from clearwatt.service.learner.apply.intervals import ZoneIntervals
from clearwatt.service.settings import ZoneSettings
from clearwatt.service.status import ComponentStatus
from clearwatt.service.times import Times
from clearwatt.strategies import ComponentName
from clearwatt.training.streams import Stream

ChangeKind = Literal["update", "awaiting", "refused", "trust", "change", "standstill"]


class PowerUnit(NamedTuple):
    """The power of an entity that is scaled to 1, and the name of its unit."""

    size: float
    name: str


PowerUnits = Mapping[str, PowerUnit]
"""The unit of each entity."""


ValidationErrors = dict[str, float | None]
"""The error of each entity's first model on samples it was not trained on, where there are some."""


class WarmUpSamples(NamedTuple):
    """Samples of a warm-up: times (n), inputs (n x d), scaled power (n x entities).

    ``columns`` are the names of the inputs, ``limits`` the lowest and highest power of each entity.
    """

    times: Times
    x: Float32Array
    y: Float32Array
    columns: Sequence[str]
    limits: Sequence[tuple[float, float]]


class OpenRows(NamedTuple):
    """Rows that are not closed: times (n), inputs (n x d), scaled power (n x entities).

    ``targets`` is NaN where there is no reading, or none that passes the checks so far.
    """

    times: Times
    x: Float32Array
    targets: Float32Array


class RowBlock(NamedTuple):
    """Closed rows (n) of a zone, in order of time.

    ``known`` and ``targets`` are scaled power (n x entities), NaN where there is none: ``targets``
    is what may be learned, ``known`` has the readings of held entities, too. ``readings`` is in the
    unit of power. Without weather (``covered``, n) a row has no inputs. ``learns`` is False while
    the whole zone is held. ``known_after`` is the reporting delay in seconds, whole steps of it.
    """

    times: Times
    x: Float32Array
    covered: BoolArray
    known: Float32Array
    targets: Float32Array
    readings: Float32Array
    learns: bool = True
    known_after: int = 0


class LateBlock(NamedTuple):
    """Readings of closed rows: scaled power (n x entities), NaN where there is none.

    ``moment`` is the time of the last closed row.
    """

    times: Times
    x: Float32Array
    targets: Float32Array
    moment: int


class LiveRows(NamedTuple):
    """Rows (n) with the forecasts made for them (scaled, n x entities) and their input error.

    ``leads`` has the forecasts by lead of the days that ended with these rows, if there are any.
    """

    times: Times
    forecasts: Float64Array
    input_errors: Float32Array
    readings: Float32Array
    leads: LeadRows | None = None


class TrainedVersion(NamedTuple):
    """A trained model; ``key`` is "predictor:ENTITY" or "autoencoder:ZONE"."""

    key: str
    component: ComponentName
    entity: str | None
    number: int
    threshold: float
    content: Packed

    @property
    def id(self) -> str:
        """Its id in the store."""
        return f"{self.key}:{self.number}"


class ModelChange(NamedTuple):
    """A change of the models: its event, and its new version."""

    kind: ChangeKind
    identity: str
    """What the event's key is made of: unique and derived from the stream."""
    key: str
    entity: str | None
    time: int
    message: str
    details: Mapping[str, Any]
    version: TrainedVersion | None = None


class LearningResult(NamedTuple):
    """Result of learning from rows: forecasts that were compared, and changes of models."""

    live: tuple[LiveRows, ...] = ()
    changes: tuple[ModelChange, ...] = ()


class ModelSnapshot(NamedTuple):
    """What web processes need besides the versions; ``base`` is None if it is as before."""

    revision: int
    base: bytes | None
    rows: bytes


class ZoneModels(ABC):
    """The models of a zone's entities, which are columns in the order they joined."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Number of rows learned from since the warm-up."""

    @property
    @abstractmethod
    def retained_bytes(self) -> int:
        """Bytes of the past that are held."""

    @property
    @abstractmethod
    def rows_at_once(self) -> int:
        """Maximum number of rows to learn from in one call."""

    @abstractmethod
    def join(
        self, names: Sequence[str], samples: WarmUpSamples, intervals: ZoneIntervals
    ) -> Stream[ValidationErrors]:
        """Add entities with their warm-up."""

    @abstractmethod
    def leave(self, name: str) -> None:
        """Remove an entity, which is not the only one."""

    @abstractmethod
    def learn(
        self, rows: RowBlock, intervals: ZoneIntervals, units: PowerUnits
    ) -> Stream[LearningResult]:
        """Learn from closed rows."""

    @abstractmethod
    def learn_late(
        self, late: LateBlock, intervals: ZoneIntervals, units: PowerUnits
    ) -> Stream[LearningResult]:
        """Learn from readings of closed rows."""

    @abstractmethod
    def was_learned(self, times: Times) -> BoolArray:
        """Which times (n) are known to have been learned from already."""

    @abstractmethod
    def correct(self, time: int, name: str, value: float) -> None:
        """Replace a scaled reading; NaN removes it."""

    @abstractmethod
    def forget(self, names: Sequence[str] | None, start: int, end: int) -> tuple[int, Times]:
        """Forget samples with start <= time < end, of all entities unless some are named.

        Returns how many samples were held, and the times concerned.
        """

    @abstractmethod
    def note_day(self, time: int) -> None:
        """A day begins: keep what `restore` needs to go back to this moment."""

    @abstractmethod
    def restore(self, name: str, time: int) -> None:
        """Go back to what was learned of an entity before a time, versions and samples aside."""

    def goes_back(self, name: str, time: int) -> bool:
        """Whether `restore` can go back to before a time."""
        return False

    def retrain(
        self, name: str, before: SavedState | None, units: PowerUnits
    ) -> Stream[tuple[ModelChange, ...]]:
        """Train an entity's model without samples that were excluded; see `exclusions`.

        Args:
            name: The entity.
            before: A version that has not learned them; None: there is none.
            units: The unit of each entity.
        """
        yield from ()
        return ()

    @abstractmethod
    def first_versions(self, units: PowerUnits) -> list[TrainedVersion]:
        """The models in service, as versions."""

    @abstractmethod
    def activate(self, key: str, saved: SavedState, intervals: ZoneIntervals) -> None:
        """Put a stored version of a component into service."""

    @abstractmethod
    def candidate(self, key: str) -> int | None:
        """The number of the version of a component that waits for approval."""

    @abstractmethod
    def drop_candidate(self, key: str) -> None:
        """Drop the version of a component that waits for approval."""

    @abstractmethod
    def require_approval(self, name: str | None, *, required: bool) -> None:
        """Whether new versions of an entity (None: of all) wait for approval."""

    @abstractmethod
    def has_component(self, key: str) -> bool:
        """Whether there is a component with this key."""

    @abstractmethod
    def change_settings(self, settings: ZoneSettings) -> None:
        """Learn with other settings from now on."""

    def standing_since(self, name: str) -> int | None:
        """Time since which an entity stands still; None: it runs, or that is not known."""
        return None

    @abstractmethod
    def entity_status(self, name: str, unit: PowerUnit) -> ComponentStatus:
        """Threshold, buffers and updates of an entity's model."""

    @abstractmethod
    def input_status(self) -> ComponentStatus:
        """Threshold, buffers and updates of what detects novel inputs."""

    @abstractmethod
    def encoder_key(self, name: str) -> str | None:
        """The key of the autoencoder of an entity; None without one."""

    @property
    @abstractmethod
    def revision(self) -> int | None:
        """Number that changes with what is published beside the versions; None: nothing is."""

    @abstractmethod
    def new_snapshot(self) -> ModelSnapshot | None:
        """What to publish beside the versions, if it has changed since the last call."""

    def find_latest(self, read: Callable[[], OpenRows | None]) -> bytes | None:
        """What open rows change in forecasts; None: nothing, forecasts do not depend on them.

        Args:
            read: Returns the open rows; only called if they are needed.
        """
        return None

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the models below a folder."""

    @abstractmethod
    def digest(self) -> str:
        """Checksum of the state."""
