"""The tables of a leaderboard by lead: errors of both phases, and intervals."""

from __future__ import annotations

from clearwatt.benchmark.lead_comparison import PHASES, Phase
from clearwatt.benchmark.leads import OURS, FigureName, LeadLeaderboard
from clearwatt.report.formatting import ABSENT
from clearwatt.report.tables import INDENT, TextTable

MARKS = "against the others"
"""Label of the row with the marks of our peer."""


def lead_tables(board: LeadLeaderboard) -> list[TextTable]:
    """The errors of each phase, and the intervals if a peer has any."""
    tables = [error_table(board, phase) for phase in PHASES]
    intervals = interval_table(board)
    return [*tables, intervals] if intervals.rows else tables


def error_table(board: LeadLeaderboard, phase: Phase) -> TextTable:
    """Live RMSE of a phase by lead; the lowest of each lead is bold, and ours has a mark."""
    figure: FigureName = "rmse" if phase == "updating" else "test_rmse"
    rows: list[tuple[str, ...]] = []
    places: dict[str, int] = {}
    for peer, label in board.peers.items():
        places[peer] = len(rows)
        rows.append((label, *map(_error, board.figures(peer, figure).values())))
        if peer == OURS:
            marks = board.marks[phase].values()
            rows.append((f"{INDENT}{MARKS}", *(mark or ABSENT for mark in marks)))
    best = {
        (places[peer], column)
        for column, lead in enumerate(board.boards, start=1)
        for peer in _lowest(board, lead, figure)
    }
    return TextTable(
        title=f"{board.name}: live RMSE by lead, {phase} phase",
        columns=("peer", *board.boards),
        rows=tuple(rows),
        best=frozenset(best),
        note="Mean over entities, as a share of capacity. A forecast uses measurements up to its "
        "lead before; weather is the data set's own at every lead. Level: another peer has a lower "
        "mean, not significantly (Diebold-Mariano, 5 %). Higher: significantly.",
    )


def interval_table(board: LeadLeaderboard) -> TextTable:
    """Coverage and width of the 90 % intervals by lead, of peers that have them."""
    rows = []
    for peer, label in board.peers.items():
        shown: tuple[tuple[str, FigureName, bool], ...] = (
            ("coverage, updating", "coverage", True),
            ("coverage, test", "test_coverage", True),
            ("width, updating", "width", False),
            ("width, test", "test_width", False),
        )
        for name, figure, is_share in shown:
            values = board.figures(peer, figure).values()
            if any(value is not None for value in values):
                rows.append(
                    (f"{label}: {name}", *(_share(v) if is_share else _error(v) for v in values))
                )
    return TextTable(
        title=f"{board.name}: 90 % intervals by lead",
        columns=("peer", *board.boards),
        rows=tuple(rows),
        note="Coverage: share of measurements between the quantiles of 5 % and 95 %. Width: mean "
        "distance of the two, as a share of capacity.",
    )


def _lowest(board: LeadLeaderboard, lead: str, figure: FigureName) -> list[str]:
    """Peers with the lowest figure at a lead."""
    found = {peer: board.figures(peer, figure)[lead] for peer in board.peers}
    known = {peer: value for peer, value in found.items() if value is not None}
    return [peer for peer, value in known.items() if value == min(known.values())]


def _error(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"


def _share(value: float | None) -> str:
    return ABSENT if value is None else f"{100 * value:.1f} %"
