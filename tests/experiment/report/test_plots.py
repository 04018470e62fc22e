import pytest
from tests.experiment.finished_run import KINDS, run_document

from clearwatt.experiment.report.plots import cost_panels, kind_panels, stability_panels
from clearwatt.experiment.report.report import Report
from clearwatt.experiment.report.summary import kind_tables
from clearwatt.experiment.report.tables import INSTANCES
from clearwatt.experiment.report.timelines import error_figure


def planes(report, component):
    return stability_panels(report.results, report.table(component), component)


def test_each_pair_of_metrics_has_a_picture_with_every_entity(report):
    panels = planes(report, "predictor")
    assert [panel.caption for panel in panels] == [
        "Fitting Error against Prediction Error",
        "Fitting Error against Forgetting Ratio",
        "Prediction Error against Forgetting Ratio",
    ]
    dots = [trace for trace in panels[0].figure["data"] if trace["mode"] == "markers"]
    assert [len(trace["x"]) for trace in dots] == [len(KINDS)] * len(INSTANCES)


def test_baselines_appear_where_they_have_both_figures(report):
    labels = [
        {trace["text"][0] for trace in panel.figure["data"] if trace["mode"] == "markers+text"}
        for panel in planes(report, "predictor")
    ]
    assert {"<b>U</b>", "<b>L</b>"} <= labels[0]
    assert not {"<b>U</b>", "<b>L</b>"} & labels[1]


def test_figures_over_decades_get_a_logarithmic_axis_unless_one_is_zero(report, write_run):
    assert planes(report, "autoencoder")[1].figure["layout"]["yaxis"]["type"] == "log"
    assert planes(report, "predictor")[0].figure["layout"]["yaxis"]["type"] == "linear"
    document = run_document()
    document["trials"][0]["autoencoder"]["forgetting_ratio"] = 0.0
    other = Report.of(write_run(document, "other"))
    assert planes(other, "autoencoder")[1].figure["layout"]["yaxis"]["type"] == "linear"


def test_bars_by_kind_are_the_means_of_that_kind(report):
    tables = kind_tables(report.results)
    fitting = kind_panels(tables)[0].figure["data"]
    (generative,) = [trace for trace in fitting if trace["name"] == "G"]
    assert generative["x"] == list(tables)
    assert generative["y"] == [table.mean("G", "fitting_error") for table in tables.values()]


def test_one_entity_of_a_kind_has_no_error_bars_but_three_entities_have(report):
    assert not any(
        "error_y" in trace for trace in kind_panels(kind_tables(report.results))[0].figure["data"]
    )
    (live, *_) = cost_panels(report.table("operation"))
    (bars,) = live.figure["data"]
    assert bars["error_y"]["array"][1] == pytest.approx(0.01)


def test_cost_is_drawn_for_those_that_have_one(report):
    by_caption = {
        panel.caption: panel.figure["data"][0]["x"]
        for panel in cost_panels(report.table("operation"))
    }
    assert by_caption["Live RMSE, mean over entities"] == ["L", *INSTANCES]
    assert by_caption["Past Retained [MB], mean over entities"] == list(INSTANCES)


def test_the_error_over_time_shows_the_frozen_model_beside_the_learning_ones(report, write_run):
    """A run of a release that kept no days of the baselines has the others."""

    def lines(found):
        traces = error_figure(found.results, "village_01")["data"]
        return [trace["name"] for trace in traces if trace["mode"] == "lines"]

    learning = [f"CLeaR_{instance}" for instance in INSTANCES]
    assert lines(report) == ["Baseline_L", *learning]
    document = run_document()
    for each in document["baselines"]:
        del each["series"]
    assert lines(Report.of(write_run(document, "older"))) == learning
