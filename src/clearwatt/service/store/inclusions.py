"""Commands that undo an exclusion, with the readings of its window at that moment.

Readings may be corrected or deleted later. With its own readings, a command leads to the same state
whenever the journal is replayed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clearwatt.service.records import Command, RegisteredEntity, StoredSeries
from clearwatt.service.store import readings, registry
from clearwatt.service.store.journal import lock_journals
from clearwatt.service.store.session import Session


def add_readings_of_window(session: Session, command: Command) -> Command:
    """The command with the readings of its window, by entity; nothing is stored meanwhile."""
    start, end = command.arguments.get("start"), command.arguments.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return command  # the learner refuses it with the reason
    lock_journals(session, [command.zone])
    found = {
        entity.id: _columns(readings.series(session, entity.number, start=start, end=end))
        for entity in _entities(session, command)
    }
    return replace(command, arguments={**command.arguments, "readings": found})


def _entities(session: Session, command: Command) -> list[RegisteredEntity]:
    """The entity of a command, or all of its zone."""
    members = registry.entities(session, command.zone)
    return [each for each in members if command.entity in (None, each.id)]


def _columns(series: StoredSeries) -> dict[str, list[Any]]:
    """As plain values, without steps that have no reading."""
    there = np.isfinite(series.values)
    return {name: column[there].tolist() for name, column in series._asdict().items()}
