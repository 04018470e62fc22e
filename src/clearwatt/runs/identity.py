"""What the numbers of a run depend on: data set, versions, machine; and short names for it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import version
from typing import Any

from clearwatt import __version__
from clearwatt.data import Dataset
from clearwatt.own_code import source_versions


def digest(*parts: object) -> str:
    """A short hash of the parts."""
    text = json.dumps(parts, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def versions(*own: str | None) -> dict[str, str]:
    """Versions of everything that the numbers depend on.

    Args:
        own: code of a user's own, as "package.module:name"; anything else is left out.
    """
    packages = ("torch", "numpy", "pandas", "scikit-learn")
    ours = {"clearwatt": __version__, "python": platform.python_version()}
    return ours | {name: version(name) for name in packages} | source_versions(*own)


def machine() -> dict[str, object]:
    """Cores and memory; no names."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cores": os.cpu_count(), "memory_gb": round(memory / 2**30, 1)}


def data_facts(dataset: Dataset) -> dict[str, Any]:
    """Name, length and time range of a data set."""
    return {
        "name": dataset.name,
        "steps": len(dataset.times),
        "start": dataset.times[0].isoformat(),
        "end": dataset.times[-1].isoformat(),
        "step_minutes": dataset.step.total_seconds() / 60,
    }
