"""Plots of live error against past data held and against processor time."""

from __future__ import annotations

from collections.abc import Callable

from clearwatt.benchmark.leaderboard import Leaderboard, PeerRow
from clearwatt.report.formatting import format_bytes
from clearwatt.report.plots import Figure, Panel, plotly_text

# Families of peers, by the first part of their keys; colour-blind readers can tell the hues apart.
_COLOURS = {
    "clear": "#d55e00",
    "lightgbm": "#0072b2",
    "mlp": "#a67c00",
    "river": "#00876a",
}
_OTHER = "#7f8a98"


def peer_colour(peer: str) -> str:
    """The colour of a peer's family."""
    return _COLOURS.get(peer.partition("-")[0], _OTHER)


def cost_panels(board: Leaderboard) -> list[Panel]:
    """Live error against past data held, and against processor time; dots are labelled by rank."""
    return [
        Panel(
            "Live RMSE against past data held per entity; who holds none is at the left edge. "
            "Numbers are ranks",
            _scatter_figure(board, lambda row: row.held_bytes, "past data held [bytes]"),
        ),
        Panel(
            "Live RMSE against processor time for learning per entity. Numbers are ranks",
            _scatter_figure(board, lambda row: row.seconds, "processor time for learning [s]"),
        ),
    ]


def _scatter_figure(board: Leaderboard, cost: Callable[[PeerRow], float], title: str) -> Figure:
    rows = [row for row in board.rows if row.rmse is not None]
    least = min((cost(row) for row in rows if cost(row) > 0), default=1.0)
    dots = [_dot(row, max(cost(row), least / 3), rank) for rank, row in enumerate(rows, start=1)]
    layout = {
        "height": 430,
        "showlegend": False,
        "margin": {"l": 60, "r": 40, "b": 50},
        "xaxis": {"type": "log", "title": {"text": title}},
        "yaxis": {"title": {"text": "live RMSE, updating phase"}},
    }
    return {"data": dots[::-1], "layout": layout}  # the best is drawn last, on top


def _dot(row: PeerRow, across: float, rank: int) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [across],
        "y": [row.rmse],
        "text": [str(rank)],
        "textposition": "middle center",
        "textfont": {"color": "#ffffff", "size": 11},
        "cliponaxis": False,
        "marker": {
            "color": peer_colour(row.peer),
            "size": 20,
            "line": {"color": "var(--card)", "width": 1},
        },
        "hovertemplate": f"{rank}. {plotly_text(row.label)}<br>live RMSE %{{y:.4f}}<br>holds "
        f"{format_bytes(row.held_bytes)}, learns {row.seconds:.1f} s<extra></extra>",
    }
