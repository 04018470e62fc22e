"""The table of both selections: configurations chosen by fitting error, and by live error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clearwatt.experiment.records import TrialRecord
from clearwatt.experiment.report.tables import Metric, Spread, Table
from clearwatt.experiment.results import RunRecords

SELECTION_METRICS = (
    Metric("fitting_error_fe", "Fitting Error, Chosen by FE", "FE: by FE", None),
    Metric("fitting_error_live", "Fitting Error, Chosen by Live RMSE", "FE: by live", None),
    Metric("prediction_error_fe", "Prediction Error, Chosen by FE", "PE: by FE", None),
    Metric("prediction_error_live", "Prediction Error, Chosen by Live RMSE", "PE: by live", None),
    Metric("live_rmse_fe", "Live RMSE, Chosen by FE", "live: by FE", None),
    Metric("live_rmse_live", "Live RMSE, Chosen by Live RMSE", "live: by live", None),
    Metric("live_rmse_mean", "Live RMSE, Mean of the Grid", "live: grid", None),
    Metric("same", "Entities With the Same Choice [%]", "same %", None, 0),
)
_NOTE = (
    "Errors of forecasts. Both selections use the updating phase only. Live RMSE chosen by live "
    "RMSE is the lowest of the grid; PE, on the test phase, compares the selections fairly."
)
UNTESTED = (
    "PE is missing where a chosen trial was not tested: the run is of an older release, which "
    "tested the trials of lowest FE only."
)


def selection_table(results: RunRecords) -> Table | None:
    """Errors by either selection; None for a run in which there was nothing to select."""
    rows = {}
    for key in results.instances:
        tried = [trial for trial in results.trials if trial.instance == key]
        by_error, by_live = (
            [trial for trial in results.chosen_by(select) if trial.instance == key]
            for select in ("fe", "live")
        )
        if len(tried) > len(by_error):
            rows[key] = _row(tried, by_error, by_live)
    if not rows:
        return None
    untested = any(not trial.tested for trial in results.chosen_by("live"))
    note = f"{_NOTE} {UNTESTED}" if untested else _NOTE
    return Table("selection", "Selection of configurations", SELECTION_METRICS, rows, note)


def tested_spread(
    trials: Sequence[TrialRecord], value: Callable[[TrialRecord], float | None]
) -> Spread:
    """Spread of an error on the test phase; none unless all trials were tested.

    A mean over some of the entities could not be compared with that of another row.
    """
    return Spread.of(value(trial) for trial in trials if all(each.tested for each in trials))


def _row(
    tried: Sequence[TrialRecord], by_error: Sequence[TrialRecord], by_live: Sequence[TrialRecord]
) -> dict[str, Spread]:
    row = {}
    for select, chosen in (("fe", by_error), ("live", by_live)):
        row[f"fitting_error_{select}"] = Spread.of(each.predictor.fitting_error for each in chosen)
        row[f"prediction_error_{select}"] = tested_spread(
            chosen, lambda each: each.predictor.prediction_error
        )
        row[f"live_rmse_{select}"] = Spread.of(each.live.rmse for each in chosen)
    same = 100 * sum(each.chosen for each in by_live) / len(by_live)
    return {
        **row,
        "live_rmse_mean": Spread.of(each.live.rmse for each in tried),
        "same": Spread(same, None, len(by_live)),
    }
