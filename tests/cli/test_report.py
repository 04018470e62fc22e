"""``clearwatt experiment report`` as its users meet it."""

import csv
import io
import json
import re

import pytest
from tests.experiment.finished_run import run_document, with_adaptive, write_run_folder

from clearwatt.cli import main


def output(capsys, *words):
    assert main(["experiment", "report", *map(str, words)]) == 0
    return capsys.readouterr().out


def test_the_terminal_shows_three_tables_and_five_findings(run_folder, capsys):
    out = output(capsys, run_folder)
    assert "CLeaR_G     0.046 (0.005)  0.046 (0.025)" in out
    for title in ("Autoencoder: ", "Predictor: ", "In operation"):
        assert title in out
    assert "Of the paper's 5 findings, 5 hold" in out
    assert out.count(": holds (") == 5


def test_markdown_has_the_tables_and_the_findings(run_folder, capsys):
    out = output(capsys, run_folder, "--format", "markdown")
    assert out.count("\n### ") + out.startswith("### ") == 3
    assert "| CLeaR\\_G | **0.011** (0.001) | 0.011 (0.001) |" in out
    assert "- Every instance beats Baseline\\_L in FE: holds" in out


def test_latex_has_a_table_each(run_folder, capsys):
    out = output(capsys, run_folder, "--format", "latex")
    assert out.count(r"\begin{table}") == out.count(r"\end{table}") == 3


def test_csv_can_be_read_back(run_folder, capsys):
    out = output(capsys, run_folder, "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert {line["row"] for line in lines} >= {"Baseline_U", "CLeaR_ReD"}


@pytest.mark.parametrize("words", [("--json",), ("--format", "json")])
def test_json_has_tables_kinds_and_findings(run_folder, capsys, words):
    document = json.loads(output(capsys, run_folder, *words))
    assert document["tables"]["predictor"]["CLeaR_G"]["fitting_error"]["paper_mean"] == 0.046
    assert set(document["kinds"]) == {"generator", "consumer", "residual"}
    assert {finding["verdict"] for finding in document["findings"]} == {"holds"}


def test_one_entity_is_added(run_folder, capsys):
    assert "pv_01 alone" in output(capsys, run_folder, "--entity", "pv_01")
    document = json.loads(output(capsys, run_folder, "--entity", "pv_01", "--json"))
    assert document["entity"]["name"] == "pv_01"
    assert "predictor.fitting_error" in document["entity"]["rows"]["CLeaR_E"]


def test_the_page_is_written_beside_the_tables(run_folder, tmp_path, capsys):
    page = tmp_path / "report.html"
    out = output(capsys, run_folder, "--html", page, "--entity", "household_01")
    assert f"pictures are in {page}" in out
    assert "selected>household_01<" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--entity", "moon"], "'moon' is no entity"),
        (["--format", "word"], "invalid choice: 'word'"),
    ],
)
def test_mistakes_are_told_in_one_sentence_and_nothing_is_written(
    run_folder, tmp_path, capsys, words, says
):
    page = tmp_path / "page.html"
    try:
        code = main(["experiment", "report", str(run_folder), "--html", str(page), *words])
    except SystemExit as stopped:
        code = stopped.code
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("clearwatt: ")
    assert err.count("\n") == 1
    assert says in err
    assert not page.exists()


def test_a_folder_of_something_else_is_told_in_one_sentence(tmp_path, capsys):
    assert main(["experiment", "report", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "is not an experiment" in err
    assert err.count("\n") == 1


@pytest.fixture
def with_own_row(tmp_path):
    return write_run_folder(tmp_path / "own", with_adaptive(run_document()))


def test_the_adaptive_row_is_in_every_format_and_blank_where_nothing_applies(with_own_row, capsys):
    terminal = output(capsys, with_own_row)
    assert re.search(r"CLeaR_A +/ +/ +/", terminal)
    assert "Learning from the stream lowered" in terminal
    markdown = output(capsys, with_own_row, "--format", "markdown")
    assert "| CLeaR\\_A | / | / |" in markdown and "\nLearning from the stream" in markdown
    assert r"$\text{CLeaR}_{\text{A}}$ & / & /" in output(capsys, with_own_row, "--format", "latex")
    lines = csv.DictReader(io.StringIO(output(capsys, with_own_row, "--format", "csv")))
    own = {(e["table"], e["metric"]): e["mean"] for e in lines if e["row"] == "CLeaR_A"}
    assert own["autoencoder", "fitting_error"] == own["operation", "update_seconds"] == ""
    assert float(own["operation", "held_samples"]) == 3_000
    document = json.loads(output(capsys, with_own_row, "--json"))
    assert document["tables"]["autoencoder"]["CLeaR_A"]["fitting_error"]["mean"] is None
    assert document["learning"].startswith("Learning from the stream lowered")
    assert "CLeaR_A" in document["kinds"]["generator"]
