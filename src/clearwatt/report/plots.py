"""Plotly figures as plain dictionaries, and the conversions they need.

Colours are names of CSS variables (``var(--power)``); the page's script replaces them with the
colours of the light or dark theme.
"""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Figure: TypeAlias = dict[str, object]
DAY_MILLISECONDS = 86_400_000


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure with its caption."""

    caption: str
    figure: Figure


def packed_array(values: npt.NDArray[np.floating]) -> Figure:
    """Numbers as one of plotly's binary arrays, a third of their size as text."""
    packed = np.ascontiguousarray(values, dtype="<f4")
    encoded = base64.b64encode(packed.tobytes()).decode("ascii")
    shape = {"shape": ", ".join(map(str, packed.shape))} if packed.ndim > 1 else {}
    return {"dtype": "f4", "bdata": encoded, **shape}


def plotly_text(words: str) -> str:
    """Words with their markup escaped: plotly interprets a subset of HTML in texts.

    Quotes stay as they are, because plotly does not decode their entities.
    """
    return html.escape(words, quote=False)


def plotly_time(time: pd.Timestamp) -> str:
    """A time in the format that plotly parses."""
    return time.strftime("%Y-%m-%d %H:%M:%S")


def axis_title(name: str, unit: str) -> str:
    """The title of an axis with its unit, or the statement that the data give none."""
    return plotly_text(f"{name} [{unit or 'unit as recorded'}]")
