"""What learning from the stream changed, in one sentence computed from the results of a run."""

from __future__ import annotations

from statistics import fmean

from clearwatt.experiment.records import ADAPTIVE
from clearwatt.experiment.report.tables import INSTANCES, row_name
from clearwatt.experiment.results import Results


def describe_learning(results: Results) -> str:
    """Live error of a row that learns against that of the models frozen after the warm-up.

    The row is the adaptive forecaster's, or the best of the paper's instances in a run without
    it. Errors are means over the entities that have both. Empty if there is nothing to compare.
    """
    frozen = {
        each.entity: each.predictor.fitting_error  # of a model that never changes, live or not
        for each in results.baselines
        if each.baseline == "L" and each.predictor.fitting_error
    }
    errors = {
        row: fmean(found)
        for row in results.instances
        if (found := [t.live.rmse for t in results.trials_of(row) if t.entity in frozen])
    }
    papers = sorted((row for row in INSTANCES if row in errors), key=errors.__getitem__)
    rows = [*([ADAPTIVE] if ADAPTIVE in errors else []), *papers[:1]]
    if not rows:
        return ""
    row, before = rows[0], fmean(frozen.values())
    change = round(100 * (errors[row] / before - 1))
    figures = f"RMSE {errors[row]:.3f} of {_name(row)} against {before:.3f} of {row_name('L')}"
    if len(rows) > 1:
        figures += (
            f"; the best of the paper's instances, {row_name(rows[1])}: {errors[rows[1]]:.3f}"
        )
    whom = "the entity" if len(frozen) == 1 else f"the {len(frozen)} entities"
    if change == 0:
        effect = f"left the live error of {whom} as it is with"
    else:
        way = "lowered" if change < 0 else "raised"
        effect = f"{way} the live error of {whom} by {abs(change)} % against"
    return f"Learning from the stream {effect} the models frozen after the warm-up ({figures})."


def _name(row: str) -> str:
    return f"our adaptive forecaster ({row_name(row)})" if row == ADAPTIVE else row_name(row)
