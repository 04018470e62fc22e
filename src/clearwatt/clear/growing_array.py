"""An array that grows at its end in amortised constant time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class GrowingArray:
    """An append-only array; `replace` is the only way to change values it already holds."""

    def __init__(self, values: npt.NDArray[np.generic]) -> None:
        self._values = values.copy()
        self._size = len(values)

    @property
    def view(self) -> npt.NDArray[np.generic]:
        """The values, without a copy."""
        return self._values[: self._size]

    def extend(self, values: npt.NDArray[np.generic]) -> None:
        """Append values; views taken before stay as they are."""
        size = self._size + len(values)
        if size > len(self._values):
            grown = np.empty((max(size, size * 5 // 4), *values.shape[1:]), self._values.dtype)
            grown[: self._size] = self.view
            self._values = grown
        self._values[self._size : size] = values
        self._size = size

    def replace(self, values: npt.NDArray[np.generic]) -> None:
        """Hold a copy of these values instead."""
        self._values, self._size = values.copy(), len(values)
