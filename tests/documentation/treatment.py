"""What the tests do with each shell command of README and docs/: the one place to list it.

A command is matched from its beginning by exactly one pattern of all tables here. A command of a
page that none matches, and a pattern that matches none, fail a test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_MACHINE = "changes the machine that it runs on: users, services, files outside the project"
_PODMAN = "needs podman and a registry of images; tests/test_deploy.py checks the Containerfile"
_INDEX = "needs a package index; tests/test_wheel.py runs the same lines for the wheel"
NOT_RUN: Mapping[str, str] = {
    r"cd /opt/clearwatt": _MACHINE,
    r"install -": _MACHINE,
    r"journalctl ": "needs a service of systemd; tests/test_deploy.py checks its unit",
    r"systemctl ": "needs systemd; tests/test_deploy.py checks the units",
    r"systemd-run ": "needs systemd; the command within is run with another folder",
    r"useradd ": _MACHINE,
    r"podman ": _PODMAN,
    r"pip install -c constraints\.txt '\.": _INDEX,
    r"python3\.11 -m venv": _INDEX,
    r"\.venv/bin/pip ": _INDEX,
    r"export CLEARWATT_DATABASE_URL=": "an address with a password left out",
    r"CLEARWATT_TEST_MINUTES=\d+ ": "minutes to an hour; the same tests run for seconds",
}
"""Commands that do not run here, and why."""

ELSEWHERE: Mapping[str, str] = {
    r"make demo": "tests/documentation/test_service_commands.py",
    r"make serve": "tests/test_makefile.py",
    r"scripts/cluster ": "tests/service/cluster/test_script.py",
    r"clearwatt cluster ": "tests/service/cluster/test_script.py",
    r"clearwatt serve --role ": "tests/service/cluster/test_script.py",
    r"python3 -m venv clearwatt-env": "tests/test_wheel.py",
    r"\. clearwatt-env": "tests/test_wheel.py",
    r"pip install -c constraints\.txt (torch|\"\$)": "tests/test_wheel.py",
    r"clearwatt benchmark .*--protocol competition": "tests/cli/test_competition.py",
    r"clearwatt data import .*pomiary": "tests/service/dashboard/test_first_hour.py",
    r"clearwatt weather fetch .*--end 2024-04-13": "tests/service/dashboard/test_first_hour.py",
    r"clearwatt replay my-grid$": "tests/service/dashboard/test_first_hour.py",
    r"clearwatt forecast --entity PV-1": "tests/service/dashboard/test_first_hour.py",
    r"python examples/compare_approaches\.py": "tests/examples/test_compare_approaches.py",
    r"pytest tests/service/dashboard/test_speed\.py": "tests/service/dashboard/test_speed.py",
    r"clearwatt feed (mqtt|dead-letters) ": "tests/feeds/test_mqtt.py",
    r"clearwatt feed folder ": "tests/feeds/test_folder.py",
    r"clearwatt confirm ": "tests/cli/test_confirm.py",
    r"clearwatt prior import ": "tests/service/test_fleet_starts.py",
    r"api (POST|GET) ('?/v1/forecasts|/v1/(zones|weather|entities)) ?": (
        "tests/service/test_fleet_starts.py"
    ),
}
"""Commands that another test runs."""

STARTED: Mapping[str, str] = {
    r"python benchmarks/": "measures for minutes to hours, on a machine of its own",
    r"python scripts/screenshots\.py": "takes pictures for some minutes, with a browser",
}
"""Programs of which only ``--help`` runs, and why; their options are read, and their imports."""

SERVICE = (
    r"clearwatt serve (?!--role)",
    r"clearwatt (replay|forecast|events|rollback|zones) (?!my-grid$|--entity PV-1)",
    r"clearwatt (token|backup|restore|doctor) ",
    r"clearwatt weather feed ",
    r"api\(\) \{ curl",
)
"""Commands that need a service, or make one."""

FILES = (
    r"clearwatt (simulate|data (check|describe|get)|experiment|prior (train|show)) ",
    r"clearwatt data import (readings|tonight)",
    r"clearwatt weather fetch (?!.*--end 2024-04-13)",
    r"clearwatt benchmark (?!.*--protocol competition)",
)
"""Commands that read and write files."""

SMALLER = (
    # What a page prints, what runs instead, and why.
    (r"^(clearwatt simulate .*)", r"\1 --entities 5 --steps 2000", "not 95 entities of two years"),
    (r"^(clearwatt experiment run (?!.*--data ).*)", r"\1 --data my-grid", "not the whole grid"),
    (r"--data simulated", "--data my-grid", "not the whole grid"),
    (
        r"^(clearwatt experiment run .*)",
        r"\1 --config tiny.toml --entities 1 --executor serial",
        "networks of a few neurons, on one entity",
    ),
    (r"(--peers) (?:(?!--)\S+ ?)+", r"\1 persistence-24h climatology ", "not every peer"),
    (
        r"^(clearwatt benchmark (?!.*--peers).*)",
        r"\1 --peers persistence-24h climatology",
        "not every peer",
    ),
    (r"^(clearwatt benchmark .*)", r"\1 --executor serial", "starting processes takes longer"),
    (r"--start 2025-01-01 --end 2025-12-31", "--start 2025-01-01 --end 2025-01-07", "not a year"),
    (r"--out my-grid", "--out imported", "my-grid is a data set with weather here"),
    (r"weather fetch my-grid", "weather fetch imported", "the folder of the import"),
    (r"^(clearwatt weather (?:fetch|feed) .*)", r"\1 --weather-url {weather}", "a local server"),
    (r"(?<= )/(?:var/lib|backups|srv)/", "", "folders of the test"),
    (r"http://127\.0\.0\.1:8000", "{url}", "a free port"),
    (
        r"^(clearwatt (?:forecast|events|rollback|zones|weather feed) .*)",
        r"\1 --url {url}",
        "a free port",
    ),
    (r"^(clearwatt replay (?!.*--to).*)", r"\1 --to {url}", "a free port"),
    (r"replay simulated --speed 20000", "replay my-days --speed max", "seconds, not an hour"),
    (
        r"^(clearwatt replay my-(?:grid|days) .*)",
        r"\1 --warmup 150 --set {settings}",
        "networks of a few neurons",
    ),
    (r"weather feed --zone north", "weather feed --zone open-meteo", "a zone with coordinates"),
    (r"--start 2026-01-01", "--start {recently}", "a few days"),
    (r"(--from my-run(?! --data).*)", r"\1 --data my-grid", "the run is one of a folder"),
    (r"^(clearwatt serve .*)", r"\1 --port 0 --workers 1", "a free port"),
    (r"token revoke 3f9a01c2", "token revoke {token}", "an id of the list"),
)
"""Replacements in commands that run, for size and for addresses of the test."""


def group_of(command: str) -> list[str]:
    """The tables that have a pattern for a command."""
    tables = {
        "not run": NOT_RUN, "elsewhere": ELSEWHERE, "started": STARTED, "service": SERVICE,
        "files": FILES,
    }  # fmt: skip
    return [
        name
        for name, patterns in tables.items()
        for pattern in patterns
        if re.match(pattern, command)
    ]


def smaller(command: str, **places: str) -> str:
    """The command that runs for one that is printed."""
    for printed, instead, _ in SMALLER:
        command = re.sub(printed, instead, command)
    for name, value in places.items():
        command = command.replace(f"{{{name}}}", value)
    return command.strip()
