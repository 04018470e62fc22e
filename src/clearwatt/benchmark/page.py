"""The HTML page about a benchmark: tables and plots in one file."""

from __future__ import annotations

from pathlib import Path

from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.plots import cost_panels
from clearwatt.benchmark.tables import entity_table, leaderboard_table, pair_table, skipped_lines
from clearwatt.report.page import write_page

PAGE = "leaderboard.html"


def write_leaderboard_page(board: Leaderboard, path: Path) -> None:
    """Write the page; it appears complete or not at all."""
    content = {
        "name": board.about["data"]["name"],
        "lead": "The same inputs and the same measurements, known after the same delay, for "
        "everyone.",
        "links": (),
        "setting": _setting_rows(board),
        "leaderboard": leaderboard_table(board),
        "skipped": skipped_lines(board.skipped),
        "cost_panels": cost_panels(board),
        "entities": entity_table(board),
        "pairs": pair_table(board),
    }
    write_page(path, "leaderboard.html", content, package="clearwatt.benchmark")


def _setting_rows(board: Leaderboard) -> list[tuple[str, str]]:
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
