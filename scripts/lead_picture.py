"""Draw error against lead from the results of ``clearwatt benchmark --leads``.

python scripts/lead_picture.py wind/leads.json load/leads.json     # writes docs/images/leads.svg
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from charts import BLUE, GREY, ORANGE, RED, Line, Panel, draw

PEERS = {
    "clear-adaptive": (ORANGE, "ClearWatt, adaptive"),
    "lightgbm-lags-last-60d": (BLUE, "LightGBM with the last value"),
    "last-value": (RED, "the last value"),
    "climatology": (GREY, "climatology"),
}
"""Peers of the picture: colour and label."""
COLUMNS = 2


def lead_panel(document: dict[str, Any]) -> Panel:
    """One data set: live RMSE of the updating phase over the leads, evenly spaced."""
    leads, rows = document["leads"], {row["peer"]: row for row in document["rows"]}
    lines = [
        Line(np.array([rows[peer]["rmse"][lead] for lead in leads], np.float64), colour, label)
        for peer, (colour, label) in PEERS.items()
        if peer in rows and None not in rows[peer]["rmse"].values()
    ]
    highest = max(np.nanmax(line.values) for line in lines)
    ticks = [(at / max(1, len(leads) - 1), lead) for at, lead in enumerate(leads)]
    return Panel(
        f"{document['data']['name']}: error against lead",
        lines,
        "RMSE / capacity",
        ticks,
        limits=(0.0, float(np.ceil(15 * highest) / 10)),  # a third is for the legend
        width=400,
        height=200,
    )


def main() -> None:
    """Read the results, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+", type=Path, help="leads.json of each data set")
    parser.add_argument("--out", type=Path, default=Path("docs/images/leads.svg"))
    options = parser.parse_args()
    panels = [lead_panel(json.loads(path.read_text(encoding="utf-8"))) for path in options.results]
    draw([panels[at : at + COLUMNS] for at in range(0, len(panels), COLUMNS)], options.out)


if __name__ == "__main__":
    main()
