"""Events when an entity's forecasts become worse than persistence, or its intervals too narrow.

Both are judged at each midnight (UTC) of the stream, over the two weeks before it.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta

from clearwatt.clock import SECONDS_PER_DAY, steps_per_day
from clearwatt.service.learner.apply.outcome_builder import OutcomeBuilder
from clearwatt.service.learner.apply.two_weeks import DAYS
from clearwatt.service.learner.apply.zone_state import ZoneState


def check_accuracy(state: ZoneState, builder: OutcomeBuilder) -> None:
    """Judge skill and coverage at the midnights since the last call; record changes as events."""
    steps = steps_per_day(timedelta(seconds=state.zone.step))
    for midnight in state.live.new_midnights():
        day = midnight - SECONDS_PER_DAY
        state.leads.close_day(
            day, state.live, state.intervals, state.sizes, delay=state.known_after
        )
        state.leads.weeks.judge(midnight, steps=steps)
        for column in state.live.skill.judge(midnight, steps=steps):
            _record_skill(state, builder, int(column), midnight)
        for column in state.intervals.coverage.judge(midnight, steps=steps):
            _record_coverage(state, builder, int(column), midnight)


def _record_skill(state: ZoneState, builder: OutcomeBuilder, column: int, midnight: int) -> None:
    name, skill = state.columns[column], state.live.skill_of(column)
    unit = state.entities[name].unit
    relation = "is higher than" if skill.worse else "is no longer higher than"
    advice = "; check its weather and its readings" if skill.worse else ""
    builder.event(
        f"skill:{name}:{midnight}",
        "worse than persistence" if skill.worse else "better than persistence",
        f"the error of {name} over two weeks, {skill.rmse:.4g} {unit}, {relation} that of "
        f"repeating the same hour of the last known day, {skill.rmse_persistence:.4g} {unit}"
        f"{advice}",
        entity=name,
        time=midnight,
        details={**asdict(skill), "skill": skill.skill, **_window(midnight)},
    )


def _record_coverage(state: ZoneState, builder: OutcomeBuilder, column: int, midnight: int) -> None:
    name = state.columns[column]
    quality = state.intervals.quality(column, state.power_size(name))
    share = f"{100 * (quality.coverage_two_weeks or 0.0):.0f} %"
    builder.event(
        f"coverage:{name}:{midnight}",
        "coverage low" if quality.too_narrow else "coverage restored",
        f"the 90 % interval of {name} contained {share} of the readings of two weeks"
        f"{'; rely less on its width' if quality.too_narrow else ' again'}",
        entity=name,
        time=midnight,
        details={
            "coverage": quality.coverage_two_weeks,
            "n": quality.n_two_weeks,
            **_window(midnight),
        },
    )


def _window(midnight: int) -> dict[str, int]:
    return {"start": midnight - DAYS * SECONDS_PER_DAY, "end": midnight}
