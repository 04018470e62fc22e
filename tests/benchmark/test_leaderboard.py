"""Who is first, who wins, and whether it is luck."""

import numpy as np
import pytest

from clearwatt.benchmark.leaderboard import Leaderboard, Skipped
from clearwatt.benchmark.peer import Cost
from clearwatt.benchmark.scores import PhaseScore, Record
from clearwatt.benchmark.sheets import (
    duel_sheet,
    entity_sheet,
    main_sheet,
    markdown,
    size,
    skipped_lines,
)
from clearwatt.errors import StateError

ABOUT = {"experiment": {}, "data": {"name": "grid"}, "versions": {}, "machine": {}}
ENTITIES = ("farm", "town", "mill")
LOSSES = {"good": (0.1, 0.1, 0.3), "same": (0.1, 0.3, 0.2), "bad": (0.5, 0.5, 0.5)}


def record(peer: str, entity: str, loss: float, noise: np.ndarray) -> Record:
    daily = loss + 0.01 * noise
    score = PhaseScore(float(np.sqrt(daily.mean())), loss, None)
    return Record(peer, peer, entity, "zone", score, score, Cost(loss, 3, 4000), tuple(daily))


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    rng = np.random.default_rng(0)
    return Leaderboard(
        ABOUT,
        tuple(
            record(peer, entity, loss, rng.normal(size=200))
            for peer, losses in reversed(LOSSES.items())
            for entity, loss in zip(ENTITIES, losses, strict=True)
        ),
        (Skipped("absent", "it is not there"),),
    )


def test_the_lowest_error_is_first(board):
    errors = [row.rmse for row in board.rows]
    assert errors == sorted(errors)
    assert board.rows[-1].peer == "bad"


def test_wins_add_up_and_close_ones_are_not_clear(board):
    rows = {row.peer: row for row in board.rows}
    assert sum(row.wins for row in board.rows) == len(ENTITIES)
    assert rows["bad"].wins == 0
    # On the farm two are equal but for noise; town and mill are won by far.
    assert rows["good"].clear_wins == rows["same"].clear_wins == 1


def test_duels_count_the_entities_and_mirror_each_other(board):
    duels = {(duel.peer, duel.other): duel for duel in board.duels}
    assert (duels["good", "bad"].better, duels["good", "bad"].worse) == (3, 0)
    assert (duels["good", "same"].better, duels["good", "same"].worse) == (1, 1)
    for (peer, other), duel in duels.items():
        assert duels[other, peer].worse == duel.better


def test_it_survives_the_disk(board, tmp_path):
    board.write(tmp_path)
    assert Leaderboard.read(tmp_path) == board


def test_something_else_is_refused(tmp_path):
    (tmp_path / "leaderboard.json").write_text('{"format": "other", "version": 1}')
    with pytest.raises(StateError, match="no leaderboard"):
        Leaderboard.read(tmp_path)


def test_the_tables_say_the_same(board):
    first = board.rows[0]
    assert main_sheet(board).rows[0][:3] == ("1", first.label, f"{first.rmse:.4f}")
    entities = entity_sheet(board)
    assert [row[0] for row in entities.rows] == list(ENTITIES)
    assert len(entities.best) == len(ENTITIES)
    column = duel_sheet(board).columns.index("bad")
    assert duel_sheet(board).rows[0][column] == "3:0"
    assert skipped_lines(board) == ["absent was left out: it is not there"]


def test_markdown_has_a_line_for_each_peer(board):
    lines = markdown(main_sheet(board)).splitlines()
    assert len(lines) == 2 + len(LOSSES)
    assert all(line.count("|") == lines[0].count("|") for line in lines)


@pytest.mark.parametrize(
    ("held", "said"), [(0, "0"), (96, "96 B"), (4608, "4.6 kB"), (2_400_000, "2.4 MB")]
)
def test_sizes_are_readable(held, said):
    assert size(held) == said
