"""A folder with the programs that pages and the Makefile call, all from this environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def write_programs(folder: Path) -> Path:
    """A new folder with ``clearwatt``, ``python`` and ``python3``."""
    folder.mkdir()
    for name, module in (("clearwatt", "-m clearwatt "), ("python", ""), ("python3", "")):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n')
        program.chmod(0o755)
    return folder


def environment(programs: Path) -> dict[str, str]:
    """Variables with which these programs are found, and the sources of this clone."""
    paths = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
    }
    return {**os.environ, **paths}
