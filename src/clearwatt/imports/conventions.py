"""Conventions of an export that readings depend on: time zone, interval, unit, names."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from clearwatt.data.data_faults import DataFault
from clearwatt.imports import words
from clearwatt.imports.blocks import Block
from clearwatt.imports.local_time import needs_zone
from clearwatt.imports.log import ImportLog
from clearwatt.imports.recipe import Interval, Recipe
from clearwatt.imports.units import UNITS

_ZONE_NAME = re.compile(r"\b[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+\b")
_NO_OFFSET = r"(?![a-z]|\W{0,2}[+\u2212-])"  # UTC +01:00 is not UTC
_ZONE_IN_HEADER = re.compile(rf"(?<![a-z])(?:utc|gmt|zulu){_NO_OFFSET}")
_ZONE_STATED = re.compile(
    rf"(?:time ?zone|zeitzone|strefa\w*|fuseau\w*)\W{{1,3}}(utc|gmt)\b{_NO_OFFSET}"
)


def find_timezone(blocks: Sequence[Block], recipe: Recipe, log: ImportLog) -> str | None:
    """The zone of times without an offset; asked if no file states it."""
    if recipe.timezone is not None:
        for block in blocks:
            _report_told(block, _stated_zone(block), recipe.timezone, log)
        return recipe.timezone
    local = [block for block in blocks if needs_zone(block.times).any()]
    if not local:
        log.decide("timezone", "UTC", "every time states its offset")
        return None
    stated = {_stated_zone(block) for block in local}
    if len(stated) == 1 and (zone := stated.pop()) is not None:
        log.decide("timezone", zone, "stated in the file")
        return zone
    walls = [block.times.wall for block in local]
    first = min(pd.Timestamp(wall.min()) for wall in walls)
    last = max(pd.Timestamp(wall.max()) for wall in walls)
    log.ask(
        "timezone",
        f"the times from {first} to {last} have no time zone; give a name such as Europe/Warsaw, "
        "UTC, or +01:00 for a clock that never changes",
    )
    return None


def _report_told(block: Block, stated: str | None, told: str, log: ImportLog) -> None:
    """Report that a file states something else than what was told; what was told counts."""
    if stated not in (None, told):
        wrong = f"the file says {stated}; read as {told}, as told"
        column, row = block.table.header[block.columns.time], int(block.lines[0])
        log.report(DataFault(block.table.place, wrong, column, row, repaired=True))


def _stated_zone(block: Block) -> str | None:
    columns = (block.columns.time, block.columns.clock)
    headers = " ".join(block.table.header[at] for at in columns if at is not None)
    if _ZONE_IN_HEADER.search(words.plain(headers)):
        return "UTC"
    names = _ZONE_NAME.findall(f"{headers}\n{block.table.above}")
    known = {str(each) for each in names if each in zoneinfo.available_timezones()}
    if len(known) == 1:
        return known.pop()
    return "UTC" if _ZONE_STATED.search(words.plain(block.table.above)) else None


def find_interval(
    blocks: Sequence[Block], steps: Sequence[pd.Timedelta], recipe: Recipe, log: ImportLog
) -> Interval | None:
    """The end of its interval that a time marks; asked if nothing in the files says it.

    The total of a register belongs to an instant, from which an interval begins.
    """
    if recipe.values == "register":
        return "start"
    if recipe.interval is not None:
        for block, step in zip(blocks, steps, strict=True):
            _report_told(block, _marked_end(block, step)[0], recipe.interval, log)
        return recipe.interval
    found = [_marked_end(block, step) for block, step in zip(blocks, steps, strict=True)]
    ends = {each[0] for each in found}
    if len(ends) == 1 and (end := found[0][0]) is not None:
        log.decide("interval", end, found[0][1])
        return end
    stamps = blocks[0].times.wall
    choices = {
        "start": f"{_text(stamps[0])} is the interval that begins then",
        "end": f"{_text(stamps[0])} is the interval that ends then",
    }
    log.ask("interval", "the files do not say which end of its interval a time marks", choices)
    return None


def _marked_end(block: Block, step: pd.Timedelta) -> tuple[Interval | None, str]:
    marks, wall = block.columns.marks, pd.DatetimeIndex(block.times.wall)
    if block.times.ends_at_24:
        return "end", "there are times of 24:00"
    if marks is not None:
        clock = block.columns.clock
        column = block.columns.time if clock is None else clock
        return marks, f"column '{block.table.header[column]}'"
    first, last = wall.min(), wall.max()
    # A range of starts never begins one step after midnight and ends at midnight.
    if first - first.normalize() == step and last == last.normalize() and step < pd.Timedelta("1D"):
        return "end", f"the file begins at {first:%H:%M} and ends at {last:%H:%M}"
    return None, ""


def _text(stamp: np.datetime64) -> str:
    return f"{pd.Timestamp(stamp):%Y-%m-%d %H:%M}"


def find_units(
    blocks: Sequence[Block], recipe: Recipe, log: ImportLog
) -> list[Mapping[str, str]] | None:
    """The unit of each meter in each block; asked if one is not stated."""
    found: list[Mapping[str, str]] = []
    unknown, stated = [], set()
    for block in blocks:
        units = {}
        for meter in block.meters:
            unit = recipe.unit or meter.unit
            if unit is None:
                unknown.append(meter.source)
                continue
            if meter.unit not in (None, unit):
                wrong = f"the file says {meter.unit}; read as {unit}, as told"
                row = int(block.lines[0])
                fault = DataFault(block.table.place, wrong, meter.source, row=row, repaired=True)
                log.report(fault)
            units[meter.source] = unit
            stated.add(unit)
        found.append(units)
    if unknown:
        which = ", ".join(dict.fromkeys(unknown[:5])) + (" and others" if len(unknown) > 5 else "")
        log.ask("unit", f"no unit is stated for {which}", dict.fromkeys(UNITS, ""))
        return None
    if recipe.unit is None:
        value = stated.pop() if len(stated) == 1 else ", ".join(sorted(stated))
        log.decide("unit", value, "stated in the file")
    return found


def find_names(
    blocks: Sequence[Block], recipe: Recipe, log: ImportLog
) -> dict[tuple[int, str], str] | None:
    """The entity of each meter, by number of the block and name in the file."""
    general = [number for number, block in enumerate(blocks) if _has_general_name(block)]
    if len(general) > 1 and recipe.names_from is None:
        choices = {
            "header": "all are the same meter",
            "file": f"each file is a meter, such as {blocks[general[0]].table.file.stem}",
            "sheet": "each sheet of a workbook is a meter",
        }
        log.ask("names_from", "several tables have one column without a meter's name", choices)
        return None
    names: dict[tuple[int, str], str] = {}
    sources: dict[str, str] = {}
    for number, block in enumerate(blocks):
        for meter in block.meters:
            source = _source(block, meter.source, recipe if number in general else Recipe())
            entity = recipe.names.get(source, words.entity_name(source))
            if sources.setdefault(entity, source) != source and source not in recipe.names:
                wrong = f"'{source}' and '{sources[entity]}' are both {entity}; give --rename"
                row = int(block.lines[0])
                log.report(DataFault(block.table.place, wrong, meter.source, row=row))
            names[number, meter.source] = entity
    return names


def _has_general_name(block: Block) -> bool:
    """Whether the table has one meter whose header does not name it."""
    if block.columns.layout == "long" or len(block.meters) != 1:
        return False
    source = block.meters[0].source
    return not source or words.is_word(source, words.ANY_VALUE)


def _source(block: Block, source: str, recipe: Recipe) -> str:
    if recipe.names_from == "file":
        return block.table.file.stem
    if recipe.names_from == "sheet" and block.table.sheet is not None:
        return block.table.sheet
    return source or "power"
