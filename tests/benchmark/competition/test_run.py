"""A run through the competition: progress, errors, and the official figure."""

import json
import math

import numpy as np
import pytest
from tests.benchmark.competition.wind_task import skip_without_wheel, wind_task

from clearwatt.benchmark.competition.board import competition_table, score_blocks
from clearwatt.benchmark.competition.peer import BlockPersistence, CompetitionPeer
from clearwatt.benchmark.competition.run import CompetitionRun
from clearwatt.data.wind_competition import load_wind_competition


class NeedsMissingPackage(BlockPersistence):
    package = "a_package_that_nobody_has"


def finished_run(*peers: CompetitionPeer) -> CompetitionRun:
    run = CompetitionRun(wind_task(days=10, blocks=3), peers)
    run.reported = [step.done for step in run.steps()]
    return run


def test_each_block_is_reported_and_scored():
    run = finished_run(BlockPersistence())
    assert run.reported == [0, 1, 2, 3]
    ours, organisers = run.board.rows
    assert ours.rmse == organisers.rmse  # their benchmark is the last value, too
    assert run.board.values == 3 * 48 * 2


def test_a_peer_whose_package_is_missing_is_left_out_with_the_reason():
    board = finished_run(NeedsMissingPackage()).board
    assert [row.peer for row in board.rows] == ["organisers"]
    assert "a_package_that_nobody_has" in board.skipped[0].reason


def test_errors_by_lead_and_farm_belong_to_their_hours():
    task = wind_task(days=10, blocks=3)
    power = task.solution.copy()
    power[:, 6:12, 1] += 0.5
    row = score_blocks(task, power, peer="p", label="P", seconds=1.0)
    assert row.by_lead["7-12 h"] == pytest.approx(math.sqrt(0.25 / 2))
    assert row.by_lead["1-6 h"] == row.by_farm["wp0"] == 0
    assert row.rmse == pytest.approx(math.sqrt(0.25 / 16))


def test_the_table_and_the_json_have_every_peer():
    board = finished_run(BlockPersistence()).board
    table = competition_table(board)
    assert [row[1] for row in table.rows] == [row.label for row in board.rows]
    assert len(table.columns) == 12
    assert json.loads(json.dumps(board.to_dict()))["rows"][0]["rmse"] == board.rows[0].rmse


@pytest.fixture(scope="module")
def competition():
    skip_without_wheel()
    return load_wind_competition()


def test_the_organisers_benchmark_scores_as_published(competition):
    (row,) = CompetitionRun(competition, ()).board.rows
    assert round(row.rmse, 4) == 0.3537
    assert competition.solution.size == 52_416


def test_no_measurement_of_a_block_is_ever_known(competition):
    for issue in competition.issues:
        assert np.isfinite(competition.measured[issue - 35 : issue + 1]).all()
        assert np.isnan(competition.measured[issue + 1 : issue + 49]).all()


def test_the_run_of_each_block_is_complete_and_no_later_one_is_known(competition):
    for issue in competition.issues.tolist():
        runs = competition.known_at(issue).runs
        assert runs.issued[-1] == issue
        assert np.isfinite(runs.values[-1]).all()
