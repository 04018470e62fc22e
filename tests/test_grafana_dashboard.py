"""Grafana can import the dashboard in deploy/, and it shows metrics that a service exports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.plant import Plant
from tests.service.running import running
from tests.service.scraping import watched

ROOT = Path(__file__).parents[1]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana-clearwatt.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
COLUMNS = 24
"""Width of a dashboard of Grafana."""
FUNCTIONS = {"sum", "min", "max", "avg", "by", "rate", "increase", "topk", "time"} | {
    "histogram_quantile",
    "label_values",
}
OF_PROMETHEUS = {"le", "instance", "job"}
"""Labels that a service does not give by itself."""


def expressions() -> Iterator[str]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"].replace(", zone)", ")")


def metrics_of(expression: str) -> set[str]:
    """Every name in an expression that is not a function, a label, a duration or a number."""
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)", " ", expression)
    return set(re.findall(r"\b[a-zA-Z_:][\w:]*", bare)) - FUNCTIONS


def exported_by(text: str) -> set[str]:
    """Names of all samples that a scrape can have."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, flags=re.M))
    histograms = {name for name, kind in kinds.items() if kind == "histogram"}
    ends = ("_bucket", "_count", "_sum")
    return kinds.keys() - histograms | {name + end for name in histograms for end in ends}


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )


@pytest.fixture
def exported(tmp_path) -> Iterator[set[str]]:
    plant = Plant(tmp_path)
    yield exported_by(watched(plant).render().decode())
    plant.store.close()


def test_names_are_found_in_expressions():
    assert metrics_of('topk(3, a_b{c=~"$d"}) / sum by (e) (rate(f_total[$__rate_interval]))') == {
        "a_b",
        "f_total",
    }


def test_every_metric_of_an_expression_is_exported(exported):
    named = set().union(*map(metrics_of, expressions()))
    assert len(named) > 30
    assert named - exported == set()


def test_every_alert_has_its_signal_on_the_dashboard():
    rules = (ROOT / "deploy" / "clearwatt-alerts.yml").read_text()
    alarming = set(re.findall(r"\bclearwatt_[a-z_]+", rules))
    assert alarming - set().union(*map(metrics_of, expressions())) == set()


def test_labels_are_documented_for_a_metric_of_the_expression():
    page = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*)\|", page, flags=re.M)
    labels = {name: {label.strip() for label in text.split(",")} for name, text in rows}
    for expression in expressions():
        known = set(OF_PROMETHEUS)
        for name in metrics_of(expression):
            known |= labels.get(name) or labels[name.removesuffix("_bucket")]
        used = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", expression))
        for group in re.findall(r"\bby \(([^)]*)\)", expression):
            used |= {label.strip() for label in group.split(",")}
        assert used - known == set(), expression


def test_legends_name_labels_that_are_left():
    for panel in PANELS:
        for target in panel["targets"]:
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            left = re.findall(r"\bby \(([^)]*)\)", target["expr"])
            named = {label.strip() for group in left for label in group.split(",")}
            assert shown <= named, panel["title"]


def test_grafana_finds_what_an_import_needs():
    assert DASHBOARD["title"] == "ClearWatt"
    assert re.fullmatch(r"[\w-]{1,40}", DASHBOARD["uid"])
    assert DASHBOARD["id"] is None, "a number belongs to the Grafana that gave it"
    assert isinstance(DASHBOARD["schemaVersion"], int)
    assert DASHBOARD["schemaVersion"] >= 36, "before, data sources were names"
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    for panel in PANELS:
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0, panel["title"]


def test_panels_lie_beside_each_other():
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    for place in places:
        assert 0 <= place["x"] < place["x"] + place["w"] <= COLUMNS
        assert place["h"] > 0 <= place["y"]
    for one, other in combinations(places, 2):
        assert not overlap(one, other), (one, other)


def test_the_data_source_is_chosen_by_the_reader():
    (source,) = [v for v in DASHBOARD["templating"]["list"] if v["type"] == "datasource"]
    assert source["query"] == "prometheus"
    wanted = {"type": "prometheus", "uid": f"${{{source['name']}}}"}
    for panel in PANELS:
        assert panel["datasource"] == wanted
        assert all(target["datasource"] == wanted for target in panel["targets"])


def test_the_guide_says_of_each_panel_what_to_do():
    guide = (ROOT / "docs" / "operations.md").read_text()
    titles = [panel["title"] for panel in PANELS]
    assert re.findall(r"^\| \*([^*|]+)\* \|", guide, flags=re.M) == titles
    assert all(panel["description"] for panel in PANELS)


@pytest.mark.slow
def test_a_running_service_exports_them(tmp_path):
    with running(tmp_path / "data") as service:
        exported = exported_by(httpx.get(f"{service.url}/metrics").text)
    for expression in expressions():
        assert metrics_of(expression) - exported == set(), expression
