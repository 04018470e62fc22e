"""A real PostgreSQL server, started once, with a schema of its own for each test."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "postgres"
SCHEMAS = count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of its database; skipped, with the reason, where it cannot be installed."""
    # Not below pytest's own folder, which the server's user may not enter.
    folder = Path(tempfile.mkdtemp(prefix="cw-pg-"))
    started = subprocess.run(
        [SCRIPT, "start", folder], capture_output=True, text=True, check=False, timeout=600
    )
    if started.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL could not be started: {started.stderr.strip()[-500:]}")
    try:
        yield started.stdout.strip()
    finally:
        subprocess.run([SCRIPT, "stop", folder], check=True, timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_postgres(postgres_server: str) -> Callable[[], str]:
    """Makes an empty schema and gives its address."""

    def create() -> str:
        import psycopg

        name = f"test_{os.getpid()}_{next(SCHEMAS)}"
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{postgres_server}&options=-csearch_path%3D{name}"

    return create


@pytest.fixture
def postgres(new_postgres: Callable[[], str]) -> str:
    """The address of an empty schema."""
    return new_postgres()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "clearwatt.db")
    found: str = request.getfixturevalue("postgres")
    return found


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A folder on a disk of eight megabytes, half of it taken by a file called ballast."""
    folder = Path(tempfile.mkdtemp(prefix="cw-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    (folder / "ballast").write_bytes(bytes(4 * 2**20))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()
