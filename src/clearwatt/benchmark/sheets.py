"""The tables of a leaderboard as text: the same for the terminal, the page and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from clearwatt.benchmark.leaderboard import Leaderboard, Row
from clearwatt.data.sheets import Sheet

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
NONE = "–"


def main_sheet(board: Leaderboard) -> Sheet:
    """The leaderboard, the lowest live error first."""
    count = len(board.entities)
    whom = f"mean of {count} entities" if count > 1 else board.entities[0]
    rows = tuple((str(at), *_cells(row)) for at, row in enumerate(board.rows, start=1))
    return Sheet(
        title=f"{board.about['data']['name']}: {whom}",
        columns=COLUMNS,
        rows=rows,
        left=2,
        best=frozenset((0, column) for column in (1, 2) if rows),
        note="Live errors over the updating phase unless said otherwise, as a share of capacity. "
        "CPU seconds, trainings and past data held are per entity. Wins: entities with the lowest "
        "RMSE, in parentheses those significantly so (Diebold-Mariano, 5 %).",
    )


def entity_sheet(board: Leaderboard) -> Sheet:
    """Live RMSE of the updating phase, entity by entity."""
    peers = [row.peer for row in board.rows]
    rows, best = [], set()
    for at, entity in enumerate(board.entities):
        errors = [board.of(peer, entity).updating.rmse for peer in peers]
        known = [error for error in errors if error is not None]
        best |= {(at, 1 + i) for i, error in enumerate(errors) if known and error == min(known)}
        rows.append((entity, *(_error(error) for error in errors)))
    columns = ("entity", *peers)
    return Sheet("Live RMSE by entity", columns, tuple(rows), best=frozenset(best))


def duel_sheet(board: Leaderboard) -> Sheet:
    """Every peer against every other: entities on which the row is clearly better : worse."""
    peers = [row.peer for row in board.rows]
    found = {(duel.peer, duel.other): f"{duel.better}:{duel.worse}" for duel in board.duels}
    rows = tuple((peer, *(found.get((peer, other), "") for other in peers)) for peer in peers)
    return Sheet(
        "Row against column",
        ("", *peers),
        rows,
        note=f"On how many of {len(board.entities)} the row's daily squared errors are "
        "significantly lower : higher (Diebold-Mariano with Newey-West variance, 5 %, not "
        "corrected for the number of comparisons).",
    )


def markdown(sheet: Sheet) -> str:
    """A sheet as a Markdown table."""
    rule = ["---" if at < sheet.left else "---:" for at in range(len(sheet.columns))]
    lines = [sheet.columns, rule, *sheet.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def size(held: float) -> str:
    """Bytes as people read them."""
    if held == 0:
        return "0"
    for unit, factor in (("MB", 1e6), ("kB", 1e3)):
        if held >= factor:
            return f"{held / factor:,.1f} {unit}"
    return f"{held:.0f} B"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.label,
        *map(_error, (row.rmse, row.mae, row.pinball, row.test_rmse, row.test_mae)),
        f"{row.seconds:.1f}",
        f"{row.trainings:.0f}",
        size(row.held_bytes),
        f"{row.wins} ({row.clear_wins})" if row.wins else NONE,
    )


def _error(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"


def skipped_lines(board: Leaderboard) -> Sequence[str]:
    """Who did not run, and why, a sentence each."""
    return [f"{each.peer} was left out: {each.reason}" for each in board.skipped]
