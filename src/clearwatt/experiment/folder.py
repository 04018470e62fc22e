"""The folder of a run: who it belongs to, and every finished piece of work, written atomically."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from shutil import rmtree
from typing import Any

from clearwatt import __version__
from clearwatt.errors import ConfigurationError, StateError
from clearwatt.experiment.layout import (
    RESULTS,
    RESULTS_FORMAT,
    RUN,
    RUN_FORMAT,
    TRIALS,
    VERSION,
)
from clearwatt.experiment.models import Candidate, load_candidates, save_candidates
from clearwatt.experiment.trial import Trial, TrialResult
from clearwatt.files import write_text_atomically

LOCK = ".lock"


def digest(*parts: object) -> str:
    """A short name for whatever the parts are."""
    text = json.dumps(parts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def versions() -> dict[str, str]:
    """Of everything that has a say in the numbers."""
    packages = ("torch", "numpy", "pandas", "scikit-learn")
    own = {"clearwatt": __version__, "python": platform.python_version()}
    return own | {name: version(name) for name in packages}


class RunFolder:
    """Where a run keeps what it has done, so that it can go on after any interruption."""

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self.identity = path, identity

    @classmethod
    @contextmanager
    def opened(cls, path: Path, about: Mapping[str, Any], identity: str) -> Iterator[RunFolder]:
        """Make the folder, or go on in it; refuse one that is another experiment's or in use.

        Args:
            path: the folder.
            about: what is written down about the run; "experiment", "data" and "versions" must
                agree.
            identity: a name for all that the numbers depend on.
        """
        _check_owner(path, about)
        path.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            for leftover in path.rglob(".*.part"):
                leftover.unlink()
            _write_json(path / RUN, {"format": RUN_FORMAT, "version": VERSION, **about})
            yield cls(path, identity)

    def key(self, *parts: object) -> str:
        """The name of a piece of work: everything that it depends on, hashed."""
        return digest(self.identity, *parts)

    def candidates(self, kind: str, key: str) -> list[Candidate] | None:
        """Trained networks of an earlier start, if they are there and whole."""
        try:
            return load_candidates(self.path / kind / key)
        except StateError:
            return None

    def keep_candidates(self, kind: str, key: str, candidates: list[Candidate]) -> None:
        """Write trained networks."""
        save_candidates(self.path / kind / key, candidates)

    def drop_candidates(self, kind: str, key: str) -> None:
        """Delete trained networks that are no longer needed."""
        rmtree(self.path / kind / key, ignore_errors=True)

    def trial(self, key: str) -> tuple[Trial, list[float | None]] | None:
        """A finished trial with its daily error, if it is there and whole."""
        try:
            values = json.loads((self.path / TRIALS / f"{key}.json").read_text(encoding="utf-8"))
            return Trial.from_dict(values["trial"]), values["daily"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def keep_trial(self, key: str, result: TrialResult) -> None:
        """Write a finished trial."""
        values = {"trial": result.trial.to_dict(), "daily": result.daily}
        _write_json(self.path / TRIALS / f"{key}.json", values)

    def write_series(self, key: str, series: Mapping[str, Any]) -> None:
        """Write what plots of a chosen trial need."""
        _write_json(self.path / "series" / f"{key}.json", series)

    def write_results(self, results: Mapping[str, Any]) -> Path:
        """Write the outcome of the run."""
        content = {"format": RESULTS_FORMAT, "version": VERSION, **results}
        _write_json(self.path / RESULTS, content)
        return self.path / RESULTS


def machine() -> dict[str, object]:
    """Cores and memory; no names."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cores": os.cpu_count(), "memory_gb": round(memory / 2**30, 1)}


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_text_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def _check_owner(path: Path, about: Mapping[str, Any]) -> None:
    if path.exists() and not path.is_dir():
        raise ConfigurationError(f"{path} is a file; give a folder for the run")
    if not path.exists() or all(_is_ours_before_a_run(each.name) for each in path.iterdir()):
        return
    try:
        found = json.loads((path / RUN).read_text(encoding="utf-8"))
        if found["format"] != RUN_FORMAT:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{path} holds something other than a run; choose a new or empty folder"
        ) from error
    if (difference := _difference(found.get("versions"), _plain(about["versions"]))) is not None:
        raise ConfigurationError(
            f"{path} was begun with other versions ({difference.removeprefix('.')}), so that "
            "nothing finished there could be used; go on with those, or choose another folder"
        )
    for part in ("experiment", "data"):
        if (difference := _difference(found.get(part), _plain(about[part]))) is not None:
            raise ConfigurationError(
                f"{path} holds another experiment ({part}{difference}); choose another folder"
            )


def _is_ours_before_a_run(name: str) -> bool:
    """Whether a file is what an interruption before the first piece of work leaves behind."""
    return name == LOCK or (name.startswith(f".{RUN}.") and name.endswith(".part"))


def _plain(value: object) -> object:
    """As JSON gives it back."""
    plain: object = json.loads(json.dumps(value))
    return plain


def _difference(found: object, wanted: object, name: str = "") -> str | None:
    """Where two documents first differ, in words; None if nowhere."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in [*wanted, *(key for key in found if key not in wanted)]:
            inner = _difference(found.get(key), wanted.get(key), f"{name}.{key}")
            if inner is not None:
                return inner
        return None
    return None if found == wanted else f"{name} is {found!r} there and {wanted!r} here"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the folder, so that two runs never write into it at once; a dead run holds nothing."""
    with (path / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError(
                f"{path} is in use by another run; wait for it or choose another folder"
            ) from error
        yield
