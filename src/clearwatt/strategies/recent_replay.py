"""Recent Replay: a uniform draw from the data of the last updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clearwatt.memory import Policy
from clearwatt.strategies.replay import WindowedReplay


@dataclass(frozen=True)
class RecentReplay(WindowedReplay):
    """Algorithm 2: a uniform draw from the windows of the last `recent_updates` updates.

    Until that many updates have happened it is Random Replay; afterwards, older windows are
    dropped.
    """

    policy: ClassVar[Policy] = "recent"
