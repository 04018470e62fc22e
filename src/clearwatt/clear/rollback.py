"""Undo a partly applied block of the stream."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


class Rollback:
    """Snapshot of the state; restored if the with-block raises.

    It saves references to attributes and the states of random generators, no copies of data.
    That is enough because arrays only grow at their end, and models, thresholds and boundaries
    are replaced, never changed in place.
    """

    def __init__(self, parts: Iterable[object], generators: Iterable[np.random.Generator]) -> None:
        self._attributes = [(part, dict(vars(part))) for part in parts]
        self._random = [(generator, generator.bit_generator.state) for generator in generators]

    def __enter__(self) -> Rollback:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Restore the state if the block raised."""
        if kind is not None:
            self.restore()

    def restore(self) -> None:
        """Restore the state."""
        for part, attributes in self._attributes:
            vars(part).update(attributes)
        for generator, state in self._random:
            generator.bit_generator.state = state
