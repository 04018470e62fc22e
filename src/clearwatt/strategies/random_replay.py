"""Random Replay: a uniform draw from all past samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clearwatt.memory import Policy
from clearwatt.strategies.base import Access
from clearwatt.strategies.replay import RealReplay


@dataclass(frozen=True)
class RandomReplay(RealReplay):
    """Algorithm 1: a uniform draw, without replacement, from all data before the last update.

    A fixed budget over a growing history keeps the trends of all seasons and loses short
    fluctuations. It needs the whole history.
    """

    policy: ClassVar[Policy] = "random"
    access: ClassVar[Access] = Access.ALL
