import json
import re

import pytest
from tests.experiment.finished_run import KINDS, run_document, with_adaptive

from clearwatt.experiment.report.page import most_drifts, write_experiment_page
from clearwatt.experiment.report.report import Report
from clearwatt.experiment.report.tables import INSTANCES

ATTACK = "<img src=x onerror=alert(1)></script>&'\""


def page_of(report, tmp_path, **options):
    path = tmp_path / "page.html"
    write_experiment_page(report, path, **options)
    return path.read_text(encoding="utf-8")


def figures_of(page):
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    return json.loads(found.group(1))


@pytest.fixture
def page(report, tmp_path):
    return page_of(report, tmp_path)


def test_every_box_has_its_figure_and_every_figure_data(page):
    figures = figures_of(page)
    boxes = re.findall(r'data-figure="([^"]+)"', page)
    assert set(boxes) <= set(figures)
    assert all(figure["data"] for figure in figures.values())


def test_each_section_is_there_and_linked(page):
    linked = re.findall(r'href="#([a-z]+)"', page)
    assert linked == ["findings", "tables", "balance", "kinds", "entity", "cost"]
    assert all(f'<section id="{anchor}">' in page for anchor in linked)


def test_the_page_fetches_nothing(page):
    frame = page.split('id="figures">')[0]
    assert "default-src 'none'" in frame
    assert not re.search(r'(?:src|href)="(?!#)', frame)


def test_findings_and_both_tables_are_there(page, report):
    assert page.count('class="holds">holds</b>') == len(report.findings)
    assert "<b>0.011 (0.001)</b>" in page
    assert '<td class="aside">0.249 (0.037)</td>' in page


def test_every_entity_can_be_chosen_and_the_one_with_most_drifts_comes_first(page, report):
    assert re.findall(r"<option [^>]*>([^<]+)</option>", page) == list(KINDS)
    assert most_drifts(report.results) == "village_01"
    assert re.search(r"<option [^>]* selected>village_01<", page)


def test_the_entity_asked_for_comes_first(report, tmp_path):
    page = page_of(report, tmp_path, entity="pv_01")
    assert re.search(r'<option value="error-0 state-0" selected>pv_01<', page)
    assert 'id="error-box" data-figure="error-0"' in page


def test_the_error_is_drawn_with_updates_and_the_drifts_that_concern_the_entity(page):
    figures = figures_of(page)
    struck, spared = figures["error-2"], figures["error-0"]
    lines = [trace for trace in struck["data"] if trace["mode"] == "lines"]
    marks = [trace for trace in struck["data"] if trace["mode"] == "markers"]
    assert len(lines) == len(INSTANCES) + 1  # and the frozen model
    assert {trace["x0"] for trace in lines} == {"2024-01-06 00:00:00"}
    assert sum(len(trace["x"]) for trace in marks) == 3 * len(INSTANCES)
    assert len(struck["layout"]["annotations"]) == 2
    assert len(spared["layout"]["annotations"]) == 1


def test_a_zone_that_begins_later_is_drawn_at_its_own_dates(write_run, tmp_path):
    """Phases are counted in samples, so a gap before or within them moves them on the clock."""
    document = run_document()
    document["zones"].append(
        {
            "name": "late",
            "updating_start": "2024-01-10T06:00:00+00:00",
            "updating_end": "2024-01-30T05:45:00+00:00",
        }
    )
    document["entities"][2]["zone"] = "late"
    figures = figures_of(page_of(Report.of(write_run(document)), tmp_path))
    drawn = figures["error-2"]
    lines = [trace for trace in drawn["data"] if trace["mode"] == "lines"]
    assert {trace["x0"] for trace in lines} == {"2024-01-10 06:00:00"}
    assert drawn["layout"]["xaxis"]["range"] == ["2024-01-10 06:00:00", "2024-01-30 06:00:00"]
    assert drawn["layout"]["annotations"] == []  # its drifts began before
    state = figures["state-2"]
    assert (state["data"][0]["x"][0], state["data"][0]["x"][-1]) == (
        "2024-01-10 06:00:00",
        "2024-01-30 06:00:00",
    )
    assert figures["error-0"]["layout"]["xaxis"]["range"][0] == "2024-01-06 00:00:00"


def test_an_update_that_diverged_is_marked_as_none(write_run, tmp_path):
    document = run_document(instances=("Ra",), entities=("pv_01",))
    document["trials"][0]["events"][1]["accepted"] = False
    figures = figures_of(page_of(Report.of(write_run(document)), tmp_path))
    marks = {
        trace["marker"]["size"]: trace
        for trace in figures["error-0"]["data"]
        if trace["mode"] == "markers"
    }
    assert marks[7]["marker"]["symbol"] == ["x", "circle"]
    assert marks[11]["marker"]["symbol"] == ["circle-open"]
    assert "not updated, its training diverged" in marks[7]["text"][0]
    assert "updated after" in marks[7]["text"][1]


def test_the_facts_say_how_late_measurements_were_and_which_capacities_came_of_it(
    write_run, tmp_path
):
    document = run_document()
    document["configuration"]["grid"] = {"capacity_scale": 0.1}
    page = page_of(Report.of(write_run(document)), tmp_path)
    assert "300 (10% of those configured" in page
    assert re.search(r"measurements known after.{0,40}24 h", page, re.S)
    del document["delay_steps"]
    page = page_of(Report.of(write_run(document, "older")), tmp_path)
    assert re.search(r"measurements known after.{0,40}not recorded", page, re.S)


def test_thresholds_step_and_buffers_empty_at_updates(page):
    traces = figures_of(page)["state-0"]["data"]
    threshold, novel = traces[0], traces[2 * len(INSTANCES)]
    assert threshold["y"] == [0.2, 0.2, 0.1, 0.1]
    assert threshold["x"][-1] == "2024-01-26 00:00:00"
    assert novel["y"] == [0, 300, 0, 300, 0]
    assert novel["x"][1] == novel["x"][2] == "2024-01-10 04:00:00"


def test_a_run_of_one_instance_and_entity_is_drawn_too(write_run, tmp_path):
    document = run_document(instances=("Ra",), entities=("pv_01",))
    document["baselines"], document["drifts"] = [], []
    page = page_of(Report.of(write_run(document)), tmp_path)
    assert "cannot be judged" in page
    assert figures_of(page)


def test_names_from_the_run_are_text_and_never_markup(write_run, tmp_path):
    text = json.dumps(run_document()).replace("village_01", json.dumps(ATTACK)[1:-1])
    page = page_of(Report.of(write_series_free(write_run, json.loads(text))), tmp_path)
    head, _, rest = page.partition('id="figures">')
    assert "<img" not in head
    assert "&lt;img src=x onerror=alert(1)&gt;" in head
    blob = rest.split("</script>")[0]
    assert "<" not in blob
    assert "<img" not in json.dumps(figures_of(page))


def write_series_free(write_run, document):
    """Names that no file can have: the trials name series that do not exist."""
    folder = write_run()
    (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def test_the_page_begins_with_what_learning_changed(report, write_run, tmp_path):
    page = page_of(Report.of(write_run(with_adaptive(run_document()), "own")), tmp_path)
    lead = re.search(r'<p class="lead">(.*?)</p>', page).group(1)
    assert lead.startswith(
        "Learning from the stream lowered the live error of the 3 entities by 62"
    )


def test_the_adaptive_forecaster_is_in_every_picture_of_what_it_has(write_run, tmp_path):
    page = page_of(Report.of(write_run(with_adaptive(run_document()))), tmp_path)
    figures = figures_of(page)
    names = [trace.get("name") for trace in figures["error-0"]["data"] if trace["mode"] == "lines"]
    assert "CLeaR_A" in names
    drawn = [trace for trace in figures["state-0"]["data"] if trace["name"] == "CLeaR_A"]
    assert len(drawn) == 3  # threshold and both buffers of its networks, none of an autoencoder
    assert {trace["line"]["color"] for trace in drawn} == {"var(--ada)"}


def test_the_page_begins_with_a_title_a_sentence_a_picture_and_what_the_letters_mean(report, page):
    assert "<title>What continual learning changes: grid" in page
    order = [
        page.index("<h1>What continual learning changes"),
        page.index(report.learning),
        page.index("What learning bought"),
        page.index("fitting error: RMSE"),
        page.index("prediction error: RMSE"),
        page.index("forgetting ratio: relative"),
        page.index('<section id="findings">'),
    ]
    assert order == sorted(order)
    body = page.split("</header>")[1]
    assert all(
        body.index(f"<dt>{term}</dt>") == body.index(f">{term}<") - 3 for term in ("FE", "PE")
    )
    first = next(iter(figures_of(page).values()))
    assert [line["name"] for line in first["data"]] == [
        "never updated (Baseline_L)",
        "learning (CLeaR_E)",
    ]
    assert first["data"][0]["y"][2] == pytest.approx(
        (sum((0.1 + day / 100) ** 2 for day in (1, 2, 3)) / 3) ** 0.5, abs=1e-4
    )


def test_a_run_without_series_has_no_first_picture(write_run, tmp_path):
    folder = write_run(run_document(), name="bare")
    for file in (folder / "series").iterdir():
        file.unlink()
    assert "What learning bought" not in page_of(Report.of(folder), tmp_path)
