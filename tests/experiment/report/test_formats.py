import csv
import io
import re

import pytest

from clearwatt.experiment.report import paper
from clearwatt.experiment.report.formats import (
    cell,
    csv_text,
    document,
    latex,
    markdown,
    text_table,
)
from clearwatt.experiment.report.tables import COMPONENT_METRICS, Metric, Spread, Table

METRIC = COMPONENT_METRICS[0]


@pytest.mark.parametrize(
    ("spread", "words"),
    [
        (Spread(0.0114, 0.0006, 95), "0.011 (0.001)"),
        (Spread(0.003, None, 95), "0.003"),
        (Spread(0.0, 0.0, 3), "0.000 (0.000)"),
        (Spread(0.00012, None, 3), "1.2e-04"),
        (Spread(None, None, 0), "/"),
        (None, "/"),
    ],
)
def test_cells_are_written_as_the_paper_prints_them(spread, words):
    assert cell(spread, METRIC) == words


def test_decimals_are_the_metrics():
    assert cell(Spread(12.0, None, 1), Metric("updates", "U", "u", decimals=0)) == "12"


def test_the_papers_figures_stand_beside_ours(report):
    shown = text_table(report.table("predictor"), paper.PREDICTOR)
    assert shown.columns[:3] == ("instance", "FE", "paper")
    (row,) = [row for row in shown.rows if row[0] == "CLeaR_G"]
    assert row[1:3] == ("0.046 (0.005)", "0.046 (0.025)")
    assert (shown.rows.index(row), 1) in shown.best
    assert shown.aside == {2, 4, 6, 8}


def test_markdown_has_a_row_each_with_only_the_mean_in_bold():
    text = markdown(text_table(paper.AUTOENCODER))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    assert "| CLeaR\\_G | **0.011** (0.001) |" in text


def test_latex_has_equal_columns_and_bold_means():
    text = latex(paper.PREDICTOR, paper.PREDICTOR)
    rows = [line for line in text.splitlines() if "CLeaR" in line or "Baseline" in line]
    assert len(rows) == 8
    assert {row.count("&") for row in rows} == {8}
    assert (
        r"$\text{CLeaR}_{\text{F}}$ & 0.112 (0.060) & 0.112 (0.060) & \textbf{0.135} (0.076)"
        in text
    )
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert text.count("{") == text.count("}")


def test_latex_escapes_names():
    table = Table("entity", "50 %_&{x} alone", (METRIC,), {"E": {METRIC.key: Spread(1, None, 1)}})
    assert r"50 \%\_\&\{x\} alone" in latex(table)


def test_csv_has_a_line_for_each_figure(report):
    lines = list(csv.DictReader(io.StringIO(csv_text(report.tables, paper.TABLES))))
    found = [
        line
        for line in lines
        if (line["table"], line["row"], line["metric"])
        == ("autoencoder", "CLeaR_Re", "fitting_error")
    ]
    (line,) = found
    assert float(line["mean"]) == pytest.approx(0.016)
    assert (line["paper_mean"], line["paper_deviation"], line["best"]) == (
        "0.016",
        "0.008",
        "False",
    )
    assert {each["table"] for each in lines} == {"autoencoder", "predictor", "operation"}
    assert not any(each["metric"] == "updates" for each in lines if "Baseline" in each["row"])


def test_json_says_the_same_as_the_text(report):
    table = report.table("predictor")
    figures = document(table, paper.PREDICTOR)["CLeaR_G"]["fitting_error"]
    assert f"{figures['mean']:.3f} ({figures['deviation']:.3f})" == "0.046 (0.005)"
    assert figures["best"] is True
    assert figures["paper_mean"] == 0.046


def test_a_row_the_paper_does_not_have_is_shown_without_its_figures():
    table = Table("predictor", "T", (METRIC,), {"Mine": {METRIC.key: Spread(0.5, None, 1)}})
    assert text_table(table, paper.PREDICTOR).rows == (("CLeaR_Mine", "0.500", "/"),)
    assert re.search(r"\\text\{Mine\}.*0.500 & /", latex(table, paper.PREDICTOR))
