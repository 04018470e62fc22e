"""Columns of a table: which have the time, the values, the meter's name, and other things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from clearwatt.data.data_faults import DataFault
from clearwatt.imports import words
from clearwatt.imports.log import ImportLog
from clearwatt.imports.numbers import looks_like_number
from clearwatt.imports.recipe import Interval, Layout, Recipe
from clearwatt.imports.tables import Table
from clearwatt.imports.time_text import has_time_of_day, looks_like_date, looks_like_time
from clearwatt.imports.units import unit_of

_SAMPLE = 300
_REPEATS = 0.2  # share of rows with the name and time of another: the name is not all of it
_REPEATED = 0.75  # fewer different times than this share of the rows: one row per reading


@dataclass(frozen=True, slots=True)
class Columns:
    """Positions of columns by their role.

    ``clock`` has the time of day if it is apart from the date. ``marks`` is the end of the interval
    that the header of the time names, None if it names none.
    """

    time: int
    clock: int | None
    marks: Interval | None
    layout: Layout
    values: tuple[int, ...]
    names: tuple[int, ...] = ()
    unit: int | None = None
    status: int | None = None


def find_columns(table: Table, recipe: Recipe, log: ImportLog) -> Columns | None:
    """The roles of a table's columns; None if a question or a fault leaves them open."""
    sample = table.body.iloc[:_SAMPLE]
    time = _time_columns(table, sample, recipe, log)
    if time is None:
        return None
    position, clock, marks, used = time
    rest = [at for at in range(len(table.header)) if at not in used]
    rest = [at for at in rest if not _is_named(table, at, recipe.leave_out)]
    numeric = [at for at in rest if _share(sample[at], looks_like_number) >= 0.6]
    status = next((at for at in rest if words.has_word(table.header[at], words.STATUS)), None)
    unit = next((at for at in rest if words.has_word(table.header[at], words.UNIT)), None)
    if numeric == [status]:  # such as the column "state" of home automation
        status = None
    numeric = [at for at in numeric if at not in (status, unit)]
    names = _name_columns(table, rest, numeric, recipe, taken=(status, unit))
    repeated = _repeats_times(table, position, clock)
    layout = _layout(table, recipe, names=names, numeric=numeric, repeated=repeated, log=log)
    if layout is None:
        return None
    numeric = [at for at in numeric if layout == "wide" or at not in names]
    values = _value_columns(table, numeric, layout, recipe, log)
    if layout == "wide":
        if len(values) != 1:  # unclear which of the meters they belong to
            unit = status = None
        _report_unused(table, [at for at in rest if at not in (*values, unit, status)], log)
        columns = Columns(position, clock, marks, layout, tuple(values), (), unit, status)
        return columns if values else None
    if not names:
        log.ask("name_columns", f"no column of {table.place} is known to name the meter", {
            table.header[at]: f"{sample[at].nunique()} different" for at in rest if at not in values
        })  # fmt: skip
    if len(values) != 1 or not names:
        return None
    if not recipe.name_columns:
        taken = {*used, *values, *names, unit, status}
        others = [at for at in rest if at not in taken]
        _report_unclear_names(table, sorted(used), names, others, log)
    return Columns(position, clock, marks, layout, tuple(values), tuple(names), unit, status)


def _share(cells: pd.Series, test: Callable[[str], bool]) -> float:
    """The share of the cells that are not empty for which the test holds."""
    filled = [str(cell) for cell in cells if not (cell == "" or pd.isna(cell))]
    return sum(map(test, filled)) / len(filled) if filled else 0.0


def _is_named(table: Table, column: int, names: Sequence[str]) -> bool:
    return any(name in (table.header[column], table.title(column)) for name in names)


def _time_columns(
    table: Table, sample: pd.DataFrame, recipe: Recipe, log: ImportLog
) -> tuple[int, int | None, Interval | None, set[int]] | None:
    """The column of times, that of the time of day, the marked end, and all that are used."""
    everything = range(len(table.header))
    told = [at for at in everything if _is_named(table, at, recipe.time_columns)]
    if recipe.time_columns and len(told) != len(recipe.time_columns):
        wrong = f"no column {' or '.join(recipe.time_columns)}; it has {', '.join(table.header)}"
        log.report(DataFault(table.place, wrong, row=int(table.body.index[0])))
        return None
    candidates = told or list(everything)
    stamps = [at for at in candidates if _share(sample[at], has_time_of_day) >= 0.6]
    dates = [at for at in candidates if at not in stamps and _is_date(sample[at])]
    clocks = [at for at in candidates if _share(sample[at], looks_like_time) >= 0.9]
    hours = [at for at in candidates if words.has_word(table.header[at], words.HOUR)]
    hours = [at for at in hours if at not in [*stamps, *dates, *clocks]]
    if (clocks or hours) and all(_is_midnight(sample[at]) for at in stamps):
        dates, stamps = stamps or dates, []  # date cells of a workbook
    if stamps:
        chosen = _choose(table, stamps, log)
        return None if chosen is None else (chosen, None, _marked(table, chosen), {*stamps, *dates})
    if dates and clocks:
        chosen = _choose(table, clocks, log)
        used = {*dates, *clocks}
        return None if chosen is None else (dates[0], chosen, _marked(table, chosen), used)
    if dates and hours:
        return dates[0], hours[0], _marked_hour(table, hours[0]), {*dates, *hours}
    if dates:
        return dates[0], None, _marked(table, dates[0]), set(dates)
    headers = {name: "" for name in table.header if name}
    log.ask("time_columns", f"no column of {table.place} is known to have the times", headers)
    return None


def _is_date(cells: pd.Series) -> bool:
    return _share(cells, looks_like_date) >= 0.9 and cells.dtype.kind not in "iuf"


def _is_midnight(cells: pd.Series) -> bool:
    """Whether the time of day is midnight in every cell."""
    return bool(cells.astype(str).str.fullmatch(r"|.*[T ]00:00(:00)?").all())


def _choose(table: Table, columns: Sequence[int], log: ImportLog) -> int | None:
    """One of several columns of times: the start of the interval if a header names it."""
    starts = [at for at in columns if words.has_word(table.header[at], words.START)]
    if len(columns) == 1 or len(starts) == 1:
        return (starts or columns)[0] if len(columns) > 1 else columns[0]
    choices = {table.header[at]: f"begins with {table.body[at].iloc[0]}" for at in columns}
    log.ask("time_columns", f"{table.place} has several columns of times", choices)
    return None


def _marked(table: Table, column: int) -> Interval | None:
    header = table.header[column]
    if column == table.ranges or words.has_word(header, words.START):
        return "start"
    return "end" if words.has_word(header, words.END) else None


def _marked_hour(table: Table, column: int) -> Interval | None:
    """Hours numbered from 1 to 24 are numbered by their end, 0 to 23 by their start."""
    numbers = pd.to_numeric(table.body[column].astype(str).str.extract(r"^(\d+)")[0])
    if (numbers == 24).any() and not (numbers == 0).any():
        return "end"
    if (numbers == 0).any() and not (numbers == 24).any():
        return "start"
    return _marked(table, column)


def _name_columns(
    table: Table,
    rest: Sequence[int],
    numeric: Sequence[int],
    recipe: Recipe,
    taken: tuple[int | None, int | None],
) -> list[int]:
    """The columns that may name the meter: those told, those with such a header, or one of text."""
    if recipe.name_columns:
        return [at for at in rest if _is_named(table, at, recipe.name_columns)]
    free = [at for at in rest if at not in taken]
    named = [at for at in free if words.has_word(table.header[at], words.NAME)]
    named = [at for at in named if at not in numeric or _has_ids(table, at)]
    if named:
        return named[:1] if set(numeric) - set(named[:1]) else []
    filled = {at: table.body[at][table.body[at] != ""] for at in free if at not in numeric}
    texts = [at for at, cells in filled.items() if cells.nunique() > 1]
    return texts if len(texts) == 1 else []


def _report_unclear_names(
    table: Table, times: Sequence[int], names: Sequence[int], others: Sequence[int], log: ImportLog
) -> None:
    """Report if one more column tells rows of the same name and time apart."""
    own = [*times, *names]
    if _repeated_share(table, own) < _REPEATS:
        return
    for at in others:
        if _repeated_share(table, [*own, at]) < _REPEATS / 10:
            known, more = table.header[names[0]], table.header[at]
            wrong = (
                f"rows of one time have the same '{known}' and differ in '{more}'; give "
                f"--name-column '{known}' '{more}' if both name the meter, or only '{known}'"
            )
            log.report(DataFault(table.place, wrong, row=int(table.body.index[0])))
            return


def _repeated_share(table: Table, columns: Sequence[int]) -> float:
    """The share of rows whose cells in these columns are those of a row before."""
    return float(table.body[columns].astype(str).duplicated().mean())


def _has_ids(table: Table, column: int) -> bool:
    """Whether a column of numbers has the same whole numbers again and again, without a unit."""
    cells = table.body[column].astype(str)
    whole = bool(cells.str.fullmatch(r"\d+").all())
    return whole and table.units[column] is None and cells.nunique() <= len(cells) / 2


def _repeats_times(table: Table, time: int, clock: int | None) -> bool:
    """Whether most times are there several times, as with one row per reading."""
    stamps = table.body[time].astype(str)
    if clock is not None:
        stamps = stamps + " " + table.body[clock].astype(str)
    return stamps.nunique() < _REPEATED * len(stamps)


def _layout(
    table: Table,
    recipe: Recipe,
    *,
    names: Sequence[int],
    numeric: Sequence[int],
    repeated: bool,
    log: ImportLog,
) -> Layout | None:
    if recipe.layout is not None:
        return recipe.layout
    values = set(numeric) - set(names)
    titled = any(words.has_word(table.header[at], words.NAME) for at in names)
    if recipe.name_columns or (names and (repeated or (titled and len(values) == 1))):
        log.decide("layout", "long", f"column '{table.header[names[0]]}' names the meter")
        return "long"
    if titled or repeated:
        choices = {
            "wide": "each column of numbers is a meter",
            "long": "a column names the meter of each row",
        }
        log.ask(
            "layout", f"{table.place} can be one column per meter or one row per reading", choices
        )
        return None
    log.decide("layout", "wide", "each column of numbers is a meter")
    return "wide"


def _value_columns(
    table: Table, numeric: Sequence[int], layout: Layout, recipe: Recipe, log: ImportLog
) -> list[int]:
    if recipe.value_column is not None:
        numeric = [at for at in numeric if _is_named(table, at, [recipe.value_column])]
    power = [at for at in numeric if not _is_other(table, at)]
    for at in (at for at in numeric if at not in power):
        why = "a row number" if table.units[at] is None else f"in {table.units[at]}, not power"
        _report_left_out(table, at, why, log)
    if not power:
        wrong = "no column of power or energy; check the units in the header, or --value-column"
        log.report(DataFault(table.place, wrong, row=int(table.body.index[0])))
    if layout == "long" and len(power) > 1:
        choices = {table.title(at): f"begins with {table.body[at].iloc[0]}" for at in power}
        log.ask("value_column", f"{table.place} has several columns of values", choices)
    return power


def _is_other(table: Table, column: int) -> bool:
    """Whether a column of numbers is another quantity, or only counts the rows."""
    unit = table.units[column]
    if unit is not None:
        return unit_of(unit) is None
    return words.is_word(table.header[column], words.ROW_NUMBER)


def _report_unused(table: Table, columns: Sequence[int], log: ImportLog) -> None:
    """Report columns that are neither times nor values; those of numbers are reported already."""
    for at in columns:
        if (table.body[at] == "").all():
            _report_left_out(table, at, "empty", log)
        elif words.has_word(table.header[at], words.STATUS):
            _report_left_out(table, at, "a status of one of several meters", log)
        elif _share(table.body[at].iloc[:_SAMPLE], looks_like_number) < 0.6:
            _report_left_out(table, at, "text", log)


def _report_left_out(table: Table, column: int, why: str, log: ImportLog) -> None:
    row = int(table.body.index[0])
    wrong = f"the column is {why}; left out"
    log.report(DataFault(table.place, wrong, table.title(column), row=row, repaired=True))
