"""Dead letters: readings of a feed that cannot be used, with the reason, as JSON lines."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clearwatt.errors import DataError
from clearwatt.feeds.spool import Message
from clearwatt.files import wait_for_lock, write_text_atomically
from clearwatt.service.times import seconds, text

FILE = "dead-letters.jsonl"
DAMAGED = ".damaged"
_Identity = tuple[str, str, int, bytes]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A reading that cannot be used.

    ``id`` is the number of its message and its place in it. ``time`` is when it was given up.
    """

    id: str
    time: float
    reason: str
    message: Message

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a payload that is not text is written in base64."""
        message = self.message
        try:
            payload = {"payload": message.payload.decode("utf-8")}
        except UnicodeDecodeError:
            payload = {"payload_base64": base64.b64encode(message.payload).decode("ascii")}
        return {
            "id": self.id,
            "time": text(round(self.time, 3)),
            "reason": self.reason,
            "topic": message.topic,
            "arrived": text(round(message.arrived, 3)),
            **payload,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> DeadLetter:
        """The letter of such values; KeyError, TypeError or ValueError if they are none."""
        payload = (
            base64.b64decode(values["payload_base64"])
            if "payload_base64" in values
            else str(values["payload"]).encode()
        )
        message = Message(str(values["topic"]), payload, seconds(values["arrived"]))
        return cls(str(values["id"]), seconds(values["time"]), str(values["reason"]), message)


class DeadLetterFile:
    """The file of dead letters; appended by a feed, read and shortened by people and commands."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._earlier: set[_Identity] | None = None

    def append(self, letters: Sequence[DeadLetter]) -> int:
        """Add letters, on disk when this returns; returns how many were not in the file before.

        Only letters of a process that was killed can be in it already.
        """
        if not letters:
            return 0
        with self._locked():
            if self._earlier is None:
                self._earlier = {_identity(letter) for letter in self._read(whole=False)}
            new = [letter for letter in letters if _identity(letter) not in self._earlier]
            try:
                _finish_last_line(self.path)
                _append(self.path, "".join(map(_line, new)).encode())
            except OSError:
                self._earlier = None  # some of them may be in the file
                raise
        return len(new)

    def read(self) -> list[DeadLetter]:
        """All letters, oldest first; DataError for a line that is none."""
        return list(self._read(whole=True))

    @contextmanager
    def take(self, ids: Sequence[str] | None) -> Iterator[list[DeadLetter]]:
        """The letters with these ids (None: all); the file loses them if the block succeeds."""
        with self._locked():
            letters = self.read()
            known = {letter.id for letter in letters}
            if missing := [each for each in ids or () if each not in known]:
                raise DataError(f"{self.path} has no letter {missing[0]!r}; list them first")
            taken = [letter for letter in letters if ids is None or letter.id in ids]
            yield taken
            rest = [letter for letter in letters if letter not in taken]
            write_text_atomically(self.path, "".join(map(_line, rest)))
            _give_to_owner(self.path)

    def _read(self, *, whole: bool) -> Iterator[DeadLetter]:
        if not self.path.is_file():
            return
        lines = self.path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield DeadLetter.from_dict(json.loads(line))
            except (KeyError, TypeError, ValueError) as error:
                if whole:
                    raise DataError(
                        f"{self.path}, line {number} is no dead letter ({error}); correct or "
                        "delete the line"
                    ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Exclude other processes; the lock is a file beside, because this one is replaced."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.path.with_suffix(".lock").open("w") as lock:
            wait_for_lock(lock)
            _give_to_owner(self.path.with_suffix(".lock"))
            yield


def _line(letter: DeadLetter) -> str:
    """A line in ASCII: a payload may have half of a character, or what editors take for a break."""
    return json.dumps(letter.to_dict()) + "\n"


def _identity(letter: DeadLetter) -> _Identity:
    """What a repeated letter has in common with the first; ids begin anew with a new spool."""
    message = letter.message
    return letter.id, message.topic, int(round(message.arrived, 3)), message.payload


def _give_to_owner(path: Path) -> None:
    """Give a file that root has made to the owner of its folder, the user of the feed."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _append(path: Path, content: bytes) -> None:
    """Append to a file; on disk when this returns."""
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _finish_last_line(path: Path) -> None:
    """Move a last line that is none to a file beside: of a killed process, or of a hand edit.

    A complete line is given its line break, which editors may leave out.
    """
    if not path.is_file():
        return
    with path.open("rb+") as file:
        content = file.read()
        start = content.rfind(b"\n") + 1
        try:
            json.loads(content[start:])
        except ValueError:
            if content[start:].strip():
                _append(path.with_suffix(DAMAGED), content[start:] + b"\n")
            file.truncate(start)
        else:
            file.write(b"\n")
