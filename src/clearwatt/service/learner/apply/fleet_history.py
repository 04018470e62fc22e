"""A warm-up of entities that have started from the fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearwatt.errors import DataError
from clearwatt.service.learner.apply.adaptive_models import AdaptiveModels
from clearwatt.service.learner.apply.fleet_start import start_entity
from clearwatt.service.learner.apply.intake import LateReadings
from clearwatt.service.learner.apply.learning import in_range, learn_past_readings
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.warm_up_data import sort_readings
from clearwatt.service.learner.apply.weather import NEIGHBOURHOOD, LatestWeather
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.store import Store
from clearwatt.service.times import LATEST
from clearwatt.training.streams import Stream


@dataclass(frozen=True)
class Replacement:
    """What the models of a warm-up continue: the numbers of those from the fleet.

    Without it, two versions would have the same id, and pages would show the earlier one.
    """

    numbers: Mapping[str, int]
    revision: int
    intervals: int
    whole_zone: bool
    before: Mapping[str, Any]

    @classmethod
    def withdraw(cls, state: ZoneState, names: Sequence[str]) -> Replacement | None:
        """Take the models from those of some entities that are from the fleet; None: none is."""
        models, own = state.models, [name for name in names if name in state.fleet]
        if not own or not isinstance(models, AdaptiveModels):
            return None
        numbers = {name: models.next_number(name) for name in own}
        revision, intervals = models.revision or 0, state.intervals.revision or 0
        before = state.copy_learned()
        for name in own:
            state.withdraw(name)
        return cls(numbers, revision, intervals, state.models is None, before)

    def undo(self, state: ZoneState) -> None:
        """Give the entities the models from the fleet back, because there are no new ones."""
        state.take_back(self.before)

    def finish(self, state: ZoneState) -> None:
        """Number the new models on."""
        assert isinstance(state.models, AdaptiveModels)
        state.models.continue_numbers(self.numbers, self.revision)
        state.intervals.continue_revision(self.intervals)

    def restore_weather(self, state: ZoneState, store: Store) -> None:
        """Read weather again that the zone had forgotten, if its clock is earlier than before."""
        if self.whole_zone and state.rows is not None:
            start = state.rows.start - NEIGHBOURHOOD
            state.weather = LatestWeather(state.zone.variables)
            for issue in store.weather(
                state.zone.id, start=start, end=LATEST, until=state.position
            ):
                state.weather.add(issue)


def learn_few(
    state: ZoneState,
    builder: OutcomeBuilder,
    store: Store,
    *,
    names: Sequence[str],
    priors: Mapping[str, Any],
) -> Stream[tuple[str, dict[str, Any]]]:
    """Start entities with too few readings for a training from the fleet, and learn these.

    Args:
        state: The zone.
        builder: Collects versions.
        store: Has the priors, and weather that is no longer in memory.
        names: The entities.
        priors: Digest of the prior of each.
    """
    count = 0
    for name in names:
        readings = state.waiting_readings(name)
        if not len(readings):
            raise DataError(
                f"there are no readings of {name}; send its history to /v1/measurements first"
            )
        if name not in state.columns:
            arguments = {"prior": priors[name], "at": int(readings["time"].min())}
            start_entity(state, builder, store, entity=name, arguments=arguments)
        count += len(np.unique(readings["time"]))
        late = _history(state, name)
        if len(late.times):
            first, last = int(late.times.min()), int(late.times.max())
            weather = LatestWeather(state.zone.variables)
            for issue in store.weather(
                state.zone.id, start=first, end=last + 1, until=state.position
            ):
                weather.add(issue)
            yield from learn_past_readings(state, builder, late, weather=weather)
    message = (
        f"{', '.join(names)}: {count} readings are too few to train networks on; forecasts are "
        "from the fleet, and learn from them"
    )
    return message, {"entities": list(names), "readings": count}


def _history(state: ZoneState, name: str) -> LateReadings:
    """Plausible readings before the first row that an entity learns from."""
    times, values = sort_readings(
        state.waiting_readings(name), step=state.zone.step, start=None, end=state.fleet[name] - 1
    )
    column = state.columns.index(name)
    good = np.array([in_range(state, column, value) for value in values.tolist()], np.bool_)
    return LateReadings(np.full(int(good.sum()), column, np.int64), times[good], values[good])
