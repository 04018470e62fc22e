"""Measurements that count for the next hours before they are learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clearwatt.adaptive.lead_errors import LatestErrors
from clearwatt.adaptive.learning import latest_errors, recall
from clearwatt.adaptive.levels import to_deviations
from clearwatt.adaptive.samples import SampleBlock, with_rows
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import Float64Array
from clearwatt.clock import Steps
from clearwatt.forecaster import Name


class LatestMeasurements(NamedTuple):
    """What the last measurements of some entities tell, whether they were learned from or not."""

    names: tuple[Name, ...]
    """Names of the entities, `e`."""
    since: int
    """From which step on the experts are in force that forecasts are to be made with."""
    known: int
    """Last step measured."""
    errors: LatestErrors
    """What is known then."""

    def of_entities(self, names: Sequence[Name]) -> LatestErrors | None:
        """Of some entities, in their order; None if one of them is not there."""
        places = {name: place for place, name in enumerate(self.names)}
        if not all(name in places for name in names):
            return None
        return self.errors.select([places[name] for name in names])


def find_latest(
    state: LearnerState, x: Float64Array, y: Float64Array, at: Steps
) -> LatestMeasurements:
    """What the last measurements tell, with some that the state has not learned from.

    Args:
        state: Of the learner; it stays as it is.
        x: Inputs of the further rows, `n x d`.
        y: Their measurements, `n x e`; NaN where there is none.
        at: Their steps, `n`, ascending, all after those of the state; may be empty.
    """
    if len(at):
        measured = to_deviations(state, at, y)
        state = with_rows(state, SampleBlock(at, x, measured))
    state = recall(state)
    since = state.past[-1].since
    return LatestMeasurements(state.names, since, state.known, latest_errors(state))
