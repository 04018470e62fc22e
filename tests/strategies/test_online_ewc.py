"""Online EWC: exact Fisher information, its recursion, and the anchor."""

import pytest
import torch

from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Batch, OnlineEWC, WarmUpResult
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
