"""Every conformance check holds for every forecaster, and every check can fail."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from clearwatt.adaptive import (
    AdaptiveDeployed,
    AdaptiveForecaster,
    AdaptiveSettings,
    NetworkSettings,
    NoveltySettings,
)
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.packing import Packed
from clearwatt.strategies import GenerativeReplay, OnlineEWC
from clearwatt.testing import forecasters
from clearwatt.training.fleet import Training

SETTINGS = AdaptiveSettings(
    memory=600,
    novelty=NoveltySettings(capacity=2.0),
    networks=NetworkSettings(
        width=8,
        members=1,
        warm_up=Training(epochs=8, patience=None),
        update=Training(epochs=1, patience=None),
    ),
)


def start(kind):
    return lambda x, y, at: kind.fit(x, y, at, day=24, settings=SETTINGS)


def start_clear(x, y, at, strategy=None):
    strategy = strategy or OnlineEWC()
    networks = InstanceNetworks.for_strategy(
        strategy, x.shape[1], latent=4, width=16, layers=1, predictor_width=8, predictor_layers=1
    )
    settings = ClearSettings(
        strategy=strategy,
        novelty_capacity=60,
        familiarity_capacity=200,
        precise=True,
        update=Training(epochs=3, patience=None),
    )
    warm_up = WarmUp(training=Training(epochs=5, patience=None))
    return ClearForecaster.fit(x, y, at, settings=settings, networks=networks, warm_up=warm_up)


STARTS = {
    "adaptive": start(AdaptiveForecaster),
    "clear": start_clear,
    "clear, pairs": partial(start_clear, strategy=GenerativeReplay(density="gaussian")),
}


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize("check", forecasters.FORECASTER_CHECKS, ids=lambda c: c.__name__)
def test_every_check_holds(check, kind):
    check(STARTS[kind])


class Impure(AdaptiveForecaster):
    """Its forecasts depend on how many were made before."""

    calls = 0

    @property
    def deployed(self):
        outer, deployed = self, super().deployed

        class Counting(AdaptiveDeployed):
            def forecast(self, x, at):
                outer.calls += 1
                found = super().forecast(x, at)
                return found._replace(power=found.power + outer.calls)

        return Counting(**vars(deployed))


class Block(AdaptiveForecaster):
    """It learns something at the end of every block."""

    def learn(self, x, y, at):
        changes = yield from super().learn(x, y, at)
        trust = self.state.trust
        self.state = self.state._replace(trust=replace(trust, products=0.99 * trust.products))
        return changes


class Forgetful(AdaptiveForecaster):
    """It does not pack its random numbers."""

    @classmethod
    def unpack(cls, packed):
        forecaster = super().unpack(packed)
        forecaster.rng = np.random.default_rng(1)
        return forecaster


class Clairvoyant(AdaptiveForecaster):
    """It sees the measurements of the next day, in the array that its block is part of."""

    ahead = 0.0

    def observe(self, x, y, at):
        self.ahead = 0.0 if y.base is None else np.nansum(y.base[at[-1] + 1 : at[-1] + 25])
        return super().observe(x, y, at)

    @property
    def deployed(self):
        deployed = super().deployed
        power = replace(deployed.power, mean=deployed.power.mean + self.ahead)
        return replace(deployed, power=power)


class Deaf(AdaptiveForecaster):
    """It does not take in readings of steps that have passed."""

    def learn(self, x, y, at):
        new = np.asarray(at) > self.state.known
        changes = yield from super().learn(x[new], y[new], at[new])
        return changes


class Stubborn(AdaptiveForecaster):
    """It does not correct."""

    def correct(self, at, entity, value):
        return 1


class Closed(AdaptiveForecaster):
    """An entity that joins spoils the forecasts of the others."""

    def join(self, name, x, y, at):
        changes = yield from super().join(name, x, y, at)
        power = self.state.power
        self.state = self.state._replace(power=replace(power, mean=power.mean + 1))
        return changes


class Hoarder(AdaptiveForecaster):
    """It holds more than it says."""

    @property
    def held_samples(self):
        return super().held_samples + 300


class Selfish(AdaptiveForecaster):
    """It uses something other than what was trained."""

    learners = 0

    def learn(self, x, y, at):
        Selfish.learners += 1
        stream, own = super().learn(x, y, at), 1e-4 * Selfish.learners
        try:
            jobs = next(stream)
            while True:
                trained = yield jobs
                changed = ({n: t + own for n, t in each.params.items()} for each in trained)
                pairs = zip(trained, changed, strict=True)
                jobs = stream.send([each._replace(params=params) for each, params in pairs])
        except StopIteration as stop:
            return stop.value


class Fragile(AdaptiveForecaster):
    """A failure leaves it half-way."""

    def checkpoint(self):
        return nullcontext()


class Silent(AdaptiveForecaster):
    """It reports nothing."""

    def learn(self, x, y, at):
        yield from super().learn(x, y, at)
        return ()


class Hasty(AdaptiveForecaster):
    """It does not wait for approval."""

    def learn(self, x, y, at):
        changes = yield from super().learn(x, y, at)
        for candidate in self.candidates:
            self.activate(candidate)
        return changes


class Insistent(AdaptiveForecaster):
    """It keeps rejected candidates."""

    def reject(self, version):
        pass


class Lossy(AdaptiveDeployed):
    """It packs weights in a coarser form."""

    def pack(self):
        packed = super().pack()
        tensors = {
            n: t.half().to(t.dtype) if t.is_floating_point() else t
            for n, t in packed.tensors.items()
        }
        return Packed(packed.values, tensors)


class Coarse(AdaptiveForecaster):
    """Its Deployed loses precision on the way to another process."""

    @property
    def deployed(self):
        return Lossy(**vars(super().deployed))


BROKEN = {
    forecasters.check_pure_forecasts: Impure,
    forecasters.check_any_cut: Block,
    forecasters.check_resume: Forgetful,
    forecasters.check_deployed_resume: Coarse,
    forecasters.check_known_only: Clairvoyant,
    forecasters.check_late_readings: Deaf,
    forecasters.check_corrections: Stubborn,
    forecasters.check_join: Closed,
    forecasters.check_memory: Hoarder,
    forecasters.check_jobs_elsewhere: Selfish,
    forecasters.check_failed_block: Fragile,
    forecasters.check_events: Silent,
    forecasters.check_approval: Hasty,
    forecasters.check_rejection: Insistent,
}


@pytest.mark.parametrize("check", BROKEN, ids=lambda c: c.__name__)
def test_a_broken_forecaster_fails(check):
    with pytest.raises(AssertionError):
        check(start(BROKEN[check]))


def test_every_check_has_a_forecaster_that_fails_it():
    assert set(BROKEN) == set(forecasters.FORECASTER_CHECKS)
