"""Few samples: a kernel regression takes the place of some networks."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from clearwatt.adaptive import AdaptiveForecaster, NoveltySettings, PastRescaled
from clearwatt.adaptive.kernel_regression import (
    LANDMARKS,
    KernelRegression,
    share_of_kernel,
    spread_evenly,
)
from clearwatt.packing import Packed
from clearwatt.testing import changes
from clearwatt.training.streams import drive


def young_settings(small, *, enough=1_800):
    return replace(
        small.SETTINGS, memory=None, networks=replace(small.SETTINGS.networks, enough=enough)
    )


def started(small, days=90, *, enough=1_800, missing=0.0):
    """A forecaster after 40 days, and the rest of its stream."""
    x, y, at = small.stream(days)
    y[np.random.default_rng(1).random(y.shape) < missing] = np.nan
    forecaster = small.started(x, y, at, settings=young_settings(small, enough=enough))
    return forecaster, tuple(each[small.WARMUP :] for each in (x, y, at))


def rmse(forecasts, y):
    return np.sqrt(np.nanmean(np.square(forecasts - y)))


def test_a_curve_is_learned_from_more_samples_than_are_held():
    x = np.random.default_rng(0).normal(size=(1_000, 2)).astype(np.float32)
    y = np.sin(2 * x[:, 0]) + x[:, 1]
    found = KernelRegression.fit(x[:900], y[:900], share=1.0)
    assert len(found.landmarks) <= LANDMARKS
    assert found.nbytes < 10_000
    assert rmse(found.forecast(x[900:]), y[900:]) < 0.1 * y.std()


@pytest.mark.parametrize("inputs", [0.0, 3.0])
def test_equal_inputs_give_the_mean(inputs):
    x = np.full((500, 3), inputs, np.float32)
    y = np.arange(500, dtype=np.float32) / 250
    found = KernelRegression.fit(x, y, share=1.0)
    assert found.forecast(x[:2]) == pytest.approx(y.mean(), abs=0.01)


def test_one_wrong_reading_does_not_bend_the_curve():
    x = np.random.default_rng(0).normal(size=(600, 1)).astype(np.float32)
    y = np.sin(x[:, 0])
    wrong = y.copy()
    wrong[300] = 1e6
    found = KernelRegression.fit(x, wrong, share=1.0)
    assert np.median(np.abs(found.forecast(x) - y)) < 0.05


def test_landmarks_are_of_all_times_and_all_hours():
    rows = spread_evenly(60 * 24, LANDMARKS)
    assert (np.diff(rows) > 0).all()
    assert np.diff(rows).max() < 24
    assert (np.bincount(rows % 24, minlength=24) >= 5).all()


def test_its_share_ends_gradually_when_there_are_enough_samples():
    shares = [share_of_kernel(samples, 1_800) for samples in (10, 900, 1_350, 1_799, 1_800, 9_000)]
    assert shares[:2] == [1, 1]
    assert shares[2] == pytest.approx(0.5)
    assert 0 < shares[3] < 0.01
    assert shares[4:] == [0, 0]


@pytest.mark.parametrize("missing", [0.0, 2 / 3])
def test_few_samples_give_lower_errors_than_networks_alone(small, missing):
    errors = []
    for enough in (1_800, None):
        forecaster, (x, y, at) = started(small, enough=enough, missing=missing)
        errors.append(rmse(forecaster.live(x, y, at), y))
    assert errors[0] < 0.97 * errors[1]


def test_enough_samples_give_the_forecasts_of_networks_alone(small):
    forecasts = []
    for enough in (40 * small.DAY, None):
        forecaster, (x, y, at) = started(small, 60, enough=enough)
        forecasts.append(forecaster.live(x, y, at))
    np.testing.assert_array_equal(*forecasts)


def test_a_full_memory_is_enough_however_small_it_is(small):
    x, y, at = small.stream(41)
    forecaster = small.started(x, y, at)
    assert forecaster.memory < 1_800
    assert all(version.kernel is None for version in forecaster.versions)


def test_it_is_fitted_again_with_each_update_and_ends_with_enough_samples(small):
    forecaster, (x, y, at) = started(small, 90)
    weekly = NoveltySettings(capacity=None, oldest=7.0)
    forecaster.change_settings(novelty=weekly, gate=None)
    shares = [forecaster.versions[0].kernel.share]
    for start in range(0, len(x), small.DAY):
        day = slice(start, start + small.DAY)
        forecaster.observe(x[day], y[day], at[day])
        kernel = forecaster.versions[0].kernel
        shares.append(0.0 if kernel is None else kernel.share)
    assert len(set(shares)) > 3
    assert sorted(shares, reverse=True) == shares
    assert shares[-1] == 0


def test_a_stream_equals_forecasts_step_by_step(small):
    forecaster, (x, y, at) = started(small, 50)
    expected = forecaster.live(x, y, at)
    again, _ = started(small, 50)
    for row in range(len(x) - small.DAY):
        now = slice(row, row + 1)
        again.observe(x[now], y[now], at[now])
    ahead = slice(len(x) - small.DAY, None)
    found = again.deployed.forecast(x[ahead], at[ahead])
    assert again.versions[0].kernel is not None
    np.testing.assert_allclose(found.day_ahead[-1], expected[-1], rtol=1e-5)


def test_stopped_and_read_back_it_goes_on_as_if_it_had_not(small, tmp_path):
    forecaster, (x, y, at) = started(small, 60)
    first, rest = slice(12 * small.DAY), slice(12 * small.DAY, None)
    forecaster.observe(x[first], y[first], at[first])
    forecaster.save(tmp_path / "state")
    expected = forecaster.live(x[rest], y[rest], at[rest])
    again = AdaptiveForecaster.load(tmp_path / "state")
    assert again.versions[0].kernel is not None
    np.testing.assert_array_equal(again.live(x[rest], y[rest], at[rest]), expected)


def with_kernels(forecaster, x, at):
    """Mean forecast of the networks without lags, kernel regressions included."""
    return forecaster.deployed.networks(x, at, kernels=True)


def test_an_earlier_version_forecasts_with_its_own_one_again(small):
    forecaster, (x, y, at) = started(small, 70)
    forecaster.change_settings(novelty=NoveltySettings(capacity=None, oldest=7.0), gate=None)
    first, rest = slice(2 * small.DAY), slice(2 * small.DAY, None)
    forecaster.observe(x[first], y[first], at[first])
    earlier = forecaster.versions[0]
    before = with_kernels(forecaster, x[rest], at[rest])
    forecaster.observe(x[rest], y[rest], at[rest])
    assert forecaster.versions[0].number > earlier.number
    assert np.abs(with_kernels(forecaster, x[rest], at[rest]) - before)[:, 0].max() > 0.01
    forecaster.activate(earlier)
    after = with_kernels(forecaster, x[rest], at[rest])
    np.testing.assert_allclose(after[:, 0], before[:, 0], rtol=1e-6)


def test_what_is_excluded_is_not_learned_by_it_either(small):
    x, y, at = small.stream(60)
    wrong = y.copy()
    poisoned = at[small.WARMUP - 8 * small.DAY : small.WARMUP - small.DAY]
    wrong[poisoned] = 3 - wrong[poisoned]
    clean, misled = (
        small.started(x, each, at, settings=young_settings(small)) for each in (y, wrong)
    )
    ahead = slice(small.WARMUP, small.WARMUP + 7 * small.DAY)
    right = with_kernels(clean, x[ahead], at[ahead])
    assert rmse(with_kernels(misled, x[ahead], at[ahead]), right) > 0.2 * y.std()
    misled.forget(poisoned)
    for name in misled.names:
        drive(misled.retrain(name))
    assert all(version.kernel is not None for version in misled.versions)
    errors = [rmse(with_kernels(each, x[ahead], at[ahead]), y[ahead]) for each in (misled, clean)]
    assert errors[0] < 1.1 * errors[1]


def test_it_follows_a_change_of_level():
    settings = replace(changes.SETTINGS, memory=None)
    stream, stop = changes.multiplied(3.0), changes.CHANGE + 7 * changes.DAY
    forecaster, events = changes.followed(stream, stop=stop, settings=settings)
    assert changes.of_kind(events, PastRescaled)
    assert all(version.kernel is not None for version in forecaster.versions)
    week = slice(stop, stop + 7 * changes.DAY)
    found = with_kernels(forecaster, stream.x[week], stream.at[week])
    assert rmse(found[:, 0], stream.y[week, 0]) < 0.05 * stream.y[week, 0].mean()


def without_kernels(packed):
    """As the release before kernel regressions saved it."""
    values, tensors = packed
    assert "enough" not in values["state"]["frame"]["settings"]["networks"], "it is the default"
    for version in values["past"]["networks"]:
        del version["kernel"]
    kept = {name: each for name, each in tensors.items() if ".kernel." not in name}
    assert len(kept) < len(tensors)
    return Packed(values, kept)


def test_a_state_of_an_earlier_release_goes_on_and_gets_one_with_its_next_update(small):
    forecaster, (x, y, at) = started(small, 70)
    plain, _ = started(small, 70, enough=None)
    first, rest = slice(2 * small.DAY), slice(2 * small.DAY, None)
    for each in (forecaster, plain):
        each.observe(x[first], y[first], at[first])
    old = AdaptiveForecaster.unpack(without_kernels(forecaster.pack()))
    ahead = slice(2 * small.DAY, 3 * small.DAY)
    networks = old.deployed.networks(x[ahead], at[ahead])
    np.testing.assert_array_equal(networks, plain.deployed.networks(x[ahead], at[ahead]))
    assert old.versions[0].kernel is None
    old.live(x[rest], y[rest], at[rest])
    assert old.trainings.min() > 0
    assert all(version.kernel is not None for version in old.versions)


def test_it_learns_the_same_on_any_number_of_threads():
    """Otherwise workers, nodes and machines would learn different things from the same samples."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(900, 9)).astype(np.float32)
    y = np.sin(x.sum(axis=1)).astype(np.float32)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            kernel = KernelRegression.fit(x, y, share=1.0)
            found.append((kernel.coefficients.tolist(), kernel.forecast(x).tolist()))
    assert found[0] == found[1]
