"""Generative Replay: paired pseudo samples, a density that follows, no sample kept."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from clearwatt.clear.past import NoPast
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import (
    Access,
    Archive,
    Batch,
    GenerativeReplay,
    Update,
    WarmUpResult,
)
from clearwatt.strategies.latent import draw_latents
from clearwatt.testing.scenario import observe, start
from clearwatt.training.networks import Params, Predictor, VariationalAutoencoder

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

    def decode(z: torch.Tensor, params: Params | None = None) -> torch.Tensor:
        handed.append(z)
        return torch.cat([z, z.sum(1, keepdim=True)], dim=1)

    def predict(z: torch.Tensor, params: Params | None = None) -> torch.Tensor:
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
        ({"archives": "some"}, "archives is 'some'; choose one of last, all"),
        ({"weighting": "much"}, "weighting is 'much'; choose one of equal, count"),
    ],
)
def test_bad_hyperparameters_are_named(parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        GenerativeReplay(**parameters)


def archive_of(strategy: GenerativeReplay, windows: list[torch.Tensor]) -> tuple[Archive, list]:
    """The archive after a warm-up and updates with these windows; and the models of each.

    The decoder of archive i returns latents + 100 i, its predictor 1000 i.
    """
    predictor = Predictor(2, 4, 1)
    params = [NETWORK.initialise([seed]) for seed in range(len(windows) + 1)]
    heads = [predictor.initialise([seed]) for seed in range(len(windows) + 1)]
    rng = np.random.default_rng(0)
    known = WarmUpResult("autoencoder", NETWORK, params[0], Batch(inputs(200), None), rng)
    state = strategy.initial_state(known)
    labels = strategy.initial_state(
        replace(known, component="predictor", network=predictor, params=heads[0])
    )
    for number, window in enumerate(windows, start=1):
        update = Update(
            component="autoencoder",
            network=NETWORK,
            params=params[number - 1],
            state=state,
            novelty=Batch(window, None),
            familiarity=Batch(inputs(0), None),
            past=NoPast(),
            capacity=10,
            rng=rng,
        )
        state = strategy.consolidate(update, params[number])
        labels = strategy.consolidate(
            replace(update, network=predictor, state=labels, encoder=state), heads[number]
        )

    def number_of(own: list[Params], given: Params | None) -> int:
        assert given is not None
        equal = [all(torch.equal(each[n], given[n]) for n in each) for each in own]
        return equal.index(True)

    archive = Archive(
        state,
        lambda latents, given=None: latents + 100.0 * number_of(params, given),
        lambda latents, given=None: torch.full((len(latents), 1), 1000.0 * number_of(heads, given)),
        labels,
    )
    return archive, params


def test_every_archive_dreams_its_own_window_with_its_own_models():
    strategy = GenerativeReplay(density="gaussian", archives="all")
    windows = [inputs(100, seed=1) + 5.0, inputs(300, seed=2) - 5.0]
    archive, params = archive_of(strategy, windows)
    assert archive.state["seen"].tolist() == [200, 100, 300]
    made = strategy.generate(archive, 6000, np.random.default_rng(0))
    assert made.targets is not None and made.size == 6000
    labels = made.targets[:, 0]
    shares = [float((labels == 1000.0 * number).float().mean()) for number in range(3)]
    assert shares == pytest.approx([2 / 6, 1 / 6, 3 / 6], abs=0.03)
    for number, seen in enumerate([inputs(200), *windows]):
        own = made.inputs[labels == 1000.0 * number] - 100.0 * number
        wanted = NETWORK.encode(params[number], seen[None])[0].mean(0)
        assert torch.allclose(own.mean(0), wanted, atol=0.15)


def test_a_refused_autoencoder_adds_no_archive_but_the_newest_predictor_labels():
    strategy = GenerativeReplay(density="gaussian", archives="all")
    archive, _ = archive_of(strategy, [inputs(100, seed=1)])
    head = Predictor(2, 4, 1)
    newest = head.initialise([9])
    update = Update(
        component="predictor",
        network=head,
        params=newest,
        state=archive.predictor_state,
        novelty=Batch(inputs(5), torch.ones(5, 1)),
        familiarity=Batch(inputs(0), torch.ones(0, 1)),
        past=NoPast(),
        capacity=10,
        rng=np.random.default_rng(0),
        encoder=archive.state,
    )
    after = strategy.consolidate(update, newest)
    for name, kept in archive.predictor_state.items():
        assert len(after[name]) == len(kept) == 2
        assert torch.equal(after[name][0], kept[0])
        assert torch.equal(after[name][1:], newest[name.removeprefix("model.")])


def test_an_archive_whose_predictor_was_refused_is_labelled_by_the_one_before():
    strategy = GenerativeReplay(density="gaussian", archives="all")
    archive, _ = archive_of(strategy, [inputs(100, seed=1), inputs(100, seed=2)])
    head = Predictor(2, 4, 1)
    newest = head.initialise([9])
    update = Update(
        component="predictor",
        network=head,
        params=newest,
        state={name: kept[:1] for name, kept in archive.predictor_state.items()},
        novelty=Batch(inputs(5), torch.ones(5, 1)),
        familiarity=Batch(inputs(0), torch.ones(0, 1)),
        past=NoPast(),
        capacity=10,
        rng=np.random.default_rng(0),
        encoder=archive.state,
    )
    for name, found in strategy.consolidate(update, newest).items():
        first = archive.predictor_state[name][0]
        assert len(found) == 3
        assert torch.equal(found[0], first) and torch.equal(found[1], first)
        assert torch.equal(found[2:], newest[name.removeprefix("model.")])


def test_archives_of_a_mixture_and_of_a_gaussian_are_kept_side_by_side():
    strategy = GenerativeReplay(density="mixture", components=20, archives="all")
    archive, _ = archive_of(strategy, [inputs(12, seed=1)])  # too few for a mixture
    assert archive.state["weights"].shape == (2, 20)
    assert strategy.generate(archive, 50, np.random.default_rng(0)).size == 50


def test_an_instance_with_all_archives_learns_and_counts_their_bytes():
    few, many = (
        observe(start(GenerativeReplay(density="gaussian", fit_samples=200, archives=kept)))
        for kept in ("last", "all")
    )
    updates = many.autoencoders[0].updates
    assert updates > 1
    assert len(many.autoencoders[0].state["seen"]) == updates + 1
    assert many.retained_bytes > few.retained_bytes


def test_a_set_that_counts_weighs_as_much_as_all_samples_so_far(update):
    strategy = GenerativeReplay(replay_weight=0.5, weighting="count")
    seen = replace(
        update(novel=8),
        generated=Batch(torch.ones(4, 3), torch.ones(4, 1)),
        encoder={"seen": torch.tensor([30, 10])},
    )
    weights = strategy.objective(seen).weights
    assert weights is not None
    assert float(weights[8:].sum() / weights[:8].sum()) == pytest.approx(0.5 * 40 / 8)
