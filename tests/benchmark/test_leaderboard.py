"""Order, wins and significance of a leaderboard."""

import pytest

from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.errors import StateError

ENTITIES = ("farm", "town", "mill")


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
    pairs = {(pair.peer, pair.other): pair for pair in board.pairs}
    assert (pairs["good", "bad"].better, pairs["good", "bad"].worse) == (3, 0)
    assert (pairs["good", "same"].better, pairs["good", "same"].worse) == (1, 1)
    for (peer, other), pair in pairs.items():
        assert pairs[other, peer].worse == pair.better


def test_it_survives_the_disk(board, tmp_path):
    board.write(tmp_path)
    assert Leaderboard.read(tmp_path) == board


def test_something_else_is_refused(tmp_path):
    (tmp_path / "leaderboard.json").write_text('{"format": "other", "version": 1}')
    with pytest.raises(StateError, match="no leaderboard"):
        Leaderboard.read(tmp_path)
