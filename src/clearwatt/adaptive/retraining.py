"""Networks trained again because samples that they had learned were excluded."""

from __future__ import annotations

import numpy as np

from clearwatt.adaptive.backcast import backcast_readings
from clearwatt.adaptive.ensemble import NetworkVersion
from clearwatt.adaptive.events import NetworkChange
from clearwatt.adaptive.learning import recall
from clearwatt.adaptive.period import deploy_trained, held_samples, update_request, with_version
from clearwatt.adaptive.start import draw_seeds
from clearwatt.adaptive.state import LearnerState
from clearwatt.adaptive.updates import NetworkTraining
from clearwatt.forecaster import Name
from clearwatt.training.streams import Stream


def retrain_networks(
    state: LearnerState,
    place: int,
    before: NetworkVersion | None,
    *,
    rng: np.random.Generator,
    approvals: frozenset[Name],
) -> Stream[tuple[LearnerState, tuple[NetworkChange, ...]]]:
    """Train the networks of one entity on what is held, without those that learned too much.

    Args:
        state: Without the excluded samples.
        place: Column of the entity.
        before: Networks that have not learned the excluded samples; None: there are none, so that
            new ones are trained as in a warm-up.
        rng: Source of randomness.
        approvals: Entities whose trained networks wait for approval.
    """
    state = recall(state)
    held, shape = held_samples(state), state.frame.architecture
    if not np.isfinite(held.y[:, place]).any():
        return state, ()
    if before is not None:
        state = with_version(state, place, before)
    fresh = None if before is not None else shape.network.initialise(draw_seeds(rng, shape.size))
    update = NetworkTraining(
        update_request(state, place, trigger="exclusion"),
        held,
        architecture=shape,
        settings=state.frame.settings,
        day=state.frame.schedule.clock.day,
        memory=state.frame.memory,
        seeds=draw_seeds(rng, shape.size),
        fresh=fresh,
        backcast=backcast_readings(state, held, place),
    )
    trained = yield tuple(update.jobs)
    return deploy_trained(state, update, trained, held=held, approvals=approvals)
