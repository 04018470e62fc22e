"""Sentences for an operator about an entity whose forecasts or intervals were poor."""

from __future__ import annotations

from collections.abc import Iterator

from clearwatt.service.status import EntityStatus


def accuracy_warnings(status: EntityStatus) -> Iterator[str]:
    """A sentence for each check over two weeks that the entity fails."""
    if status.skill.worse:
        skill = status.skill.skill
        excess = "above" if skill is None else f"{-100 * skill:.0f} % above"
        yield (
            f"over two weeks the error of its forecasts was {excess} that of repeating the same "
            "hour of the last known day; check its weather and its readings"
        )
    if status.interval.too_narrow:
        coverage = status.interval.coverage_two_weeks or 0.0
        yield (
            f"over two weeks the 90 % interval contained only {100 * coverage:.0f} % of the "
            "readings; rely less on its width"
        )
