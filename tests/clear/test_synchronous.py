"""Synchronous updates: either signal fires, both components update, all four buffers empty."""

from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.gate import Gate
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import reconstructor
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import GenerativeReplay, State
from clearwatt.strategies.generative_replay import DENSITY
from clearwatt.strategies.latent import draw_latents
from clearwatt.testing.scenario import CAPACITY, SHORT, models, scenario
from clearwatt.training.fleet import Job, Training, train
from clearwatt.training.networks import Autoencoder, Params

STRATEGY = GenerativeReplay(density="gaussian", fit_samples=300)


def started(entities: int = 1, strategy: GenerativeReplay = STRATEGY) -> Instance:
    data = scenario()
    autoencoder, *heads = models(strategy)
    settings = ClearSettings(
        strategy=strategy,
        novelty_capacity=CAPACITY,
        update=Training(epochs=2, patience=None, batch=16),
    )
    return Instance.start(
        settings,
        data.warm_x,
        data.warm_y[:, :entities],
        autoencoder=autoencoder,
        predictors=heads[:entities],
    )


def parts(instance: Instance, entity: int = 0):
    return instance.autoencoders[entity], instance.predictors[entity]


def test_both_update_at_once_and_all_buffers_empty():
    instance, data = started(), scenario()
    autoencoder, predictor = parts(instance)
    seen = 0
    for step in range(SHORT):
        novel = len(autoencoder.novelty), len(predictor.novelty)
        events = instance.observe(data.x[step : step + 1], data.y[step : step + 1, :1])
        if not events:
            continue
        assert [event.component for event in events] == ["autoencoder", "predictor"]
        assert {event.step for event in events} == {step + 1}
        assert events[0].trigger == events[1].trigger
        fired = novel[events[0].trigger == "prediction"]
        assert fired == CAPACITY - 1
        for part in (autoencoder, predictor):
            assert (len(part.novelty), len(part.familiarity)) == (0, 0)
        seen += 1
    assert seen > 2


@pytest.mark.parametrize(
    ("x_shift", "y_shift", "trigger"), [(3.0, 0.0, "reconstruction"), (0.0, 9.0, "prediction")]
)
def test_either_signal_fires(x_shift, y_shift, trigger):
    instance, data = started(), scenario()
    x, y = data.warm_x[:CAPACITY] + np.float32(x_shift), data.warm_y[:CAPACITY, :1].copy()
    y[np.isnan(y)] = 0
    if trigger == "reconstruction":
        y[:] = np.nan
    events = instance.observe(x, y + np.float32(y_shift))
    assert [event.trigger for event in events][:1] == [trigger]


def test_nothing_measured_still_teaches_the_autoencoder():
    instance, data = started(), scenario()
    events = instance.observe(data.x[:SHORT], np.full((SHORT, 1), np.nan))
    predictors = [event for event in events if event.component == "predictor"]
    assert len(predictors) == len(events) // 2 > 0
    assert all(event.novel == event.familiar == 0 for event in predictors)


def test_a_sample_novel_to_one_counts_for_both():
    """Replayed by hand from the verdicts of each sample under the models before the update."""
    instance, data = started(), scenario()
    autoencoder, predictor = parts(instance)
    twin_x, twin_y = autoencoder.threshold, predictor.threshold
    reconstruction = instance.reconstruct(data.x)
    rms = np.sqrt(((reconstruction - data.x) ** 2).mean(axis=1))
    absolute = np.abs(instance.predict(data.x)[:, 0] - data.y[:, 0])
    first, second = instance.observe(data.x, data.y[:, :1])[:2]
    window = slice(0, first.step)
    measured = ~np.isnan(data.y[window, 0])
    novel = (rms[window] > twin_x) | (measured & (absolute[window] > twin_y))
    assert first.novel == novel.sum()
    assert second.novel == (novel & measured).sum()
    assert first.novel > CAPACITY
    assert first.novel + first.familiar == first.step
    assert second.novel + second.familiar == measured.sum()


def test_entities_have_their_own_autoencoder():
    instance, data = started(entities=2), scenario()
    y = data.y[:SHORT, :2].copy()
    y[:, 1] = np.nan
    instance.observe(data.x[:SHORT], y)
    labels = {event.entity for event in instance.events if event.component == "autoencoder"}
    assert labels == {0, 1}
    first, second = (part.params for part in instance.autoencoders)
    assert any(not np.array_equal(first[name], second[name]) for name in first)


class Update(NamedTuple):
    """One update of a pair, step by step: the jobs it hands out, and the models before it."""

    autoencoder: Job
    predictor: Job
    encoder_before: Params
    predictor_before: Params
    encoder_after: Params
    state: State
    rng: np.random.Generator

    @property
    def latents(self) -> torch.Tensor:
        """What the strategy draws from its only density."""
        return draw_latents(self.state, CAPACITY, deepcopy(self.rng))


def next_update(instance: Instance, y: np.ndarray | None = None) -> Update:
    """Stream row by row up to an update, and train its jobs one after the other.

    State and generator are those that the strategy draws latents with: the generator of the
    autoencoder is not used before, because the buffers of this instance are not bounded.
    """
    data, (autoencoder, predictor) = scenario(), parts(instance)
    y = data.y[:, :1] if y is None else y
    for row in range(SHORT):
        rng, state = deepcopy(autoencoder.rng), autoencoder.state
        before = autoencoder.params, predictor.params
        stream = instance.stream(data.x[row : row + 1], y[row : row + 1])
        try:
            (first,) = next(stream)
        except StopIteration:
            continue
        trained = train([first])
        (second,) = stream.send(trained)
        with pytest.raises(StopIteration):
            stream.send(train([second]))
        return Update(first, second, *before, trained[0].params, state, rng)
    raise AssertionError("no update in this stream")


def test_as_many_dreams_as_the_capacity_are_trained_on():
    update = next_update(started())
    for job in (update.autoencoder, update.predictor):
        assert job.weights is not None
        dreams = int((job.weights == job.weights[-1]).sum())
        assert dreams == CAPACITY


def test_the_autoencoder_trains_on_what_the_decoder_before_the_update_dreams():
    update, network = next_update(started()), reconstructor(models(STRATEGY)[0].network)
    dreams = network.decode(update.encoder_before, update.latents[None])[0]
    assert torch.allclose(update.autoencoder.inputs[-CAPACITY:], dreams, atol=1e-6)


def test_the_predictor_trains_on_dreams_as_the_new_encoder_sees_them():
    update, network = next_update(started()), reconstructor(models(STRATEGY)[0].network)
    dreams = update.autoencoder.inputs[-CAPACITY:]
    seen, before = (
        network.encode(params, dreams[None])[0]
        for params in (update.encoder_after, update.encoder_before)
    )
    assert torch.allclose(update.predictor.inputs[-CAPACITY:], seen, atol=1e-6)
    assert not torch.allclose(seen, before, atol=1e-3)


def test_the_labels_of_dreams_are_those_of_the_predictor_before_the_update():
    update = next_update(started())
    labels = models(STRATEGY)[1].network.forward(update.predictor_before, update.latents[None])[0]
    assert update.predictor.targets is not None
    assert torch.allclose(update.predictor.targets[-CAPACITY:], labels, atol=1e-6)
    assert labels.std() > 0.05


JOINT = replace(STRATEGY, joint=True)


def next_joint_job(instance: Instance, y: np.ndarray | None = None) -> Job:
    """Stream row by row up to an update, which trains both components in one job."""
    data = scenario()
    y = data.y[:, :1] if y is None else y
    for row in range(SHORT):
        stream = instance.stream(data.x[row : row + 1], y[row : row + 1])
        try:
            (job,) = next(stream)
        except StopIteration:
            continue
        with pytest.raises(StopIteration):
            stream.send(train([job]))
        return job
    raise AssertionError("no update in this stream")


def test_a_joint_job_has_the_samples_and_dreams_of_both_with_their_power():
    data = scenario()
    y = data.y[:, :1].copy()
    y[::3] = np.nan
    job, apart = next_joint_job(started(strategy=JOINT), y), next_update(started(), y)
    assert torch.equal(job.inputs, apart.autoencoder.inputs)
    assert job.weights is not None and apart.autoencoder.weights is not None
    assert torch.equal(job.weights, apart.autoencoder.weights)
    assert job.targets is not None and apart.predictor.targets is not None
    measured = ~job.targets[:, 0].isnan()
    assert not measured.all()
    powers = job.targets[measured], apart.predictor.targets  # in another order
    assert torch.equal(*(power.sort(dim=0).values for power in powers))
    assert torch.equal(powers[0][-CAPACITY:], powers[1][-CAPACITY:])
    real = (job.inputs[:-CAPACITY])[measured[:-CAPACITY]].numpy()
    for sample, power in zip(real, job.targets[:-CAPACITY][measured[:-CAPACITY]], strict=True):
        (row,) = np.flatnonzero((data.x == sample).all(axis=1))
        assert data.y[row, 0] == power


def test_both_parts_of_a_joint_training_are_put_into_service():
    instance = started(strategy=JOINT)
    before = [dict(part.params) for part in parts(instance)]
    job = next_joint_job(instance)
    (trained,) = train([job])
    for part, old in zip(parts(instance), before, strict=True):
        assert part.updates == 1
        for name, tensor in part.params.items():
            assert torch.equal(tensor, trained.params[name])
            assert not torch.equal(tensor, old[name])
    assert [event.accepted for event in instance.events] == [True, True]
    assert sum(event.seconds for event in instance.events) > 0


def test_joint_training_lowers_the_error_of_forecasts_on_what_was_novel():
    instance, data = started(strategy=JOINT), scenario()
    instance.observe(data.x, data.y[:, :1])
    found = [event for event in instance.events if event.component == "predictor"]
    errors = [(each.novelty_error_before, each.novelty_error_after) for each in found]
    assert len(errors) > 2
    assert np.mean([after for _, after in errors]) < np.mean([before for before, _ in errors])


def test_nothing_measured_still_teaches_the_autoencoder_of_a_joint_pair():
    instance, data = started(strategy=JOINT), scenario()
    instance.observe(data.x[:SHORT], np.full((SHORT, 1), np.nan))
    assert {event.component for event in instance.events} == {"autoencoder", "predictor"}
    assert all(event.accepted for event in instance.events)


def test_a_joint_pair_needs_networks_that_can_train_as_one():
    data = scenario()
    _, head = models(JOINT)[:2]
    encoder = Model(Autoencoder(data.x.shape[1], latent=head.network.inputs), {})
    settings = ClearSettings(strategy=JOINT)
    with pytest.raises(ConfigurationError, match="cannot train as one network"):
        Instance.start(
            settings, data.warm_x, data.warm_y[:, :1], autoencoder=encoder, predictors=[head]
        )
    with pytest.raises(ConfigurationError, match="no gate"):
        replace(settings, gate=Gate())


def test_every_archive_of_a_pair_dreams_and_labels_with_the_models_of_its_time():
    """The second update: one archive is of the warm-up, the other one is in service."""
    instance = started(strategy=replace(STRATEGY, archives="all"))
    earlier, update = next_update(instance), next_update(instance)
    network, head = (each.network for each in models(STRATEGY)[:2])
    encoders = earlier.encoder_before, update.encoder_before
    heads = earlier.predictor_before, update.predictor_before
    seen = update.state["seen"].double().numpy()
    counts = update.rng.multinomial(CAPACITY, seen / seen.sum()).tolist()
    assert len(counts) == 2 and min(counts) > 0
    dreams, labels = [], []
    for place, count in enumerate(counts):
        density = {name: update.state[name][place] for name in DENSITY}
        latents = draw_latents(density, count, update.rng)[None]
        dreams.append(reconstructor(network).decode(encoders[place], latents)[0])
        labels.append(head.forward(heads[place], latents)[0])
    assert torch.allclose(update.autoencoder.inputs[-CAPACITY:], torch.cat(dreams), atol=1e-6)
    assert update.predictor.targets is not None
    assert torch.allclose(update.predictor.targets[-CAPACITY:], torch.cat(labels), atol=1e-6)
