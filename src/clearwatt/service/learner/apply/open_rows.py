"""Readings that are not judged finally yet but plausible: they count for the next hours at once."""

from __future__ import annotations

import numpy as np

from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.data.quality import Reason
from clearwatt.service.learner.apply.learning import (
    assess_rows,
    has_inputs,
    inputs_at,
    mask_held,
    scale_readings,
)
from clearwatt.service.learner.apply.suspicion import suspected_mask
from clearwatt.service.learner.apply.zone_models import OpenRows
from clearwatt.service.learner.apply.zone_state import ZoneState

LONGEST = SECONDS_PER_DAY // 2
"""Seconds before the newest reading. Older open rows, which wait for a silent meter, tell little
about the next hours, and would double the time that a refresh takes."""
PAST = 8 * SECONDS_PER_DAY
"""Seconds before the open rows that they are judged by. The final verdict has the whole past; this
one is needed again with each refresh, and takes a quarter of the time."""


def plausible_rows(state: ZoneState) -> OpenRows | None:
    """The open rows with weather and at least one reading that passes the checks so far.

    The checks run on what has arrived. A later reading can change the verdict: then the row that
    closes does not have the reading any more.
    """
    rows = state.rows
    if rows is None or rows.watermark is None or state.models is None:
        return None
    # A single meter whose clock is ahead must not be the newest one.
    times = rows.open_times
    times = times[(times <= rows.watermark) & (times > rows.watermark - LONGEST)]
    if not len(times):
        return None
    piece = slice(*rows.index(np.array([times[0], times[-1] + rows.step])).tolist())
    if not rows.reported[piece].any():
        return None
    since = max(0, piece.start - PAST // rows.step)
    codes = assess_rows(state, piece, since=since)
    doubtful = (codes > Reason.GAP) | suspected_mask(state, times)
    readings = np.where(doubtful, np.float32(np.nan), rows.values[piece])
    targets = mask_held(state, scale_readings(state, times, readings))
    x = inputs_at(state, times)
    usable = has_inputs(x) & np.asarray(np.isfinite(targets).any(axis=1), np.bool_)
    return OpenRows(times[usable], x[usable], targets[usable])
