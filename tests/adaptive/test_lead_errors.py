"""What is known of the last errors at the moment of an issue."""

import numpy as np

from clearwatt.adaptive.lead_errors import ErrorHistory

AT = np.arange(100, 148)
POWER = np.zeros((48, 2))
MEASURED = np.stack([np.arange(48.0), np.full(48, 2.0)], axis=1)


def history(measured=MEASURED, at=AT, since=100):
    return ErrorHistory.of(at, POWER, measured, since=since, day=24)


def test_the_newest_error_and_means_of_3_6_and_24_hours():
    latest = history().known_at(np.array([100, 130]))
    np.testing.assert_allclose(latest.errors[0, 0], [0, 0, 0, 0, 0])
    np.testing.assert_allclose(latest.errors[1, 0], [30, 29, 27.5, 18.5, 1])
    np.testing.assert_allclose(latest.errors[:, 1, :-1], 2.0)
    np.testing.assert_allclose(latest.errors[:, 1, -1], 0.0)
    np.testing.assert_allclose(latest.measured, [[0, 2], [30, 2]])


def test_measurements_of_a_day_before_are_those_known_at_the_issue():
    found = history()
    np.testing.assert_array_equal(found.known_at(np.array([130])).day_before, [[6, 2]])
    assert np.isnan(found.known_at(np.array([110])).day_before).all()
    at = np.array([130, 150, 160])
    np.testing.assert_array_equal(
        found.day_before(at, np.array([125, 125, 136]))[:, 0], [6, np.nan, 36]
    )


def test_later_measurements_change_nothing():
    noisy = MEASURED.copy()
    noisy[31:] = 99.0
    plain, again = (each.known_at(np.array([110, 130])) for each in (history(), history(noisy)))
    assert (plain.errors == again.errors).all()
    assert (plain.measured == again.measured).all()


def test_a_missing_measurement_leaves_the_newest_of_the_last_day():
    holes = MEASURED.copy()
    holes[20:, 0] = np.nan
    latest = history(holes).known_at(np.array([125, 144]))
    assert latest.errors[0, 0].tolist() == [19, 0, 0, (19 + 2) / 2, 1]
    assert latest.measured[0, 0] == 19
    assert (latest.errors[1, 0] == 0).all()
    assert np.isnan(latest.measured[1, 0])


def test_after_the_last_row_its_measurements_are_the_newest_for_a_day():
    latest = history().known_at(np.array([150, 180]))
    assert latest.errors[0, 0].tolist() == [47, 0, (45 + 46 + 47) / 3, (27 + 47) / 2, 1]
    assert (latest.errors[1] == 0).all()


def test_before_the_first_row_nothing_is_known():
    latest = history(since=90, at=AT).known_at(np.array([95, 80]))
    assert (latest.errors == 0).all()
    assert np.isnan(latest.measured).all()


def test_an_entity_that_reports_late_is_known_as_of_its_newest_error():
    holes = MEASURED.copy()
    holes[40:, 0] = np.nan
    each, then = history(holes).known_of_each(147), history(holes).known_at(np.array([139, 147]))
    assert each.ages.tolist() == [8, 0]
    assert (each.errors[0] == then.errors[0, 0]).all()
    assert (each.errors[1] == then.errors[1, 1]).all()
    assert each.measured.tolist() == [39, 2]
