"""Recent Replay with Decay: the newer an update window, the larger its share of the replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clearwatt.memory import Policy
from clearwatt.strategies.replay import WindowedReplay


@dataclass(frozen=True)
class RecentReplayDecay(WindowedReplay):
    """Algorithm 3: the replay budget split 1 : 2 : ... : N_R over the last windows, newest most."""

    policy: ClassVar[Policy] = "decay"
