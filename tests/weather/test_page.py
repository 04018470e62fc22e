"""docs/weather.md names every default variable, with its unit and for the right kinds."""

import re
from pathlib import Path

from clearwatt.data.schema import Entity, Kind
from clearwatt.weather.variables import UNITS, variables_of

PAGE = (Path(__file__).parents[2] / "docs" / "weather.md").read_text(encoding="utf-8")
COLUMNS = {
    "wind": Entity("e", Kind.GENERATOR, None, "z", {"subtype": "wind"}),
    "solar": Entity("e", Kind.GENERATOR, None, "z", {"subtype": "pv"}),
    "consumer": Entity("e", Kind.CONSUMER, None, "z"),
    "residual": Entity("e", Kind.RESIDUAL, None, "z"),
}


def rows():
    table = PAGE.split("## Variables", 1)[1].split("\n* ", 1)[0]
    for line in re.findall(r"^\| (`.*) \|$", table, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        yield re.findall(r"`(\w+)`", cells[0]), cells[1], cells[2:]


def test_units_and_defaults_are_those_of_the_page():
    marked = {kind: set() for kind in COLUMNS}
    for names, unit, cells in rows():
        for name in names:
            assert UNITS.get(name, "m/s") == unit, name
            for kind, cell in zip(COLUMNS, cells, strict=True):
                if cell == "yes":
                    marked[kind].add(name)
    for kind, entity in COLUMNS.items():
        assert set(variables_of([entity], step=3600)) == marked[kind], kind


def test_every_variable_is_on_the_page():
    named = {name for names, _, _ in rows() for name in names}
    of_heights = re.compile(r"wind_(direction|speed)_\d+m")
    assert {name for name in UNITS if not of_heights.fullmatch(name)} <= named
