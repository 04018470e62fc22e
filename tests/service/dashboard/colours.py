"""How different two colours look: the distance in CIELAB (CIE76)."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])


def difference(first: str, second: str, *, ground: str) -> float:
    """Distance of two CSS colours, as seen on a ground."""
    return float(np.linalg.norm(_lab(first, ground) - _lab(second, ground)))


def _lab(colour: str, ground: str) -> Floats:
    red_green_blue, opacity = _parse(colour)
    seen = opacity * red_green_blue + (1 - opacity) * _parse(ground)[0]
    linear = np.where(seen <= 0.04045, seen / 12.92, ((seen + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ linear / WHITE
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def _parse(colour: str) -> tuple[Floats, float]:
    if colour.startswith("#"):
        return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255, 1.0
    numbers = [float(each) for each in re.findall(r"[\d.]+", colour)]
    return np.array(numbers[:3]) / 255, numbers[3] if len(numbers) > 3 else 1.0
