"""One HTML page about a benchmark: tables and pictures, in a file that needs no other."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.pictures import cost_panels
from clearwatt.benchmark.sheets import duel_sheet, entity_sheet, main_sheet, skipped_lines
from clearwatt.data.page import assemble, boxes
from clearwatt.data.sheets import facts, html_table
from clearwatt.data.traces import Figure
from clearwatt.files import write_text_atomically

PAGE = "leaderboard.html"


def write_page(board: Leaderboard, path: Path) -> None:
    """Write the page; it appears complete or not at all."""
    # Imported here because it reads megabytes that nothing else needs.
    from plotly.offline import get_plotlyjs

    figures: dict[str, Figure] = {}
    name = escape(board.about["data"]["name"])
    body = [
        f"<header><div><h1>{name}</h1>",
        '<p class="lead">The same inputs and the same measurements, known after the same delay, '
        "for everyone.</p></div></header><main>",
        facts(_facts(board)),
        f"<h2>Leaderboard</h2>{html_table(main_sheet(board))}",
        *(f'<p class="note">{escape(line)}</p>' for line in skipped_lines(board)),
        "<h2>What the error costs</h2>",
        f'<div class="pair">{boxes(cost_panels(board), figures)}</div>',
        f"<h2>Entity by entity</h2>{html_table(entity_sheet(board))}",
        f"<h2>Row against column</h2>{html_table(duel_sheet(board))}",
        "<footer>Power is a share of capacity. Made by ClearWatt.</footer></main>",
    ]
    page = assemble(
        title=f"{name} · ClearWatt leaderboard",
        body="\n".join(body),
        figures=json.dumps(figures, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        library=get_plotlyjs(),
    )
    write_text_atomically(path, page)


def _facts(board: Leaderboard) -> list[tuple[str, str]]:
    data, setting = board.about["data"], board.about["experiment"]
    spans = ", ".join(f"{name} {length:,}" for name, length in setting["phases"].items())
    return [
        ("span", f"{data['start'][:10]} to {data['end'][:10]}"),
        ("step", f"{data['step_minutes']:g} minutes"),
        ("entities", f"{len(board.entities)}"),
        ("phases, in steps", spans),
        ("measurements known after", f"{setting['delay_hours']:g} hours"),
        ("seed", str(setting["seed"])),
    ]
