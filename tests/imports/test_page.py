"""The commands and the code of docs/import.md run as they are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.imports.exports import instants, number, power, rows, stamps, write_text

from clearwatt.cli import main
from clearwatt.imports import read_recipe

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text(encoding="utf-8")
ZONE = "Europe/Warsaw"


def test_commands_and_code_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, start, end in (
        ("readings.csv", "2024-05-01", "2024-05-03"),
        ("tonight.csv", "2024-05-03", "2024-05-04"),
    ):
        times = instants(start, end, ZONE)
        labels = stamps(times, ZONE, "%d.%m.%Y %H:%M")
        body = rows(labels, power(times, "park"), number(","))
        write_text(tmp_path / name, [["Czas", "park [kW]"], *body], ";")
    lines = re.findall(r"^\$ (clearwatt [^#\n]*)", PAGE, re.MULTILINE)
    first, *others = (shlex.split(line)[1:] for line in lines)
    assert main(first) == 2
    assert "--timezone" in capsys.readouterr().out
    for words in others:
        again = ["--overwrite"] if "--save-recipe" in words else []
        assert main([*words, *again]) == 0, capsys.readouterr().err
    (recipe,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (tmp_path / "page.toml").write_text(recipe, encoding="utf-8")
    assert read_recipe(tmp_path / "page.toml").names == {"Z\u00e4hler 4711": "park-7"}
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    found: dict[str, object] = {}
    exec(compile(code, "import.md", "exec"), found)
    assert found["export"].complete
