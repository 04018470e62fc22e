"""The recipe of an import: everything that a file does not say by itself, as a TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from clearwatt.errors import ConfigurationError
from clearwatt.imports.units import UNITS

Interval = Literal["start", "end"]
Layout = Literal["wide", "long"]
DateOrder = Literal["ymd", "dmy", "mdy"]
Duplicates = Literal["first", "last", "mean"]
DEFAULT_ZONE = "region"
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}
"""Names of the separators that a shell makes hard to write."""


@dataclass(frozen=True)
class Recipe:
    """How to read an export. ``None`` means: found in the file, or asked.

    Args:
        encoding: of text files, such as utf-8 or cp1250.
        separator: of columns, a character.
        decimal: mark before the decimals.
        thousands: mark between groups of three digits; empty for none.
        date_order: of day, month and year.
        timezone: of times without an offset: a name such as Europe/Warsaw, UTC, or +01:00.
        unit: of the values; units in headers are found.
        interval: which end of its interval a time stamp marks.
        values: interval for energy per interval, register for the running total of a meter.
        layout: wide for one column per meter, long for one row per reading.
        step: minutes from one reading to the next; values are averaged to it.
        autumn: the hour that is meant where the hour of the autumn change is there only once.
        duplicates: the reading to use where the same time has different values.
        unreadable: what becomes of cells that are not numbers.
        time_columns: the column of times, or those of date and time of day.
        name_columns: the columns with the meter's name, in the long layout.
        value_column: the column of values, in the long layout.
        sheets: of workbooks; empty for all that have a table.
        leave_out: columns or meters to leave out.
        negate: meters whose sign is changed.
        bad_status: statuses of wrong values, if neither words nor OPC's numbers say so.
        names: meter in the file -> entity.
        names_from: source of the name of a table's only column, if its header is just "value".
        zone: weather zone of new entities.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: Literal[".", ","] | None = None
    thousands: Literal["", ".", ",", " ", "'"] | None = None
    date_order: DateOrder | None = None
    timezone: str | None = None
    unit: str | None = None
    interval: Interval | None = None
    values: Literal["interval", "register"] | None = None
    layout: Layout | None = None
    step: float | None = None
    autumn: Literal["first", "second"] | None = None
    duplicates: Duplicates | None = None
    unreadable: Literal["empty"] | None = None
    time_columns: tuple[str, ...] = ()
    name_columns: tuple[str, ...] = ()
    value_column: str | None = None
    sheets: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    negate: tuple[str, ...] = ()
    bad_status: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    names_from: Literal["header", "file", "sheet"] | None = None
    zone: str = DEFAULT_ZONE

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in UNITS:
            raise ConfigurationError(f"unit is {self.unit!r}; choose from {', '.join(UNITS)}")
        if self.separator is not None and len(self.separator) != 1:
            raise ConfigurationError(f"separator is {self.separator!r}; give one character")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ConfigurationError(
                f"decimal and thousands are both {self.decimal!r}; only one of them can be"
            )
        if self.step is not None and not (0 < self.step <= 1440 and 1440 % self.step == 0):
            raise ConfigurationError(
                f"step is {self.step} minutes; give minutes that divide a day, such as 15 or 60"
            )
        if not self.zone or "__" in self.zone or self.zone.endswith("_"):
            raise ConfigurationError(
                f"zone is {self.zone!r}; give a name without '__' that does not end in '_'"
            )

    def to_toml(self) -> str:
        """The recipe as the text of a TOML file, without what it leaves open."""
        lines = ["# How to read this export: clearwatt data import FILES --recipe THIS --out DIR"]
        for name, value in asdict(self).items():
            if value not in (None, ()) and name != "names":
                plain = list(value) if isinstance(value, tuple) else value
                # Texts, numbers and lists of texts are written alike in JSON and TOML.
                lines.append(f"{name} = {json.dumps(plain, ensure_ascii=False)}")
        if self.names:
            lines += ["", "[names]"]
            lines += [
                f"{json.dumps(source, ensure_ascii=False)} = {json.dumps(entity)}"
                for source, entity in self.names.items()
            ]
        return "\n".join(lines) + "\n"


def read_recipe(path: Path) -> Recipe:
    """The recipe of a TOML file; an unknown key or a wrong value is an error."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError(f"{path} does not exist; check --recipe") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not TOML: {error}") from error
    return recipe_from(values, where=str(path))


def recipe_from(values: Mapping[str, Any], *, where: str) -> Recipe:
    """The recipe of plain values; ``where`` names their source in errors."""
    known = [each.name for each in fields(Recipe)]
    if unknown := [key for key in values if key not in known]:
        raise ConfigurationError(
            f"{where}: unknown key {unknown[0]!r}; known are {', '.join(known)}"
        )
    try:
        return TypeAdapter(Recipe).validate_json(json.dumps(dict(values), default=str))
    except ValidationError as error:
        first = error.errors()[0]
        if "error" in first.get("ctx", {}) and isinstance(
            first["ctx"]["error"], ConfigurationError
        ):
            raise ConfigurationError(f"{where}: {first['ctx']['error']}") from error
        place = ".".join(map(str, first["loc"]))
        raise ConfigurationError(f"{where}: {place} is wrong: {first['msg']}") from error
