"""The notebook runs in a kernel, from its first cell to its last, and shows what it says."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "first_forecast.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """The code cells after a run in a folder of their own."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    source = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    client = NotebookClient(
        notebook,
        timeout=300,
        startup_timeout=300,
        iopub_timeout=60,  # what a cell prints comes after its end
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("nb"))}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": source})
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text(cell) -> str:
    return "".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )


def test_it_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.slow
def test_learning_pays(cells):
    found = re.findall(r"(learning|frozen)\s+([\d.]+)", text(cells[2]))
    errors = {name: float(value) for name, value in found}
    assert errors["learning"] < 0.8 * errors["frozen"]


@pytest.mark.slow
def test_both_pictures_are_drawn_and_updates_explained(cells):
    figures = [
        output.data["application/vnd.plotly.v1+json"]
        for cell in cells[3:5]
        for output in cell.outputs
        if "application/vnd.plotly.v1+json" in output.get("data", {})
    ]
    assert [len(figure["data"]) for figure in figures] == [2, 4]
    assert text(cells[5]).strip()
