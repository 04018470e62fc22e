"""The report on what the protocol really writes, at the smallest size that updates."""

import json
import re

import pytest

from clearwatt.compute import executor
from clearwatt.data import simulate_grid
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import Grid
from clearwatt.experiment.protocol import Phases
from clearwatt.experiment.report.page import write_experiment_page
from clearwatt.experiment.report.report import Report
from clearwatt.experiment.run import run
from clearwatt.training.fleet import Training

NEVER = 5_000
SHORT = Training(epochs=3, patience=None)
TINY = Experiment(
    entities=3,
    instances=("Ra", "G"),
    phases=Phases(warmup=400, updating=900, test=100),
    networks=Networks(
        layers=(2,),
        widths=(8,),
        latents=(4,),
        kl_weights=(5e-6,),
        predictor_layers=(2,),
        predictor_widths=(8,),
    ),
    grid=Grid(novelty_capacity=(150, NEVER), alpha=(0.9,), replay_weight=(0.5, 1.0)),
    warmup=SHORT,
    update=SHORT,
    baseline=SHORT,
    baseline_autoencoder=SHORT,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real") / "run"
    grid = simulate_grid(entities=6, steps=1_400, seed=1)
    with executor("serial", workers=None, address=None) as compute:
        for _ in run(TINY, grid, folder, compute=compute):
            pass
    return folder


def trials_of(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["trials"]


def test_tables_are_means_of_the_chosen_trials(finished):
    report = Report.of(finished)
    chosen = [t for t in trials_of(finished) if t["chosen"] and t["instance"] == "Ra"]
    errors = [trial["predictor"]["prediction_error"] for trial in chosen]
    assert len(errors) == 3
    assert report.table("predictor").mean("Ra", "prediction_error") == pytest.approx(
        sum(errors) / 3
    )
    assert list(report.table("predictor").rows) == ["U", "L", "Ra", "G"]


def test_a_frozen_model_errs_live_as_in_hindsight(finished):
    """A buffer that never fills is Baseline_L: its live error is what the report says it is."""
    report = Report.of(finished)
    frozen = {
        b.entity: b.predictor.fitting_error for b in report.results.baselines if b.baseline == "L"
    }
    never = [
        trial
        for trial in trials_of(finished)
        if trial["instance"] == "Ra" and trial["configuration"]["novelty_capacity"] == NEVER
    ]
    assert len(never) == 6
    for trial in never:
        assert trial["live"]["rmse"] == pytest.approx(frozen[trial["entity"]], rel=1e-4)


def test_the_page_shows_the_updates_that_happened(finished, tmp_path):
    report = Report.of(finished)
    write_experiment_page(report, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    blob = re.search(r'id="figures">(.*?)</script>', page, re.S).group(1)
    first = report.results.entities[0].name
    updates = [update for trial in report.results.trials_for(first) for update in trial.updates]
    traces = json.loads(blob)["error-0"]["data"]
    marked = [time for t in traces if t["mode"] == "markers" for time in t["x"]]
    assert updates
    assert sorted(marked) == sorted(u.time.strftime("%Y-%m-%d %H:%M:%S") for u in updates)
