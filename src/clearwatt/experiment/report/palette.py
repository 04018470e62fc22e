"""One colour for each row of the tables, the same in every picture, light and dark.

The hues are told apart with colour-blind eyes too; the page's script fills the variables in.
"""

from __future__ import annotations

STYLE = """
:root { --ewc: #d55e00; --fam: #b0467f; --ran: #0072b2; --rec: #00876a; --dec: #3aa0dc;
  --gen: #a67c00; --upper: #8b95a1; --lower: #4a5462; --holds: #1d7a46; --fails: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ewc: #ff9a52; --fam: #e79ac2; --ran: #5aa9e6;
  --rec: #41c9a3; --dec: #9fd4f7; --gen: #efc34d; --upper: #7f8a98; --lower: #b8c2ce;
  --holds: #6ed69a; --fails: #ff8a80; } }
.trio { display: grid; gap: 14px;
  grid-template-columns: repeat(auto-fit, minmax(min(330px, 100%), 1fr)); }
#tables th, #tables td { padding: 4px 7px; font-size: 13.5px; }
.findings { padding: 0; list-style: none; margin: 12px 0; }
.findings li { background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 8px 14px; margin: 8px 0; }
.findings b { margin-right: 8px; } .findings .holds { color: var(--holds); }
.findings .fails { color: var(--fails); } .findings .unknown { color: var(--soft); }
.findings small { color: var(--soft); display: block; }
"""

COLOURS = {
    "U": "var(--upper)",
    "L": "var(--lower)",
    "E": "var(--ewc)",
    "F": "var(--fam)",
    "Ra": "var(--ran)",
    "Re": "var(--rec)",
    "ReD": "var(--dec)",
    "G": "var(--gen)",
}


def colour(row: str) -> str:
    """The colour of a row; an approach the paper does not know is drawn as text is."""
    return COLOURS.get(row, "var(--ink)")
