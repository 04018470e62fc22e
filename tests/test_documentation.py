"""Links, scripts and names in README and docs/ exist; commands are accepted, quick ones run."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
from tests.experiment.finished_run import run_document, write_run_folder

from clearwatt.cli.main import build_parser, main
from clearwatt.data import simulate_grid

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
QUICK = (
    "clearwatt data import readings.csv --timezone",
    "clearwatt data check my-grid",
    "clearwatt data describe my-grid",
    "clearwatt experiment report",
    "clearwatt token create",
    "clearwatt token list",
    "clearwatt backup",
    "clearwatt restore",
)
"""Beginnings of commands that take a second or less."""


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    found = set()
    for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def commands(page: Path) -> list[str]:
    """Shell commands of a page's console blocks, continued lines joined, comments removed."""
    found = []
    for block in re.findall(r"^```(?:console|bash|sh)\n(.*?)^```$", text_of(page), re.S | re.M):
        joined = re.sub(r"\\\n\s*", " ", block)
        for line in joined.splitlines():
            words = re.sub(r"^[$#] ", "", line) if re.match(r"[$#] ", line) else line
            found += [part.strip() for part in re.sub(r"\s#.*", "", words).split("&&")]
    return [command for command in found if command.startswith(("clearwatt ", "python "))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_footnotes_are_used_and_defined(page):
    named = re.findall(r"\[\^([a-z]+)\](:?)", text_of(page))
    defined = [name for name, colon in named if colon]
    assert len(defined) == len(set(defined))
    assert set(defined) == {name for name, colon in named if not colon}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_accepted(page):
    for command in commands(page):
        words = shlex.split(re.split(r" [<>] ?", command)[0])
        if words[0] == "clearwatt":
            build_parser().parse_args(words[1:])


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(command.startswith(QUICK) for command in commands(page))],
    ids=lambda page: page.name,
)
def test_quick_commands_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    simulate_grid(entities=5, steps=2000).save("my-grid")
    write_run_folder(tmp_path / "my-run", run_document())
    hours = "".join(f"2024-01-0{1 + at // 24} {at % 24:02}:00,{at / 4}\n" for at in range(96))
    (tmp_path / "readings.csv").write_text(f"time,farm [kW]\n{hours}")
    for command in commands(page):
        if command.startswith(QUICK):
            here = re.sub(r" /(?:var/lib|backups)\b", f" {tmp_path}", command)
            if "import" in here:  # the data set of that name is there already
                here = here.replace("--out my-grid", "--out imported --overwrite")
            words = shlex.split(re.split(r" [<>] ?", here)[0])
            assert main(words[1:]) == 0, f"{command}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_scripts_exist(page):
    for path in re.findall(r"\b(?:benchmarks|examples|scripts|tests)/[\w/]+\.py\b", text_of(page)):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_each_threat_names_the_tests_that_show_what_stops_it():
    _, _, table = text_of(ROOT / "docs" / "security.md").partition("## Threats")
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    for who, tries, *_, tests in rows[2:]:
        named = re.findall(r"`([\w/]+\.py)`", tests)
        assert named, f"no test shows what stops: {who}, {tries}"
        for name in named:
            path = name if name.startswith("tests/") else f"tests/service/{name}"
            assert (ROOT / path).exists(), f"security.md names {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_dotted_names_exist(page):
    files = {"db", "db.lock", "service"}  # extensions of files that are called clearwatt
    for name in re.findall(r"(?<![\w/-])clearwatt(?:\.\w+)+(?![\w/-])", text_of(page)):
        assert name.removeprefix("clearwatt.") in files or _resolves(name), (
            f"{page.name} names {name}"
        )


def _resolves(name: str) -> bool:
    """Whether a dotted name is a module or an attribute of one."""
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return hasattr(importlib.import_module(module), attribute)
    return True
