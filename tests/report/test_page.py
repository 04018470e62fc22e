import json

import pytest
from jinja2 import UndefinedError

from clearwatt.errors import DataError
from clearwatt.report.page import FigureChoice, PageFigures, environment, indent_cell, write_page
from clearwatt.report.plots import Panel
from clearwatt.report.tables import TextTable

TABLE = TextTable(
    "title",
    ("name", "ours", "theirs"),
    (("<i>", "1.0", "2.0"), ("  part", "0.5", "<b>")),
    note="a & b",
    strong=(0,),
    best=frozenset({(1, 1)}),
    aside=frozenset({2}),
)


def rendered(call, **context):
    """The HTML of one macro."""
    name = call.partition("(")[0]
    source = f"{{% from 'macros.html' import {name} with context %}}{{{{ {call} }}}}"
    return environment().from_string(source).render(context)


def test_a_table_escapes_cells_and_marks_bold_grey_and_indented_ones():
    page = rendered("table(content)", content=TABLE)
    assert '<td class="word">&lt;i&gt;</td>' in page
    assert "<td><b>0.5</b></td>" in page
    assert '<td class="aside">&lt;b&gt;</td>' in page
    assert '<th class="word">name</th>' in page
    assert "&emsp;part" in page
    assert page.count('<tr class="strong">') == 1
    assert "a &amp; b" in page


def test_facts_are_escaped():
    assert "<dt>a&lt;b</dt><dd>&amp;</dd>" in rendered("facts(rows)", rows=[("a<b", "&")])


def test_leading_blanks_become_em_spaces():
    assert indent_cell("    <") == "&emsp;&emsp;&lt;"


def test_boxes_register_their_figures():
    figures = PageFigures()
    panels = [Panel("one <i>", {"data": [1]}), Panel("two", {"data": [2]})]
    page = rendered("boxes(panels)", panels=panels, figures=figures)
    assert figures.by_key == {"figure-0": {"data": [1]}, "figure-1": {"data": [2]}}
    assert "<figcaption>one &lt;i&gt;</figcaption>" in page
    assert 'data-figure="figure-1"' in page


def test_a_choice_offers_every_name_and_selects_the_first_to_show():
    figures = PageFigures()
    choice = FigureChoice(("error", "state"), {'a"': ({}, {}), "b": ({"x": 1}, {"x": 2})}, "b")
    page = rendered("choice_select(choice)", choice=choice, figures=figures)
    assert 'data-for="error-box state-box"' in page
    assert '<option value="error-0 state-0">a&#34;</option>' in page
    assert '<option value="error-1 state-1" selected>b</option>' in page
    assert figures.by_key["state-1"] == {"x": 2}
    box = rendered("choice_box(choice, 1)", choice=choice, figures=figures)
    assert box == '<div id="state-box" data-figure="state-1"></div>'


def test_figures_cannot_end_their_script_element():
    figures = PageFigures()
    figures.add({"text": "</script>"})
    assert "<" not in figures.json()
    assert json.loads(figures.json()) == figures.by_key


def test_a_page_has_its_header_and_escapes_it(tmp_path):
    path = tmp_path / "page.html"
    content = {"name": "<n>", "lead": "a<b", "links": [("x", "X")]}
    write_page(path, "page.html", content)
    head = path.read_text(encoding="utf-8").partition("<main>")[0]
    assert "<h1>&lt;n&gt;</h1>" in head
    assert '<p class="lead">a&lt;b</p>' in head
    assert '<nav><a href="#x">X</a></nav>' in head
    assert "default-src 'none'" in head


def test_content_that_a_template_lacks_is_an_error_and_nothing_is_written(tmp_path):
    with pytest.raises(UndefinedError, match="lead"):
        write_page(tmp_path / "page.html", "page.html", {"name": "n"})
    assert not list(tmp_path.iterdir())


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(DataError, match="folder"):
        write_page(tmp_path, "page.html", {"name": "n", "lead": "", "links": ()})
