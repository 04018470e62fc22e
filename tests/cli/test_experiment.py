"""``clearwatt experiment run`` as its users meet it: mistakes, interruptions, a full disk."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearwatt.cli import main
from clearwatt.data import Dataset, Entity, Kind

ROOT = Path(__file__).parents[2]
TINY = """
instances = ["E", "Ra", "G"]
[networks]
layers = [2]
widths = [12]
latents = [4]
kl_weights = [1e-6]
predictor_layers = [2]
predictor_widths = [12]
[grid]
novelty_capacity = [60]
alpha = [0.9, 1.3]
ewc_weight = [1e4, 1e5]
replay_weight = [0.5, 1.0]
[warmup]
epochs = 15
[update]
epochs = 10
[baseline]
epochs = 4
[baseline_autoencoder]
epochs = 4
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory) -> Path:
    """1200 hours of two entities, as a folder."""
    rng = np.random.default_rng(8)
    times = pd.date_range("2024-01-01", periods=1200, freq="h", tz="UTC", name="time")
    wind = 8 * rng.random(1200) + np.linspace(0, 4, 1200)
    sun = rng.random(1200)
    dataset = Dataset(
        name="two",
        power=pd.DataFrame({"farm": wind**2, "park": 50 * sun}, index=times),
        weather={"north": pd.DataFrame({"wind_ms": wind, "sun": sun}, index=times)},
        entities=(
            Entity("farm", Kind.GENERATOR, 200.0, "north"),
            Entity("park", Kind.GENERATOR, 50.0, "north"),
        ),
    )
    return dataset.save(tmp_path_factory.mktemp("data") / "two")


@pytest.fixture
def arguments(grid, tmp_path) -> list[str]:
    config = tmp_path / "tiny.toml"
    config.write_text(TINY + "\n")
    return ["experiment", "run", "--data", str(grid), "--entities", "all", "--config", str(config)]


@pytest.fixture
def start(arguments) -> Callable[..., subprocess.Popen[str]]:
    """Start the command in a process of its own."""

    def started(*more: str, warnings: str = "error") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", warnings, "-m", "clearwatt", *arguments, *more],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return started


def numbers(out: Path) -> object:
    """The results without what the clock says."""

    def kept(document: object) -> object:
        if isinstance(document, dict):
            return {key: kept(value) for key, value in document.items() if key != "timing"}
        return [kept(each) for each in document] if isinstance(document, list) else document

    return kept(json.loads((out / "results.json").read_text()))


def wait_for(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    """Until something has happened while the process is under way."""
    while not happened():
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(f"ended before it could be interrupted: {process.communicate()[1]}")


def has_trials(out: Path) -> Callable[[], bool]:
    return lambda: (out / "trials").is_dir() and any((out / "trials").glob("*.json"))


def test_the_table_and_json_are_printed(arguments, tmp_path, capsys):
    out = tmp_path / "run"
    assert main([*arguments, "--executor", "serial", "--instances", "Ra", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    (row,) = (line for line in shown.out.splitlines() if " Ra " in line)
    chosen = json.loads((out / "results.json").read_text())["trials"]
    mean = np.mean([trial["live"]["rmse"] for trial in chosen if trial["chosen"]])
    assert f" {mean:.3f} " in row
    assert f"clearwatt experiment report {out} --html {out}.html" in shown.out
    assert "updating: 0 of" in shown.err and "left" in shown.err
    again = [*arguments, "--executor", "serial", "--instances", "Ra", "--out", str(out), "--json"]
    assert main(again) == 0
    results = json.loads(capsys.readouterr().out)
    assert (results["format"], results["version"]) == ("clearwatt-experiment", 1)


def test_the_selection_is_an_option_of_the_run_and_of_the_report(arguments, tmp_path, capsys):
    out = tmp_path / "run"
    options = ["--executor", "serial", "--instances", "Ra"]
    assert main([*arguments, *options, "--select", "live", "--out", str(out)]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if " Ra " in line)
    trials = json.loads((out / "results.json").read_text())["trials"]
    means = {
        select: np.mean([trial["live"]["rmse"] for trial in trials if trial[flag]])
        for select, flag in (("fe", "chosen"), ("live", "chosen_live"))
    }
    assert f" {means['live']:.3f} " in row
    for words, select in (((), "live"), (("--select", "fe"), "fe")):
        assert main(["experiment", "report", str(out), *words, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["select"] == select
        live = report["tables"]["operation"]["CLeaR_Ra"]["live_rmse"]["mean"]
        assert live == pytest.approx(means[select])
        both = report["tables"]["selection"]["CLeaR_Ra"]
        assert both["live_rmse_live"]["mean"] == pytest.approx(means["live"])


def test_the_adaptive_forecaster_is_one_more_instance(arguments, tmp_path, capsys):
    out = tmp_path / "run"
    options = ["--executor", "serial", "--instances", "A", "--without", "park", "--out", str(out)]
    assert main([*arguments, *options]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if " A " in line)
    (trial,) = json.loads((out / "results.json").read_text())["trials"]
    scores = [trial["predictor"][key] for key in ("fitting_error", "prediction_error")]
    cells = [cell.strip() for cell in row.split("│")[1:-1]]
    assert cells[2:4] == [f"{score:.3f}" for score in scores]
    assert cells[-1] == "–"  # there are no inputs that it reconstructs


def test_options_leave_an_entity_out_and_say_how_late_measurements_are(arguments, tmp_path, capsys):
    out = tmp_path / "run"
    options = ["--executor", "serial", "--instances", "Ra", "--without", "park", "--delay", "2.5"]
    assert main([*arguments, *options, "--out", str(out)]) == 0
    results = json.loads((out / "results.json").read_text())
    assert {trial["entity"] for trial in results["trials"]} == {"farm"}
    assert results["delay_steps"] == 3  # of an hour each; never earlier than said
    capsys.readouterr()
    assert main(["experiment", "report", str(out)]) == 0
    assert "measurements arriving 3 h late" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_killed_in_the_middle_and_started_again_gives_the_same_results(arguments, start, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "run"
    assert main([*arguments, "--executor", "serial", "--out", str(whole)]) == 0
    for _ in range(2):
        running = start("--workers", "1", "--out", str(out))
        count = len(list((out / "trials").glob("*.json"))) if out.exists() else 0
        wait_for(running, lambda n=count: len(list((out / "trials").glob("*.json"))) > n)
        running.kill()
        running.communicate()
        assert not (out / "results.json").exists()
    running = start("--workers", "2", "--out", str(out))
    _, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    assert numbers(out) == numbers(whole)


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_one_sentence_and_can_be_gone_on_with(start, tmp_path):
    out = tmp_path / "run"
    # An interrupt may leave a file for the garbage collector to close: no warning about that.
    running = start("--workers", "2", "--out", str(out), warnings="ignore")
    wait_for(running, has_trials(out))
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, err = running.communicate(timeout=300)
    assert running.returncode == 130, err
    assert err.splitlines()[-1] == "clearwatt: interrupted"
    assert "Traceback" not in err
    running = start("--workers", "2", "--out", str(out))
    _, err = running.communicate(timeout=300)
    assert running.returncode == 0, err


@pytest.mark.slow
def test_a_killed_ray_worker_costs_no_results(arguments, start, tmp_path):
    pytest.importorskip("ray", reason="Ray is an extra")
    whole, out = tmp_path / "whole", tmp_path / "run"
    assert main([*arguments, "--executor", "serial", "--out", str(whole)]) == 0
    running = start("--executor", "ray", "--workers", "2", "--out", str(out))
    found: list[int] = []

    def a_worker_is_at_work() -> bool:
        found[:] = [p for p in descendants(running.pid) if "ray::perform" in command(p)]
        return has_trials(out)() and bool(found)

    wait_for(running, a_worker_is_at_work)
    os.kill(found[0], signal.SIGKILL)
    _, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    assert numbers(out) == numbers(whole)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--data", "nowhere"], "'nowhere' is neither a folder nor a known data set"),
        (["--entities", "nobody"], "no entity 'nobody'"),
        (["--instances", "X"], "instance 'X' is unknown"),
        (["--instances", "absent.module:Mine"], "there is no module 'absent' for 'absent.module:M"),
        (["--predictor", "json:absent"], "module 'json' has no 'absent'"),
        (["--seed", "-1"], "seed is -1"),
        (["--workers", "0"], "workers is 0"),
        (["--delay", "0"], "--delay is 0.0; give hours, more than 0"),
        (["--delay", "nan"], "--delay is nan; give hours, more than 0"),
        (["--without", "nobody"], "no entity 'nobody'"),
        (["--ray-address", "here:1"], "needs the executor ray"),
        (["--config", "absent.toml"], "absent.toml does not exist"),
        (["--preset", "huge"], "invalid choice: 'huge'"),
    ],
)
def test_mistakes_are_told_in_one_sentence(options, says, arguments, tmp_path, capsys):
    out = tmp_path / "run"
    try:
        code = main([*arguments, "--out", str(out), *options])
    except SystemExit as error:
        code = error.code
    assert code == 2
    err = capsys.readouterr().err
    assert says in err
    assert len(err.splitlines()) == 1 and err.startswith("clearwatt: ")
    assert not out.exists()


def test_an_unknown_key_of_the_file_is_told(arguments, tmp_path, capsys):
    (tmp_path / "tiny.toml").write_text("[grid]\nalhpa = [1.3]\n")
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 2
    assert "unknown key 'grid.alhpa'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_full_disk_is_told_in_one_sentence_and_nothing_half_written_counts(
    arguments, tmp_path, capsys
):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        out = disk / "run"
        assert main([*arguments, "--executor", "serial", "--out", str(out)]) == 2
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith(f"clearwatt: no space left while writing to {out}; make some and")
        assert not (out / "results.json").exists()
        remount = ["mount", "-o", "remount,size=50m", str(disk)]
        subprocess.run(remount, check=True, capture_output=True)
        assert main([*arguments, "--executor", "serial", "--out", str(out)]) == 0
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def descendants(process: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents.setdefault(parent, []).append(int(stat.parent.name))
    found, waiting = [], [process]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
