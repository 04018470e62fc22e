"""The time up to which a zone has been measured, by meters whose clocks agree.

It decides which rows are overdue. A single reading that is dated ahead must not move it, or the
readings of all other meters are late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.service.times import FUTURE

WRONG_SHARE = 10
"""One meter in this many may be ahead, and at least one."""
SILENT = 7 * SECONDS_PER_DAY
"""Seconds without a reading after which the other meters have no say."""
FEWEST_ROWS = 4
"""Least number of readings that tell a meter that reports from single wrong readings."""

CountReadings = Callable[[int, int, int], int]
"""Number of readings of a column with after < time <= until."""


def find_watermark(
    newest: npt.NDArray[np.int64], count: CountReadings, *, step: int, lateness: int
) -> int:
    """The newest reading of a zone, without those that are ahead of all others.

    A meter that is ahead of the others by more than the lateness counts only if it reports most
    steps up to there (the others are then silent), or if the others have been silent for a week and
    it has reported a few times since.

    Args:
        newest: Time of the newest reading of each meter that has one, m.
        count: Counts readings of a meter.
        step: Seconds between two rows.
        lateness: Seconds that readings may be late.
    """
    order = np.argsort(-newest, kind="stable")
    wrong = min(max(1, len(newest) // WRONG_SHARE), len(newest) - 1)
    reference = int(newest[order[wrong]])
    rows = max(FEWEST_ROWS, lateness // step)
    tolerance = max(lateness, step)
    for column in order[:wrong]:
        time = int(newest[column])
        ahead = time - reference
        if ahead <= tolerance:
            return time
        if ahead > SILENT and count(int(column), reference + tolerance, time) >= FEWEST_ROWS:
            return time
        if 2 * count(int(column), time - rows * step, time) > rows:
            return time
    return reference


def limit_to_arrival(time: int, received: float, *, step: int) -> int:
    """A time of a reading, at most one step after it arrived: nothing is measured in advance.

    So a meter whose clock is ahead does no harm. A time that is further ahead than the service
    accepts means that the arrival is unknown.
    """
    return time if time > received + FUTURE else min(time, (int(received) // step + 1) * step)


def find_series_watermark(
    series: Sequence[npt.NDArray[np.int64]], *, step: int, lateness: int
) -> int | None:
    """The same for the times of readings of each meter, ascending; None without any."""
    filled = [times for times in series if len(times)]
    if not filled:
        return None

    def count(column: int, after: int, until: int) -> int:
        first, last = np.searchsorted(filled[column], [after, until], side="right")
        return int(last - first)

    newest = np.array([times[-1] for times in filled], np.int64)
    return find_watermark(newest, count, step=step, lateness=lateness)
