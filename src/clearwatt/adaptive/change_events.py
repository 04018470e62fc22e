"""Events of entities that change: a past that was rescaled or left out, standstills."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from clearwatt.adaptive.breaks import EVERY_DAY
from clearwatt.clear.promotion import AWAITING
from clearwatt.forecaster import Name

Moment = Callable[[int], str]
"""Writes a step as text."""


def step_number(step: int) -> str:
    """A step as text, without a clock."""
    return f"step {step}"


@dataclass(frozen=True, slots=True)
class PastRescaled:
    """Readings have become a multiple of what the same weather gave before.

    Errors are means of absolute errors of the networks since `since`, in units of power, without
    and with the factor. `number` is that of the version that takes the change into account;
    activating the one before undoes it. `returned`: the entity has had the new level before.
    `days` are the days of the week concerned, counted from the clock's step 0.
    """

    entity: Name
    step: int
    since: int
    factor: float
    error_before: float
    error_after: float
    number: int
    accepted: bool = True
    reason: str | None = None
    returned: bool = False
    days: tuple[int, ...] = EVERY_DAY

    @property
    def explanation(self) -> str:
        """What has changed, and what was done."""
        return self.explain()

    def explain(self, unit: str = "", moment: Moment = step_number) -> str:
        """The explanation with the unit of power; `moment` writes the steps."""
        unit = f" {unit}" if unit else ""
        back = "are back at a level of before, " if self.returned else "are "
        first = (
            f"{self.entity}: since {moment(self.since)} readings {self._which}{back}"
            f"{self.factor:.3g} times what the same weather gave before"
        )
        errors = f"{self.error_before:.4g} to {self.error_after:.4g}{unit}"
        if not self.accepted:
            return (
                f"{first}. Rescaling the past would change the error since then from {errors}; "
                f"it was not done: {self.reason}."
            )
        return (
            f"{first}: the past was rescaled. Error since then {errors}. Activate the version "
            f"before {self.number} to undo it."
        )

    @property
    def _which(self) -> str:
        """Which readings are meant; nothing: all."""
        if self.days == EVERY_DAY:
            return ""
        count = len(self.days)
        return "of this day of the week " if count == 1 else f"of these {count} days of the week "

    def in_unit(self, factor: float) -> PastRescaled:
        """The same event with errors in another unit."""
        return replace(
            self,
            error_before=self.error_before * factor,
            error_after=self.error_after * factor,
        )


@dataclass(frozen=True, slots=True)
class PastLeftOut:
    """Readings contradict those before; these are held but not trained on any more.

    `weekdays` are the days of the week concerned, counted from the clock's step 0; all seven: the
    whole past. `error_before` is the mean absolute error of the networks since `since`, in units of
    power; None: not known. The update that follows says what it is afterwards.
    """

    entity: Name
    step: int
    since: int
    weekdays: tuple[int, ...]
    reason: str
    number: int
    error_before: float | None = None
    accepted: bool = True

    @property
    def explanation(self) -> str:
        """What has changed, and what was done."""
        return self.explain()

    def explain(self, unit: str = "", moment: Moment = step_number) -> str:
        """The explanation with the unit of power; `moment` writes the steps."""
        unit = f" {unit}" if unit else ""
        error = (
            "" if self.error_before is None else f" Error since then {self.error_before:.4g}{unit}."
        )
        first = f"{self.entity}: since {moment(self.since)} {self.reason}"
        if not self.accepted:
            return f"{first}.{error} Training without the samples before was not done: {AWAITING}."
        return (
            f"{first}: samples before are not trained on any more.{error} Activate the version "
            f"before {self.number} to undo it."
        )

    def in_unit(self, factor: float) -> PastLeftOut:
        """The same event with its error in another unit."""
        error = None if self.error_before is None else self.error_before * factor
        return replace(self, error_before=error)


@dataclass(frozen=True, slots=True)
class Standstill:
    """An entity stands still although forecasts say otherwise, or runs again."""

    entity: Name
    step: int
    since: int
    ended: bool

    @property
    def explanation(self) -> str:
        """What happened, and what is forecast."""
        return self.explain()

    def explain(self, moment: Moment = step_number) -> str:
        """The explanation; `moment` writes the steps."""
        if self.ended:
            return (
                f"{self.entity} runs again since {moment(self.step)}, after a standstill since "
                f"{moment(self.since)}: the model from before it forecasts."
            )
        return (
            f"{self.entity} stands still since {moment(self.since)} although power was forecast: "
            "it learns nothing until it runs again, and no power is forecast meanwhile."
        )
