"""The tables of a leaderboard as text, for the terminal, the page and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clearwatt.benchmark.leaderboard import Leaderboard, PeerRow, SkippedPeer
from clearwatt.report.formatting import ABSENT, format_bytes
from clearwatt.report.tables import TextTable

COLUMNS = (
    "#",
    "peer",
    "live RMSE",
    "MAE",
    "pinball",
    "test RMSE",
    "test MAE",
    "CPU s",
    "trainings",
    "held",
    "wins",
)


def leaderboard_table(board: Leaderboard) -> TextTable:
    """The leaderboard, lowest live error first."""
    count = len(board.entities)
    entities = f"mean of {count} entities" if count > 1 else board.entities[0]
    rows = tuple((str(at), *_cells(row)) for at, row in enumerate(board.rows, start=1))
    return TextTable(
        title=f"{board.about['data']['name']}: {entities}",
        columns=COLUMNS,
        rows=rows,
        left=2,
        best=frozenset((0, column) for column in (1, 2) if rows),
        note="Live errors over the updating phase unless said otherwise, as a share of capacity. "
        "CPU seconds, trainings and past data held are per entity. Wins: entities with the lowest "
        "RMSE, in parentheses those significantly so (Diebold-Mariano, 5 %).",
    )


def entity_table(board: Leaderboard) -> TextTable:
    """Live RMSE of the updating phase, entity by entity."""
    peers = [row.peer for row in board.rows]
    rows, best = [], set()
    for at, entity in enumerate(board.entities):
        errors = [board.of(peer, entity).updating.rmse for peer in peers]
        measured = [error for error in errors if error is not None]
        lowest = min(measured, default=None)
        best |= {(at, 1 + i) for i, error in enumerate(errors) if measured and error == lowest}
        rows.append((entity, *(_error(error) for error in errors)))
    columns = ("entity", *peers)
    return TextTable("Live RMSE by entity", columns, tuple(rows), best=frozenset(best))


def pair_table(board: Leaderboard) -> TextTable:
    """Each peer against each other: entities with significantly lower : higher errors."""
    peers = [row.peer for row in board.rows]
    counts = {(pair.peer, pair.other): f"{pair.better}:{pair.worse}" for pair in board.pairs}
    rows = tuple((peer, *(counts.get((peer, other), "") for other in peers)) for peer in peers)
    return TextTable(
        "Row against column",
        ("", *peers),
        rows,
        note=f"On how many of {len(board.entities)} the row's daily squared errors are "
        "significantly lower : higher (Diebold-Mariano with Newey-West variance, 5 %, not "
        "corrected for the number of comparisons).",
    )


def skipped_lines(skipped: Iterable[SkippedPeer]) -> Sequence[str]:
    """One sentence per peer that was left out, with the reason."""
    return [f"{each.peer} was left out: {each.reason}" for each in skipped]


def _cells(row: PeerRow) -> tuple[str, ...]:
    return (
        row.label,
        *map(_error, (row.rmse, row.mae, row.pinball, row.test_rmse, row.test_mae)),
        f"{row.seconds:.1f}",
        f"{row.trainings:.0f}",
        format_bytes(row.held_bytes),
        f"{row.wins} ({row.clear_wins})" if row.wins else ABSENT,
    )


def _error(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"
