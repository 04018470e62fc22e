import pandas as pd

from clearwatt.data.schema import Drift
from clearwatt.report.drift_plots import drift_marks, drift_panel

START = pd.Timestamp("2024-01-01", tz="UTC")
DAY = pd.Timedelta(days=1)
OUTAGE = Drift("outage", "pv_01", START + DAY, START + 2 * DAY, 0.5, "stands <still>")
TARIFF = Drift("tariff", None, START + 3 * DAY, None, 0.2, "a new tariff")


def test_a_drift_that_ends_has_a_line_and_a_band_one_that_lasts_a_line():
    assert [shape["type"] for shape in drift_marks([OUTAGE])["shapes"]] == ["line", "rect"]
    assert [shape["type"] for shape in drift_marks([TARIFF])["shapes"]] == ["line"]


def test_labels_take_turns_on_five_lines_and_say_what_happens():
    notes = drift_marks([OUTAGE] * 6)["annotations"]
    assert len({note["y"] for note in notes}) == 5
    assert notes[0]["text"] == "▾ outage"
    assert notes[0]["hovertext"] == (
        "<b>outage</b>, pv_01<br>2024-01-02 to 2024-01-03<br>stands &lt;still&gt;"
    )


def test_there_is_room_for_labels_only_where_there_are_any():
    assert drift_marks([])["margin"]["t"] < drift_marks([TARIFF])["margin"]["t"]


def test_the_chart_has_a_mark_for_each_drift_and_a_bar_for_each_that_ends():
    panel = drift_panel([OUTAGE, TARIFF], start=START, end=START + 9 * DAY)
    bar, marks = panel.figure["data"]
    assert bar["x"] == ["2024-01-02 00:00:00", "2024-01-03 00:00:00"]
    assert marks["y"] == ["outage", "tariff"]
    assert "whole grid" in marks["text"][1]
