"""What learning from the stream changed, in one sentence computed from the results of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from clearwatt.experiment.records import ADAPTIVE
from clearwatt.experiment.report.tables import INSTANCES, Spread, row_name
from clearwatt.experiment.results import RunRecords


def describe_learning(results: RunRecords) -> str:
    """Live error of a row that learns against that of the models frozen after the warm-up.

    The row is the adaptive forecaster's, or that of the best instance in a run without it. Errors
    are means over the entities. Empty if there is nothing to compare.
    """
    frozen = Spread.of(
        each.predictor.fitting_error  # of a model that never changes, live or not
        for each in results.baselines
        if each.baseline == "L"
    )
    errors = _live_errors(results)
    row = compared_row(results)
    if not frozen.mean or row is None:
        return ""
    others = sorted(errors.keys() - {ADAPTIVE}, key=lambda row: (errors[row], row))
    who = f"{row_name(row)}, our adaptive forecaster," if row == ADAPTIVE else row_name(row)
    figures = f"RMSE {errors[row]:.3f} of {who} against {frozen.mean:.3f} of {row_name('L')}"
    if row == ADAPTIVE:
        figures = f"{figures}{_first_networks(results)}{_best_instance(others, errors)}"
    return (
        f"Learning from the stream {_effect(errors[row] / frozen.mean, frozen.count)} the models "
        f"frozen after the warm-up ({figures})."
    )


def compared_row(results: RunRecords) -> str | None:
    """The row that shows what learning changed: the adaptive forecaster's, or the best."""
    errors = _live_errors(results)
    if ADAPTIVE in errors:
        return ADAPTIVE
    return min(errors, key=lambda row: (errors[row], row), default=None)


def _live_errors(results: RunRecords) -> dict[str, float]:
    """Live RMSE of each row, mean over its entities."""
    return {
        row: fmean(trial.live.rmse for trial in results.trials_of(row)) for row in results.instances
    }


def _effect(ratio: float, entities: int) -> str:
    """What happened to the error, by the ratio of new to old."""
    whose = "the entity" if entities == 1 else f"the {entities} entities"
    percent = round(100 * (ratio - 1))
    if percent == 0:
        return f"left the live error of {whose} equal to that of"
    way = "lowered" if percent < 0 else "raised"
    return f"{way} the live error of {whose} by {abs(percent)} % against"


def _first_networks(results: RunRecords) -> str:
    """The error of the adaptive forecaster's own networks, had they never learned again."""
    mean = Spread.of(trial.frozen_rmse for trial in results.trials_of(ADAPTIVE)).mean
    return "" if mean is None else f" and {mean:.3f} of its own first networks"


def _best_instance(rows: Sequence[str], errors: Mapping[str, float]) -> str:
    if not rows:
        return ""
    whose = "the paper's" if set(rows) <= set(INSTANCES) else "the other"
    return f"; the best of {whose} instances, {row_name(rows[0])}: {errors[rows[0]]:.3f}"
