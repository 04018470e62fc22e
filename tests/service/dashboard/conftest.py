"""A browser and a stage for tests that look at pages as people do."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.service.processes import PATIENCE

from .stage import Stage
from .visit import Visits

SCRIPT = Path(__file__).parents[3] / "scripts" / "chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; skipped, with the reason, where none can be installed."""
    found = subprocess.run([SCRIPT], capture_output=True, text=True, check=False, timeout=900)
    if found.returncode:
        pytest.skip(f"Chromium could not be installed: {found.stderr.strip()[-500:]}")
    return found.stdout.strip()


# Not for the whole session: while it runs, this process has an event loop that other tests' own
# loops would collide with.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A browser without windows."""
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A service with most of a grid played into it."""
    made = Stage(tmp_path_factory.mktemp("stage"))
    yield made
    made.close()


@pytest.fixture
def visits(browser: Browser, stage: Stage) -> Iterator[Visits]:
    """Opens pages for a test; whatever they complain about fails it."""
    made = Visits(browser, stage.url)
    yield made
    made.close()
    assert made.complaints == []
