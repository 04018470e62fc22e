"""Random Replay: every sample of the past is equally likely to be seen again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clearwatt.memory import Policy
from clearwatt.strategies.base import Access
from clearwatt.strategies.replay import RealReplay


@dataclass(frozen=True)
class RandomReplay(RealReplay):
    """Algorithm 1: a uniform draw, without replacement, from all data before the last update.

    A fixed budget over a growing past thins out time evenly: it keeps the trends of all seasons
    and drops short fluctuations. It needs the whole history.
    """

    policy: ClassVar[Policy] = "random"
    access: ClassVar[Access] = Access.ALL
