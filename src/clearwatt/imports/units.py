"""Units of power and energy, and where headers name them."""

from __future__ import annotations

import re

import pandas as pd

UNITS = ("W", "kW", "MW", "GW", "Wh", "kWh", "MWh", "GWh")
_SCALE = {"": 1e-3, "k": 1.0, "M": 1e3, "G": 1e6}
_BY_TEXT = {unit.lower(): unit for unit in UNITS}
_OTHER = (
    "kvar", "kvarh", "mvar", "mvarh", "var", "varh", "kva", "mva", "va", "v", "kv", "a", "ka",
    "hz", "%", "°c", "c", "w/m²", "w/m2", "m/s", "hpa", "mbar", "mm", "°", "eur", "pln", "eur/mwh",
    "pln/mwh", "€/mwh", "cos phi",
)  # fmt: skip
"""Units of other quantities, such as reactive power; their columns are not imported."""
_IN_BRACKETS = re.compile(r"\s*[\[({]\s*([^\[\](){}]+?)\s*[\])}]\s*")
# A unit of one letter is one only within brackets.
_AT_EDGE = re.compile(r"(?:^|[\s_,;:/-])([kMG]Wh|Wh|[kMG]W|k?varh?|Mvarh?)\s*$", re.IGNORECASE)


def unit_of(text: str) -> str | None:
    """The unit of power or energy that a cell names, such as kWh; None for anything else."""
    return _BY_TEXT.get(
        re.sub(r"\s*(?:/|je|per|pro)?\s*(?:15|30|60)?\s*min$", "", text.strip().lower())
    )


def is_other_unit(text: str) -> bool:
    """Whether a cell names a unit of another quantity."""
    return text.strip().lower() in _OTHER


def split_unit(header: str) -> tuple[str, str | None]:
    """A header without its unit, and the unit as it is written; None if it names none."""
    for found in _IN_BRACKETS.finditer(header):
        if unit_of(found[1]) or is_other_unit(found[1]):
            return (header[: found.start()] + " " + header[found.end() :]).strip(), found[1]
    if edge := _AT_EDGE.search(header):
        return header[: edge.start()].strip(), edge[1]
    return header.strip(), None


def is_energy(unit: str) -> bool:
    """Whether a unit is one of energy; its values are per interval."""
    return unit.endswith("h")


def kilowatts_per(unit: str, step: pd.Timedelta) -> float:
    """Factor from values in a unit to average power in kW; energy is divided by the step."""
    scale = _SCALE[unit.removesuffix("h").removesuffix("W")]
    return scale * (pd.Timedelta(hours=1) / step) if is_energy(unit) else scale
