"""Suspicion: meters that report something else than the power of their entity."""

from clearwatt.data.suspicion.lies import Lie, explain
from clearwatt.data.suspicion.watch import MeterWatch, Verdict

__all__ = ["Lie", "MeterWatch", "Verdict", "explain"]
