"""Somebody with a browser who looks at the service's pages."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from tests.service.processes import PATIENCE


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
        context.set_default_timeout(1000 * PATIENCE)
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


OVERLAPS = """(within) => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility({ visibilityProperty: true })) continue;
    if (within && document.querySelector(within) && !parent.closest(within)) continue;
    if (parent.closest("script, style, title, .skip, option")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    let sticky = false;
    for (const box of range.getClientRects()) {
      let { left, top, right, bottom } = box;
      for (let up = parent; up; up = up.parentElement) {
        sticky ||= getComputedStyle(up).position === "sticky";
        if (getComputedStyle(up).overflow === "visible" || up instanceof SVGElement) continue;
        const limit = up.getBoundingClientRect();
        left = Math.max(left, limit.left); right = Math.min(right, limit.right);
        top = Math.max(top, limit.top); bottom = Math.min(bottom, limit.bottom);
      }
      const shown = right - left > 2 && bottom - top > 2;
      if (shown && !sticky) texts.push({ node, left, top, right, bottom });
    }
  }
  const found = [];
  texts.forEach((a, k) => texts.slice(k + 1).forEach((b) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    const both = [a, b].map(({ node }) => node.data.trim()).join(" / ");
    if (a.node !== b.node && wide > 3 && high > 5) found.push(both);
  }));
  return found;
}"""
"""Pairs of texts that are drawn over each other.

What is clipped or hidden does not count, nor what stays in sight on a ground of its own.
"""


def overlaps(page: Page, *, within: str = "") -> list[str]:
    """Texts of a page that overlap; only those within a part of it, if it is there."""
    found: list[str] = page.evaluate(OVERLAPS, within)
    return found


SWATCHES = """() => {
  const colour = (trace) => {
    if (trace.fill === "tonexty") return trace.fillcolor;
    return trace.mode === "markers" ? [trace.marker.color].flat().at(-1) : trace.line.color;
  };
  return document.getElementById("plot")._fullData
    .filter((trace) => trace.showlegend && trace.visible === true)
    .map((trace) => [trace.name, colour(trace)]);
}"""


def swatches(page: Page) -> dict[str, str]:
    """The colour of each entry of the plot's legend."""
    return dict(page.evaluate(SWATCHES))


def log_in(page: Page, token: str) -> None:
    """Fill the form in, send it, and wait for the answer."""
    page.get_by_label("Token").fill(token)
    with page.expect_navigation(wait_until="commit"):
        page.get_by_role("button", name="Log in").click()


def barriers(page: Page) -> list[str]:
    """What keeps people out, as axe-core finds it: rule, impact and the elements."""
    return [
        f"{found['id']} ({found['impact']}): {[node['target'] for node in found['nodes']]}"
        for found in Axe().run(page).response["violations"]
    ]
