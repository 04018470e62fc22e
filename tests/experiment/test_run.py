"""An experiment from beginning to end, on three entities of two zones."""

import json
import shutil
from dataclasses import replace

import pytest
from tests.experiment.running import finished

from clearwatt.compute import executor
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.run import run


def test_what_the_data_decide_is_written_down(done, tiny, grid):
    out, results = done
    resolved = json.loads((out / "run.json").read_text())["resolved"]
    assert resolved["entities"] == ["farm", "park", "town"]
    assert resolved["delay_steps"] == results["delay_steps"] == 24
    assert sum(resolved["phases"].values()) == len(grid.times)


def test_configuration_versions_seed_and_machine_are_stored(done, tiny):
    out, _ = done
    about = json.loads((out / "run.json").read_text())
    assert about["experiment"]["grid"]["alpha"] == list(tiny.grid.alpha)
    assert about["seed"] == tiny.seed
    assert set(about["versions"]) >= {"clearwatt", "torch", "numpy", "python"}
    assert about["machine"]["cores"] >= 1


@pytest.mark.slow
def test_processes_give_the_same_numbers(done, grid, tiny, tmp_path):
    results, _ = finished(tiny, grid, tmp_path / "run", "processes")
    assert results == done[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_same_numbers(done, grid, tiny, tmp_path):
    pytest.importorskip("ray", reason="Ray is an extra")
    results, _ = finished(tiny, grid, tmp_path / "run", "ray")
    assert results == done[1]


def test_a_finished_run_is_not_done_again(done, grid, tiny):
    out, results = done
    before = {file: file.stat().st_mtime_ns for file in (out / "trials").iterdir()}
    again, steps = finished(tiny, grid, out)
    assert again == results
    assert {file: file.stat().st_mtime_ns for file in (out / "trials").iterdir()} == before
    first = {step.stage: step for step in reversed(steps)}
    assert first["updating"].done == first["updating"].tasks


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 1}, "another experiment .experiment.seed is 0 there and 1 here"),
        ({"entities": ("farm",)}, "another experiment"),
    ],
)
def test_the_folder_of_another_experiment_is_refused_untouched(done, grid, tiny, change, says):
    out, _ = done
    before = {file: file.read_bytes() for file in out.rglob("*.json")}
    with pytest.raises(ConfigurationError, match=says):
        finished(replace(tiny, **change), grid, out)
    assert {file: file.read_bytes() for file in out.rglob("*.json")} == before


def test_a_run_begun_with_other_versions_is_refused_untouched(done, grid, tiny, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(done[0], out)
    about = json.loads((out / "run.json").read_text())
    about["versions"]["torch"] = "1.0"
    (out / "run.json").write_text(json.dumps(about))
    before = {file: file.read_bytes() for file in out.rglob("*.json")}
    with pytest.raises(ConfigurationError, match=r"other versions \(torch is '1.0' there and"):
        finished(tiny, grid, out)
    assert {file: file.read_bytes() for file in out.rglob("*.json")} == before


def test_an_interruption_of_the_very_first_write_can_be_gone_on_after(grid, one_point, tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".run.json.4711.part").write_text("{")
    finished(one_point, grid, tmp_path)


def test_a_folder_with_anything_else_is_refused_untouched(grid, tiny, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ConfigurationError, match="something other than a run"):
        finished(tiny, grid, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_runs_do_not_write_into_one_folder(grid, one_point, tmp_path):
    with executor("serial") as compute:
        first = run(one_point, grid, tmp_path / "run", compute=compute)
        next(first)
        with pytest.raises(ConfigurationError, match="in use by another run"):
            finished(one_point, grid, tmp_path / "run")
        first.close()
    finished(one_point, grid, tmp_path / "run")
