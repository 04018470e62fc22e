import json

import pytest

from clearwatt.experiment.report.report import Report

from .finished_run import DAYS, run_document


@pytest.fixture
def write_run(tmp_path):
    """Write a run's folder from a document, with the series that trials and baselines name."""

    def write(document=None, name="run"):
        folder = tmp_path / name
        (folder / "series").mkdir(parents=True)
        document = document or run_document()
        (folder / "run.json").write_text("{}", encoding="utf-8")
        (folder / "results.json").write_text(json.dumps(document), encoding="utf-8")
        for each in [*document["trials"], *document["baselines"]]:
            if "series" not in each:
                continue
            daily = [None, *(0.1 + day / 100 for day in range(1, DAYS))]
            series = json.dumps({"live_rmse": daily})
            (folder / each["series"]).write_text(series, encoding="utf-8")
        return folder

    return write


@pytest.fixture
def report(write_run):
    return Report.of(write_run())
