"""Take screenshots of every page of the dashboard, with a simulated grid replayed to a service.

python scripts/screenshots.py        # a few minutes; writes docs/images/dashboard-*.png
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
WARMUP, STEPS = 2880, 12_000
"""A month of warm-up and three months of operation, in quarter-hours."""
AHEAD = 3 * 96
SETTINGS = {"novelty_capacity": 400, "epochs": 15, "warmup_epochs": 25, "lateness": 3600}
SHOWN = "household_block_01"
APPROVED = "office_01"
DAY = 86_400
LARGEST = 200_000
"""Bytes of a picture."""
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
        _replay(client)
        with _chromium() as browser:
            for name, path, height, dark, prepare in PICTURES:
                page = _open(browser, url, height=height, dark=dark)
                page.goto(path)
                _log_in(page, token)
                prepare(page)
                _save(browser, page, out / f"dashboard-{name}.png")


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
        if progress.stage == "live" and share > 0.6 and not commanded:
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
    return [f"{kind}_{number:02}" for kind in kinds for number in (1, 2)]


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


def _open(browser: Browser, url: str, *, height: int, dark: bool) -> Page:
    return browser.new_page(
        base_url=url,
        viewport={"width": 1280, "height": height},
        color_scheme="dark" if dark else "light",
        locale="en-GB",
        timezone_id="Europe/Berlin",
    )


def _log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def _save(browser: Browser, page: Page, path: Path) -> None:
    page.locator("#live").wait_for()
    few_colours.write(browser, page.screenshot(), path)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1000:.0f} kB")
    if size > LARGEST:
        raise SystemExit(f"{path} has {size} bytes; show less, so that it has {LARGEST} at most")


def _wait_for_heading(page: Page) -> None:
    page.get_by_role("heading", level=1).wait_for()


def _wait_for_plot(page: Page) -> None:
    page.locator("#plot-hint", has_text="Drag to zoom").wait_for()


def _open_explanation(page: Page) -> None:
    _wait_for_plot(page)
    page.locator("[data-part=happened] a", has_text="update of the predictor").first.click()
    page.get_by_role("dialog").wait_for()


Prepare = Callable[[Page], None]
PICTURES: tuple[tuple[str, str, int, bool, Prepare], ...] = (
    ("fleet", "/", 780, False, _wait_for_heading),
    ("fleet-dark", "/", 780, True, _wait_for_heading),
    ("entity", f"/entities/{SHOWN}", 1130, False, _wait_for_plot),
    ("why", f"/entities/{SHOWN}", 900, False, _open_explanation),
    ("events", "/events", 780, False, _wait_for_heading),
    ("health", "/health", 780, False, _wait_for_heading),
)
"""Name, address, height, dark theme, and what to do before taking the picture."""


if __name__ == "__main__":
    main()
