"""Tables of text, rendered for the terminal and as Markdown; pages render them as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class TextTable:
    """One table of text cells.

    ``left`` is the number of leading columns with words, aligned left; numbers are aligned right.
    ``strong`` are the rows in bold, ``best`` the cells (row, column) in bold, ``aside`` the
    columns in grey. Leading blanks of a cell (``INDENT``) mark a part of the row above.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    note: str = ""
    strong: tuple[int, ...] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    aside: frozenset[int] = frozenset()


INDENT = "  "


def terminal_table(table: TextTable) -> Table:
    """A table for the terminal; brackets in its cells are text, not markup."""
    printed = Table(
        title=escape(table.title),
        caption=escape(table.note) or None,
        title_justify="left",
        caption_justify="left",
        show_header=any(table.columns),
        box=box.SIMPLE_HEAD,
        title_style="bold",
        collapse_padding=True,  # a table of results has many columns
        pad_edge=False,
    )
    for at, name in enumerate(table.columns):
        style = "dim" if at in table.aside else None
        printed.add_column(
            escape(name),
            justify="left" if at < table.left else "right",
            style=style,
            header_style=style,
        )
    for at, row in enumerate(table.rows):
        cells = (
            Text(cell, "bold" if (at, column) in table.best else "")
            for column, cell in enumerate(row)
        )
        printed.add_row(*cells, style="bold" if at in table.strong else None)
    return printed


def markdown_table(table: TextTable) -> str:
    """A table as Markdown, without its title and note."""
    rule = [":---" if at < table.left else "---:" for at in range(len(table.columns))]
    lines = [_markdown_row(table.columns), "|" + "|".join(rule) + "|"]
    for at, row in enumerate(table.rows):
        cells = [_markdown_cell(cell, best=(at, i) in table.best) for i, cell in enumerate(row)]
        lines.append(_markdown_row(cells))
    return "\n".join(lines)


def markdown_text(words: str) -> str:
    """Words with Markdown escaped: a pipe would end a cell, an underscore start emphasis."""
    for mark in ("\\", "|", "_", "*", "`", "<"):
        words = words.replace(mark, f"\\{mark}")
    return words


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_cell(words: str, *, best: bool) -> str:
    """The cell; of the best, only the mean is bold, as in the paper."""
    mean, blank, deviation = markdown_text(words).partition(" ")
    return f"**{mean}**{blank}{deviation}" if best else mean + blank + deviation
