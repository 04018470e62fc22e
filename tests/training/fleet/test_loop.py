"""The training loop: a fleet equals single trainings, and each member gets what it asked for."""

from dataclasses import dataclass, replace

import pytest
import torch

from clearwatt.errors import ConfigurationError
from clearwatt.training.fleet import Job, Penalty, Training, default_stack, train
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder

PREDICTOR = Predictor(inputs=3, width=9, layers=2)
AUTOENCODER = Autoencoder(inputs=5, width=9, layers=2, latent=3)
VARIATIONAL = VariationalAutoencoder(inputs=5, width=9, layers=2, latent=3, kl_weight=0.01)


def job(network, seed, *, n=100, dtype=torch.float64, training=None, validated=False):
    """A learnable job that depends on its seed only."""
    generator = torch.Generator().manual_seed(seed)

    def rows(count):
        x = torch.rand(count, network.inputs, generator=generator, dtype=dtype)
        noise = 0.1 * torch.randn(count, 1, generator=generator, dtype=dtype)
        y = (3 * x).sum(dim=1, keepdim=True).sin() + noise
        return x, None if network.inputs == network.outputs else y

    params = {name: t.to(dtype) for name, t in network.initialise([seed]).items()}
    inputs, targets = rows(n)
    training = training or Training(epochs=6, batch=16, learning_rate=0.01)
    validation = rows(40) if validated else None
    return Job(network, params, inputs, targets, training, seed, validation=validation)


def penalised(each, strength):
    anchor = each.network.initialise([each.seed + 100])
    return replace(
        each,
        penalty=Penalty(
            anchor={name: tensor.double() for name, tensor in anchor.items()},
            importance={name: tensor.abs() for name, tensor in each.params.items()},
            strength=strength,
        ),
    )


def weighted(each):
    return replace(each, weights=torch.linspace(0, 2, len(each.inputs), dtype=torch.float64))


def assert_same(found, expected, **tolerance):
    assert (found.epochs, found.best_epoch) == (expected.epochs, expected.best_epoch)
    assert found.training_loss == pytest.approx(expected.training_loss, rel=1e-3)
    assert (found.validation_rmse is None) == (expected.validation_rmse is None)
    if expected.validation_rmse is not None:
        assert found.validation_rmse == pytest.approx(expected.validation_rmse, rel=1e-3)
    for name, tensor in expected.params.items():
        torch.testing.assert_close(found.params[name], tensor, **tolerance)


@pytest.mark.parametrize("network", [PREDICTOR, AUTOENCODER, VARIATIONAL], ids=repr)
@pytest.mark.parametrize("counts", [(100, 100, 100), (16, 37, 100, 101, 64)], ids=str)
def test_fleet_equals_single_trainings(network, counts):
    jobs = [job(network, seed, n=n) for seed, n in enumerate(counts)]
    jobs[1] = weighted(jobs[1])
    for together, each in zip(train(jobs), jobs, strict=True):
        assert_same(together, train([each])[0], rtol=1e-9, atol=1e-12)


def test_variational_autoencoders_that_differ_in_their_kl_weight_train_in_one_stack():
    training = Training(epochs=60, patience=4, batch=16, learning_rate=0.03)
    networks = [replace(VARIATIONAL, kl_weight=weight) for weight in (0.1, 0.01, 0.001, 0.0)]
    jobs = [job(network, 3, training=training, validated=True) for network in networks]
    assert len({network.stack_key for network in networks}) == 1
    fleet = train(jobs)
    assert len({trained.epochs for trained in fleet}) > 2
    for together, each in zip(fleet, jobs, strict=True):
        assert_same(together, train([each])[0], rtol=1e-7, atol=1e-9)


@dataclass(frozen=True)
class Halved(VariationalAutoencoder):
    """A user's own: the divergence counts half."""

    def weigh(self, values):
        return super().weigh(values) / 2


def test_a_variational_autoencoder_with_another_loss_is_stacked_with_its_equals_alone():
    halved = Halved(inputs=5, width=9, layers=2, latent=3, kl_weight=0.01)
    networks = [halved, replace(halved, kl_weight=0.1), VARIATIONAL]
    jobs = [job(network, 3) for network in networks]
    for together, each in zip(train(jobs), jobs, strict=True):
        assert_same(together, train([each])[0], rtol=1e-9, atol=1e-12)


def test_fleet_equals_single_trainings_with_penalties():
    jobs = [penalised(job(PREDICTOR, seed, n=40 + 9 * seed), 0.3 * seed) for seed in range(4)]
    for together, each in zip(train(jobs), jobs, strict=True):
        assert_same(together, train([each])[0], rtol=1e-9, atol=1e-12)


def test_fleet_equals_single_trainings_that_stop_at_different_epochs():
    training = Training(epochs=60, patience=4, batch=16, learning_rate=0.03)
    jobs = [
        job(PREDICTOR, seed, n=40 + 16 * seed, training=training, validated=True)
        for seed in range(5)
    ]
    fleet = train(jobs)
    assert len({trained.epochs for trained in fleet}) > 2
    for together, each in zip(fleet, jobs, strict=True):
        assert_same(together, train([each])[0], rtol=1e-7, atol=1e-9)


def test_fleet_equals_single_trainings_in_float32():
    jobs = [job(AUTOENCODER, seed, n=50 + seed, dtype=torch.float32) for seed in range(4)]
    for together, each in zip(train(jobs), jobs, strict=True):
        assert_same(together, train([each])[0], rtol=1e-3, atol=1e-4)


def test_fleet_equals_single_trainings_that_average_weights():
    training = Training(epochs=12, batch=16, learning_rate=0.03, averaging=0.95)
    jobs = [job(PREDICTOR, seed, n=40 + 16 * seed, training=training) for seed in range(4)]
    plain = [replace(each, training=replace(training, averaging=0.0)) for each in jobs]
    for together, each, last in zip(train(jobs), jobs, train(plain), strict=True):
        assert_same(together, train([each])[0], rtol=1e-7, atol=1e-9)
        assert not torch.allclose(
            together.params["layers.0.weight"], last.params["layers.0.weight"], atol=1e-3
        )


def test_one_member_equals_a_plain_torch_loop():
    each = weighted(job(PREDICTOR, 7, n=40))
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in each.params.items()}
    optimizer = torch.optim.Adam(leaves.values(), lr=each.training.learning_rate)
    generator = torch.Generator().manual_seed(each.seed)
    for _ in range(each.training.epochs):
        order = torch.randperm(40, generator=generator)
        for start in range(0, 40, 16):
            rows = order[start : start + 16]
            losses = PREDICTOR.losses(leaves, each.inputs[None, rows], each.targets[None, rows])
            optimizer.zero_grad()
            (losses[0] * each.weights[rows]).mean().backward()
            optimizer.step()
    for name, tensor in train([each])[0].params.items():
        torch.testing.assert_close(tensor, leaves[name].detach())


@pytest.mark.parametrize("samples", [1, 10, 17, 63])
def test_samples_that_do_not_fill_a_batch_train_as_in_a_batch_of_their_size(samples):
    wide = job(PREDICTOR, 1, n=samples, training=Training(epochs=6, batch=64))
    exact = replace(wide, training=replace(wide.training, batch=samples))
    assert samples <= wide.batch_rows < samples + 8
    assert_same(train([wide])[0], train([exact])[0])


def test_penalty_equals_the_loss_it_stands_for():
    each = penalised(job(AUTOENCODER, 3, n=16), 2.0)
    each = replace(each, training=Training(epochs=5, batch=16, learning_rate=0.01))
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in each.params.items()}
    optimizer = torch.optim.Adam(leaves.values(), lr=0.01)
    for _ in range(5):
        x = each.inputs[None]
        loss = AUTOENCODER.losses(leaves, x, x).mean()
        for name, tensor in leaves.items():
            away = (tensor - each.penalty.anchor[name]).square()
            loss = loss + 2.0 / 2 * (each.penalty.importance[name] * away).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for name, tensor in train([each])[0].params.items():
        torch.testing.assert_close(tensor, leaves[name].detach())


def test_a_strong_penalty_holds_the_weights_at_the_anchor():
    free = job(PREDICTOR, 0)
    even = {name: torch.ones_like(tensor) for name, tensor in free.params.items()}
    held = replace(free, penalty=Penalty(free.params, even, strength=1e4))
    moved = [
        max((t.params[name] - free.params[name]).abs().max() for name in even)
        for t in train([free, held])
    ]
    assert moved[1] < moved[0] / 5


def test_a_sample_of_weight_zero_is_not_learnt_from():
    each = job(PREDICTOR, 0)
    spoilt = each.targets.clone()
    spoilt[::2] = 1000.0
    weights = torch.ones(100, dtype=torch.float64)
    weights[::2] = 0
    clean, dirty = train(
        [replace(each, weights=weights), replace(each, targets=spoilt, weights=weights)]
    )
    assert_same(dirty, clean, rtol=0, atol=0)


def test_results_come_in_the_order_of_the_jobs_whatever_the_stack():
    jobs = [
        job(network, seed, n=30 + 11 * ((seed * 5) % 7))
        for seed, network in enumerate([PREDICTOR, AUTOENCODER, PREDICTOR, VARIATIONAL] * 2)
    ]
    for stack in (1, 2, None):
        for trained, each in zip(train(jobs, stack=stack), jobs, strict=True):
            assert_same(trained, train([each])[0], rtol=1e-9, atol=1e-12)


def test_the_best_weights_are_restored():
    training = Training(epochs=40, patience=3, batch=16, learning_rate=0.05)
    each = job(PREDICTOR, 1, n=20, training=training, validated=True)
    [trained] = train([each])
    assert trained.epochs == trained.best_epoch + 3 < 40
    x, y = each.validation
    error = PREDICTOR.forward(trained.params, x[None])[0] - y
    assert trained.validation_rmse == pytest.approx(error.square().mean().sqrt().item())
    cut = replace(each, training=replace(training, epochs=trained.best_epoch), validation=None)
    for name, tensor in train([cut])[0].params.items():
        torch.testing.assert_close(trained.params[name], tensor)


def test_without_patience_all_epochs_run_and_the_best_is_kept():
    training = Training(epochs=12, patience=None, batch=16, learning_rate=0.05)
    [trained] = train([job(PREDICTOR, 1, n=20, training=training, validated=True)])
    assert trained.epochs == 12
    assert trained.best_epoch < 12


def test_a_member_that_diverges_is_reported_and_harms_no_other():
    healthy = job(PREDICTOR, 0)
    sick = replace(job(PREDICTOR, 1), targets=torch.full((100, 1), 1e200, dtype=torch.float64))
    good, bad = train([healthy, sick])
    assert bad.diverged
    assert not good.diverged
    assert bad.epochs == 1
    assert all(torch.equal(bad.params[name], tensor) for name, tensor in sick.params.items())
    assert_same(good, train([healthy])[0], rtol=1e-9, atol=1e-12)


def test_the_seed_decides():
    each = job(VARIATIONAL, 0)
    first, again, other = train([each, each, replace(each, seed=1)])
    assert_same(again, first, rtol=0, atol=0)
    assert other.training_loss != first.training_loss


def test_initial_weights_and_thread_count_are_left_alone():
    each = job(PREDICTOR, 0)
    before = {name: tensor.clone() for name, tensor in each.params.items()}
    threads = torch.get_num_threads()
    [trained] = train([each])
    assert torch.get_num_threads() == threads
    assert all(torch.equal(before[name], tensor) for name, tensor in each.params.items())
    assert any(not torch.equal(before[name], t) for name, t in trained.params.items())


def test_seconds_are_shared_out():
    results = train([job(PREDICTOR, seed) for seed in range(3)])
    assert all(trained.seconds > 0 for trained in results)


def test_no_jobs_no_results():
    assert train([]) == []


def test_an_empty_stack_is_refused():
    with pytest.raises(ConfigurationError, match="stack is 0"):
        train([job(PREDICTOR, 0)], stack=0)


def test_larger_networks_go_in_smaller_stacks():
    sizes = [default_stack(job(Predictor(inputs=3, width=w), 0)) for w in (16, 128, 512)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2] >= 1
