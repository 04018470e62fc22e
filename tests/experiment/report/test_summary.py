import pytest
from tests.experiment.finished_run import FACTORS, KINDS, run_document, with_adaptive

from clearwatt.errors import DataError
from clearwatt.experiment.report import paper
from clearwatt.experiment.report.report import Report
from clearwatt.experiment.report.summary import (
    component_table,
    entity_table,
    interval_table,
    kind_tables,
    operation_table,
)
from clearwatt.experiment.report.tables import COMPONENTS


@pytest.mark.parametrize("component", COMPONENTS)
def test_means_over_entities_are_those_the_run_was_made_of(report, component):
    table = component_table(report.results, component)
    expected = paper.TABLES[component]
    assert list(table.rows) == list(expected.rows)
    for row in expected.rows:
        for metric in ("fitting_error", "prediction_error", "forgetting_ratio"):
            mean = expected.mean(row, metric)
            assert table.mean(row, metric) == (mean if mean is None else pytest.approx(mean))


def test_deviation_is_over_entities(report):
    spread = component_table(report.results, "predictor").rows["G"]["fitting_error"]
    assert spread.deviation == pytest.approx(0.1 * spread.mean)
    assert spread.count == len(KINDS)


def test_one_shared_autoencoder_has_no_deviation_but_several_zones_have(write_run):
    document = run_document()
    one = component_table(Report.of(write_run(document)).results, "autoencoder")
    assert one.rows["L"]["fitting_error"].deviation is None
    document["entities"][0]["zone"] = "elsewhere"
    several = component_table(Report.of(write_run(document, "other")).results, "autoencoder")
    assert several.rows["L"]["fitting_error"].deviation is not None


def test_only_chosen_trials_count(write_run):
    document = run_document()
    spoiled = {**document["trials"][0], "chosen": False, "predictor": {"fitting_error": 99.0}}
    document["trials"].append(spoiled)
    results = Report.of(write_run(document)).results
    assert component_table(results, "predictor").mean("E", "fitting_error") < 1
    assert (len(results.trials), len(results.chosen_trials)) == (19, 18)


def test_recovery_is_told_in_days_with_the_share_that_recovered(report):
    table = operation_table(report.results)
    assert table.mean("G", "recovery_days") == 2.0
    assert table.mean("G", "recovered") == 50.0
    assert table.rows["G"]["recovery_days"].count == len(KINDS)


def test_a_frozen_models_live_error_is_its_error_over_the_updating_phase(report):
    frozen = component_table(report.results, "predictor").mean("L", "fitting_error")
    assert operation_table(report.results).mean("L", "live_rmse") == frozen


def test_each_kind_has_its_own_means(report):
    tables = kind_tables(report.results)
    assert list(tables) == ["generator", "consumer", "residual"]
    expected = paper.PREDICTOR.mean("G", "fitting_error")
    for kind, table in tables.items():
        factor = next(FACTORS[name] for name, its in KINDS.items() if its == kind)
        assert table.mean("G", "fitting_error") == pytest.approx(factor * expected)


def test_one_entity_is_shown_without_averaging(report):
    table = entity_table(report.results, "pv_01")
    expected = 0.9 * paper.PREDICTOR.mean("F", "prediction_error")
    assert table.mean("F", "predictor.prediction_error") == pytest.approx(expected)
    assert "autoencoder.updates" not in table.rows["L"]


def test_an_unknown_entity_is_told_with_those_that_exist(report):
    with pytest.raises(DataError, match=r"'moon' is no entity .* pv_01, household_01"):
        entity_table(report.results, "moon")


def with_intervals(document):
    """The run with intervals that held 90 % of the readings, and 70 % after one entity's update."""
    for trial in document["trials"]:
        figures = {
            "coverage_90": 0.9,
            "coverage_50": 0.5,
            "width_90": 0.2 * FACTORS[trial["entity"]],
            "pinball": 0.01,
            "crps": 0.02,
            "samples": 100,
        }
        trial["intervals"] = {
            "overall": figures,
            "after_updates": {**figures, "coverage_90": 0.85},
            "after_drifts": None,
            "least_after_update": 0.7 if trial["entity"] == "pv_01" else 0.85,
        }
    return document


def test_intervals_are_told_in_percent_with_who_kept_what_was_promised(write_run):
    report = Report.of(write_run(with_intervals(run_document())))
    table = report.table("intervals")
    assert table.mean("E", "coverage_90") == pytest.approx(90.0)
    assert table.mean("E", "after_updates") == pytest.approx(85.0)
    assert table.mean("E", "after_drifts") is None
    assert table.mean("E", "kept") == pytest.approx(200 / 3)
    assert table.mean("E", "width_90") == pytest.approx(0.2)
    assert "intervals" in report.to_dict()["tables"]


def test_a_run_of_a_release_without_intervals_has_no_table_of_them(report):
    assert interval_table(report.results) is None
    assert [table.name for table in report.tables] == ["autoencoder", "predictor", "operation"]


def test_what_the_adaptive_forecaster_does_not_have_is_left_out_of_its_row(write_run):
    report = Report.of(write_run(with_adaptive(run_document())))
    networks, reconstruction = report.table("predictor"), report.table("autoencoder")
    assert networks.mean("A", "fitting_error") == pytest.approx(0.08)
    assert networks.mean("A", "updates") == 40
    assert {metric.key: reconstruction.mean("A", metric.key) for metric in networks.metrics} == (
        dict.fromkeys(metric.key for metric in networks.metrics)
    )
    operation = report.table("operation")
    assert operation.mean("A", "live_rmse") == pytest.approx(0.06)
    assert operation.mean("A", "held_samples") == 3_000
    assert operation.mean("A", "update_seconds") is None
    for table in (networks, reconstruction, operation):
        assert "CLeaR_A" in table.note and "our adaptive forecaster" in table.note


def test_it_takes_part_in_the_comparison_but_not_in_the_papers_findings(report, write_run):
    own = Report.of(write_run(with_adaptive(run_document()), "own"))
    (live,) = (each for each in own.table("operation").metrics if each.key == "live_rmse")
    assert own.table("operation").best(live) == {"A"}
    assert own.findings == report.findings


def test_a_run_of_an_older_release_has_no_row_and_no_note_of_it(report):
    for table in report.tables:
        assert "A" not in table.rows and "CLeaR_A" not in table.note
    assert report.table("operation").mean("G", "held_samples") is None
