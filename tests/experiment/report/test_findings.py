"""The paper's own tables are the first judge: every finding the paper states holds in them."""

from dataclasses import replace

import pytest

from clearwatt.experiment.report import paper
from clearwatt.experiment.report.findings import FindingVerdict, findings, summary
from clearwatt.experiment.report.tables import Spread

REPLAY_WINS, BEATS_FROZEN, GENERATIVE, EWC_FORECASTS, FEWER = range(5)


def changed(component, row, metric, value):
    """The paper's tables with one figure replaced."""
    table = paper.TABLES[component]
    figures = {**table.rows[row], metric: Spread(value, None, 95)}
    return {**paper.TABLES, component: replace(table, rows={**table.rows, row: figures})}


def without(*rows):
    return {
        name: replace(table, rows={k: v for k, v in table.rows.items() if k not in rows})
        for name, table in paper.TABLES.items()
    }


def verdicts(tables):
    return [finding.verdict for finding in findings(tables)]


def test_all_hold_in_the_papers_own_tables():
    assert verdicts(paper.TABLES) == [FindingVerdict.HOLDS] * 5


@pytest.mark.parametrize(
    ("finding", "change"),
    [
        (REPLAY_WINS, ("autoencoder", "Ra", "prediction_error", 0.19)),
        (REPLAY_WINS, ("autoencoder", "F", "forgetting_ratio", 1.51)),
        (BEATS_FROZEN, ("predictor", "F", "fitting_error", 0.157)),
        (BEATS_FROZEN, ("autoencoder", "E", "fitting_error", 0.4)),
        (GENERATIVE, ("predictor", "Re", "fitting_error", 0.045)),
        (GENERATIVE, ("autoencoder", "G", "forgetting_ratio", 0.7)),
        (EWC_FORECASTS, ("predictor", "E", "prediction_error", 0.153)),
        (FEWER, ("predictor", "Re", "updates", 8.3)),
    ],
)
def test_one_figure_that_contradicts_a_finding_breaks_it_and_is_named(finding, change):
    component, row, metric, value = change
    judged = findings(changed(component, row, metric, value))[finding]
    assert judged.verdict is FindingVerdict.FAILS
    assert f"CLeaR_{row}" in judged.evidence
    assert f"{value:.3f}" in judged.evidence
    assert "≥" in judged.evidence


def test_what_still_holds_is_told_beside_what_does_not():
    judged = findings(changed("autoencoder", "Ra", "prediction_error", 0.19))[REPLAY_WINS]
    failing, _, holding = judged.evidence.partition("; it does hold for ")
    assert "PE" in failing
    assert "FE" in holding
    assert "FR" in holding


def test_how_many_pairs_contradict_is_told():
    judged = findings(changed("autoencoder", "Ra", "prediction_error", 0.19))[REPLAY_WINS]
    assert "CLeaR_Ra 0.190 ≥ CLeaR_E 0.180, as in 1 of 8 pairs" in judged.evidence


def test_an_instance_that_was_run_without_a_figure_is_not_called_missing():
    judged = findings(changed("predictor", "E", "prediction_error", None))[EWC_FORECASTS]
    assert judged.verdict is FindingVerdict.UNKNOWN
    assert judged.evidence == "CLeaR_E without a figure for PE of forecasts"


def test_a_missing_instance_leaves_findings_about_it_open():
    judged = findings(without("G"))
    assert judged[GENERATIVE].verdict is FindingVerdict.UNKNOWN
    assert "CLeaR_G not in this run" in judged[GENERATIVE].evidence
    assert judged[FEWER].verdict is FindingVerdict.HOLDS


def test_a_counterexample_is_enough_even_where_instances_are_missing():
    tables = changed("predictor", "E", "fitting_error", 0.9)
    table = tables["predictor"]
    rows = {key: row for key, row in table.rows.items() if key != "G"}
    assert (
        verdicts({**tables, "predictor": replace(table, rows=rows)})[BEATS_FROZEN]
        == "does not hold"
    )


def test_without_baseline_or_updates_nothing_is_claimed():
    assert verdicts(without("L"))[BEATS_FROZEN] is FindingVerdict.UNKNOWN
    assert set(verdicts(without(*paper.PREDICTOR.rows))) == {FindingVerdict.UNKNOWN}


def test_figures_that_print_alike_are_told_apart():
    judged = findings(changed("predictor", "E", "prediction_error", 0.15204))[EWC_FORECASTS]
    assert "CLeaR_E 0.15204 ≥ CLeaR_G 0.15200" in judged.evidence


def test_the_summary_counts():
    judged = findings(changed("predictor", "Re", "updates", 8.3))
    told = summary(judged, entities=1)
    assert told == (
        "Of the paper's 5 findings, 4 hold, 1 does not hold in this run (means over 1 entity)."
    )
