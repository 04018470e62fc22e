"""Events of the adaptive forecaster: updates of networks, shifts of trust."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from clearwatt.adaptive.change_events import (
    Moment,
    PastLeftOut,
    PastRescaled,
    Standstill,
    step_number,
)
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.clear.events import describe_change, scaled_values
from clearwatt.clear.gate import Comparison
from clearwatt.forecaster import Name

Trigger = Literal["novelty", "age", "change", "exclusion", "return", "backcast"]


@dataclass(frozen=True, slots=True)
class NetworkUpdate:
    """One training of the networks of one entity.

    Errors and thresholds are means of absolute errors, in units of power. `since` is the step of
    the update before. Errors before and after are on the samples since then. `held_back`
    is the gate's comparison, on the samples that were held back from training.
    """

    entity: Name
    step: int
    number: int
    trigger: Trigger
    since: int
    samples: int
    novel: int
    novel_inputs: float
    threshold_before: float
    threshold_after: float
    novel_error_before: float | None
    novel_error_after: float | None
    familiar_error_before: float | None
    familiar_error_after: float | None
    trained_on: int
    epochs: int
    accepted: bool
    reason: str | None = None
    held_back: Comparison | None = None

    @property
    def explanation(self) -> str:
        """Why the update happened and what it changed."""
        return self.explain()

    def explain(self, unit: str = "", moment: Moment = step_number) -> str:
        """The explanation with the unit of power; `moment` writes the steps."""
        unit, since = f" {unit}" if unit else "", moment(self.since)
        why = {
            "novelty": f"the networks' error was above {self.threshold_before:.4g}{unit} for "
            f"{self.novel} of {self.samples} samples since {since}",
            "age": f"the networks were last updated at {since}",
            "change": f"{self.entity} has changed, and there are {self.samples} samples "
            f"since {since}",
            "return": "there are readings again after a long silence",
            "backcast": "its readings from before it joined were reconstructed from other entities",
            "exclusion": "samples that the networks were trained on were excluded",
        }[self.trigger]
        first = (
            f"{self.entity}: {why}; {100 * self.novel_inputs:.0f} % of the inputs since then were "
            "unlike what was held."
        )
        if not self.accepted:
            return f"{first} The trained networks were not put into service: {self.reason}."
        novel = describe_change(self.novel_error_before, self.novel_error_after, unit)
        familiar = describe_change(self.familiar_error_before, self.familiar_error_after, unit)
        return (
            f"{first} Trained {self.epochs} epochs on {self.trained_on} held samples: error on "
            f"novel samples {novel}, on familiar samples {familiar}; "
            f"threshold {self.threshold_before:.4g} to {self.threshold_after:.4g}{unit}."
        )

    def in_unit(self, factor: float) -> NetworkUpdate:
        """The same event with errors and thresholds in another unit."""
        return replace(self, **scaled_values(self, factor))


@dataclass(frozen=True, slots=True)
class EntityJoined:
    """An entity joined the zone; its networks were trained on the samples of its warm-up."""

    entity: Name
    step: int
    samples: int

    @property
    def explanation(self) -> str:
        """What happened."""
        return f"{self.entity} joined: its networks were trained on {self.samples} samples."


@dataclass(frozen=True, slots=True)
class TrustShift:
    """Another kind of expert is trusted most.

    `bias` is the mean error (forecast less measured) of the networks over `hours`, as a share of
    the mean measurement of these hours in the last days. Hours count from the clock's step 0.
    """

    entity: Name
    step: int
    expert: str
    weight: float
    before: str
    bias: float | None
    hours: tuple[float, float] | None

    @property
    def explanation(self) -> str:
        """Which expert is trusted now, and why."""
        return self.explain()

    def explain(self, moment: Moment = step_number) -> str:
        """The explanation; `moment` writes the steps."""
        share = f"{100 * self.weight:.0f} %"
        text = (
            f"{self.entity}: since {moment(self.step)} most trust ({share}) is in {self.expert}, "
            f"before in {self.before}"
        )
        if self.bias is None or self.hours is None:
            return f"{text}."
        way = "high" if self.bias > 0 else "low"
        return (
            f"{text}: in the last days the networks have been {100 * abs(self.bias):.0f} % too "
            f"{way} from {self.hours[0]:g} h to {self.hours[1]:g} h."
        )


class NetworkChange(NamedTuple):
    """An event, and the networks that resulted from it, if any."""

    event: NetworkUpdate | EntityJoined | TrustShift | PastRescaled | PastLeftOut | Standstill
    version: NetworkVersion | None
