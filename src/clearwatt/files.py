"""Files: atomic writing, locks, and state folders.

A state folder holds a manifest (JSON) and its tensors (safetensors); both are written atomically
and verified when read.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearwatt.errors import DataError, StateError

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = "clearwatt-state"
VERSION = 2
MANIFEST = "state.json"


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write a temporary file beside the target, then rename it; creates missing folders."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    if path.is_dir():
        raise DataError(f"{path} is a folder; give the name of a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # the rename must not outrun the bytes
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write text, as UTF-8, in the same way."""
    write_atomically(path, text.encode("utf-8"))


def read_versioned_json(path: Path, *, format_name: str, version: int) -> dict[str, Any]:
    """The values of a JSON file; a ValueError if it has another format or version."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if (values["format"], values["version"]) != (format_name, version):
        raise ValueError(f"{values['format']} version {values['version']}")
    return values


def lock_file(file: IO[str]) -> bool:
    """Lock an open file against other processes; False if it is locked already.

    Closing the file, or the end of the process, releases the lock.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(file: IO[str]) -> None:
    """Lock an open file against other processes as `lock_file` does; wait for the one before."""
    fcntl.flock(file, fcntl.LOCK_EX)


class SavedState(NamedTuple):
    """Plain values (as in JSON) and tensors of a state, and its folder."""

    values: dict[str, Any]
    tensors: dict[str, Tensor]
    folder: Path


def save_state(
    path: str | os.PathLike[str], values: Mapping[str, object], tensors: Mapping[str, Tensor]
) -> None:
    """Write a state into a folder; a reader sees the old state or the new one, never a mixture.

    The tensors' file is named after its content; the manifest that names it is replaced last.
    """
    from safetensors.torch import save as format_tensors

    plain = json.dumps(dict(values), default=_plain)
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    content = format_tensors(_with_own_memory(tensors))
    digest = hashlib.sha256(content).hexdigest()
    name = f"tensors-{digest[:16]}.safetensors"
    write_atomically(folder / name, content)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "tensors": {"file": name, "sha256": digest, "bytes": len(content)},
        "values": json.loads(plain),
    }
    manifest["sha256"] = _manifest_checksum(manifest)
    write_atomically(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
    for stale in folder.glob("tensors-*.safetensors"):
        if stale.name != name:
            stale.unlink()


def digest_of(values: Mapping[str, object], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of a state; does not depend on the order of names."""
    # Through JSON once, so that a loaded state has the same digest.
    plain = json.loads(json.dumps(dict(values), default=_plain))
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        array = tensor.detach().contiguous().numpy()
        digest.update(f"\n{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def load_state(path: str | os.PathLike[str]) -> SavedState:
    """Read a state; raises a StateError if it is missing, damaged or of another version."""
    folder = Path(path)
    manifest = _read_manifest(folder)
    try:
        name, _ = _tensors_of(manifest, folder)
        content = (folder / Path(name).name).read_bytes()
    except OSError as error:
        # A state saved after this manifest was read has replaced the tensors.
        if _read_manifest(folder).get("tensors") != manifest["tensors"]:
            return load_state(folder)
        raise _damage_error(folder, f"{name} cannot be read ({error.strerror})") from error
    return _parse_state(manifest, content, folder)


def parse_state(files: Mapping[str, bytes], folder: Path) -> SavedState:
    """A state from the contents of its files; ``folder`` is where errors say that they are."""
    if MANIFEST not in files:
        raise _missing_error(folder)
    manifest = _parse_manifest(files[MANIFEST], folder)
    name, _ = _tensors_of(manifest, folder)
    if name not in files:
        raise _damage_error(folder, f"{name} is missing")
    return _parse_state(manifest, files[name], folder)


def _parse_state(manifest: Mapping[str, Any], content: bytes, folder: Path) -> SavedState:
    from safetensors import SafetensorError
    from safetensors.torch import load as parse_tensors

    name, digest = _tensors_of(manifest, folder)
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damage_error(folder, f"{name} is truncated or altered (its checksum differs)")
    try:
        return SavedState(manifest["values"], parse_tensors(content), folder)
    except SafetensorError as error:
        raise _damage_error(folder, f"{name} has no tensors ({error})") from error


def _tensors_of(manifest: Mapping[str, Any], folder: Path) -> tuple[str, str]:
    """The name of the file of tensors, and its checksum."""
    try:
        return manifest["tensors"]["file"], manifest["tensors"]["sha256"]
    except (KeyError, TypeError) as error:
        raise _damage_error(folder, f"its {MANIFEST} names no tensors") from error


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        content = (folder / MANIFEST).read_bytes()
    except FileNotFoundError as error:
        raise _missing_error(folder) from error
    except OSError as error:
        raise _damage_error(folder, f"{MANIFEST} cannot be read ({error.strerror})") from error
    return _parse_manifest(content, folder)


def _missing_error(folder: Path) -> StateError:
    return StateError(f"{folder} holds no saved state ({MANIFEST} is missing)")


def _parse_manifest(content: bytes, folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _damage_error(folder, f"{MANIFEST} is truncated or not JSON") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StateError(f"{folder / MANIFEST} is not a ClearWatt state; choose another folder")
    if manifest.get("version") != VERSION:
        raise StateError(
            f"{folder} was saved with state version {manifest.get('version')}, this release reads "
            f"version {VERSION}; load it with the release that wrote it"
        )
    if not isinstance(manifest.get("values"), dict):
        raise _damage_error(folder, f"{MANIFEST} is incomplete")
    # States of earlier releases have no checksum of their manifest.
    if "sha256" in manifest and manifest["sha256"] != _manifest_checksum(manifest):
        raise _damage_error(folder, f"{MANIFEST} is altered (its checksum differs)")
    return manifest


def _manifest_checksum(manifest: Mapping[str, object]) -> str:
    """SHA-256 of a manifest without its checksum."""
    content = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _with_own_memory(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors without shared memory, which safetensors rejects; equal models may share it."""
    apart: dict[str, Tensor] = {}
    taken: set[int] = set()
    for name, tensor in tensors.items():
        own = tensor.detach().contiguous()
        place = own.untyped_storage().data_ptr()
        apart[name] = own.clone() if place in taken else own
        taken.add(place)
    return apart


def _plain(value: object) -> object:
    """A numpy number as a Python number; a grid search passes numpy numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise StateError(
        f"{value!r} of type {type(value).__name__} cannot be saved; use numbers, strings, lists "
        "and dictionaries as parameters"
    )


def _damage_error(folder: Path, what: str) -> StateError:
    return StateError(f"the state in {folder} is damaged: {what}; restore it from a backup")
