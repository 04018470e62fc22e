"""The code on the concept pages, and the examples beside them, run as they are printed."""

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.test_experiment import TINY
from tests.documentation.programs import environment
from tests.experiment.finished_run import run_document, write_run_folder

from clearwatt import ClearRegressor
from clearwatt.data import Dataset
from clearwatt.data.features import CALENDAR_COLUMNS
from clearwatt.experiment import Results

ROOT = Path(__file__).parents[1]
SMALL = "entities=5, steps=2_000"
SHORTER = {
    "data.md": [('"gefcom2012-wind"', '"look-alike"')],
    "quality.md": [("simulate_grid()", f"simulate_grid({SMALL})")],
    "simulator.md": [
        ("simulate_grid()", f"simulate_grid({SMALL})"),
        ("entities=10, steps=20_000", SMALL),
        ("simulate_grid(drifts", f"simulate_grid({SMALL}, drifts"),
    ],
}
"""What a page prints and what runs instead: less data, and none that must be downloaded."""


def two_farms(folder: str | Path = "look-alike", hours: int = 9_145) -> None:
    """A data set with the names and the hours of GEFCom2012's wind farms."""
    times = pd.date_range("2009-12-25", periods=hours, freq="h", tz="UTC", name="time")
    rng = np.random.default_rng(0)
    wind = {f"wf{at}": rng.random(len(times)) for at in (1, 2)}
    variables = ("wind_u_ms", "wind_v_ms", "wind_speed_ms")
    weather = {
        zone: pd.DataFrame({name: own + at for at, name in enumerate(variables)}, index=times)
        for zone, own in wind.items()
    }
    power = pd.DataFrame({f"wp{zone[2:]}": own**2 for zone, own in wind.items()}, index=times)
    table = pd.DataFrame(
        {"kind": "generator", "capacity": 1.0, "zone": list(wind)}, index=power.columns
    )
    Dataset.from_frames(power, weather, table).save(folder)


def export_file() -> None:
    """A utility's export."""
    times = pd.date_range("2024-01-01", periods=72, freq="h")
    readings = pd.DataFrame({"farm [kW]": np.arange(72) / 4 + 0.125}, index=times)
    readings.to_csv("readings.csv", index_label="time", date_format="%Y-%m-%d %H:%M")


def finished_run() -> None:
    """An experiment."""
    write_run_folder(Path("my-run"), run_document())


def fitted_model() -> dict[str, object]:
    """A model that has learned, its inputs, and one of its updates."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + np.where(np.arange(500) < 300, 0, 3 * X[:, 1])
    model = ClearRegressor(
        latent=3, width=8, layers=1, predictor_width=8, predictor_layers=1, epochs=5,
        novelty_capacity=50, random_state=0,
    ).fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])  # fmt: skip
    return {"model": model, "X": X, "event": model.events_[0]}


def hourly_samples() -> dict[str, object]:
    """Inputs (weather and calendar), power and steps of a warm-up and of the days after it.

    With the shares of capacity, columns and kinds of a fleet.
    """
    rng = np.random.default_rng(0)
    x = rng.random((24 * 50, 14)).astype(np.float32)
    y = x[:, :1] ** 2
    at = np.arange(len(x))
    parts = {"": (0, 960), "_next": (960, 1104), "_today": (1104, 1128), "_tomorrow": (1128, 1152)}
    parts["_hours"] = parts["_today"]
    samples = {
        f"{name}{part}": values[first:last]
        for part, (first, last) in parts.items()
        for name, values in (("x", x), ("y", y), ("at", at))
    }
    fleet = {
        "shares": np.repeat(samples["y"], 2, axis=1),
        "columns": ("wind", "cloud", "heat", "rain", *CALENDAR_COLUMNS),
        "kinds": (("generator",), ("generator",)),
        "first_step": 1104,
    }
    return {**samples, **fleet}


BEFORE: dict[str, Callable[[], dict[str, object] | None]] = {
    "data.md": two_farms,
    "defaults.md": hourly_samples,
    "import.md": export_file,
    "intervals.md": fitted_model,
    "loop.md": fitted_model,
    "report.md": finished_run,
}
"""Files and names that the code on a page takes for granted."""
ELSEWHERE = {"client.md": "needs a service; tests/documentation/test_service_commands.py has one"}
PAGES = sorted(
    page.name
    for page in (ROOT / "docs").glob("*.md")
    if re.search(r"^```python\n(?!>>>)", page.read_text(encoding="utf-8"), re.MULTILINE)
    and page.name not in ELSEWHERE
)


def code_of(page: str) -> str:
    """The Python blocks of a page, in order, at the lines they are found at."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = [""] * len(text.splitlines())
    for block in re.finditer(r"^```python\n(?!>>>)(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        first = text[: block.start(1)].count("\n")
        code = block.group(1).splitlines()
        lines[first : first + len(code)] = code
    code = "\n".join(lines)
    for printed, run in SHORTER.get(page, []):
        assert printed in code
        code = code.replace(printed, run)
    return code


@pytest.mark.parametrize("page", PAGES)
def test_the_code_on_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = code_of(page)
    assert code.strip()
    # A class is found again by its module when it is copied, as in any other file.
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))
    names = sys.modules["page"].__dict__
    names.update(BEFORE.get(page, dict)() or {})
    exec(compile(code, page, "exec"), names)


@pytest.mark.slow
def test_the_experiment_of_the_page_runs_as_a_program(tmp_path):
    """With worker processes, which import the file; on less data, with small networks."""
    code = code_of("experiment.md")
    for printed, instead in (
        ('preset("demo")', 'replace_values(preset("demo"), read_file(Path("tiny.toml")), "tiny")'),
        ('load_dataset("simulated")', 'load_dataset("my-grid")'),
    ):
        assert printed in code
        code = code.replace(printed, instead)
    first = "from clearwatt.experiment.config import read_file, replace_values\n"
    (tmp_path / "program.py").write_text(first + code)
    (tmp_path / "tiny.toml").write_text(TINY)
    two_farms(tmp_path / "my-grid", hours=1200)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\w+ (\d+) of \1$", done.stdout, re.MULTILINE), done.stdout
    assert len(Results.load(tmp_path / "my-run").trials)


def test_river_example_shows_that_learning_pays(capsys):
    runpy.run_path(str(ROOT / "examples" / "river_progressive.py"), run_name="__main__")
    found = re.findall(r"(\w+) +MAE ([\d.]+)  updates (\d+)", capsys.readouterr().out)
    errors = {name: (float(error), int(updates)) for name, error, updates in found}
    assert errors["Frozen"][1] == 0 < errors["RandomReplay"][1]
    assert errors["RandomReplay"][0] < errors["Frozen"][0]
