"""Answers on disk, so that the same weather is asked for once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from clearwatt.files import write_atomically


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer, and when it was fetched, in seconds since 1970."""

    body: object
    fetched_at: float


class AnswerCache:
    """A folder with one file per request; a damaged file is as good as none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, request: str, *, since: float) -> KeptAnswer | None:
        """The answer to a request that was fetched at that time or later."""
        try:
            kept = json.loads(self._file(request).read_bytes())
            found = KeptAnswer(kept["body"], float(kept["fetched_at"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if kept["request"] == request and found.fetched_at >= since else None

    def keep(self, request: str, answer: KeptAnswer) -> None:
        """Write an answer."""
        content = {"request": request, "fetched_at": answer.fetched_at, "body": answer.body}
        write_atomically(self._file(request), json.dumps(content).encode())

    def _file(self, request: str) -> Path:
        return self._folder / f"{hashlib.sha256(request.encode()).hexdigest()[:32]}.json"
