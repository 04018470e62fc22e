"""Checksums of rows, which find rot inside pages that a database takes for intact.

Rows that a release without checksums has written have none and are not checked.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from clearwatt.service.store.errors import StoreDamagedError

_TIME, _ENTITY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MISSING = np.uint64(0x7FF8000000000000)
"""Bits that stand for a missing value, whichever NaN it is."""


def entry_checksum(kind: str, content: bytes | None, at: float) -> int:
    """Checksum of a journal entry; the content of weather is in its own table."""
    return zlib.crc32(content or b"", zlib.crc32(kind.encode() + struct.pack("<d", at)))


def weather_checksum(seq: int, issued_at: int, steps: int, content: bytes) -> int:
    """Checksum of a weather issue."""
    return zlib.crc32(content, zlib.crc32(struct.pack("<qqq", seq, issued_at, steps)))


def reading_checksums(
    entities: npt.ArrayLike, times: npt.ArrayLike, values: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Checksums of 32 bits (n) of readings: entities, times and values (n), NaN where missing.

    A hash of numbers, not of bytes, so that thousands take a fraction of a millisecond.
    """
    power = np.array(values, dtype=np.float64) + 0.0  # SQLite stores -0.0 as 0.0
    bits = power.view(np.uint64)
    bits[np.isnan(power)] = _MISSING
    mixed = bits ^ (np.asarray(times, np.int64).astype(np.uint64) * _TIME)
    mixed ^= np.asarray(entities, np.int64).astype(np.uint64) * _ENTITY
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    found: npt.NDArray[np.int64] = (mixed >> np.uint64(32)).astype(np.int64)
    return found


def wrong_readings(
    entities: npt.ArrayLike, times: npt.ArrayLike, values: npt.ArrayLike, stored: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Which of n readings are not what was stored; ``stored`` has None for those without one."""
    known = np.array(stored, dtype=np.float64)  # None becomes NaN; 32 bits are exact
    wrong: npt.NDArray[np.bool_] = known != reading_checksums(entities, times, values)
    return wrong & ~np.isnan(known)


def check(what: str, checksum: int | None, expected: int) -> None:
    """Raise StoreDamagedError if a row is not what was written."""
    if checksum is not None and checksum != expected:
        raise damaged_row(what)


def damaged_row(what: str) -> StoreDamagedError:
    """The error of a row that is not what was written."""
    return StoreDamagedError(
        f"the database is damaged: {what} is not what was written; stop the service and run "
        "'clearwatt doctor'"
    )
