"""One colour for each row of the tables, the same in every plot.

``templates/experiment.css`` defines the variables for the light and the dark theme, with hues
that colour-blind readers can tell apart.
"""

from __future__ import annotations

COLOURS = {
    "U": "var(--upper)",
    "L": "var(--lower)",
    "E": "var(--ewc)",
    "F": "var(--fam)",
    "Ra": "var(--ran)",
    "Re": "var(--rec)",
    "ReD": "var(--dec)",
    "G": "var(--gen)",
    "A": "var(--ada)",
}


def colour(row: str) -> str:
    """The colour of a row; that of text for an approach without one."""
    return COLOURS.get(row, "var(--ink)")
