"""The leaderboard by lead: every lead is a run of its own, put into one table."""

import numpy as np
import pandas as pd
import pytest

from clearwatt.benchmark.leads import LeadLeaderboard, run_leads
from clearwatt.benchmark.peers import PEERS
from clearwatt.benchmark.peers.persistence import LastValue, Persistence
from clearwatt.benchmark.run import Benchmark
from clearwatt.compute import executor

LEADS = [pd.Timedelta(hours=hours) for hours in (1, 24)]


@pytest.fixture(scope="module")
def board(grid, phases, tmp_path_factory):
    out = tmp_path_factory.mktemp("leads")
    benchmark = Benchmark(peers=(LastValue(), Persistence(1)), phases=phases)
    with executor("serial") as compute:
        stages = {step.stage for step in run_leads(benchmark, grid, out, LEADS, compute=compute)}
    assert stages == {"1h ahead", "24h ahead"}
    return LeadLeaderboard.read(out, LEADS)


def test_each_lead_has_its_own_errors(board):
    one, day = (board.row(lead, "last-value").rmse for lead in ("1h", "24h"))
    assert one != day
    # The same hour of the day before is known at either lead.
    assert board.row("1h", "persistence-24h").rmse == board.row("24h", "persistence-24h").rmse


def test_table_and_json_have_the_same_figures(board):
    table, document = board.table(), board.to_dict()
    assert table.columns == ("peer", "1h", "24h")
    assert document["leads"] == ["1h", "24h"]
    for row, plain in zip(table.rows, document["rows"], strict=True):
        assert row == (plain["label"], *(f"{value:.4f}" for value in plain["rmse"].values()))


def test_lowest_error_of_each_lead_is_marked(board):
    table = board.table()
    for column in (1, 2):
        errors = [float(row[column]) for row in table.rows]
        marked = {at for at, place in table.best if place == column}
        assert marked == {at for at, error in enumerate(errors) if error == min(errors)}


def test_last_value_is_the_measurement_of_the_lead_before(coast):
    power = LastValue().forecast(coast).power[:, 0]
    np.testing.assert_array_equal(power, coast.measured[coast.first - 24 : -24, 0])


@pytest.mark.parametrize("key", ["last-value", "lightgbm-lags-last"])
def test_peers_with_the_last_value_are_there(key):
    assert key in [peer.key for peer in PEERS]
