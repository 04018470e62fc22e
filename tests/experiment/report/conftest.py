import pytest

from clearwatt.experiment.report.report import Report


@pytest.fixture
def report(write_run):
    return Report.of(write_run())
