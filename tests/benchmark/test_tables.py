"""The tables of a leaderboard."""

from clearwatt.benchmark.tables import entity_table, leaderboard_table, pair_table, skipped_lines
from clearwatt.report.tables import markdown_table


def test_the_leaderboard_has_the_lowest_error_first(board):
    first = board.rows[0]
    assert leaderboard_table(board).rows[0][:3] == ("1", first.label, f"{first.rmse:.4f}")


def test_every_entity_has_a_row_and_a_best_peer(board):
    entities = entity_table(board)
    assert [row[0] for row in entities.rows] == list(board.entities)
    assert len(entities.best) == len(board.entities)


def test_pairs_count_the_entities_won_and_lost(board):
    column = pair_table(board).columns.index("bad")
    assert pair_table(board).rows[0][column] == "3:0"


def test_who_is_left_out_is_stated_with_the_reason(board):
    assert skipped_lines(board.skipped) == ["absent was left out: it is not there"]


def test_markdown_has_a_line_for_each_peer(board):
    lines = markdown_table(leaderboard_table(board)).splitlines()
    assert len(lines) == 2 + len(board.rows)
    assert all(line.count("|") == lines[0].count("|") for line in lines)
