"""Online EWC: exact Fisher information, its recursion, and the anchor."""

import pytest
import torch

from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Batch, FamiliarityReplay, OnlineEWC, WarmUpResult, online_ewc
from clearwatt.strategies.online_ewc import fisher_information
from clearwatt.training.networks import Autoencoder, Predictor, VariationalAutoencoder


def fisher_by_loop(network, params, data: Batch) -> dict[str, torch.Tensor]:
    """One backward pass per sample through autograd, squared and averaged."""
    total = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
    targets = data.inputs if data.targets is None else data.targets
    for x, target in zip(data.inputs, targets, strict=True):
        leaves = {name: tensor.clone().requires_grad_() for name, tensor in params.items()}
        network.losses(leaves, x[None, None], target[None, None]).sum().backward()
        for name, leaf in leaves.items():
            total[name] += leaf.grad.square() / data.size
    return total


def close(one, other) -> bool:
    return all(torch.allclose(one[name], other[name], rtol=1e-4, atol=1e-9) for name in other)


@pytest.mark.parametrize(
    "network",
    [Predictor(3, 5, 2), Autoencoder(3, 6, 2, 2), VariationalAutoencoder(3, 6, 2, 2, 0.1)],
    ids=lambda network: type(network).__name__,
)
def test_the_first_importance_is_the_fisher_information_of_the_warm_up(network, update):
    seen = update().familiarity
    data = seen if isinstance(network, Predictor) else Batch(seen.inputs, None)
    name = "predictor" if isinstance(network, Predictor) else "autoencoder"
    params = network.initialise([4])
    state = OnlineEWC().initial_state(WarmUpResult(name, network, params, data, update().rng))
    assert state.keys() == params.keys()
    assert close(state, fisher_by_loop(network, params, data))


def test_importance_fades_and_grows_exactly(update):
    """F* <- γF* + F_new at the new weights, from both buffers."""
    seen = update()
    before = fisher_information(seen, seen.params, seen.past.everything())
    seen = update(state=before)
    new = seen.network.initialise([9])
    after = OnlineEWC(gamma=0.7).consolidate(seen, new)
    fresh = fisher_by_loop(seen.network, new, seen.novelty + seen.familiarity)
    assert close(after, {name: 0.7 * before[name] + fresh[name] for name in fresh})


@pytest.mark.parametrize(
    "network",
    [Predictor(3, 5, 2), Autoencoder(3, 6, 2, 2), VariationalAutoencoder(3, 6, 2, 2, 0.1)],
    ids=lambda network: type(network).__name__,
)
def test_importance_of_batches_squares_their_mean_gradient(network, update, monkeypatch):
    monkeypatch.setattr(online_ewc, "BATCH", 4)
    seen = update().familiarity.at(torch.arange(11))  # two batches; the rest is left out
    data = seen if isinstance(network, Predictor) else Batch(seen.inputs, None)
    name = "predictor" if isinstance(network, Predictor) else "autoencoder"
    params = network.initialise([4])
    warmup = WarmUpResult(name, network, params, data, update().rng)
    state = OnlineEWC(importance="batches").initial_state(warmup)
    targets = data.inputs if data.targets is None else data.targets
    expected = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
    for rows in (slice(0, 4), slice(4, 8)):
        leaves = {name: tensor.clone().requires_grad_() for name, tensor in params.items()}
        network.losses(leaves, data.inputs[None, rows], targets[None, rows]).mean().backward()
        for name, leaf in leaves.items():
            expected[name] += leaf.grad.square() / 2
    assert close(state, expected)


@pytest.mark.parametrize("strategy", [OnlineEWC, FamiliarityReplay])
def test_importance_of_batches_is_used_in_updates(strategy, update):
    """Fewer samples than a batch has: one batch, whose squared mean is below the mean square."""
    zero = {name: torch.zeros_like(t) for name, t in update().params.items()}
    seen = update(state=zero)
    of = {
        each: strategy(importance=each).consolidate(seen, seen.params)
        for each in ("samples", "batches")
    }
    total = {each: sum(float(t.sum()) for t in state.values()) for each, state in of.items()}
    assert 0 < total["batches"] < total["samples"]


def test_an_unknown_importance_is_refused():
    with pytest.raises(ConfigurationError, match="'rows'; choose one of samples, batches"):
        OnlineEWC(importance="rows")


def test_gamma_zero_forgets_and_one_accumulates(update):
    seen = update(state={name: torch.ones_like(t) for name, t in update().params.items()})
    forgets, keeps = (OnlineEWC(gamma=g).consolidate(seen, seen.params) for g in (0, 1))
    assert all(torch.allclose(keeps[name] - forgets[name], seen.state[name]) for name in keeps)


def test_the_objective_is_novelty_anchored_at_the_deployed_weights(update):
    seen = update(state={name: torch.ones_like(t) for name, t in update().params.items()})
    objective = OnlineEWC(ewc_weight=12.0).objective(seen)
    assert objective.data is seen.novelty
    assert objective.weights is None
    assert objective.replayed == 0
    assert objective.penalty.anchor is seen.params
    assert objective.penalty.importance is seen.state
    assert objective.penalty.strength == 12.0


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan")])
def test_gamma_lies_between_0_and_1(gamma):
    with pytest.raises(ConfigurationError, match=rf"gamma is {gamma}; .* must lie in \[0, 1\]"):
        OnlineEWC(gamma=gamma)


@pytest.mark.parametrize("weight", [-1, 2e12, float("inf"), float("nan")])
def test_an_impossible_penalty_is_refused(weight):
    with pytest.raises(ConfigurationError, match="it must lie in"):
        OnlineEWC(ewc_weight=weight)
