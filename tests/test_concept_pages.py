"""The code on the concept pages, and the examples beside them, run as they are printed."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "estimator.md",
    "features.md",
    "fleet.md",
    "networks.md",
    "store.md",
    "strategies.md",
    "testing.md",
]


def code_of(page: str) -> str:
    """The Python blocks of a page, in order, at the lines they are found at."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = [""] * len(text.splitlines())
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        first = text[: block.start(1)].count("\n")
        code = block.group(1).splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_on_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = code_of(page)
    assert code.strip()
    # A class is found again by its module when it is copied, as in any other file.
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))
    exec(compile(code, page, "exec"), sys.modules["page"].__dict__)


def test_river_example_shows_that_learning_pays(capsys):
    runpy.run_path(str(ROOT / "examples" / "river_progressive.py"), run_name="__main__")
    found = re.findall(r"(\w+) +MAE ([\d.]+)  updates (\d+)", capsys.readouterr().out)
    errors = {name: (float(error), int(updates)) for name, error, updates in found}
    assert errors["Frozen"][1] == 0 < errors["RandomReplay"][1]
    assert errors["RandomReplay"][0] < errors["Frozen"][0]
