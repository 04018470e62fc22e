import numpy as np
import pytest

from clearwatt.data.simulate.randomness import random_stream, red_noise, smooth


def test_a_stream_depends_on_seed_and_key_alone():
    assert random_stream(1, "a", "b").random() == random_stream(1, "a", "b").random()
    others = [
        random_stream(2, "a", "b"),
        random_stream(1, "b", "a"),
        random_stream(1, "a"),
        random_stream(1, "ab"),
    ]
    assert len({random_stream(1, "a", "b").random(), *(rng.random() for rng in others)}) == 5


def test_wander_has_unit_variance_and_the_stated_memory():
    process = red_noise(random_stream(0, "test"), 200_000, timescale=10.0)
    assert process.std() == pytest.approx(1.0, abs=0.05)
    correlation = np.corrcoef(process[:-10], process[10:])[0, 1]
    assert correlation == pytest.approx(np.exp(-1.0), abs=0.03)


def test_wander_starts_in_equilibrium():
    first = [red_noise(random_stream(seed, "test"), 5, timescale=50.0)[0] for seed in range(2000)]
    assert np.std(first) == pytest.approx(1.0, abs=0.06)


def test_smooth_follows_a_step_with_its_timescale():
    step = np.r_[0.0, np.ones(40)]
    assert smooth(step, 20.0)[20] == pytest.approx(1 - np.exp(-1.0), abs=1e-9)
