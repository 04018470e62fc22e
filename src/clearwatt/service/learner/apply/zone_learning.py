"""Applies a zone's journal to its models, with the same loop as the experiment.

State is a function of the journal alone. However entries are grouped, whenever the process is
killed and started again, the same entries in the same order lead to the same models, thresholds,
buffers and counts. Readings are collected in rows and learned from when rows close. Before an entry
that changes the order of learning (a late reading, a correction, weather, a command), all rows that
are closed by then are learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clearwatt.errors import StateError
from clearwatt.service.files import ModelFiles
from clearwatt.service.learner.apply.commands import apply_command
from clearwatt.service.learner.apply.intake import Intake
from clearwatt.service.learner.apply.learning import advance, learn_late
from clearwatt.service.learner.apply.open_rows import plausible_rows
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.zone_state import ZoneState
from clearwatt.service.records import (
    Command,
    Entry,
    Flag,
    Outcome,
    RegisteredEntity,
    WeatherIssue,
    Zone,
)
from clearwatt.service.store import Store
from clearwatt.training.streams import Stream

CHECKPOINT_ROWS = 2_000
"""Rows learned after which a checkpoint is due even without an update."""


class ZoneLearning:
    """A zone's state and how journal entries change it.

    If `apply` is not run to its end, the state is undefined: load it again.
    """

    def __init__(self, zone: Zone, *, store: Store, files: ModelFiles) -> None:
        self._attach(ZoneState(zone, position=store.journal_base(zone.id)), store, files)

    def _attach(self, state: ZoneState, store: Store, files: ModelFiles) -> None:
        self.state, self.store, self.files = state, store, files
        self.builder = OutcomeBuilder(state, files)
        self._checkpoint_at = (self._steps_learned, len(state.columns))
        self._commanded = False

    @property
    def position(self) -> int:
        """The number of the last entry applied."""
        return self.state.position

    @property
    def due_checkpoint(self) -> bool:
        """Whether applying the entries since the last checkpoint again would take long.

        Trainings, which whoever runs them has timed, are not looked at.
        """
        steps, columns = self._checkpoint_at
        return (
            self._commanded
            or len(self.state.columns) != columns
            or self._steps_learned - steps >= CHECKPOINT_ROWS
        )

    @property
    def refresh_interval(self) -> float:
        """Least seconds between two calls of `find_latest`."""
        return self.state.settings.refresh

    def find_latest(self) -> bytes | None:
        """What readings that are not learned from yet change in forecasts; None: nothing.

        The state stays as it is, so that it remains a function of the journal.
        """
        state = self.state
        return (
            None
            if state.models is None
            else state.models.find_latest(lambda: plausible_rows(state))
        )

    @property
    def _steps_learned(self) -> int:
        return 0 if self.state.models is None else self.state.models.steps

    def apply(
        self, entries: Sequence[Entry], entities: Sequence[RegisteredEntity]
    ) -> Stream[Outcome]:
        """Apply entries in order; yields training jobs, returns the outcome.

        ``entities`` include deleted ones, which are there up to the entry that deleted them.
        """
        self.state.set_entities(entities_after(self.state.position, entities))
        for entry in entries:
            yield from self._take(entry)
            self.state.position = entry.seq
            if isinstance(entry.content, Command) and entry.content.kind == "delete":
                self.state.set_entities(entities_after(entry.seq, entities))
        yield from advance(self.state, self.builder)
        return self.builder.build()

    def _take(self, entry: Entry) -> Stream[None]:
        if isinstance(entry.content, np.ndarray):
            history, ended = self.state.fleet_limits(entry.content)
            if history or ended:  # whether someone is still from the fleet depends on closed rows
                yield from advance(self.state, self.builder)
            for name in ended:
                self.state.leave_fleet(name)
            intake = Intake(self.state, entry.content, received=entry.at)
            if intake.reorders:
                yield from advance(self.state, self.builder)
            for name, time in intake.corrections:  # the flag applied to the old value
                self.builder.add_flag(name, time, Flag.ACCEPTED)
            intake.enter()
            yield from learn_late(
                self.state, self.builder, intake.late_readings(), key=f"{entry.seq}"
            )
            return
        yield from advance(self.state, self.builder)
        if isinstance(entry.content, WeatherIssue):
            self.state.weather.add(entry.content)
        elif isinstance(entry.content, Command):
            yield from apply_command(entry.content, entry.seq, self.state, self.builder, self.store)
            self._commanded = True

    def save(self, folder: Path) -> None:
        """Write a checkpoint; the position is part of it."""
        self.state.save(folder)
        self._checkpoint_at = (self._steps_learned, len(self.state.columns))
        self._commanded = False

    @classmethod
    def load(cls, folder: Path, *, zone: Zone, store: Store, files: ModelFiles) -> ZoneLearning:
        """Read a checkpoint; anything missing or damaged is a StateError."""
        try:
            state = ZoneState.load(folder, zone)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, StateError):
                raise
            raise StateError(f"the checkpoint {folder.name} is incomplete ({error!r})") from error
        # In this order, an entity deleted between the two reads is in both.
        registered = store.entities(zone.id)
        removed = store.removed_entities(zone.id)
        state.set_entities(entities_after(state.position, [*removed, *registered]))
        learning = cls.__new__(cls)
        learning._attach(state, store, files)
        return learning


def entities_after(position: int, entities: Sequence[RegisteredEntity]) -> list[RegisteredEntity]:
    """The entities that there are after a journal entry; of one id, the first that is left."""
    found: dict[str, RegisteredEntity] = {}
    for entity in sorted(entities, key=lambda each: each.number):
        if entity.removed_at is None or entity.removed_at > position:
            found.setdefault(entity.id, entity)
    return list(found.values())
