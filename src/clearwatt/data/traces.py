"""The little vocabulary all pictures are written in: plotly figures as plain dictionaries.

Colours are names of CSS variables (``var(--power)``): the page fills them in, light or dark.
Text is escaped here, once: plotly reads a little HTML in it.
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


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture with its caption."""

    caption: str
    figure: Figure


def packed_array(values: npt.NDArray[np.floating]) -> Figure:
    """Pack numbers as plotly's binary arrays: a third of their size as text."""
    packed = np.ascontiguousarray(values, dtype="<f4")
    encoded = base64.b64encode(packed.tobytes()).decode("ascii")
    shape = {"shape": ", ".join(map(str, packed.shape))} if packed.ndim > 1 else {}
    return {"dtype": "f4", "bdata": encoded, **shape}


def text(words: str) -> str:
    """Escape what plotly would read as HTML; quotes stay, it does not undo those."""
    return html.escape(words, quote=False)


def titled(name: str, unit: str) -> str:
    """Write an axis title with its unit, or that the data do not state one."""
    return text(f"{name} [{unit or 'unit as recorded'}]")


def stamp(time: pd.Timestamp) -> str:
    """Write a time as plotly reads it."""
    return time.strftime("%Y-%m-%d %H:%M:%S")
