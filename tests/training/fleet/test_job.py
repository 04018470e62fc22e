"""Jobs that cannot be trained are refused with the value and the remedy."""

from dataclasses import replace

import pytest
import torch

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.training.fleet import Job, Penalty, Training, train
from clearwatt.training.networks import Predictor, VariationalAutoencoder

NETWORK = Predictor(inputs=3, width=8, layers=1)
GOOD = Job(
    NETWORK, NETWORK.initialise([0]), torch.rand(10, 3), torch.rand(10, 1), Training(), seed=0
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epochs", 0),
        ("epochs", 2.5),  # would never be reached, and so never end
        ("batch", 3.5),
        ("patience", 0),
        ("batch", 0),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("weight_decay", -1.0),
        ("averaging", -0.1),
        ("averaging", 1.0),
        ("averaging", float("nan")),
    ],
)
def test_impossible_trainings_are_refused_by_name(field, value):
    with pytest.raises(ConfigurationError, match=f"{field} is {value}"):
        replace(Training(), **{field: value})


def test_defaults_are_the_papers_warm_up():
    training = Training()
    assert (training.epochs, training.patience, training.batch) == (512, 50, 64)
    assert training.learning_rate == 1e-3


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"inputs": torch.rand(10, 4)}, r"inputs have shape \(10, 4\)"),
        ({"targets": torch.rand(9, 1)}, r"targets have shape \(9, 1\)"),
        ({"targets": torch.rand(10)}, r"targets have shape \(10,\)"),
        ({"targets": None}, r"targets have shape \(10, 3\)"),
        ({"inputs": torch.full((10, 3), float("nan"))}, "training inputs hold NaN"),
        ({"targets": torch.full((10, 1), float("inf"))}, "training targets hold NaN or infinity"),
        ({"inputs": torch.rand(0, 3), "targets": torch.rand(0, 1)}, "no training samples"),
        ({"inputs": torch.rand(10, 3).double()}, "torch.float64"),
        ({"weights": torch.rand(9)}, r"weights have shape \(9,\)"),
        ({"weights": torch.full((10,), -1.0)}, "weights hold"),
        ({"validation": (torch.rand(2, 3), None)}, "validation targets"),
        ({"params": NETWORK.initialise([0, 1])}, "one model"),
    ],
)
def test_impossible_jobs_are_refused(change, named):
    with pytest.raises(DataError, match=named):
        replace(GOOD, **change)


def test_a_negative_penalty_is_refused():
    with pytest.raises(ConfigurationError, match="strength is -1"):
        Penalty(GOOD.params, GOOD.params, strength=-1)


def test_a_penalty_of_another_network_is_refused():
    other = Predictor(inputs=3, width=9, layers=1).initialise([0])
    with pytest.raises(DataError, match=r"layers\.0\.weight"):
        replace(GOOD, penalty=Penalty(other, other, strength=1.0))


def test_large_networks_take_fewer_epochs_where_work_is_limited():
    training = Training(epochs=30, work=10_000)
    assert [training.epochs_for(weights) for weights in (10, 1_000, 100_000)] == [30, 10, 4]
    assert Training(epochs=2, work=10_000).epochs_for(100_000) == 2
    assert Training(epochs=30).epochs_for(100_000) == 30
    with pytest.raises(ConfigurationError, match="work is 0"):
        Training(work=0)


def test_a_job_stops_after_the_epochs_its_work_allows():
    weights = sum(tensor.numel() for tensor in GOOD.params.values())
    (trained,) = train([replace(GOOD, training=Training(epochs=30, work=6 * weights))])
    assert trained.epochs == 6


PENALISED = replace(GOOD, penalty=Penalty(GOOD.params, NETWORK.initialise([1]), strength=2.0))
VALIDATED = replace(GOOD, validation=(torch.rand(4, 3), torch.rand(4, 1)))


@pytest.mark.parametrize("job", [GOOD, PENALISED, VALIDATED])
def test_a_copy_of_a_job_has_its_identity(job):
    copies = {name: tensor.clone() for name, tensor in job.params.items()}
    copy = replace(job, params=copies, inputs=job.inputs.clone(), targets=job.targets.clone())
    assert copy.identity == job.identity


@pytest.mark.parametrize(
    ("job", "change"),
    [
        (GOOD, {"seed": 1}),
        (GOOD, {"training": Training(epochs=3)}),
        (GOOD, {"params": NETWORK.initialise([1])}),
        (GOOD, {"inputs": GOOD.inputs + 1e-3}),
        (GOOD, {"targets": GOOD.targets + 1e-3}),
        (GOOD, {"weights": torch.ones(10)}),
        (replace(GOOD, weights=torch.ones(10)), {"weights": torch.full((10,), 1.5)}),
        (GOOD, {"penalty": PENALISED.penalty}),
        (PENALISED, {"penalty": replace(PENALISED.penalty, strength=3.0)}),
        (PENALISED, {"penalty": replace(PENALISED.penalty, anchor=NETWORK.initialise([2]))}),
        (PENALISED, {"penalty": replace(PENALISED.penalty, importance=NETWORK.initialise([2]))}),
        (GOOD, {"validation": VALIDATED.validation}),
        (VALIDATED, {"validation": (torch.rand(4, 3), VALIDATED.validation[1])}),
        (VALIDATED, {"validation": (VALIDATED.validation[0], torch.rand(4, 1))}),
    ],
)
def test_a_job_that_differs_in_anything_has_another_identity(job, change):
    assert replace(job, **change).identity != job.identity


def test_jobs_of_networks_that_differ_in_their_loss_have_different_identities():
    shapes = [VariationalAutoencoder(3, 8, 1, 2, kl_weight=weight) for weight in (1e-5, 1e-6)]
    jobs = [replace(GOOD, network=n, params=n.initialise([0]), targets=None) for n in shapes]
    assert jobs[0].identity != jobs[1].identity
