"""The HTML page of a leaderboard by lead: error against lead for each peer, and the tables."""

from __future__ import annotations

from pathlib import Path

from clearwatt.benchmark.lead_comparison import PHASES
from clearwatt.benchmark.lead_tables import lead_tables
from clearwatt.benchmark.leads import FigureName, LeadLeaderboard
from clearwatt.benchmark.plots import peer_colour
from clearwatt.benchmark.tables import skipped_lines
from clearwatt.report.page import write_page
from clearwatt.report.plots import Figure, Panel, plotly_text
from clearwatt.report.tables import TextTable

PAGE = "leads.html"
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def write_lead_page(board: LeadLeaderboard, path: Path) -> None:
    """Write the page; it appears complete or not at all."""
    content = {
        "name": board.name,
        "lead": "Every peer at every lead with the same measurements and the same weather.",
        "links": (),
        "panels": lead_panels(board),
        "tables": [*lead_tables(board), *comparison_tables(board)],
        "skipped": skipped_lines(board.first.skipped),
    }
    write_page(path, "leads.html", content, package="clearwatt.benchmark")


def lead_panels(board: LeadLeaderboard) -> list[Panel]:
    """Live error against lead, a line for each peer, in each phase."""
    return [
        Panel("Live RMSE against lead, updating phase", _figure(board, "rmse")),
        Panel("Live RMSE against lead, test phase", _figure(board, "test_rmse")),
    ]


def comparison_tables(board: LeadLeaderboard) -> list[TextTable]:
    """Our peer against each other one: verdict and p-value by lead, for each phase."""
    tables = []
    for phase in PHASES if board.comparisons else ():
        found = {
            (lead, each.other): f"{each.verdict} ({each.p:.2g})"
            for lead, own in board.comparisons[phase].items()
            for each in own
        }
        compared = {key for _, key in found}
        tables.append(
            TextTable(
                f"ClearWatt against each peer, {phase} phase",
                ("peer", *board.boards),
                tuple(
                    (label, *(found.get((lead, key), "") for lead in board.boards))
                    for key, label in board.peers.items()
                    if key in compared
                ),
                note="Daily squared errors, mean over entities; p-value of Diebold-Mariano.",
            )
        )
    return tables


def _figure(board: LeadLeaderboard, figure: FigureName) -> Figure:
    families: dict[str, int] = {}
    lines = []
    for peer, label in board.peers.items():
        colour = peer_colour(peer)
        place = families[colour] = families.get(colour, -1) + 1
        lines.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": plotly_text(label),
                "x": board.hours,
                "y": list(board.figures(peer, figure).values()),
                "line": {"color": colour, "width": 2, "dash": _DASHES[place % len(_DASHES)]},
                "hovertemplate": f"{plotly_text(label)}<br>%{{x:g}} h ahead: %{{y:.4f}}"
                "<extra></extra>",
            }
        )
    layout = {
        "height": 430,
        "margin": {"l": 60, "r": 40, "b": 50},
        "legend": {"orientation": "h", "y": -0.2},
        "xaxis": {
            "type": "log",
            "title": {"text": "lead [h]"},
            "tickvals": board.hours,
            "ticktext": [f"{hours:g}" for hours in board.hours],
        },
        "yaxis": {"title": {"text": "live RMSE"}, "rangemode": "tozero"},
    }
    return {"data": lines, "layout": layout}
