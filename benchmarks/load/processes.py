"""Running processes: their children and their memory, as the system tells."""

from __future__ import annotations

from pathlib import Path


def children(process: int) -> list[int]:
    """Processes that any thread of a process has started."""
    try:
        threads = list(Path(f"/proc/{process}/task").glob("*/children"))
        return sorted({int(each) for path in threads for each in path.read_text().split()})
    except OSError:
        return []


def family(root: int) -> list[int]:
    """A process and its descendants."""
    found = [root]
    for process in found:
        found += children(process)
    return found


def resident(process: int) -> int:
    """Resident bytes; 0 if it has ended."""
    return _field(process, "status", "VmRSS:")


def proportional(process: int) -> int:
    """Resident bytes, each shared page divided by the number of its processes."""
    return _field(process, "smaps_rollup", "Pss:")


def _field(process: int, file: str, name: str) -> int:
    try:
        lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
