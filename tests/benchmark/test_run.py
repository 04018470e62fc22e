"""A benchmark from its beginning to its end, and once more."""

import json
from dataclasses import replace

import numpy as np
import pytest

from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.peer import Cost, Forecasts, Peer
from clearwatt.benchmark.peers.climatology import Climatology
from clearwatt.benchmark.peers.persistence import Persistence
from clearwatt.benchmark.run import Benchmark, run
from clearwatt.compute import executor
from clearwatt.errors import ClearwattError, ConfigurationError

PEERS = (Persistence(1), Persistence(7), Climatology())


class Absent(Persistence):
    package = "a_package_that_nobody_has"

    @property
    def key(self):
        return "absent"


class Wild(Peer):
    """Forecasts that go out of bounds."""

    key = "wild"
    label = "wild"

    def forecast(self, history):
        power = np.full((history.steps, len(history.entities)), np.inf)
        return Forecasts(power, (Cost(),) * len(history.entities))

    def seconds(self, history):
        return 1.0


@pytest.fixture
def benchmark(phases):
    return Benchmark(peers=PEERS, phases=phases)


def finished(benchmark, grid, out, name="serial"):
    with executor(name, workers=2) as compute:
        steps = list(run(benchmark, grid, out, compute=compute))
    return Leaderboard.read(out), steps


def errors(board):
    return {(each.peer, each.entity): each.updating.rmse for each in board.records}


def test_every_peer_forecasts_every_entity(benchmark, grid, tmp_path):
    board, steps = finished(benchmark, grid, tmp_path / "out")
    assert len(board.records) == len(PEERS) * 3
    assert (steps[0].done, steps[-1].done, steps[-1].tasks) == (0, 9, 9)
    assert steps[-1].cost_done == pytest.approx(steps[-1].cost)


def test_what_is_done_is_not_done_again(benchmark, grid, tmp_path):
    first, _ = finished(benchmark, grid, tmp_path / "out")
    kept = sorted((tmp_path / "out" / "records").iterdir())
    written = [file.stat().st_mtime_ns for file in kept]
    kept[0].unlink()
    again, steps = finished(benchmark, grid, tmp_path / "out")
    assert [step.done for step in steps] == [8, 9]
    assert [file.stat().st_mtime_ns for file in kept[1:]] == written[1:]
    assert errors(again) == errors(first)


def test_a_damaged_record_is_made_again(benchmark, grid, tmp_path):
    first, _ = finished(benchmark, grid, tmp_path / "out")
    damaged = next((tmp_path / "out" / "records").iterdir())
    damaged.write_text("[{")
    again, steps = finished(benchmark, grid, tmp_path / "out")
    assert [step.done for step in steps] == [8, 9]
    assert errors(again) == errors(first)


def test_another_choice_goes_on_in_the_same_folder(benchmark, grid, tmp_path):
    finished(replace(benchmark, peers=PEERS[:1]), grid, tmp_path / "out")
    board, steps = finished(
        replace(benchmark, peers=PEERS[:2], entities=("town", "mill")), grid, tmp_path / "out"
    )
    assert steps[0].done == 2  # those of the first peer
    assert board.entities == ("town", "mill")


def test_other_settings_need_another_folder(benchmark, grid, tmp_path):
    finished(benchmark, grid, tmp_path / "out")
    with pytest.raises(ConfigurationError, match="seed is 0 there and 1 here"):
        finished(replace(benchmark, seed=1), grid, tmp_path / "out")


@pytest.mark.slow
def test_processes_find_the_same(benchmark, grid, tmp_path):
    serial, _ = finished(benchmark, grid, tmp_path / "one")
    parallel, _ = finished(benchmark, grid, tmp_path / "two", "processes")
    assert errors(parallel) == errors(serial)


@pytest.mark.slow
def test_a_cluster_finds_the_same(benchmark, grid, tmp_path):
    pytest.importorskip("ray")
    serial, _ = finished(benchmark, grid, tmp_path / "one")
    cluster, _ = finished(benchmark, grid, tmp_path / "two", "ray")
    assert errors(cluster) == errors(serial)


def test_a_peer_without_its_package_is_left_out_with_a_sentence(benchmark, grid, tmp_path):
    board, _ = finished(replace(benchmark, peers=(*PEERS, Absent())), grid, tmp_path / "out")
    assert [each.peer for each in board.skipped] == ["absent"]
    assert "pip install 'clearwatt[benchmark]'" in board.skipped[0].reason
    assert "absent" not in {record.peer for record in board.records}


def test_with_nobody_left_there_is_no_benchmark(benchmark, grid, tmp_path):
    with pytest.raises(ClearwattError, match="a_package_that_nobody_has is not installed"):
        finished(replace(benchmark, peers=(Absent(),)), grid, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_one_that_went_out_of_bounds_is_last_and_wins_nothing(benchmark, grid, tmp_path):
    board, _ = finished(replace(benchmark, peers=(Wild(), *PEERS)), grid, tmp_path / "out")
    assert board.rows[-1].peer == "wild"
    assert (board.rows[-1].rmse, board.rows[-1].wins) == (None, 0)
    assert json.dumps(board.to_dict(), allow_nan=False)
