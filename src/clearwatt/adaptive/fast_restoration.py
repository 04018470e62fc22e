"""Going back to an earlier fast part of one entity, and keeping one to go back to."""

from __future__ import annotations

from dataclasses import replace

from clearwatt.adaptive.fast_part import FastPart, moved
from clearwatt.adaptive.jumps import weights_in_force
from clearwatt.adaptive.state import LearnerState
from clearwatt.arrays import BoolArray
from clearwatt.forecaster import Name


def fast_part_of(state: LearnerState) -> FastPart:
    """The fast part of a state; shares its arrays, which never change."""
    return FastPart._make(getattr(state, name) for name in FastPart._fields)


def with_fast_part(state: LearnerState, earlier: FastPart, name: Name) -> LearnerState:
    """The state in which the fast part of one entity is as it was; the others stay as they are.

    It is in force from the next step on. The number of updates stays: it names versions.
    """
    fast, here = fast_part_of(state).with_entity(earlier, name), state.names.index(name)
    restored = state._replace(**fast._asdict())
    last, since = state.past[-1], max(state.boundary, state.known + 1)
    weights = weights_in_force(restored)
    experts = replace(
        last,
        since=since,
        coefficients=moved(last.coefficients, restored.corrections.solve(), here, here, axis=1),
        weights=moved(last.weights, weights, here, here),
        limits=restored.limits,
        leads=restored.leads.coefficients,
    )
    past = tuple(each for each in state.past if each.since < since)
    return restored._replace(past=(*past, experts))


def keep_fast_part(state: LearnerState, doubtful: BoolArray) -> LearnerState:
    """The state that keeps its fast part to go back to, except that of doubtful entities, `e`.

    Of these it keeps what it kept before, where there is something.
    """
    fast, before = fast_part_of(state), state.earlier
    if before is None or not doubtful.any():
        return state._replace(earlier=fast)
    if doubtful.all() and before.names == state.names:  # nothing to copy; updates are counted on
        progress = replace(before.progress, updates=state.progress.updates)
        return state._replace(earlier=before._replace(progress=progress))
    held = set(before.names)
    chosen = zip(state.names, doubtful.tolist(), strict=True)
    names = [name for name, is_doubtful in chosen if is_doubtful and name in held]
    return state._replace(earlier=fast.with_entities(before, names))
