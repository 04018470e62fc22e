"""Output of commands: tables or JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

# Width of output that is not a terminal; eighty columns would cut numbers off.
_PIPED_WIDTH = 140


def print_json(document: object) -> None:
    """Write one JSON document to stdout."""
    sys.stdout.write(json_text(document))


def json_text(document: object) -> str:
    """A JSON document as text, with a line break at its end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def print_tables(tables: Iterable[Table]) -> None:
    """Write tables to stdout, as wide as the terminal."""
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    with (
        console.capture() as captured
    ):  # printed directly, rich would turn a closed pipe into exit code 1
        for table in tables:
            console.print(table)
    sys.stdout.write(captured.get())


def print_lines(lines: Iterable[str]) -> None:
    """Write plain lines to stdout, without markup or wrapping."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


def write_line(line: str) -> None:
    """Write a line to stderr at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def facts_table(title: str, facts: Mapping[str, object]) -> Table:
    """A table of names and values."""
    table = Table("", "", title=Text(title), title_justify="left", show_header=False)
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), Text(str(value)))
    return table


def rows_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table with a header."""
    table = Table(*(Column(Text(column)) for column in columns))
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table


def progress(what: str) -> AbstractContextManager[object]:
    """A status line on stderr, if that is a terminal, while the with-block runs."""
    return Console(stderr=True).status(what)
