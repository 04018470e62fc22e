"""The folder of a run: which run it belongs to, and every finished task, written atomically."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clearwatt.errors import ConfigurationError
from clearwatt.files import lock_file, write_text_atomically
from clearwatt.runs.identity import digest

RUN = "run.json"
FORMAT = "clearwatt-run"
VERSION = 1
LOCK = ".lock"


class RunFolder:
    """The finished work of a run, so that it can continue after any interruption."""

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self.identity = path, identity

    @classmethod
    @contextmanager
    def open(cls, path: Path, about: Mapping[str, Any], identity: str) -> Iterator[RunFolder]:
        """Create the folder, or continue in it; refuse one of another run, or one in use.

        Args:
            path: the folder.
            about: description of the run; "experiment", "data" and "versions" must be those of the
                run that is there.
            identity: hash of everything the numbers depend on.
        """
        _check_owner(path, about)
        path.mkdir(parents=True, exist_ok=True)
        with _lock(path):
            for leftover in path.rglob(".*.part"):
                leftover.unlink()
            write_json(path / RUN, {"format": FORMAT, "version": VERSION, **about})
            yield cls(path, identity)

    def key(self, *parts: object) -> str:
        """The name of a task: a hash of everything that its result depends on."""
        return digest(self.identity, *parts)

    def place(self, kind: str, key: str) -> Path:
        """Where a result that is a folder of its own is kept."""
        return self.path / kind / key

    def read(self, kind: str, key: str) -> object:
        """A finished JSON document; None if it is missing or damaged."""
        try:
            document: object = json.loads(self._file(kind, key).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return document

    def write(self, kind: str, key: str, content: object) -> None:
        """Write a JSON document."""
        write_json(self._file(kind, key), content)

    def _file(self, kind: str, key: str) -> Path:
        return self.path / kind / f"{key}.json"


def write_json(path: Path, content: object) -> None:
    """Write a JSON document, atomically."""
    write_text_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def _check_owner(path: Path, about: Mapping[str, Any]) -> None:
    if path.exists() and not path.is_dir():
        raise ConfigurationError(f"{path} is a file; give a folder for the run")
    if not path.exists() or all(_is_left_by_start(each.name) for each in path.iterdir()):
        return
    try:
        found = json.loads((path / RUN).read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} holds something other than a run; choose a new or empty folder"
        ) from error
    if (difference := _difference(found.get("versions"), _as_json(about["versions"]))) is not None:
        raise ConfigurationError(
            f"{path} was started with other versions ({difference.removeprefix('.')}), so "
            "its finished tasks cannot be used; use those versions, or choose another folder"
        )
    for part in ("experiment", "data"):
        if (difference := _difference(found.get(part), _as_json(about[part]))) is not None:
            raise ConfigurationError(
                f"{path} holds another experiment ({part}{difference}); choose another folder"
            )


def _is_left_by_start(name: str) -> bool:
    """Whether an interruption before the first task can leave a file of this name."""
    return name == LOCK or (name.startswith(f".{RUN}.") and name.endswith(".part"))


def _as_json(value: object) -> object:
    """The value as JSON gives it back: tuples as lists."""
    plain: object = json.loads(json.dumps(value))
    return plain


def _difference(there: object, here: object, name: str = "") -> str | None:
    """Where two documents first differ, in words; None if they are equal."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in [*here, *(key for key in there if key not in here)]:
            inner = _difference(there.get(key), here.get(key), f"{name}.{key}")
            if inner is not None:
                return inner
        return None
    return None if there == here else f"{name} is {there!r} there and {here!r} here"


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Lock the folder against a second run; the lock of a killed run ends with it."""
    with (path / LOCK).open("w") as lock:
        if not lock_file(lock):
            raise ConfigurationError(
                f"{path} is in use by another run; wait for it or choose another folder"
            )
        yield
