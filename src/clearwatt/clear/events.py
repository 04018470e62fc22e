"""Events: the record of an update, with its trigger and its effect."""

from __future__ import annotations

from dataclasses import Field, dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

from clearwatt.clear.gate import Comparison
from clearwatt.strategies import ComponentName

Signal = Literal["reconstruction", "prediction"]

_UNIT = {"autoencoder": "reconstruction", "predictor": "prediction"}


class GatedEvent(Protocol):
    """A dataclass that records a training and the gate's result for it."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def reason(self) -> str | None:
        """Why the trained model was not deployed."""

    @property
    def held_back(self) -> Comparison | None:
        """The gate's result."""


@dataclass(frozen=True, slots=True)
class UpdateEvent:
    """One update of one component.

    ``step`` is the number of samples streamed since the warm-up, including the one that triggered
    the update. Errors are means over the samples since the last update, with the model before and
    the trained one. ``reason`` says why that was not deployed, ``held_back`` is the gate's result.
    """

    component: ComponentName
    entity: int | str | None
    step: int
    trigger: Signal
    threshold_before: float
    threshold_after: float
    novel: int
    familiar: int
    replayed: int
    seconds: float
    accepted: bool
    epochs: int
    retained_bytes: int
    recent_novel: int
    recent_readings: int
    novelty_error_before: float | None
    novelty_error_after: float | None
    familiarity_error_before: float | None
    familiarity_error_after: float | None
    reason: str | None = None
    held_back: Comparison | None = None

    def in_unit(self, factor: float) -> UpdateEvent:
        """The same event with thresholds and errors in another unit."""
        return replace(self, **scaled_values(self, factor))

    @property
    def explanation(self) -> str:
        """Why the update happened and what it changed, as text."""
        return self.explain()

    def explain(self, unit: str = "") -> str:
        """The explanation with the unit of errors and thresholds, where they have one."""
        unit = f" {unit}" if unit else ""
        who = self.component if self.entity is None else f"{self.component} of {self.entity}"
        why = (
            f"{who}: after {self.step} samples the {self.trigger} signal had found enough novelty: "
            f"{self.novel} novel and {self.familiar} familiar since the last update, "
            f"{self.recent_novel} of the last {self.recent_readings} readings novel."
        )
        if not self.accepted:
            return (
                f"{why} The trained model was not put into service: {self.reason}. The model in "
                "service and its threshold were kept."
            )
        error = _UNIT[self.component]
        novel = describe_change(self.novelty_error_before, self.novelty_error_after, unit)
        familiar = describe_change(
            self.familiarity_error_before, self.familiarity_error_after, unit
        )
        return (
            f"{why} Trained {self.epochs} epochs with {self.replayed} replayed samples in "
            f"{self.seconds:.2f} s; {error} error on novel samples {novel}, on familiar "
            f"samples {familiar}; "
            f"threshold {self.threshold_before:.4g} to {self.threshold_after:.4g}{unit}; "
            f"{self.retained_bytes / 1e6:.2f} MB of the past retained."
        )


def scaled_values(event: GatedEvent, factor: float) -> dict[str, Any]:
    """Thresholds, errors and the gate's result of an event, in another unit."""
    names = [name for name in event.__dataclass_fields__ if "threshold" in name or "error" in name]
    values = {name: getattr(event, name) for name in names}
    held_back = None if event.held_back is None else event.held_back.in_unit(factor)
    refusal = None if held_back is None else held_back.refusal
    return {
        "held_back": held_back,
        "reason": refusal or event.reason,
        **{name: value and value * factor for name, value in values.items()},
    }


def describe_change(before: float | None, after: float | None, unit: str) -> str:
    """An error before and after training, as text."""
    if before is None or after is None:
        return "none seen"
    return f"{before:.4g} to {after:.4g}{unit}"
