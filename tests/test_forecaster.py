"""What a forecaster reports."""

from clearwatt.forecaster import Change


def test_a_change_has_an_event_and_perhaps_a_version():
    assert Change._fields == ("event", "version")
