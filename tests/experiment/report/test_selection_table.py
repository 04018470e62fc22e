"""The table that compares both selections, and the report by either."""

import pytest
from tests.experiment.finished_run import run_document, trial

from clearwatt.experiment.report.report import Report
from clearwatt.experiment.report.selection_table import UNTESTED


def searched(*, tested=True):
    """Two configurations of Ra: the second has a higher FE, and a lower live error and PE."""
    document = run_document(instances=("Ra",))
    for each in document["trials"]:
        each["chosen_live"] = False
    for entity in [each["name"] for each in document["entities"]]:
        other = trial("Ra", entity, chosen=False) | {"chosen_live": True}
        figures = {"fitting_error": 0.5, "prediction_error": 0.01, "forgetting_ratio": 0.0}
        other["predictor"] = figures | {"updates": 2}
        other["live"] = {"rmse": 0.02, "mae": 0.01}
        other["configuration"] = {"alpha": 1.3, "novelty_capacity": 300}
        other["series"] = f"series/live-{entity}.json"
        if not tested:
            other["predictor"]["prediction_error"] = None
            del other["series"], other["chosen_live"]
        document["trials"].append(other)
    return document


def test_both_selections_stand_side_by_side(write_run):
    report = Report.of(write_run(searched()))
    table = report.table("selection")
    assert table.mean("Ra", "fitting_error_fe") == pytest.approx(0.086)
    assert table.mean("Ra", "fitting_error_live") == pytest.approx(0.5)
    assert table.mean("Ra", "prediction_error_fe") == pytest.approx(0.159)
    assert table.mean("Ra", "prediction_error_live") == pytest.approx(0.01)
    assert table.mean("Ra", "live_rmse_fe") == pytest.approx(0.1)
    assert table.mean("Ra", "live_rmse_live") == pytest.approx(0.02)
    assert table.mean("Ra", "live_rmse_mean") == pytest.approx(0.06)
    assert table.mean("Ra", "same") == 0


@pytest.mark.parametrize(("select", "error"), [(None, 0.086), ("fe", 0.086), ("live", 0.5)])
def test_all_tables_are_of_the_selection_asked_for(write_run, select, error):
    report = Report.of(write_run(searched()), select=select)
    assert report.table("predictor").mean("Ra", "fitting_error") == pytest.approx(error)
    assert report.to_dict()["select"] == (select or "fe")
    said = "chosen by lowest live RMSE" in report.table("predictor").note
    assert said == (select == "live")


def test_the_selection_of_the_run_is_the_default(write_run):
    report = Report.of(write_run(searched() | {"select": "live"}))
    assert report.table("operation").mean("Ra", "live_rmse") == pytest.approx(0.02)


def test_a_run_with_one_configuration_each_has_no_such_table(report):
    assert "selection" not in report.to_dict()["tables"]


def test_trials_that_were_never_tested_have_no_prediction_error(write_run):
    report = Report.of(write_run(searched(tested=False)), select="live")
    assert report.table("predictor").mean("Ra", "prediction_error") is None
    assert report.table("selection").mean("Ra", "prediction_error_live") is None
    assert report.table("selection").mean("Ra", "live_rmse_live") == pytest.approx(0.02)
    assert UNTESTED in report.table("predictor").note
    assert UNTESTED in report.table("selection").note
