"""The warm-up: what is held out, what is trained on what, and what cannot be."""

import numpy as np
import pytest
import torch

from clearwatt.clear.settings import ClearSettings
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.errors import ConfigurationError, DataError
from clearwatt.strategies import FineTune, GenerativeReplay
from clearwatt.testing.scenario import scenario
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder
from clearwatt.training.streams import drive

QUICK = Training(epochs=5, batch=16)
NETWORK = Autoencoder(3, width=4, layers=1, latent=2)
HEAD = Predictor(2, width=4, layers=1)
X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
Y = np.stack([X.sum(axis=1), X[:, 0]], axis=1)


def asked_for(stream):
    """The jobs a stream waits for first."""
    return next(stream)


def test_the_last_samples_are_held_out_in_a_temporal_split():
    (job,) = asked_for(WarmUp(QUICK, split="temporal").autoencoder(NETWORK, X))
    assert torch.equal(job.validation[0], torch.from_numpy(X[40:]))
    assert torch.equal(job.inputs, torch.from_numpy(X[:40]))


def test_a_random_split_is_a_partition_and_depends_on_the_seed():
    jobs = [asked_for(WarmUp(QUICK, seed=seed).autoencoder(NETWORK, X))[0] for seed in (0, 0, 1)]
    for job in jobs:
        together = torch.cat([job.inputs, job.validation[0]])
        assert len(job.validation[0]) == 10
        assert np.array_equal(np.sort(together[:, 0]), np.sort(X[:, 0]))
    assert torch.equal(jobs[0].inputs, jobs[1].inputs)
    assert not torch.equal(jobs[0].inputs, jobs[2].inputs)


def test_predictors_learn_from_the_latents_of_the_measured_samples():
    warmup = WarmUp(QUICK, split="temporal")
    representation = drive(warmup.autoencoder(NETWORK, X))
    y = Y.copy()
    y[:20, 1] = np.nan
    first, second = asked_for(warmup.predictors(HEAD, representation, X, y))
    latents = NETWORK.encode(representation.params, torch.from_numpy(X)[None])[0]
    assert torch.allclose(first.inputs, latents[:40])
    assert torch.equal(first.targets[:, 0], torch.from_numpy(Y[:40, 0]))
    assert torch.allclose(second.inputs, latents[20:44])
    assert torch.equal(second.validation[1][:, 0], torch.from_numpy(Y[44:, 1]))


def test_the_encoder_stays_as_it_was_while_predictors_train():
    warmup = WarmUp(QUICK)
    representation = drive(warmup.autoencoder(NETWORK, X))
    before = {name: tensor.clone() for name, tensor in representation.params.items()}
    drive(warmup.predictors(HEAD, representation, X, Y))
    assert all(torch.equal(before[name], representation.params[name]) for name in before)


def test_training_helps_and_reports_its_validation_error():
    short, long = (
        drive(WarmUp(Training(epochs=epochs, learning_rate=1e-2)).autoencoder(NETWORK, X))
        for epochs in (1, 80)
    )
    assert 0 < long.validation_rmse < short.validation_rmse


def test_divergence_is_an_error_that_names_the_model():
    wild = WarmUp(Training(epochs=200, patience=None, learning_rate=1e30))
    with pytest.raises(DataError, match=r"warm-up training of the autoencoder diverged.*scale"):
        drive(wild.autoencoder(NETWORK, X))


def test_an_entity_without_measurement_is_refused():
    warmup = WarmUp(QUICK)
    representation = drive(warmup.autoencoder(NETWORK, X))
    with pytest.raises(DataError, match="no training samples"):
        drive(warmup.predictors(HEAD, representation, X, Y * np.float32("nan")))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"validation_share": 0}, "validation_share is 0"),
        ({"validation_share": 1.0}, r"validation_share is 1\.0; it must lie between 0 and 1"),
        ({"split": "shuffled"}, "split is 'shuffled'; choose random or temporal"),
    ],
)
def test_bad_parameters_are_named(parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        WarmUp(**parameters)


def test_an_instance_is_that_of_its_models_started_with_the_same_data():
    data = scenario()
    settings = ClearSettings(FineTune(), novelty_capacity=30)
    networks = InstanceNetworks.for_strategy(
        settings.strategy,
        data.warm_x.shape[1],
        latent=3,
        width=8,
        layers=1,
        predictor_width=6,
        predictor_layers=2,
    )
    warm_up = WarmUp(Training(epochs=2, patience=None))
    samples = data.warm_x, data.warm_y
    models = drive(warm_up.models(networks, *samples))
    instance = drive(warm_up.instance(settings, networks, *samples, names=["a", "b", "c"]))
    assert models.start(settings, *samples, names=["a", "b", "c"]).digest() == instance.digest()
    again = drive(warm_up.models(networks, *samples, autoencoder=models.autoencoder))
    assert again.autoencoder is models.autoencoder
    for one, other in zip(again.predictors, models.predictors, strict=True):
        assert all(torch.equal(one.params[name], other.params[name]) for name in one.params)


def test_synchronous_strategies_get_a_variational_autoencoder():
    sizes = {"latent": 3, "width": 8, "layers": 2, "predictor_width": 6, "predictor_layers": 1}
    plain = InstanceNetworks.for_strategy(FineTune(), 5, **sizes)
    assert plain == (Autoencoder(5, 8, 2, 3), Predictor(3, 6, 1))
    variational = InstanceNetworks.for_strategy(GenerativeReplay(), 5, **sizes, kl_weight=0.5)
    assert variational.autoencoder == VariationalAutoencoder(5, 8, 2, 3, 0.5)
