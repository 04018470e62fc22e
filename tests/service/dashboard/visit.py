"""Somebody with a browser who looks at the service's pages."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

SERIOUS = frozenset({"serious", "critical"})


class Visits:
    """Opens pages and notes every error of theirs in ``complaints``."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._browser, self._url = browser, url
        self._contexts: list[BrowserContext] = []
        self.complaints: list[str] = []

    def open(
        self,
        path: str = "/",
        *,
        token: str | None = None,
        dark: bool = False,
        size: tuple[int, int] = (1280, 900),
        script: str | None = None,
    ) -> Page:
        """A page in a new browser profile, logged in with a token; a script of ours runs first."""
        context = self._browser.new_context(
            base_url=self._url,
            color_scheme="dark" if dark else "light",
            viewport={"width": size[0], "height": size[1]},
            timezone_id="Europe/Berlin",
            locale="en-GB",
        )
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        if script is not None:
            page.add_init_script(script)
        page.goto(path)
        if token is not None:
            log_in(page, token)
        return page

    def close(self) -> None:
        """Leave all pages."""
        for context in self._contexts:
            context.close()

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.location.get('url')}: {message.text}")


def log_in(page: Page, token: str) -> None:
    """Fill the form in and send it."""
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def barriers(page: Page) -> list[str]:
    """What keeps people out, as axe-core finds it: rule, impact and the elements."""
    return [
        f"{found['id']} ({found['impact']}): {[node['target'] for node in found['nodes']]}"
        for found in Axe().run(page).response["violations"]
        if found["impact"] in SERIOUS
    ]
