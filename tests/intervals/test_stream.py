import numpy as np
import pytest

from clearwatt.intervals import LEVELS, WINDOW_DAYS, CalibratedStream, SampleWindow

DAY = 24
WARM = 30 * DAY


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    x = rng.random((60 * DAY, 2)).astype(np.float32)
    y = (x + 0.1 * rng.normal(size=x.shape)).astype(np.float32)
    return SampleWindow(x, y, np.arange(len(x), dtype=np.int64))


def identity(x, columns):
    return x[:, columns].astype(np.float64)


def shifted(x, columns):
    return identity(x, columns) + 0.5


def begin(samples):
    warmup = samples.rows(slice(0, WARM))
    return CalibratedStream.start(warmup.x.astype(np.float64), warmup, day=DAY)


def observe(stream, samples, start, stop, **options):
    part = samples.rows(slice(start, stop))
    return stream.observe(part.x.astype(np.float64), part, **options)


def test_it_keeps_the_samples_of_the_last_days(samples):
    stream = begin(samples)
    assert stream.next_step == WARM
    np.testing.assert_array_equal(stream.window.steps, np.arange(WARM - WINDOW_DAYS * DAY, WARM))
    observe(stream, samples, WARM, WARM + 5)
    assert stream.next_step == WARM + 5
    assert len(stream.window.steps) == WINDOW_DAYS * DAY


def test_how_samples_are_cut_into_blocks_makes_no_difference(samples):
    once, singly = begin(samples), begin(samples)
    whole = observe(once, samples, WARM, 60 * DAY, levels=LEVELS)
    parts = [
        observe(singly, samples, start, start + 7, levels=LEVELS)
        for start in range(WARM, 60 * DAY, 7)
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    np.testing.assert_array_equal(once.window.y, singly.window.y)


def test_new_models_forecast_the_window_and_change_their_entities_only(samples):
    stream = begin(samples)
    observe(stream, samples, WARM, 40 * DAY)
    other = stream.copy()
    other.swap(np.array([1]), shifted)
    x, steps = samples.x[-DAY:].astype(np.float64), samples.steps[-DAY:]
    before, after = (each.calibrator.snapshot.quantiles(x, steps) for each in (stream, other))
    np.testing.assert_array_equal(before[:, 0], after[:, 0])
    assert (after[:, 1].mean(axis=1) < before[:, 1].mean(axis=1) - 0.1).all()  # it is too high
    assert (np.ptp(after[:, 1], axis=1) > np.ptp(before[:, 1], axis=1)).all()


def test_no_new_model_changes_nothing(samples):
    stream = begin(samples)
    revision = stream.calibrator.revision
    stream.swap(np.empty(0, np.int64), shifted)
    assert stream.calibrator.revision == revision


def test_what_is_forgotten_is_not_used_for_new_models(samples):
    stream = begin(samples)
    other = stream.copy()
    other.forget(np.array([1]), WARM - 2 * DAY, WARM)
    assert np.isnan(other.window.y[-2 * DAY :, 1]).all()
    assert np.isfinite(other.window.y[:, 0]).all()
    assert np.isfinite(stream.window.y).all()


def test_another_entity_has_no_measurements_in_the_window(samples):
    stream = begin(samples)
    warm = samples.rows(slice(0, WARM))
    stream.add(warm.x[:, 0].astype(np.float64), warm.measurements()[:, 0], warm.steps)
    assert np.isnan(stream.window.y[:, 2]).all()
    x = np.repeat(samples.x[-DAY:, :1], 3, axis=1).astype(np.float64)
    assert stream.calibrator.snapshot.quantiles(x, samples.steps[-DAY:]).shape == (
        DAY,
        3,
        len(LEVELS),
    )
