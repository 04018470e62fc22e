"""Threads that call a service while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self


class Callers:
    """Threads that run while the with-block does; each ends when ``_ended`` is set.

    Args:
        work: what the threads do, one thread each.
    """

    def __init__(self, work: Iterable[Callable[[], None]]) -> None:
        self.failures: list[str] = []
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in work]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
