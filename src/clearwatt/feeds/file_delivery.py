"""One dropped file: read with the recipe, checked against the service, sent, and reported on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from clearwatt.errors import ClearwattError, DataError
from clearwatt.feeds.delivery import Delivery
from clearwatt.feeds.directory import EntityDirectory, KnownEntity
from clearwatt.feeds.drop_folder import printable
from clearwatt.feeds.readings import FeedReading
from clearwatt.imports import Export, Recipe, read_export
from clearwatt.service.client.deliveries import unix_seconds
from clearwatt.service.times import text

_MOST_LISTED = 50
"""Refused readings that a report lists."""


@dataclass(frozen=True)
class FileResult:
    """What became of a file's readings.

    ``problems`` keep a file from being done; ``remarks`` are faults that were repaired.
    """

    new: int = 0
    duplicates: int = 0
    corrections: int = 0
    refused: int = 0
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=())

    def report(self, name: str) -> str:
        """The result as lines for people."""
        lines = [
            f"{name}: {'failed' if self.problems else 'done'}",
            f"stored: {self.new} new readings, {self.duplicates} that the service had, "
            f"{self.corrections} with another value than before; refused: {self.refused}",
        ]
        if self.problems:
            lines += ["", "What is wrong:", *(f"- {each}" for each in self.problems)]
            lines += ["", "Correct it, then move the file back; readings are stored once."]
        if self.remarks:
            lines += ["", "Repaired:", *(f"- {each}" for each in self.remarks)]
        return "\n".join(lines) + "\n"


def read_file(file: Path, recipe: Recipe) -> Export | FileResult:
    """The readings of a file, or why there are none."""
    try:
        export = read_export([file], recipe)
    except ClearwattError as error:
        return FileResult(problems=(printable(str(error)),))
    except Exception as error:  # one strange file must not stop those after it
        problem = f"it cannot be read ({type(error).__name__}: {error})"
        return FileResult(problems=(printable(problem),))
    if export.complete:
        return export
    questions = [
        f"{each.text}; write {each.key} to the recipe"
        + (f" ({', '.join(each.choices)})" if each.choices else "")
        for each in export.log.questions.values()
    ]
    faults = [_counted(fault.message, fault.count) for fault in export.log.fatal]
    nothing = [] if questions or faults else ["there are no readings in it"]
    return FileResult(problems=(*questions, *faults, *nothing), remarks=_remarks(export))


def send_export(export: Export, delivery: Delivery, directory: EntityDirectory) -> FileResult:
    """Send the readings of a file; none if an entity is unknown or has another step."""
    entities, problems = _entities(export, directory)
    if problems:
        return FileResult(problems=tuple(problems), remarks=_remarks(export))
    readings = list(_readings(export, entities))
    new = duplicates = corrections = 0
    refused: list[str] = []
    for receipt in delivery.send(readings):
        new += receipt.new
        duplicates += receipt.duplicates
        corrections += receipt.corrections
        refused += [
            f"{readings[at].entity}, {text(readings[at].time)}: {reason}"
            for at, reason in receipt.refused.items()
        ]
    listed = refused[:_MOST_LISTED]
    if len(refused) > len(listed):
        listed.append(f"and {len(refused) - len(listed)} more")
    return FileResult(new, duplicates, corrections, len(refused), tuple(listed), _remarks(export))


def _entities(
    export: Export, directory: EntityDirectory
) -> tuple[dict[str, KnownEntity], list[str]]:
    """The service's entities, by name of the column, and what is wrong with them."""
    found: dict[str, KnownEntity] = {}
    problems = []
    assert export.step is not None  # of a complete export
    step = int(export.step.total_seconds())
    for name in map(str, export.power.columns):
        try:
            entity = found[name] = directory.find(name)
            entity.factor_from("kW")
        except DataError as error:
            problems.append(f"{error}; leave_out in the recipe skips a meter, [names] renames it")
            continue
        if entity.step != step:
            problems.append(
                f"{name} has a reading every {step} s, its zone {entity.zone!r} every "
                f"{entity.step} s; write step = {entity.step / 60:g} to the recipe"
            )
    return found, problems


def _readings(export: Export, entities: dict[str, KnownEntity]) -> Iterator[FeedReading]:
    """The readings in order of time; a gap is no reading, so it replaces nothing."""
    times = unix_seconds(pd.DatetimeIndex(export.power.index))
    columns = [
        (entity.id, export.power[name].to_numpy(np.float64) * entity.factor_from("kW"))
        for name, entity in entities.items()
    ]
    for at, moment in enumerate(times.tolist()):
        for entity, values in columns:
            if not np.isnan(values[at]):
                yield FeedReading(entity, moment, float(values[at]))


def _remarks(export: Export) -> tuple[str, ...]:
    return tuple(_counted(each.message, each.count) for each in export.log.faults if each.repaired)


def _counted(message: str, count: int) -> str:
    shown = printable(message)  # it may name the file
    return shown if count == 1 else f"{shown} ({count} times)"
