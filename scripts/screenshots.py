"""Take screenshots of every page of the dashboard, with a simulated grid replayed to a service.

Every page is taken at two widths and in both themes.

python scripts/screenshots.py        # a few minutes; writes docs/images/dashboard-*.png
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

import few_colours
from clearwatt.data import simulate_grid
from clearwatt.service.api.security.auth import create_token
from clearwatt.service.client import Client
from clearwatt.service.client.replay import Plan, Replay
from clearwatt.service.store import open_store
from clearwatt.service.times import seconds, text

ROOT = Path(__file__).parents[1]
WARMUP, STEPS = 1920, 6000
"""Three weeks of warm-up and six weeks of operation, in quarter-hours."""
AHEAD = 3 * 96
SETTINGS = {"novelty_capacity": 300, "epochs": 15, "warmup_epochs": 25, "lateness": 3600}
SHOWN = "household_block_01"
APPROVED = "office_01"
DAY = 86_400
LARGEST = 200_000
"""Bytes of a picture."""
SIZES = {"1440": (1440, 1000), "390": (390, 844)}
"""Width and height of a screen, by name."""
Prepare = Callable[[Page, str], None]
Pictures = tuple[tuple[str, str, Prepare], ...]
"""Name, address, and what to do before taking the picture, given the token."""
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def main() -> None:
    """Start a service, replay the grid, give a few commands, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        token = _token(Path(folder))
        _photograph(Path(folder), token, options.out)


def _photograph(folder: Path, token: str, out: Path) -> None:
    with _service(folder) as url, Client(url, token) as client:
        for pictures in (EMPTY, PICTURES):
            with _chromium() as browser:
                _take(browser, url, token, pictures, out)
            if pictures is EMPTY:
                _replay(client)


def _take(browser: Browser, url: str, token: str, pictures: Pictures, out: Path) -> None:
    """Take pictures at each width and in each theme."""
    for (size, screen), dark in product(SIZES.items(), (False, True)):
        page = _open(browser, url, screen=screen, dark=dark)
        for name, path, prepare in pictures:
            page.goto(path)
            prepare(page, token)
            theme = "-dark" if dark else ""
            _save(browser, page, out / f"dashboard-{name}-{size}{theme}.png")
        page.close()


def _token(folder: Path) -> str:
    """A token with all rights."""
    made = create_token("Ada", "operate")
    store = open_store(folder / "clearwatt.db")
    store.add_token(made.token)
    store.close()
    return made.text


@contextmanager
def _service(folder: Path) -> Iterator[str]:
    """Run a service, and yield its address."""
    command = [sys.executable, "-m", "clearwatt", "serve", "--port", "0", "--data-dir", str(folder)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"the service did not start: {(folder / 'log').read_text()[-1000:]}")
        yield line.split()[2]
    finally:
        process.terminate()
        process.wait()


def _replay(client: Client) -> None:
    """Replay the grid; half-way, hold one entity and require approval for another."""
    grid = simulate_grid(steps=STEPS + AHEAD).select(_entities())
    plan = Plan(speed=900 * 10 * 200.0, warmup=WARMUP, settings=SETTINGS)
    commanded = False
    for progress in Replay(client, grid, plan).run():
        share = (progress.time - progress.start) / (progress.end - progress.start)
        print(f"\r{progress.stage}: {text(progress.time)} ({share:.0%})", end="", flush=True)
        if progress.stage == "live" and share > 0.5 and not commanded:
            commanded = True
            client.approval(required=True, entity=APPROVED)
            client.hold(entity="wind_01")
        if progress.time - progress.start >= 900 * STEPS:
            break  # after this only weather forecasts follow
    print("\nlearning")
    _wait_for_learner(client)
    newest = seconds(client.zones().zones[0].watermark or "")
    end = newest - 2 * DAY
    client.exclude(
        SHOWN, start=text(end - DAY // 2), end=text(end), reason="the meter was replaced"
    )
    _wait_for_learner(client)


def _entities() -> list[str]:
    kinds = ("pv", "wind", "household_block", "office", "residential", "rural")
    return [f"{kind}_01" for kind in kinds]


def _wait_for_learner(client: Client) -> None:
    while any(zone.position < zone.journal for zone in client.zones().zones):
        time.sleep(0.5)


@contextmanager
def _chromium() -> Iterator[Browser]:
    path = subprocess.run(
        [ROOT / "scripts" / "chromium"], capture_output=True, text=True, check=True
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path.stdout.strip(), args=FLAGS)
        yield browser
        browser.close()


def _open(browser: Browser, url: str, *, screen: tuple[int, int], dark: bool) -> Page:
    return browser.new_page(
        base_url=url,
        viewport={"width": screen[0], "height": screen[1]},
        color_scheme="dark" if dark else "light",
        locale="en-GB",
        timezone_id="Europe/Berlin",
    )


def _save(browser: Browser, page: Page, path: Path) -> None:
    few_colours.write(browser, page.screenshot(), path)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1000:.0f} kB")
    if size > LARGEST:
        raise SystemExit(f"{path} has {size} bytes; show less, so that it has {LARGEST} at most")


def _wait_for_form(page: Page, _: str) -> None:
    page.get_by_label("Token").wait_for()


def _wait_for_fleet(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    _wait_for_heading(page, token)


def _wait_for_heading(page: Page, _: str) -> None:
    page.get_by_role("heading", level=1).wait_for()
    page.locator("#live").wait_for()


def _wait_for_plot(page: Page, _: str) -> None:
    page.locator("#plot-hint", has_text="Drag to zoom").wait_for()


def _show_plot(page: Page, token: str) -> None:
    _wait_for_plot(page, token)
    page.locator("#signals-title").scroll_into_view_if_needed()
    page.locator("#plot-hint").evaluate("(each) => each.scrollIntoView({ block: 'start' })")


def _open_explanation(page: Page, token: str) -> None:
    _wait_for_plot(page, token)
    page.locator("[data-part=happened] a", has_text="update of the predictor").first.click()
    page.get_by_role("dialog").wait_for()


def _ask_for_approval(page: Page, token: str) -> None:
    _wait_for_plot(page, token)
    page.get_by_role("button", name="Approve", exact=True).first.click()
    page.get_by_role("dialog").wait_for()


def _show_hours(page: Page, token: str) -> None:
    _wait_for_plot(page, token)
    title = page.locator("#ahead-title")
    title.evaluate("(each) => each.scrollIntoView({ block: 'start' })")


def _show_exclusions(page: Page, token: str) -> None:
    _wait_for_plot(page, token)
    title = page.locator("#exclusions-title")
    title.evaluate("(each) => each.scrollIntoView({ block: 'start' })")


def _open_zone(page: Page, token: str) -> None:
    page.locator("main a[href^='/zones/']").first.click()
    page.wait_for_url("**/zones/*")
    _wait_for_heading(page, token)


EMPTY: Pictures = (("login", "/login", _wait_for_form), ("start", "/login", _wait_for_fleet))
"""Pictures of a service without data, which opens on what to do first."""
PICTURES: Pictures = (
    ("fleet", "/login", _wait_for_fleet),
    ("entity", f"/entities/{SHOWN}", _wait_for_plot),
    ("plot", f"/entities/{SHOWN}", _show_plot),
    ("hours", f"/entities/{SHOWN}", _show_hours),
    ("exclusions", f"/entities/{SHOWN}", _show_exclusions),
    ("why", f"/entities/{SHOWN}", _open_explanation),
    ("approve", f"/entities/{APPROVED}", _ask_for_approval),
    ("events", "/events", _wait_for_heading),
    ("health", "/health", _wait_for_heading),
    ("zones", "/zones", _wait_for_heading),
    ("zone", "/zones", _open_zone),
    ("manage", f"/entities/{SHOWN}/manage", _wait_for_heading),
)


if __name__ == "__main__":
    main()
