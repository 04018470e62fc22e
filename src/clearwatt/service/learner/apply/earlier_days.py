"""Which of the last days' beginnings are kept, to go back to when a lie is told days later."""

from __future__ import annotations

from collections.abc import Sequence

from clearwatt.clock import SECONDS_PER_DAY

LONGEST = 9
"""Days for which a beginning may be kept: a lie is told at most eight days after it began."""
NEWEST, EVERY = 3, 3
"""The newest days are all kept, of those before them every third; limits memory."""
WEEKS, WEEK = 29, 7
"""Days for which one a week is kept: a person may exclude what was wrong for a fortnight."""


def days_to_keep(times: Sequence[int]) -> list[int]:
    """Those of some times, ascending, one a day, that are still kept at the last one."""
    days = [time // SECONDS_PER_DAY for time in times]
    return [
        time
        for place, (time, day) in enumerate(zip(times, days, strict=True))
        if (day > days[-1] - LONGEST and (day % EVERY == 0 or place >= len(times) - NEWEST))
        or (day > days[-1] - WEEKS and day % WEEK == 0)
    ]
