"""Events: the record of an update, with its trigger and its effect."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from clearwatt.clear.gate import Comparison
from clearwatt.strategies import ComponentName

Signal = Literal["reconstruction", "prediction"]

_UNIT = {"autoencoder": "reconstruction", "predictor": "prediction"}


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

    def scaled(self, factor: float) -> UpdateEvent:
        """The same event with thresholds and errors in another unit."""
        names = [field.name for field in fields(self) if "threshold" in field.name]
        names += [field.name for field in fields(self) if "error" in field.name]
        values = {name: getattr(self, name) for name in names}
        held_back = None if self.held_back is None else self.held_back.scaled(factor)
        refusal = None if held_back is None else held_back.refusal
        return replace(
            self,
            held_back=held_back,
            reason=refusal or self.reason,
            **{name: value and value * factor for name, value in values.items()},
        )

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
        novel = _change(self.novelty_error_before, self.novelty_error_after, unit)
        familiar = _change(self.familiarity_error_before, self.familiarity_error_after, unit)
        return (
            f"{why} Trained {self.epochs} epochs with {self.replayed} replayed samples in "
            f"{self.seconds:.2f} s; {error} error on novel samples {novel}, on familiar "
            f"samples {familiar}; "
            f"threshold {self.threshold_before:.4g} to {self.threshold_after:.4g}{unit}; "
            f"{self.retained_bytes / 1e6:.2f} MB of the past retained."
        )


def _change(before: float | None, after: float | None, unit: str) -> str:
    if before is None or after is None:
        return "none seen"
    return f"{before:.4g} to {after:.4g}{unit}"
