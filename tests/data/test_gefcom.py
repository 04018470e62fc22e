"""Day-ahead inputs from forecast runs: the newest that was known, never a later one."""

import numpy as np
import pandas as pd

from clearwatt.data.gefcom import day_ahead


def runs(days: int = 4) -> pd.DataFrame:
    """Return runs every 12 hours, 48 hours long, whose values tell when they were issued.

    ``u`` is the hour of issue counted from the first run, ``v`` the lead.
    """
    issues = pd.date_range("2011-01-01", periods=2 * days, freq="12h")
    rows = [
        (int(issue.strftime("%Y%m%d%H")), lead, 12.0 * number, float(lead), 1.0)
        for number, issue in enumerate(issues)
        for lead in range(1, 49)
    ]
    return pd.DataFrame(rows, columns=["date", "hors", "u", "v", "ws"])


def hours_since_first_run(frame: pd.DataFrame) -> np.ndarray:
    return (
        (frame.index - pd.Timestamp("2011-01-01", tz="UTC")) // pd.Timedelta(hours=1)
    ).to_numpy()


def decision(valid: np.ndarray) -> np.ndarray:
    """The hour of the decision: 00 UTC on the day before."""
    return (valid // 24 - 1) * 24


def test_lead_is_a_day_plus_the_hour_of_the_day():
    inputs = day_ahead(runs())
    valid = hours_since_first_run(inputs)
    usual = valid < 4 * 24
    assert (inputs["wind_v_ms"] == 24 + valid % 24)[usual].all()
    assert (inputs["wind_u_ms"] + inputs["wind_v_ms"] == valid).all()
    assert inputs.index[0] == pd.Timestamp("2011-01-02", tz="UTC")


def test_no_value_is_from_a_run_after_the_decision():
    inputs = day_ahead(runs())
    assert (inputs["wind_u_ms"].to_numpy() <= decision(hours_since_first_run(inputs))).all()


def test_a_withheld_run_is_replaced_by_the_one_before_and_never_by_a_later_one():
    table = runs()
    withheld = table["date"] == 2011010200
    table.loc[withheld, ["u", "v", "ws"]] = np.nan
    inputs = day_ahead(table)
    day = inputs.loc["2011-01-03"]
    assert (day["wind_u_ms"].dropna() == 12.0).all()
    assert day["wind_u_ms"].notna().sum() == 13  # the run of 12 UTC reaches 12 UTC two days on
    assert (day.index[1:] - day.index[:-1] == pd.Timedelta(hours=1)).all()


def test_the_order_of_rows_does_not_matter():
    table = runs()
    shuffled = table.sample(frac=1.0, random_state=0)
    pd.testing.assert_frame_equal(day_ahead(shuffled), day_ahead(table))
