"""Tables of text: the same rows for the terminal and for an HTML page."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table of text.

    ``left`` is the number of leading columns that hold words, ``strong`` the rows that stand out,
    ``best`` the cells (row, column) that do, ``aside`` the columns that step back.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    note: str = ""
    strong: tuple[int, ...] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    aside: frozenset[int] = frozenset()


def terminal_table(sheet: Sheet) -> Table:
    """Render a sheet for the terminal; brackets in it are text, not markup."""
    table = Table(
        title=escape(sheet.title),
        caption=escape(sheet.note) or None,
        title_justify="left",
        caption_justify="left",
        show_header=any(sheet.columns),
        box=box.SIMPLE_HEAD,
        title_style="bold",
        collapse_padding=True,  # a table of results has many columns
        pad_edge=False,
    )
    for at, name in enumerate(sheet.columns):
        style = "dim" if at in sheet.aside else None
        table.add_column(
            escape(name),
            justify="left" if at < sheet.left else "right",
            style=style,
            header_style=style,
        )
    for at, row in enumerate(sheet.rows):
        cells = (
            Text(cell, "bold" if (at, column) in sheet.best else "")
            for column, cell in enumerate(row)
        )
        table.add_row(*cells, style="bold" if at in sheet.strong else None)
    return table


def html_table(sheet: Sheet) -> str:
    """Write a sheet as an HTML table; every cell is escaped."""
    head = "".join(
        _cell(sheet, column, name, tag="th") for column, name in enumerate(sheet.columns)
    )
    rows = "".join(_row(sheet, at) for at in range(len(sheet.rows)))
    note = f'<p class="note">{html.escape(sheet.note)}</p>' if sheet.note else ""
    content = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return f'<div class="scroll"><table>{content}</table></div>{note}'


def facts(rows: Iterable[tuple[str, ...]]) -> str:
    """Write names and values as a row of cards."""
    cards = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
        for name, value in rows
    )
    return f'<dl class="facts">{cards}</dl>'


def _row(sheet: Sheet, at: int) -> str:
    cells = "".join(
        _cell(sheet, column, cell, tag="td", best=(at, column) in sheet.best)
        for column, cell in enumerate(sheet.rows[at])
    )
    return f'<tr class="strong">{cells}</tr>' if at in sheet.strong else f"<tr>{cells}</tr>"


def _cell(sheet: Sheet, column: int, cell: str, *, tag: str, best: bool = False) -> str:
    kinds = ["word"] * (column < sheet.left) + ["aside"] * (column in sheet.aside)
    kind = f' class="{" ".join(kinds)}"' if kinds else ""
    inner = _indented(cell) if column < sheet.left else html.escape(cell)
    return f"<{tag}{kind}><b>{inner}</b></{tag}>" if best else f"<{tag}{kind}>{inner}</{tag}>"


def _indented(cell: str) -> str:
    """Keep leading blanks, which HTML would swallow: they mark a part of the row above."""
    text = cell.lstrip(" ")
    return "&emsp;" * ((len(cell) - len(text)) // 2) + html.escape(text)
