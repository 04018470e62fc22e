"""The pages in a real browser, with a real service that learns while they are open."""

import re
from collections.abc import Callable
from functools import partial
from itertools import combinations

import pytest
from playwright.sync_api import FilePayload, Page, expect
from tests.service.processes import until
from tests.service.running import PATIENCE

from .colours import difference
from .stage import EVIL, SPIKES, Stage
from .visit import Visits, barriers, log_in, overlaps, swatches

pytestmark = pytest.mark.slow

WINDOW = ("2024-01-03T00:00:00Z", "2024-01-04T00:00:00Z")
APART = 20.0
"""Smallest difference of two colours; 2.3 is just noticeable, in a thin line more is needed."""
PAGES = (
    *("/", "/entities/farm", "/entities/evil", "/events", "/health"),
    *("/start", "/zones", "/zones/north", "/entities/evil/manage"),
)

VERSION = "/entities/farm/versions/predictor:farm:0"


def test_log_in_and_out(visits: Visits, stage: Stage):
    page = visits.open("/events?what=update")
    expect(page).to_have_url(re.compile("/login"))
    log_in(page, "cw_00000000_" + "x" * 43)
    expect(page.get_by_role("alert")).to_contain_text("no token of this service")
    log_in(page, stage.reader)
    expect(page).to_have_url(f"{stage.url}/events?what=update")
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{stage.url}/login")
    page.goto("/")
    expect(page.get_by_label("Token")).to_be_visible()
    # The browser itself notes that the first token was refused.
    visits.complaints[:] = [each for each in visits.complaints if "401" not in each]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 1000), (390, 844)], ids=["desk", "phone"])
def test_every_page_is_without_barriers(
    visits: Visits, stage: Stage, size: tuple[int, int], dark: bool
):
    page = visits.open("/login", dark=dark, size=size)
    found = {"/login": barriers(page)}
    log_in(page, stage.operator)
    for path in (*PAGES, VERSION):
        page.goto(path)
        expect(page.locator("#live")).to_be_visible()
        found[path] = barriers(page)
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 1000), (390, 844)], ids=["desk", "phone"])
def test_every_dialog_and_result_is_without_barriers(
    visits: Visits, stage: Stage, size: tuple[int, int], dark: bool
):
    page = visits.open("/login", token=stage.operator, dark=dark, size=size)
    found = {}
    for name, open_part in PARTS.items():
        open_part(page)
        found[name] = [
            *barriers(page),
            *(f"overlap: {each}" for each in overlaps(page, within="dialog[open]")),
        ]
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], name
    visits.complaints[:] = [each for each in visits.complaints if "422" not in each]
    assert {name: each for name, each in found.items() if each} == {}


def open_dialog(page: Page, path: str, button: str) -> None:
    """Open the dialog of the first button of this name; it has all of its content."""
    page.goto(path)
    expect(page.locator("#plot-hint")).to_contain_text("Drag to zoom")
    page.get_by_role("button", name=button).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()


def ask_to_exclude(page: Page) -> None:
    page.goto("/entities/park")
    page.get_by_label("From (your time)").fill("2024-01-03T00:00")
    page.get_by_label("To (your time)").fill("2024-01-04T00:00")
    page.get_by_role("textbox", name="Why").fill("the meter was replaced")
    page.get_by_role("button", name="Exclude…").click()
    expect(page.get_by_role("dialog")).to_contain_text("because: the meter was replaced")


def ask_to_drop(page: Page) -> None:
    page.goto("/entities/farm")
    page.get_by_role("checkbox", name="Select the reading of").first.check()
    page.get_by_role("button", name="Drop the selected").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def explain_an_update(page: Page) -> None:
    page.goto("/entities/farm")
    links = page.locator("[data-part=happened] li a")
    links.filter(has_text="update of the predictor").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("predictor:farm:")


def delete_by_a_wrong_id(page: Page) -> None:
    page.goto("/entities/evil/manage")
    page.get_by_label(re.compile("to confirm")).fill("good")
    page.get_by_role("button", name="Delete entity evil").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was deleted")


def upload(page: Page) -> None:
    page.goto("/start")
    hours = "".join(f"2024-01-0{1 + at // 24} {at % 24:02}:00,{at}.5\n" for at in range(72))
    file = f"time,mill [kW]\n{hours}".encode()
    content: FilePayload = {"name": "mill.csv", "mimeType": "text/csv", "buffer": file}
    page.get_by_label("File").set_input_files(content)
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_role("heading", name="The file leaves open")).to_be_visible()


def answer(page: Page) -> None:
    """Follows ``upload``; nothing is stored before one says so."""
    page.locator("[data-answer=timezone]").fill("UTC")
    page.locator("[data-answer=interval]").select_option("start")
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_role("heading", name="First rows in UTC and kW")).to_be_visible()


PARTS: dict[str, Callable[[Page], None]] = {
    "explanation": explain_an_update,
    "rollback": partial(open_dialog, path="/entities/farm", button="Activate predictor:farm:0"),
    "approval": partial(open_dialog, path="/entities/town", button="Approve predictor:town:"),
    "exclusion": ask_to_exclude,
    "quarantine": ask_to_drop,
    "deletion": delete_by_a_wrong_id,
    "questions": upload,
    "result": answer,
}
"""Parts of pages that appear when somebody has done something, and what they have done."""


@pytest.mark.parametrize("width", [360, 390])
def test_every_page_fits_a_phone(visits: Visits, stage: Stage, width: int):
    page = visits.open("/login", token=stage.operator, size=(width, 844))
    for path in (*PAGES, VERSION):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if path == "/entities/farm":
            expect(page.locator("#plot-hint")).to_contain_text("Drag to zoom")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert overlaps(page) == [], path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_colours_of_the_legend_can_be_told_apart(visits: Visits, stage: Stage, dark: bool):
    page = visits.open("/login", token=stage.reader, dark=dark)
    page.goto("/entities/farm")
    expect(page.locator("#plot-hint")).to_contain_text("Drag to zoom")
    shown = swatches(page)
    assert {"Measured", "Forecast", "Threshold"} <= shown.keys()
    ground = "rgb(17, 22, 31)" if dark else "rgb(255, 255, 255)"
    for (one, first), (other, second) in combinations(shown.items(), 2):
        apart = difference(first, second, ground=ground)
        assert apart > APART, f"{one} ({first}) and {other} ({second}): {apart:.0f}"


def test_names_stay_text_wherever_they_are_shown(visits: Visits, stage: Stage):
    stage.client.exclude("evil", start=WINDOW[0], end=WINDOW[1], reason=EVIL)
    page = visits.open("/login", token=stage.operator)
    page.goto("/")
    expect(page.get_by_role("link", name=EVIL)).to_be_visible()
    for path in PAGES:
        page.goto(path)
        expect(page.locator("#live")).to_be_visible()
        assert page.locator("img[src=x]").count() == 0
        assert page.evaluate("document.documentElement.dataset.owned") is None


def updates(stage: Stage) -> set[str]:
    return {event.key for event in stage.client.events(entity="farm", kinds=["update"]).events}


def test_an_update_shows_on_open_pages_while_data_are_played(visits: Visits, stage: Stage):
    fleet = visits.open("/login", token=stage.reader)
    fleet.goto("/?q=farm")
    log, entity = fleet.context.new_page(), fleet.context.new_page()
    log.goto("/events?entity=farm&what=update")
    entity.goto("/entities/farm")
    pages = {
        fleet: fleet.locator("tr[data-entity=farm]").get_by_text("in all"),
        log: log.locator("#events tbody tr"),
        entity: entity.locator("[data-part=happened] li").filter(has_text="update"),
    }
    for page in pages:
        expect(page.locator("#live")).to_be_visible()
        page.evaluate("window.opened = true")
    before = {page: seen.all_inner_texts() for page, seen in pages.items()}
    known = updates(stage)
    while not updates(stage) > known and stage.plays_on():
        pass
    until(lambda: updates(stage) > known, PATIENCE)
    for page, seen in pages.items():
        expect(seen).not_to_have_text(before[page])
        assert page.evaluate("window.opened"), "the page was loaded again"
    expect(log.locator("#events tr.new")).not_to_have_count(0)


def test_why_an_update_happened_and_what_it_changed(visits: Visits, stage: Stage):
    page = visits.open("/login", token=stage.reader)
    page.goto("/entities/farm")
    update = page.locator("[data-part=happened] li a").filter(has_text="update of the predictor")
    update.first.focus()
    page.keyboard.press("Enter")
    why = page.get_by_role("dialog")
    expect(why).to_contain_text("novel")
    expect(why).to_contain_text("predictor:farm:")
    page.keyboard.press("Escape")
    expect(why).to_be_hidden()


def test_todays_remaining_hours_stand_beside_tomorrow_and_the_errors_by_lead(
    visits: Visits, stage: Stage
):
    page = visits.open("/login", token=stage.reader)
    page.goto("/entities/farm")
    today, tomorrow = (
        page.get_by_label(name, exact=True) for name in ("Today's remaining hours", "Tomorrow")
    )
    (forecast,) = stage.client.forecasts(["farm"]).forecasts
    days = sorted({str(time)[:10] for time in forecast.times})
    for card, day in ((today, days[0]), (tomorrow, days[1])):
        pairs = zip(forecast.times, forecast.values, strict=True)
        energy = sum(value or 0.0 for time, value in pairs if str(time)[:10] == day)
        shown = re.sub("[^0-9.]", "", card.locator(".big").inner_text().split(" ")[0])
        assert float(shown) == pytest.approx(energy, rel=0.01)
    boxes = [card.bounding_box() for card in (today, tomorrow)]
    assert boxes[0] and boxes[1] and boxes[0]["y"] == boxes[1]["y"]
    expect(page.locator("[data-part=leads] tbody tr")).to_have_count(5)


def test_roll_a_model_back(visits: Visits, stage: Stage):
    page = visits.open("/login", token=stage.operator)
    page.goto("/entities/farm")
    rows = page.locator("[data-part=versions] tr")
    first = rows.filter(has=page.get_by_text("predictor:farm:0", exact=True))
    expect(first).to_contain_text("superseded")
    first.get_by_role("button", name="Activate").click()
    expect(page.get_by_role("dialog")).to_contain_text("readings of these two weeks")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.locator("#outcomes")).to_be_empty()
    first.get_by_role("button", name="Activate").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(page.locator("#outcomes")).to_contain_text("Done: model predictor:farm:0 is in service")
    expect(first).to_contain_text("in service")
    expect(page.get_by_label("Prediction", exact=True)).to_contain_text("predictor:farm:0")
    assert stage.client.entity("farm").predictor == "predictor:farm:0"


def test_hold_and_resume(visits: Visits, stage: Stage):
    page = visits.open("/login", token=stage.operator)
    page.goto("/entities/park")
    state = page.locator(".facts .state")
    page.get_by_role("button", name="Hold learning").click()
    expect(state).to_have_text("held")
    assert stage.client.entity("park").held
    page.get_by_role("button", name="Resume learning").click()
    expect(state).to_have_text("learning")
    expect(page.locator("#outcomes")).to_contain_text("Done: park learns again")
    assert not stage.client.entity("park").held


def drag(page: Page, start: float, end: float) -> None:
    """Drag over the plot, from one share of its width to another."""
    area = page.locator("#plot .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + (start + end) / 2 * box["width"], height, steps=3)
    # News may come at any moment; they must not take the plot out of one's hand.
    page.evaluate("document.dispatchEvent(new CustomEvent('clearwatt:theme'))")
    page.mouse.move(box["x"] + end * box["width"], height, steps=3)
    page.mouse.up()


def test_exclude_a_window_by_dragging(visits: Visits, stage: Stage):
    page = visits.open("/login", token=stage.operator)
    page.goto("/entities/park")
    page.get_by_role("button", name="Whole life").click()
    expect(page.locator("#plot-hint")).to_contain_text("1 Jan 2024")
    page.get_by_role("button", name="Exclude by dragging").click()
    expect(page.locator("#plot-hint")).to_contain_text("a window to exclude")
    drag(page, 0.3, 0.4)
    expect(page.get_by_label("From (your time)")).not_to_have_value("")
    page.get_by_role("textbox", name="Why").fill("the meter was replaced")
    page.get_by_role("button", name="Exclude…").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("because: the meter was replaced")
    question.get_by_role("button", name="Cancel").click()
    expect(page.locator("#outcomes")).to_be_empty()
    page.get_by_role("button", name="Exclude…").click()
    question.get_by_role("button", name="Yes").click()
    expect(page.locator("#outcomes")).to_contain_text(re.compile(r"forgotten: [1-9]\d* samples"))
    windows = page.locator("[data-part=exclusions] li")
    expect(windows).to_have_count(1)
    expect(windows).to_contain_text("the meter was replaced")
    (window,) = stage.client.exclusions("park")
    (event,) = stage.client.events(entity="park", kinds=["exclude"]).events
    assert event.details["reason"] == "the meter was replaced"
    readings = stage.client.measurements("park", start=window.start, end=window.end)
    assert set(readings.flags) == {"excluded"}
    windows.get_by_role("button", name="Undo").click()
    expect(question).to_contain_text("the meter was replaced")
    assert barriers(page) == []
    question.get_by_role("button", name="Yes").click()
    expect(page.locator("#outcomes")).to_contain_text("Done: park learns from")
    expect(windows).to_have_count(0)
    readings = stage.client.measurements("park", start=window.start, end=window.end)
    assert set(readings.flags) == {"released"}


def test_release_what_is_in_quarantine(visits: Visits, stage: Stage):
    assert stage.client.entity("farm").quarantined == len(SPIKES)
    page = visits.open("/login", token=stage.operator)
    page.goto("/entities/farm")
    readings = page.locator("[data-part=quarantine] tbody tr")
    expect(readings).to_have_count(len(SPIKES))
    readings.first.get_by_role("checkbox").check()
    page.get_by_role("button", name="Release the selected").click()
    expect(page.locator("#outcomes")).to_contain_text("Done")
    expect(readings).to_have_count(len(SPIKES) - 1)
    page.get_by_label("Select all").check()
    page.get_by_role("button", name="Drop the selected").click()
    page.get_by_role("dialog").get_by_role("button", name="Yes").click()
    expect(page.locator("[data-part=quarantine]")).to_contain_text("No reading is in quarantine")


def test_who_may_only_read_is_offered_nothing_else(visits: Visits, stage: Stage):
    page = visits.open("/login", token=stage.reader)
    page.goto("/entities/farm")
    expect(page.locator("#live")).to_be_visible()
    assert page.locator("[data-url]").count() == 0
    refused = page.evaluate(
        "fetch('/v1/entities/farm/hold', {method: 'POST'}).then((answer) => answer.status)"
    )
    assert refused == 403
    visits.complaints[:] = [each for each in visits.complaints if "403" not in each]


@pytest.mark.slow
def test_pages_recover_from_a_restart_of_the_service(visits: Visits, stage: Stage):
    page = visits.open("/login", token=stage.reader)
    page.goto("/events?what=started")
    banner = page.locator("#stale")
    expect(page.locator("#live")).to_be_visible()
    expect(banner).to_be_hidden()
    starts = page.locator("#events tbody tr")
    known = starts.count()
    stage.stop()
    expect(banner).to_contain_text("Stale since")
    stage.start_again()
    expect(banner).to_be_hidden()
    expect(starts).to_have_count(known + 1)  # and what happened meanwhile is there
    # That nobody answered is what the browser complains of, and nothing else.
    visits.complaints[:] = [e for e in visits.complaints if "net::ERR" not in e]
