"""Strategies and networks of a user's own module in an experiment."""

import json
from dataclasses import replace

import pytest
from tests.experiment.running import finished
from tests.own_module import enter_module, write_module

from clearwatt.errors import ConfigurationError
from clearwatt.experiment.config import Experiment, replace_values
from clearwatt.experiment.grid import Grid, approach_of
from clearwatt.experiment.report.page import write_experiment_page
from clearwatt.experiment.report.report import Report
from clearwatt.experiment.results import read_results
from clearwatt.training.fleet import Training


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """The name of a module in the working directory."""
    return enter_module(tmp_path, monkeypatch, request)


def test_a_strategy_has_the_rows_of_table_2_that_it_has_parameters_for(module):
    grid = Grid(replay_weight=(0.5, 1.5), recent_updates=(3, 5))
    points = grid.configurations(f"{module}:Mixed")
    assert {point.strategy.replay_weight for point in points} == {0.5, 1.5}
    assert {point.strategy.share for point in points} == {0.5}
    assert len(points) == 2 * 2 * 2
    assert approach_of(f"{module}:Mixed").strategy == "Mixed"
    (first, *_) = grid.configurations(f"{module}:small_share")
    assert first.strategy.share == 0.1 and first.parameters == ()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"instances": ["{}:shallow"]}, "not a strategy; derive it from clearwatt.strategies"),
        ({"instances": ["{}:number"]}, "is 5, not a strategy"),
        ({"instances": ["{}:Unfinished"]}, "lacks objective"),
        ({"instances": ["{}:Needy"]}, "give each of its hyperparameters a default"),
        ({"instances": ["{}:Absent"]}, "has no 'Absent'; it has Mixed"),
        ({"instances": ["Mixed"]}, "or name a strategy of your own as package.module:name"),
        ({"networks": {"predictor": "{}:number"}}, "is 5, not a function"),
        ({"networks": {"predictor": 5}}, "networks.predictor is 5; it must be text"),
    ],
)
def test_mistakes_are_told_before_any_work(values, says, module):
    written = json.loads(json.dumps(values).replace("{}:", f"{module}:"))
    with pytest.raises(ConfigurationError) as error:
        replace_values(Experiment(), written, "my.toml")
    assert says in str(error.value)


def test_two_of_one_name_are_refused(module, tmp_path):
    write_module(tmp_path, f"{module}_too")
    with pytest.raises(ConfigurationError, match="which have one name"):
        Experiment(instances=(f"{module}:Mixed", f"{module}_too:Mixed"))


@pytest.fixture
def own(one_point, module):
    """An own strategy and one of the paper's, on own networks."""
    return replace(
        one_point,
        instances=(f"{module}:Mixed", "Ra"),
        networks=replace(
            one_point.networks, autoencoder=f"{module}:pair", predictor=f"{module}:shallow"
        ),
        entities=("farm",),
        warmup=Training(epochs=4, patience=None),
    )


def test_own_strategies_and_networks_are_run_and_reported(own, grid, module, tmp_path):
    finished(own, grid, tmp_path / "run")
    results = read_results(tmp_path / "run")
    assert results.instances == (f"{module}:Mixed", "Ra")
    (trial,) = results.trials_of(f"{module}:Mixed")
    assert trial.approach == "Mixed" and trial.updates
    report = Report.of(tmp_path / "run")
    assert "CLeaR_Mixed" in report.to_dict()["tables"]["predictor"]
    assert "CLeaR_Mixed" in report.learning or "CLeaR_Ra" in report.learning
    write_experiment_page(report, tmp_path / "page.html")
    assert "CLeaR_Mixed" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_workers_find_own_code_and_give_the_same_numbers(own, grid, tmp_path):
    here, _ = finished(own, grid, tmp_path / "run")
    others, _ = finished(own, grid, tmp_path / "run-2", "processes")
    assert here == others


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_ray_finds_own_code(own, grid, tmp_path):
    pytest.importorskip("ray", reason="Ray is an extra")
    here, _ = finished(own, grid, tmp_path / "run")
    others, _ = finished(own, grid, tmp_path / "run-2", "ray")
    assert here == others


def test_a_run_goes_on_only_with_the_same_code(grid, one_point, module, tmp_path):
    own = replace(one_point, instances=(f"{module}:Mixed",))
    first, _ = finished(own, grid, tmp_path / "run")
    again, steps = finished(own, grid, tmp_path / "run")
    assert first == again
    assert next(step for step in steps if step.stage == "updating").done > 0
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write("# another idea\n")
    with pytest.raises(ConfigurationError, match=f"started with other versions .{module} is 'sha"):
        finished(own, grid, tmp_path / "run")
