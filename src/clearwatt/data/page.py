"""The frame of an HTML page that needs nothing but itself: style, script, skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from clearwatt.data.traces import Figure, Panel

CSS = """
:root { color-scheme: light dark; --paper: #fbfbf9; --card: #ffffff; --ink: #1c2430;
  --soft: #5d6877; --rule: #dfe3e8; --power: #0b6bcb; --weather: #e0902a; --mark: #b3261e;
  --good: #eef4ee; --some: #f6d58b; --bad: #e07a3f; --worst: #8f1d1d; }
@media (prefers-color-scheme: dark) { :root { --paper: #12161c; --card: #1a2029; --ink: #e6eaf0;
  --soft: #9aa6b5; --rule: #2e3743; --power: #63b0ff; --weather: #e8a951; --mark: #ff8a80;
  --good: #1e2a25; --some: #7a6327; --bad: #d0703a; --worst: #ff9d8f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main, header > div { max-width: 1180px; margin: 0 auto; padding: 0 18px; }
header { border-bottom: 1px solid var(--rule); background: var(--card); padding: 26px 0 14px; }
h1 { font-size: 27px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 38px 0 6px; }
h3 { font-size: 15px; margin: 20px 0 8px; overflow-wrap: anywhere; }
h3 small, .lead, figcaption, .note { color: var(--soft); font-weight: normal; }
.lead { margin: 6px 0 0; max-width: 75ch; } nav { margin-top: 10px; }
nav a { color: var(--power); text-decoration: none; margin-right: 18px; }
nav a:hover { text-decoration: underline; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(240px, 46%), 1fr));
  gap: 10px; margin: 22px 0 0; }
.facts div { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 10px 14px; }
.facts dt { color: var(--soft); font-size: 13px; } .facts dd { margin: 0; font-weight: 600; }
.pair { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fit, minmax(min(430px, 100%), 1fr)); }
figure { margin: 0; background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 10px 8px 2px; min-width: 0; }
figcaption { font-size: 13px; padding: 0 8px; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--rule);
  border-radius: 10px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; font-size: 13px; border-bottom: 1px solid var(--rule); }
td.word, th.word { text-align: left; } td.aside { color: var(--soft); }
tr.strong td { font-weight: 650; border-top: 1px solid var(--rule); }
tbody tr:hover { background: color-mix(in srgb, var(--power) 7%, transparent); }
.note { font-size: 13px; margin: 6px 2px; } details { margin: 14px 0; }
summary { cursor: pointer; color: var(--power); padding: 4px 0; }
select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--rule);
  border-radius: 8px; padding: 6px 10px; max-width: 100%; margin: 8px 0; }
footer { color: var(--soft); font-size: 13px; margin: 40px 0 30px; }
"""

SCRIPT = """
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const paint = (value) => {
    if (typeof value === "string") {
      const colour = /^var\\((--[a-z]+)\\)$/.exec(value);
      return colour ? css(colour[1]) : value;
    }
    if (Array.isArray(value)) return value.map(paint);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, paint(item)]));
  };
  const axis = () => ({ gridcolor: css("--rule"), linecolor: css("--rule"),
    zerolinecolor: css("--rule"), automargin: true });
  const draw = (box) => {
    const { data, layout } = paint(figures[box.dataset.figure]);
    const own = {};
    for (const name of Object.keys(layout))
      if (/^[xy]axis\\d*$/.test(name)) own[name] = { ...axis(), ...layout[name] };
    if (layout.updatemenus) own.updatemenus = layout.updatemenus.map((menu) => ({ ...menu,
      bgcolor: css("--card"), bordercolor: css("--rule"), font: { color: css("--ink") } }));
    const margin = { l: 55, r: 12, t: 30, b: 36, ...layout.margin };
    Plotly.react(box, data, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: css("--ink"), size: 12, family: "system-ui, sans-serif" }, autosize: true,
      hoverlabel: { align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: css("--power") },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      ...layout, margin, ...own }, { responsive: true, displaylogo: false,
      modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] });
    box.dataset.drawn = "yes";
  };
  const boxes = [...document.querySelectorAll("[data-figure]")];
  // Room is kept from the start, so that nothing jumps while the reader scrolls.
  boxes.forEach((box) => {
    box.style.minHeight = `${figures[box.dataset.figure].layout.height}px`;
  });
  // Pictures far down the page are drawn when they are about to be seen.
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
  }), { rootMargin: "600px" });
  boxes.forEach((box) => seen.observe(box));
  dark.addEventListener("change", () => boxes.filter((box) => box.dataset.drawn).forEach(draw));
  document.querySelectorAll("select[data-for]").forEach((select) =>
    select.addEventListener("change", () => {
      const keys = select.value.split(" ");
      select.dataset.for.split(" ").forEach((id, at) => {
        const box = document.getElementById(id);
        box.dataset.figure = keys[at];
        draw(box);
      });
    }));
})();
"""

# Nothing may be fetched: the page is opened from a disk, perhaps in a control room.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)


def boxes(panels: Sequence[Panel], figures: dict[str, Figure]) -> str:
    """Hand figures over to the script and leave a box for each."""
    parts = []
    for panel in panels:
        key = f"figure-{len(figures)}"
        figures[key] = panel.figure
        parts.append(
            f"<figure><figcaption>{escape(panel.caption)}</figcaption>"
            f'<div data-figure="{key}"></div></figure>'
        )
    return "".join(parts)


def assemble(*, title: str, body: str, figures: str, library: str, style: str = "") -> str:
    """Put a page together.

    Args:
        title: HTML already.
        body: HTML already.
        figures: JSON, figure by key.
        library: the plotting library's source.
        style: further CSS of this page.
    """
    # "<" inside a script could end it early; in JSON it may always be written as an escape.
    safe = figures.replace("<", "\\u003c")
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{title}</title><style>{CSS}{style}</style></head><body>",
            body,
            f'<script type="application/json" id="figures">{safe}</script>',
            f"<script>{library}</script><script>{SCRIPT}</script></body></html>\n",
        ]
    )
