"""What an import understood, as plain values for JSON and for pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from clearwatt.data.schema import Entity
from clearwatt.imports.export import Export

ROWS = 4
"""First readings that are shown."""


def export_summary(export: Export, entities: Iterable[Entity]) -> dict[str, Any]:
    """Decisions, questions, faults, first rows before and after, and entities."""
    return {
        "understood": [asdict(each) for each in export.log.decisions.values()],
        "questions": [each.to_dict() for each in export.log.questions.values()],
        "faults": [each.to_dict() for each in export.log.faults],
        "readings": _span(export) if export.complete else None,
        "first_rows": [list(row) for row in export.first_rows],
        "first_readings": first_readings(export) if export.complete else [],
        "entities": [
            {
                "entity": e.name,
                "kind": e.kind.value,
                "capacity": e.capacity,
                "zone": e.zone,
                **e.extra,
            }
            for e in entities
        ],
    }


def first_readings(export: Export) -> list[Sequence[object]]:
    """The first rows in UTC and kW: time, then a value per entity."""
    head = export.power.iloc[:ROWS]
    values = head.astype(object).where(head.notna(), None).to_numpy().tolist()
    return [
        [time.isoformat(), *(None if v is None else round(float(v), 4) for v in row)]
        for time, row in zip(head.index, values, strict=True)
    ]


def _span(export: Export) -> dict[str, object]:
    times = export.power.index
    return {
        "start": times[0].isoformat(),
        "end": times[-1].isoformat(),
        "steps": len(times),
        "values": int(export.power.notna().to_numpy().sum()),
    }
