"""Reading an export: from files and a recipe to readings, or to what is missing for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from clearwatt.data.data_faults import DataFault
from clearwatt.data.schema import Entity
from clearwatt.imports.blocks import Block, read_block
from clearwatt.imports.clock import on_one_clock
from clearwatt.imports.columns import Columns, find_columns
from clearwatt.imports.conventions import find_interval, find_names, find_timezone, find_units
from clearwatt.imports.entities import guess_entities
from clearwatt.imports.files import read_tables
from clearwatt.imports.local_time import calendar_zone, zone_of
from clearwatt.imports.log import VARIES, ImportLog
from clearwatt.imports.numbers import number_format
from clearwatt.imports.readings import gather, unique_readings, written_step
from clearwatt.imports.recipe import SEPARATORS, Recipe
from clearwatt.imports.registers import interval_readings
from clearwatt.imports.tables import Table
from clearwatt.imports.time_text import known_order, parse_times, possible_orders
from clearwatt.imports.units import is_energy

_FIRST_ROWS = 4
_LONG_IDLE = pd.Timedelta(days=2)
"""A meter without power for less may be a solar park at night, in a file of a few hours."""
_FOUND = (
    "encoding", "separator", "decimal", "thousands", "date_order", "timezone", "unit", "interval",
    "layout", "values",
)  # fmt: skip
"""Decisions that the recipe of tomorrow's file repeats."""


@dataclass(frozen=True, eq=False)
class Export:
    """What was read.

    ``power`` (kW, one column per entity, uniform UTC clock) and ``entities`` are empty while the
    log has questions or faults that are not repaired. ``recipe`` has what was told and found.
    ``step`` is that of ``power``, which may have a single row.
    ``first_rows`` are the header and the first rows of the first table, as text.
    """

    recipe: Recipe
    log: ImportLog
    power: pd.DataFrame
    entities: tuple[Entity, ...] = ()
    first_rows: tuple[tuple[str, ...], ...] = ()
    step: pd.Timedelta | None = None

    @property
    def complete(self) -> bool:
        """Whether the readings can be used."""
        return not self.log.questions and not self.log.fatal and len(self.power) > 0


def read_export(files: Sequence[Path], recipe: Recipe | None = None) -> Export:
    """Read the files of one export together.

    Nothing is guessed: what neither the files nor the recipe say is a question in the log.
    """
    recipe, log = recipe or Recipe(), ImportLog()
    for key in _FOUND:
        if (value := getattr(recipe, key)) is not None:
            log.decide(key, value, "told")
    if recipe.timezone is not None:
        zone_of(recipe.timezone)
    tables = read_tables(files, recipe, log)
    described = [(table, find_columns(table, recipe, log)) for table in tables]
    usable = [(table, columns) for table, columns in described if columns is not None]
    blocks = _read_blocks(usable, recipe, log)
    first_rows = _first_rows(tables[0]) if tables else ()
    power, told, step = pd.DataFrame(), recipe, None
    entities: tuple[Entity, ...] = ()
    if blocks:
        power, sources, told, step = _power(blocks, recipe, log)
        if len(power) and not (log.questions or log.fatal):
            timezone = calendar_zone(told.timezone)
            entities = guess_entities(power, sources, zone=recipe.zone, timezone=timezone)
            _report_signs(power, files[0].name, log)
        else:
            power = pd.DataFrame()
    return Export(_found_recipe(told, log), log, power, entities, first_rows, step)


def _report_signs(power: pd.DataFrame, place: str, log: ImportLog) -> None:
    """Report entities that never have power above 0, as feed-in of some systems, or none at all."""
    highest, lowest = power.max(), power.min()
    wrong = "power is never above 0; if it is generation, change the sign with --negate"
    for name in power.columns[((highest <= 0) & (lowest < 0)).to_numpy()]:
        log.report(DataFault(place, wrong, str(name), repaired=True))
    if power.index[-1] - power.index[0] < _LONG_IDLE:
        return
    wrong = "power is always 0; if it is no meter of yours, give --leave-out"
    for name in power.columns[((highest == 0) & (lowest == 0)).to_numpy()]:
        log.report(DataFault(place, wrong, str(name), repaired=True))


def _read_blocks(
    usable: Sequence[tuple[Table, Columns]], recipe: Recipe, log: ImportLog
) -> list[Block]:
    if not usable:
        return []
    cells = (table.body[at] for table, columns in usable for at in columns.values)
    form = number_format(cells, recipe, log)
    order = _date_order(usable, recipe, log)
    blocks = [
        read_block(table, columns, order=order, form=form, recipe=recipe, log=log)
        for table, columns in usable
    ]
    return [block for block in blocks if len(block.lines) and block.meters]


def _date_order(usable: Sequence[tuple[Table, Columns]], recipe: Recipe, log: ImportLog) -> str:
    if recipe.date_order is not None:
        return recipe.date_order
    dates = pd.concat([table.body[columns.time].astype(str) for table, columns in usable])
    orders = possible_orders(dates)
    example = str(dates.iloc[0])
    if len(orders) == 1:
        known = known_order(example)
        if known == "year":
            log.decide("date_order", orders[0], f"dates such as {example} begin with the year")
        elif known is None and not example.isdecimal():  # neither a month's name nor seconds
            reason = f"the only one in which all dates exist, such as {example}"
            log.decide("date_order", orders[0], reason)
    else:
        choices = {order: _as_date(example, order) for order in orders}
        log.ask("date_order", f"dates such as {example} can be read in several ways", choices)
    return orders[0]


def _as_date(text: str, order: str) -> str:
    return str(parse_times(pd.Series([text]), order).wall[0])[:10]


def _power(
    blocks: Sequence[Block], recipe: Recipe, log: ImportLog
) -> tuple[pd.DataFrame, dict[str, str], Recipe, pd.Timedelta | None]:
    """Power on one clock, name in the file of each entity, recipe with the zone, and step."""
    place = ", ".join(dict.fromkeys(block.table.file.name for block in blocks))
    place = place if len(place) < 60 else f"{len(blocks)} tables"
    found = [written_step(block) for block in blocks]
    lengths = [each for each in found if each is not None]
    if not lengths:
        log.report(DataFault(place, "one reading only; the step is unknown, add readings"))
        return pd.DataFrame(), {}, recipe, None
    steps = [each or lengths[0] for each in found]
    timezone = find_timezone(blocks, recipe, log)
    interval = find_interval(blocks, steps, recipe, log)
    units = find_units(blocks, recipe, log)
    names = find_names(blocks, recipe, log)
    recipe = replace(recipe, timezone=timezone)
    if log.questions.keys() - {"unreadable"} or interval is None or units is None or names is None:
        return pd.DataFrame(), {}, recipe, None
    sources = gather(
        blocks, steps, interval=interval, units=units, names=names, recipe=recipe, log=log
    )
    readings = unique_readings(sources, blocks, recipe, log)
    energy = {
        names[number, source]
        for number, found_units in enumerate(units)
        for source, unit in found_units.items()
        if is_energy(unit)
    }
    readings = interval_readings(readings, energy, step=min(steps), recipe=recipe, log=log)
    told = None if recipe.step is None else pd.Timedelta(minutes=recipe.step)
    power = on_one_clock(readings, step=min(steps), told=told, place=place, log=log)
    return power, _source_names(names), recipe, told or min(steps)


def _source_names(names: dict[tuple[int, str], str]) -> dict[str, str]:
    return {entity: source or entity for (_, source), entity in reversed(names.items())}


def _first_rows(table: Table) -> tuple[tuple[str, ...], ...]:
    header = tuple(table.title(at) for at in range(len(table.header)))
    rows = table.body.iloc[:_FIRST_ROWS].astype(str).to_numpy().tolist()
    return (header, *(tuple(row) for row in rows))


def _found_recipe(recipe: Recipe, log: ImportLog) -> Recipe:
    """The recipe with everything that was found, so that it reads the next file alike."""
    values: dict[str, Any] = {}
    for key in _FOUND:
        decision = log.decisions.get(key)
        if decision is None or decision.value == VARIES or getattr(recipe, key) is not None:
            continue
        if key == "unit" and "," in decision.value:
            continue  # each column states its own
        values[key] = SEPARATORS.get(decision.value, decision.value)
    return replace(recipe, **values)
