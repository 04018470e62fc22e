"""The folder feed: files dropped into a folder go to the service, each content once.

A file stays in the folder until the service has all of its readings and the ledger says so. After a
kill, a file that is still there is sent again, which changes nothing in the service, or only moved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

from clearwatt.feeds.delivery import Delivery
from clearwatt.feeds.directory import EntityDirectory
from clearwatt.feeds.drop_folder import DONE, FAILED, DropFolder, mark_of, printable
from clearwatt.feeds.file_delivery import FileResult, read_file, send_export
from clearwatt.feeds.ledger import (
    Ledger,
    LedgerEntry,
    content_digest,
    recipe_digest,
    service_address,
)
from clearwatt.feeds.stopping import FeedStoppedError, StopRequest
from clearwatt.imports import Recipe
from clearwatt.service.times import text

POLL = 1.0
"""Seconds between two looks into the folder."""
LONGEST_PAUSE = 300.0
"""Most seconds between two attempts at a file that cannot be read, recorded or moved."""
MARGIN = 0.05
"""Seconds more than ``settle`` between two looks, so that a file counts as unchanged for long."""


@dataclass(frozen=True)
class FileOutcome:
    """A file that was taken: where it is now, and what became of its readings.

    ``moved_to`` is None if the file could not be read, recorded or moved; it is tried again.
    ``known``: the same content was sent before, so nothing was sent.
    """

    file: str
    moved_to: str | None
    result: FileResult
    known: bool = False

    @property
    def failed(self) -> bool:
        """Whether there is something to correct."""
        return bool(self.result.problems)


class _Failure(NamedTuple):
    """Why a file stays where it is, and when it is tried again (monotonic seconds)."""

    problem: str
    pause: float
    again_at: float


class FolderFeed:
    """Takes the complete files of a folder one after the other.

    Args:
        again: send the files that are there at the start, even if the ledger has their contents.
    """

    def __init__(
        self,
        folder: DropFolder,
        ledger: Ledger,
        *,
        recipe: Callable[[], Recipe],
        delivery: Delivery,
        stop: StopRequest,
        settle: float,
        again: bool = False,
    ) -> None:
        self._folder, self._ledger, self._recipe = folder, ledger, recipe
        self._delivery, self._stop = delivery, stop
        self._directory = EntityDirectory(delivery.client, stop)
        self._settle = settle
        self._again = set(folder.files()) if again else set[Path]()
        self._failures: dict[Path, _Failure] = {}

    def run(self, *, once: bool) -> Iterator[FileOutcome | None]:
        """Take files until the stop is asked for; None after each look.

        Args:
            once: look twice, ``settle`` seconds apart; what still changes then is left.
        """
        try:
            for look in count(1):
                yield from self._take_all()
                yield None
                if self._stop.is_set() or (once and (look == 2 or not self._folder.has_waiting())):
                    return
                self._stop.pause(self._settle + MARGIN if once else POLL)
        except FeedStoppedError:
            pass

    def _take_all(self) -> Iterator[FileOutcome]:
        files = self._folder.complete_files()
        self._failures = {file: why for file, why in self._failures.items() if file in files}
        for file in files:
            failure = self._failures.get(file)
            if failure is not None and time.monotonic() < failure.again_at:
                continue
            try:
                outcome = self._take(file)
                self._failures.pop(file, None)
            except (OSError, ValueError) as error:  # it must not stop the files after it
                outcome = self._report_once(file, str(error))
            if outcome is not None:
                yield outcome
            if self._stop.is_set():
                return

    def _take(self, file: Path) -> FileOutcome | None:
        """Send a file and move it; None if it is being written again."""
        mark = mark_of(file)
        if mark is None:
            return None
        recipe = self._recipe()
        content, read_as = content_digest(file), recipe_digest(recipe)
        service = service_address(self._delivery.client.url)
        entry = self._ledger.find(content, read_as, service)
        if entry is not None and file not in self._again:
            return self._move_known(file, entry)
        export = read_file(file, recipe)
        if mark_of(file) != mark:
            return None
        self._directory.expire()
        result = (
            export
            if isinstance(export, FileResult)
            else send_export(export, self._delivery, self._directory)
        )
        name, report = printable(file.name), printable(result.report(file.name))
        if not result.problems:
            now = text(int(time.time()))
            self._ledger.add(LedgerEntry(content, read_as, name, now, report, service))
            self._again.discard(file)
            self._ledger.save()
        if mark_of(file) != mark:
            return None
        moved = self._folder.move(file, FAILED if result.problems else DONE, report)
        return FileOutcome(name, printable(str(moved)), result)

    def _report_once(self, file: Path, problem: str) -> FileOutcome | None:
        """The outcome of a file that stays where it is; None if the problem was reported before.

        The pause before the next attempt doubles each time.
        """
        before = self._failures.get(file)
        pause = POLL if before is None else min(2 * before.pause, LONGEST_PAUSE)
        self._failures[file] = _Failure(problem, pause, time.monotonic() + pause)
        if before is not None and before.problem == problem:
            return None
        return FileOutcome(printable(file.name), None, FileResult(problems=(printable(problem),)))

    def _move_known(self, file: Path, entry: LedgerEntry) -> FileOutcome:
        """Move a file whose content the service has, once the ledger says so; nothing is sent."""
        self._ledger.save()
        note = f"The service has this content since {entry.time}, from {entry.file}.\n\n"
        moved = self._folder.move(file, DONE, note + entry.report)
        name = printable(file.name)
        return FileOutcome(name, printable(str(moved)), FileResult(), known=True)
