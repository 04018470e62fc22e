"""The defaults, chosen on real data; docs/defaults.md says how."""

from __future__ import annotations

from dataclasses import dataclass, field

from clearwatt.adaptive.clock import HOURS_OF_DAY, Clock
from clearwatt.adaptive.terms import TERM_SETS, TermSet
from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.training.fleet import Training


@dataclass(frozen=True)
class Group:
    """Networks of one kind.

    Args:
        half_life: Days after which a sample counts half in an update; None: all count alike.
        season: Whether they see the time of year. Before a year has been seen it can mislead them,
            so only some should; after that it helps.
    """

    half_life: float | None = None
    season: bool = False

    def __post_init__(self) -> None:
        if self.half_life is not None and not 0 < self.half_life < float("inf"):
            raise ConfigurationError(f"half_life is {self.half_life}; it must be positive or None")

    @property
    def name(self) -> str:
        """For tables."""
        memory = "" if self.half_life is None else f", {self.half_life:g} d"
        return f"networks{memory}{', season' if self.season else ''}"


@dataclass(frozen=True)
class Slow:
    """The networks that learn once a week.

    Args:
        width: Neurons per hidden layer.
        layers: Hidden layers.
        dropout: Share of hidden neurons left out for a training sample.
        members: Networks per group.
        groups: The kinds of networks, each an expert of its own.
        decay: Share of every weight that is lost before an update.
        every: Days from one update to the next.
        windows: Hours over which past weather is averaged.
        warm_up: How the warm-up trains.
        update: How an update trains.
    """

    width: int = 32
    layers: int = 2
    dropout: float = 0.1
    members: int = 3
    groups: tuple[Group, ...] = (Group(), Group(half_life=60.0), Group(season=True))
    decay: float = 0.015
    every: int = 7
    windows: tuple[int, ...] = (3, 24)
    warm_up: Training = field(default_factory=lambda: Training(epochs=40, patience=None))
    update: Training = field(default_factory=lambda: Training(epochs=3, patience=None))

    def __post_init__(self) -> None:
        require_whole(members=self.members, every=self.every)
        if not self.groups:
            raise ConfigurationError("there are no groups; give at least one kind of network")
        if not 0 <= self.decay < 1:
            raise ConfigurationError(f"decay is {self.decay}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class Speed:
    """One correction of the slow forecast.

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


@dataclass(frozen=True)
class Fast:
    """The corrections that learn several times a day, and the weighing of all experts.

    Args:
        speeds: The corrections.
        ridge: Samples' worth of belief that there is nothing to correct.
        every: Hours from one solution to the next.
        trust: Days after which an error counts half in the weighing.
        caution: Samples' worth of belief that all experts are equally good.
    """

    speeds: tuple[Speed, ...] = (
        Speed("level", 3.0),
        Speed("calendar", 3.0),
        Speed("errors", 10.0),
        Speed("errors", 40.0),
        Speed("lags", 10.0),
        Speed("lags", 40.0),
        Speed("all", 40.0),
    )
    ridge: float = 5.0
    every: int = 6
    trust: float = 60.0
    caution: float = 5.0

    def __post_init__(self) -> None:
        require_whole(every=self.every)
        for name in ("ridge", "trust", "caution"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigurationError(f"{name} is {getattr(self, name)}; it must be positive")
        if not self.speeds:
            raise ConfigurationError("there are no speeds; give at least one correction")


@dataclass(frozen=True)
class Settings:
    """How an adaptive forecaster learns.

    Args:
        memory: Past samples held at most, those of the last days included.
        recency: Days offered to the reservoir until the chance to be still held is 1/e.
        slow: The networks.
        fast: The corrections and the weighing.
    """

    memory: int = 3_000
    recency: float = 365.0
    slow: Slow = field(default_factory=Slow)
    fast: Fast = field(default_factory=Fast)

    def __post_init__(self) -> None:
        require_whole(memory=self.memory)
        if not self.recency > 0:
            raise ConfigurationError(f"recency is {self.recency}; it must be above 0")

    def clock(self, day: int, delay: int | None) -> Clock:
        """Lengths of time in steps of a clock with `day` steps a day; a delay of None is a day."""
        refresh = max(1, self.fast.every * day // HOURS_OF_DAY)
        clock = Clock(day, day if delay is None else delay, refresh, update=self.slow.every * day)
        if clock.journal >= self.memory:
            raise ConfigurationError(
                f"memory is {self.memory} samples, but the last days alone take {clock.journal}; "
                "give more memory or coarser steps"
            )
        return clock
