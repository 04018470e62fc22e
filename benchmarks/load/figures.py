"""Measured figures and their goals."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal

Bound = Literal["at least", "at most"]


@dataclass(frozen=True)
class Figure:
    """A value with its unit and, if there is one, its goal."""

    name: str
    value: float
    unit: str = ""
    goal: float | None = None
    bound: Bound = "at least"

    @property
    def reached(self) -> bool | None:
        """Whether the value reaches its goal; None without one."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.bound == "at least" else self.value <= self.goal

    @property
    def wanted(self) -> str:
        """The goal as text."""
        if self.goal is None:
            return ""
        sign = "≥" if self.bound == "at least" else "≤"
        return f"{sign} {self.goal:,.10g} {'reached' if self.reached else 'MISSED'}"


@dataclass(frozen=True)
class Part:
    """One measurement: its figures, and the peak memory (bytes) of each process it ran."""

    name: str
    figures: tuple[Figure, ...]
    memory: dict[str, int]


def print_progress(what: str) -> None:
    """Print progress to stderr."""
    print(what, file=sys.stderr, flush=True)
