"""Settings of the adaptive forecaster; docs/defaults.md says how the defaults were chosen."""

from __future__ import annotations

from dataclasses import dataclass, field

from clearwatt.adaptive.schedule import Schedule
from clearwatt.adaptive.terms import TERM_SETS, TermSet
from clearwatt.clear.gate import Gate
from clearwatt.clock import DAYS_PER_WEEK, HOURS_PER_DAY, Clock
from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.packing import ADDED
from clearwatt.training.fleet import Training

WARM_UP = Training(epochs=40, patience=None, batch=128, learning_rate=1.4e-3)
UPDATE = Training(epochs=1, patience=None, batch=192, learning_rate=3e-3)
"""One pass with a large step: the same error as three with smaller ones, in a third of the time."""


MEMORY_DAYS = 125
"""Days of samples held by default: 3,000 hours, 12,000 quarter hours."""
LEAST_SAMPLES, MOST_SAMPLES = 3_000, 12_000
"""Limits of the samples held by default."""
MOST_VALUES = 300_000
"""Measurements held by default in a zone with many entities."""

SAME_HOUR = "same hour"
"""Expert: the measurement at the same time of the last known day."""


@dataclass(frozen=True)
class NetworkGroup:
    """Networks of one kind.

    Args:
        half_life: Days after which a sample counts half in an update; None: all count alike.
        season: Whether they see the time of year. Before a year has been seen it can mislead them,
            so only some should; after that it helps.
        lags: Whether they see the measurements at the same hour of the last known day and week.
            Such networks are experts of their own, and not part of the networks' mean forecast.
        neighbours: Whether they see the weather of neighbouring zones, where it is an input.
    """

    half_life: float | None = None
    season: bool = False
    lags: bool = False
    neighbours: bool = False

    def __post_init__(self) -> None:
        if self.half_life is not None and not 0 < self.half_life < float("inf"):
            raise ConfigurationError(f"half_life is {self.half_life}; it must be positive or None")

    @property
    def name(self) -> str:
        """Name in tables."""
        memory = "" if self.half_life is None else f", {self.half_life:g} d"
        words = {"season": self.season, "lags": self.lags, "neighbours": self.neighbours}
        seen = "".join(f", {word}" for word, shown in words.items() if shown)
        return f"networks{memory}{seen}"


@dataclass(frozen=True)
class NetworkSettings:
    """The networks and how they train.

    Args:
        width: Neurons per hidden layer.
        layers: Hidden layers.
        dropout: Share of hidden neurons left out for a training sample.
        members: Networks per group.
        groups: The kinds of networks, each an expert of its own.
        decay: Share of every weight that is lost before an update.
        windows: Hours over which past weather is averaged.
        warm_up: How the warm-up trains; its batch is that of hourly steps, with shorter ones it is
            larger in proportion.
        update: How an update trains; its batch likewise.
        enough: Hourly samples, or as many days of shorter steps, from which on networks that see
            the time of year forecast alone. With fewer, a kernel regression takes their place
            (`clearwatt.adaptive.kernel_regression`); None: never.
    """

    width: int = 32
    layers: int = 2
    dropout: float = 0.1
    members: int = 3
    groups: tuple[NetworkGroup, ...] = (
        NetworkGroup(half_life=60.0),
        NetworkGroup(season=True),
        NetworkGroup(lags=True, neighbours=True),
    )
    decay: float = 0.015
    windows: tuple[int, ...] = (3, 24)
    warm_up: Training = WARM_UP
    update: Training = UPDATE
    enough: int | None = field(default=1_800, metadata=ADDED)

    def __post_init__(self) -> None:
        require_whole(members=self.members)
        if self.enough is not None:
            require_whole(enough=self.enough)
        if not self.groups:
            raise ConfigurationError("there are no groups; give at least one kind of network")
        if all(group.lags for group in self.groups):
            raise ConfigurationError(
                "all groups see lags; give at least one that does not, to be corrected"
            )
        if not 0 <= self.decay < 1:
            raise ConfigurationError(f"decay is {self.decay}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class NoveltySettings:
    """When networks are updated.

    Args:
        alpha: A sample is novel if its error exceeds alpha times the mean error on what is held.
        capacity: Days' worth of novel samples of an entity that make an update due; None: novelty
            makes none due.
        oldest: Days after which an update is due in any case; None: never.
    """

    alpha: float = 1.3
    capacity: float | None = 4.0
    oldest: float | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "capacity", "oldest"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ConfigurationError(f"{name} is {value}; it must be positive")


@dataclass(frozen=True)
class Correction:
    """One correction of the networks' forecast.

    Args:
        terms: What it explains residuals with; see `clearwatt.adaptive.terms`.
        half_life: Days after which a sample counts half.
    """

    terms: TermSet
    half_life: float

    def __post_init__(self) -> None:
        if self.terms not in TERM_SETS:
            raise ConfigurationError(
                f"terms are {self.terms!r}; choose one of {', '.join(TERM_SETS)}"
            )
        if not 0 < self.half_life < float("inf"):
            raise ConfigurationError(f"half_life is {self.half_life}; it must be positive")

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.terms}, {self.half_life:g} d"


@dataclass(frozen=True)
class FastSettings:
    """The corrections and the trust in all experts, which adapt several times a day.

    Args:
        corrections: The corrections, each an expert of its own.
        ridge: Prior belief that there is nothing to correct, in samples.
        every: Hours from one solution to the next.
        trust: Days after which an error counts half in the weighing.
        caution: Prior belief that all experts are equally good, in samples.
        jump: Usual errors of the mixture. If all readings between two solutions are further than
            this from it, on one side, the last known day is forecast; None: never.
    """

    corrections: tuple[Correction, ...] = (
        Correction("level", 3.0),
        Correction("calendar", 3.0),
        Correction("errors", 10.0),
        Correction("errors", 40.0),
        Correction("lags", 10.0),
        Correction("lags", 40.0),
        Correction("all", 40.0),
    )
    ridge: float = 5.0
    every: int = 6
    trust: float = 60.0
    caution: float = 5.0
    jump: float | None = 6.0

    def __post_init__(self) -> None:
        require_whole(every=self.every)
        for name in ("ridge", "trust", "caution"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigurationError(f"{name} is {getattr(self, name)}; it must be positive")
        if self.jump is not None and not 0 < self.jump < float("inf"):
            raise ConfigurationError(f"jump is {self.jump}; it must be positive or None")
        if not self.corrections:
            raise ConfigurationError("there are no corrections; give at least one")


@dataclass(frozen=True)
class LeadSettings:
    """How corrections by lead are learned; see `clearwatt.adaptive.lead_corrections`.

    Args:
        half_life: Days after which a sample counts half.
        ridge: Prior belief that there is nothing to correct, in samples.
        caution: Prior belief that corrections are worthless, in squared deviations.
    """

    half_life: float = 90.0
    ridge: float = 5.0
    caution: float = 0.05

    def __post_init__(self) -> None:
        for name in ("half_life", "ridge", "caution"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigurationError(f"{name} is {getattr(self, name)}; it must be positive")


@dataclass(frozen=True)
class ChangeSettings:
    """When readings count as a change of the entity, after which its past is wrong.

    Args:
        least_factor: Smallest change of level that is taken for one, up or down.
        days: Days that a change must have lasted.
        still_days: Days without power, while forecasts say otherwise, that are a standstill.
    """

    least_factor: float = 2.0
    days: float = 3.0
    still_days: float = 2.0

    def __post_init__(self) -> None:
        if not 1 < self.least_factor < float("inf"):
            raise ConfigurationError(f"least_factor is {self.least_factor}; it must be above 1")
        for name in ("days", "still_days"):
            if not 1 <= getattr(self, name) <= DAYS_PER_WEEK:
                raise ConfigurationError(
                    f"{name} is {getattr(self, name)}; the last week is held, so it must be "
                    "between 1 and 7"
                )


@dataclass(frozen=True)
class AdaptiveSettings:
    """How an adaptive forecaster learns.

    Args:
        memory: Past samples held at most, those of the last days included; None: as
            `memory_for` says.
        recency: Days offered to the reservoir until the chance to be still held is 1/e.
        networks: The networks.
        novelty: When the networks are updated.
        fast: The corrections and the trust.
        gate: Comparison that an update must pass to be put into service; None: no comparison.
        leads: The corrections by lead.
        changes: When the past of an entity is found to be wrong; None: never.
        backcast: Whether networks of an entity that joins a running zone without history learn its
            past as other entities tell it.
    """

    memory: int | None = None
    recency: float = 365.0
    networks: NetworkSettings = field(default_factory=NetworkSettings)
    novelty: NoveltySettings = field(default_factory=NoveltySettings)
    fast: FastSettings = field(default_factory=FastSettings)
    gate: Gate | None = None
    leads: LeadSettings = field(default_factory=LeadSettings)
    changes: ChangeSettings | None = field(default_factory=ChangeSettings)
    backcast: bool = field(default=True, metadata=ADDED)

    def __post_init__(self) -> None:
        if self.memory is not None:
            require_whole(memory=self.memory)
        if not self.recency > 0:
            raise ConfigurationError(f"recency is {self.recency}; it must be above 0")

    def schedule(self, day: int, delay: int | None) -> Schedule:
        """When the parts learn, on a clock with `day` steps a day; a delay of None is a day."""
        refresh = max(1, self.fast.every * day // HOURS_PER_DAY)
        return Schedule(Clock(day, day if delay is None else delay), refresh)

    def memory_for(self, schedule: Schedule, entities: int) -> int:
        """Past samples held at most by a forecaster of so many entities.

        By default the samples of `MEMORY_DAYS` days, within limits for short and long steps. In a
        large zone they are fewer, because each sample holds a value of every entity.
        """
        recent = schedule.recent_steps
        if self.memory is None:
            wanted = min(
                MEMORY_DAYS * schedule.clock.day, MOST_SAMPLES, MOST_VALUES // max(1, entities)
            )
            return max(wanted, LEAST_SAMPLES, 2 * recent)
        if recent >= self.memory:
            raise ConfigurationError(
                f"memory is {self.memory} samples, but the last days alone take {recent}; "
                "give more memory or coarser steps"
            )
        return self.memory

    @property
    def experts(self) -> tuple[str, ...]:
        """Names of the experts, `k`."""
        return (
            *(group.name for group in self.networks.groups),
            *(correction.name for correction in self.fast.corrections),
            SAME_HOUR,
            "same weekday",
        )
