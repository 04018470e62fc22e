import json
import re

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.dataset import Dataset
from clearwatt.data.describe import describe
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.errors import DataError
from clearwatt.report.dataset_page import write_dataset_page

ATTACK = "<img src=x onerror=alert(1)></script>&'\""


def page_of(dataset, tmp_path):
    path = tmp_path / "page.html"
    write_dataset_page(dataset, describe(dataset), path)
    return path.read_text(encoding="utf-8")


def figures_of(page):
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    return json.loads(found.group(1))


def boxes_of(page):
    return re.findall(r'data-figure="([^"]+)"', page)


def without_library(page):
    return page.split('id="figures">')[0]


def tiny(*, name="meter", zone="here", days=3, entities=1):
    times = pd.date_range("2024-02-01", periods=days * 24, freq="h", tz="UTC", name="time")
    rng = np.random.default_rng(0)
    names = [name if at == 0 else f"{name}_{at}" for at in range(entities)]
    power = rng.random((len(times), entities), dtype=np.float32) * 5
    weather = rng.random((len(times), 1), dtype=np.float32)
    drift = Drift(ATTACK, name, times[30], times[40], 0.5, ATTACK)
    return Dataset(
        name="tiny",
        power=pd.DataFrame(power, index=times, columns=names),
        weather={zone: pd.DataFrame(weather, index=times, columns=["temp_c"])},
        entities=tuple(Entity(each, Kind.CONSUMER, 10.0, zone) for each in names),
        drifts=(drift,),
        about=f"# {ATTACK}",
    )


@pytest.fixture(scope="module")
def grid():
    return simulate_grid(entities=12, steps=96 * 400, seed=0)


@pytest.fixture(scope="module")
def page(grid, tmp_path_factory):
    return page_of(grid, tmp_path_factory.mktemp("page"))


def test_every_box_has_its_figure_and_every_figure_data(page):
    figures, boxes = figures_of(page), boxes_of(page)
    assert set(boxes) <= set(figures)
    assert len(boxes) == len(set(boxes))
    assert all(figure["data"] for figure in figures.values())


def test_every_kind_and_subtype_has_a_week_of_winter_and_one_of_summer(grid, page):
    subtypes = {entity.extra["subtype"] for entity in grid.entities}
    assert page.count("<figcaption>Winter, week of") == len(subtypes)
    assert page.count("<figcaption>Summer, week of") == len(subtypes)


def test_every_entity_can_be_chosen_over_the_whole_span(grid, page):
    options = re.findall(r'<option value="([^"]+)"[^>]*>([^<]+)</option>', page)
    assert [name for _, name in options] == list(grid.names)
    assert {key for key, _ in options} <= set(figures_of(page))


def test_axes_name_their_units(page):
    titles = re.findall(r'"title":\{"text":"([^"]+)"\}', page)
    assert "power [kW]" in titles
    assert "ghi [W/m²]" in titles


def test_the_page_fetches_nothing(page):
    frame = without_library(page)
    assert "default-src 'none'" in frame
    assert not re.search(r'(?:src|href)="(?!#)', frame)


def test_the_page_is_small_enough_to_send(page):
    assert len(page.encode()) < 8_000_000


def test_hundreds_of_entities_over_years_stay_small(tmp_path):
    dataset = tiny(entities=300, days=900)
    assert len(page_of(dataset, tmp_path).encode()) < 8_000_000


def test_names_from_the_data_are_text_and_never_markup(tmp_path):
    page = page_of(tiny(name=ATTACK), tmp_path)
    head, _, rest = page.partition('id="figures">')
    assert "<img" not in head
    assert "&lt;img src=x onerror=alert(1)&gt;" in head
    blob = rest.split("</script>")[0]
    assert "<" not in blob
    assert figures_of(page)


def test_plotly_reads_names_as_text_too(tmp_path):
    texts = json.dumps(figures_of(page_of(tiny(name=ATTACK), tmp_path)))
    assert "<img" not in texts
    assert "&lt;img" in texts


def test_a_span_shorter_than_a_week_is_shown_whole(tmp_path):
    page = page_of(tiny(), tmp_path)
    assert "<figcaption>2024-02-01 to 2024-02-03" in page


def test_an_existing_page_is_replaced_and_nothing_else_left_behind(tmp_path):
    page_of(tiny(), tmp_path)
    page_of(tiny(name="other"), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert "other" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(DataError, match="folder"):
        write_dataset_page(tiny(), describe(tiny()), tmp_path)
