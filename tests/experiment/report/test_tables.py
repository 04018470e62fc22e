import pytest

from clearwatt.experiment.report import paper
from clearwatt.experiment.report.tables import COMPONENT_METRICS, Metric, Spread, Table, row_name


def table_of(rows, better="low"):
    metric = Metric("m", "M", "m", better)
    return Table("t", "T", (metric,), {k: {"m": Spread(v, None, 1)} for k, v in rows.items()})


def test_spread_is_mean_and_sample_deviation_of_what_is_known():
    spread = Spread.of([1.0, None, 3.0])
    assert spread.mean == 2.0
    assert spread.deviation == pytest.approx(2**0.5)
    assert spread.count == 2


def test_one_value_does_not_deviate_and_none_has_no_mean():
    assert Spread.of([1.0]) == Spread(1.0, None, 1)
    assert Spread.of([None]) == Spread(None, None, 0)


@pytest.mark.parametrize(
    ("component", "best"),
    [("autoencoder", ["G", "G", "G", "Re"]), ("predictor", ["G", "F", "G", "F"])],
)
def test_bold_in_the_papers_tables_is_what_the_paper_prints_bold(component, best):
    table = paper.TABLES[component]
    assert [list(table.best(metric)) for metric in COMPONENT_METRICS] == [[row] for row in best]


def test_baselines_do_not_compete():
    table = table_of({"U": 0.1, "L": 0.2, "E": 0.5, "G": 0.4})
    assert table.best(table.metrics[0]) == {"G"}


def test_ties_share_the_best_but_equals_have_none():
    tied = table_of({"E": 1.0, "F": 1.0, "G": 2.0})
    assert tied.best(tied.metrics[0]) == {"E", "F"}
    equal = table_of({"E": 1.0, "F": 1.0})
    assert equal.best(equal.metrics[0]) == frozenset()


@pytest.mark.parametrize(("better", "best"), [("high", {"G"}), (None, frozenset())])
def test_some_columns_want_much_and_some_nothing(better, best):
    table = table_of({"E": 1.0, "G": 2.0}, better)
    assert table.best(table.metrics[0]) == best


def test_rows_are_named_as_in_the_paper():
    assert [row_name(row) for row in ("U", "ReD")] == ["Baseline_U", "CLeaR_ReD"]
