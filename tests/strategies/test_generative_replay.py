"""Generative Replay: paired pseudo samples, a density that follows, no sample kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Access, Archive, Batch, GenerativeReplay, WarmUpResult
from clearwatt.strategies.latent import draw_latents
from clearwatt.testing.scenario import observe, start
from clearwatt.training.networks import VariationalAutoencoder

NETWORK = VariationalAutoencoder(3, width=6, layers=1, latent=2, kl_weight=1e-4)


def inputs(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(seed))


def warmup(count: int = 200) -> WarmUpResult:
    params = NETWORK.initialise([1])
    rng = np.random.default_rng(0)
    return WarmUpResult("autoencoder", NETWORK, params, Batch(inputs(count), None), rng)


def generated(strategy: GenerativeReplay, count: int = 50) -> tuple[Batch, list[torch.Tensor]]:
    """What is generated, and the latents that decoder and predictor were handed."""
    handed: list[torch.Tensor] = []

    def decode(z: torch.Tensor) -> torch.Tensor:
        handed.append(z)
        return torch.cat([z, z.sum(1, keepdim=True)], dim=1)

    def predict(z: torch.Tensor) -> torch.Tensor:
        handed.append(z)
        return 7 * z[:, :1]

    archive = Archive(strategy.initial_state(warmup()), decode, predict)
    return strategy.generate(archive, count, np.random.default_rng(0)), handed


def test_inputs_and_targets_come_from_the_same_latents():
    made, (decoded, predicted) = generated(GenerativeReplay(components=3))
    assert torch.equal(decoded, predicted)
    assert torch.equal(made.targets, 7 * made.inputs[:, :1])


def test_as_many_are_generated_as_the_capacity_unless_stated():
    assert generated(GenerativeReplay(density="prior"), count=11)[0].size == 11
    assert generated(GenerativeReplay(density="prior", replay_size=4), count=11)[0].size == 4


@pytest.mark.parametrize("density", ["prior", "gaussian", "mixture"])
def test_the_state_holds_a_density_and_no_sample(density):
    strategy = GenerativeReplay(density=density, components=3)
    small, large = (strategy.initial_state(warmup(count)) for count in (100, 400))
    assert {name: t.shape for name, t in small.items()} == {n: t.shape for n, t in large.items()}
    assert (int(small["seen"]), int(large["seen"])) == (100, 400)
    assert len(small["weights"]) == (3 if density == "mixture" else 1)


def test_the_fitted_density_is_that_of_the_latents():
    seen = warmup()
    state = GenerativeReplay(density="gaussian").initial_state(seen)
    latents = NETWORK.encode(seen.params, seen.data.inputs[None])[0]
    assert torch.allclose(state["means"][0], latents.mean(0), atol=1e-5)
    spread = state["factors"][0] @ state["factors"][0].T
    assert torch.allclose(spread, torch.cov(latents.T), atol=1e-3)


def test_past_and_present_mix_in_their_true_proportion(update):
    """After 300 familiar-looking and 100 shifted samples a quarter of the density is shifted."""
    strategy = GenerativeReplay(density="gaussian", fit_samples=4000)
    known = warmup(300)
    shifted = Batch(inputs(60, seed=1) + 40.0, None)
    seen = replace(
        update(),
        component="autoencoder",
        network=NETWORK,
        params=known.params,
        state=strategy.initial_state(known),
        novelty=shifted,
        familiarity=Batch(inputs(40, seed=2) + 40.0, None),
    )
    after = strategy.consolidate(seen, known.params)
    assert int(after["seen"]) == 400
    present = NETWORK.encode(
        known.params, torch.cat([shifted.inputs, seen.familiarity.inputs])[None]
    )
    dreamt = NETWORK.decode(known.params, seen.state["means"][None])
    past = NETWORK.encode(known.params, dreamt)[0, 0]
    share = (after["means"][0] - past) / (present[0].mean(0) - past)
    assert torch.allclose(share, torch.full_like(share, 0.25), atol=0.03)


def test_the_density_is_fitted_on_latents_of_the_new_encoder(update):
    """Old samples are dreamt by the models before the update; what is fitted is seen anew."""
    strategy = GenerativeReplay(density="gaussian", fit_samples=4000)
    known, new = warmup(300), NETWORK.initialise([2])
    present = inputs(300, seed=1) + 3.0
    seen = replace(
        update(),
        component="autoencoder",
        network=NETWORK,
        params=known.params,
        state=strategy.initial_state(known),
        novelty=Batch(present, None),
        familiarity=Batch(inputs(0), None),
    )
    after = strategy.consolidate(seen, new)["means"][0]
    drawn = draw_latents(seen.state, 4000, np.random.default_rng(1))
    dreams = NETWORK.decode(known.params, drawn[None])[0]
    expected, stale = (
        torch.stack([NETWORK.encode(params, each[None])[0].mean(0) for each in (dreams, present)])
        for params in (new, known.params)
    )
    assert torch.allclose(after, expected.mean(0), atol=0.05)
    assert not torch.allclose(after, stale.mean(0), atol=0.3)


def test_the_objective_is_equation_2_on_generated_samples(update):
    seen = replace(update(novel=8), generated=Batch(torch.ones(4, 3), torch.ones(4, 1)))
    objective = GenerativeReplay(replay_weight=0.5).objective(seen)
    assert objective.replayed == 4
    assert objective.weights.tolist() == pytest.approx([12 / 8] * 8 + [0.5 * 12 / 4] * 4)
    assert torch.equal(objective.data.inputs[8:], torch.ones(4, 3))


def test_it_needs_its_generated_samples(update):
    with pytest.raises(ConfigurationError, match="needs synchronous updates"):
        GenerativeReplay().objective(update())


def test_it_declares_no_access_and_keeps_only_buffers():
    strategy = GenerativeReplay(density="gaussian", fit_samples=200)
    assert strategy.access is Access.NONE
    instance = observe(start(strategy))
    assert instance.events
    assert all(part.history is None for part in (*instance.autoencoders, *instance.predictors))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"density": "uniform"}, "density is 'uniform'; choose one of prior, gaussian, mixture"),
        ({"components": 0}, "components is 0"),
        ({"replay_size": 0}, "replay_size is 0"),
        ({"components": 2.5}, r"components is 2\.5; it must be a whole number"),
        ({"fit_samples": 0}, "fit_samples is 0"),
        ({"fit_samples": 1}, "fit_samples is 1; a spread takes at least 2 latents"),
        ({"replay_weight": 0}, "replay_weight is 0"),
    ],
)
def test_bad_hyperparameters_are_named(parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        GenerativeReplay(**parameters)
