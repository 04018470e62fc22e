"""The leaderboard by lead: every lead is a run of its own, put into one table."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.benchmark.lead_comparison import PHASES
from clearwatt.benchmark.lead_page import write_lead_page
from clearwatt.benchmark.lead_tables import MARKS, error_table, interval_table, lead_tables
from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.leads import OURS, LeadLeaderboard, run_leads
from clearwatt.benchmark.peers import PEERS
from clearwatt.benchmark.peers.persistence import LastValue, Persistence
from clearwatt.benchmark.run import Benchmark
from clearwatt.benchmark.scores import PeerRecord
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


def test_tables_and_json_have_the_same_figures(board):
    document = board.to_dict()
    assert document["leads"] == ["1h", "24h"]
    for phase, figure in (("updating", "rmse"), ("test", "test_rmse")):
        table = error_table(board, phase)
        assert table.columns == ("peer", "1h", "24h")
        for row, plain in zip(table.rows, document["rows"], strict=True):
            assert row == (plain["label"], *(f"{value:.4f}" for value in plain[figure].values()))


@pytest.mark.parametrize("phase", PHASES)
def test_lowest_error_of_each_lead_is_bold(board, phase):
    table = error_table(board, phase)
    for column in (1, 2):
        errors = [float(row[column]) for row in table.rows]
        bold = {at for at, place in table.best if place == column}
        assert bold == {at for at, error in enumerate(errors) if error == min(errors)}


def test_without_our_peer_nothing_is_marked(board):
    assert board.marks == board.comparisons == {}
    assert [table.title for table in lead_tables(board)] == [
        f"little: live RMSE by lead, {phase} phase" for phase in PHASES
    ]


@pytest.fixture(scope="module")
def marked(board):
    """The last value under the name of our peer, with intervals that cover all at 1 hour."""

    def renamed(record: PeerRecord, lead: str) -> PeerRecord:
        if record.peer != "last-value":
            return record
        coverage = 1.0 if lead == "1h" else 0.5
        score = replace(record.updating, coverage=coverage, width=0.25)
        return replace(record, peer=OURS, updating=score)

    return LeadLeaderboard(
        {
            lead: replace(own, records=tuple(renamed(each, lead) for each in own.records))
            for lead, own in board.boards.items()
        }
    )


def test_marks_stand_below_the_errors_of_our_peer(marked):
    table = error_table(marked, "updating")
    places = [at for at, row in enumerate(table.rows) if row[0].strip() == MARKS]
    (place,) = places
    assert table.rows[place][1:] == tuple(marked.to_dict()["marks"]["updating"].values())
    assert table.rows[place - 1][0] == marked.peers[OURS]
    assert not any(at == place for at, _ in table.best)


def test_coverage_and_width_are_listed_by_lead(marked):
    rows = {row[0]: row[1:] for row in interval_table(marked).rows}
    label = marked.peers[OURS]
    assert rows[f"{label}: coverage, updating"] == ("100.0 %", "50.0 %")
    assert rows[f"{label}: width, updating"] == ("0.2500", "0.2500")
    assert not any("persistence 24 h" in name for name in rows)


def test_a_longer_lead_that_is_clearly_better_is_found(marked):
    def scaled(board: Leaderboard, factor: float) -> Leaderboard:
        records = (
            replace(each, daily=tuple(loss and factor * loss for loss in each.daily))
            for each in board.records
        )
        return replace(board, records=tuple(records))

    base = marked.boards["1h"]
    rising, falling = (
        LeadLeaderboard({"1h": base, "24h": scaled(base, factor)}) for factor in (1.5, 0.5)
    )
    assert rising.falls == []
    assert falling.falls == [("1h", "24h")]


def test_page_has_a_line_of_each_peer_over_all_leads(marked, tmp_path):
    write_lead_page(marked, tmp_path / "leads.html")
    page = (tmp_path / "leads.html").read_text(encoding="utf-8")
    figures = json.loads(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL).group(1))
    assert len(figures) == 2
    for figure in figures.values():
        assert {line["name"] for line in figure["data"]} == set(marked.peers.values())
        assert all(line["x"] == [1.0, 24.0] for line in figure["data"])
    assert "ClearWatt against each peer" in page


def test_last_value_is_the_measurement_of_the_lead_before(coast):
    power = LastValue().forecast(coast).power[:, 0]
    np.testing.assert_array_equal(power, coast.measured[coast.first - 24 : -24, 0])


@pytest.mark.parametrize("key", ["last-value", "lightgbm-lags-last"])
def test_peers_with_the_last_value_are_there(key):
    assert key in [peer.key for peer in PEERS]
