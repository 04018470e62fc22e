"""Ages on the command line: how long something is kept, such as ``90d``."""

from __future__ import annotations

import argparse
import re

from clearwatt.clock import SECONDS_PER_DAY

OFF = "off"
_SECONDS = {"h": 3600, "d": SECONDS_PER_DAY, "w": 7 * SECONDS_PER_DAY}
_AGE = re.compile(r"([1-9][0-9]{0,5})([hdw])", re.ASCII)


def parse_age(text: str) -> int | None:
    """Seconds of an age such as 12h, 90d or 2w; None if the text is ``off``."""
    if text == OFF:
        return None
    found = _AGE.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an age; give hours, days or weeks as in 12h, 90d or 2w, or '{OFF}' "
            "to keep all"
        )
    return int(found[1]) * _SECONDS[found[2]]
