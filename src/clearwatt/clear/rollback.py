"""The way back to before a block of the stream, should taking it in fail half-way."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


class Rollback:
    """What the attributes of some objects are bound to, and where random numbers have got to.

    It costs next to nothing, because memories only grow at their end and models, thresholds and
    boundaries are replaced, never changed in place.
    """

    def __init__(self, parts: Iterable[object], generators: Iterable[np.random.Generator]) -> None:
        self._attributes = [(part, dict(vars(part))) for part in parts]
        self._random = [(generator, generator.bit_generator.state) for generator in generators]

    def __enter__(self) -> Rollback:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Back to before, if what was tried failed."""
        if kind is not None:
            self.restore()

    def restore(self) -> None:
        """Put everything back to where it was."""
        for part, attributes in self._attributes:
            vars(part).update(attributes)
        for generator, state in self._random:
            generator.bit_generator.state = state
