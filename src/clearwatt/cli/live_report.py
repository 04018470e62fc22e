"""The live errors that a service reports, for ``clearwatt replay --report``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from clearwatt.service.api.schemas.entities import EntityAnswer


def live_facts(entity: EntityAnswer) -> dict[str, object]:
    """Errors since the warm-up, in the unit of power and as a share of capacity."""
    size, live = entity.capacity, entity.live
    rmse, mae = live.rmse_total, live.mae_total
    return {
        "entity": entity.id,
        "readings": live.n_total,
        "unit": entity.unit,
        "rmse": rmse,
        "mae": mae,
        "rmse_share": rmse / size if rmse is not None and size else None,
        "mae_share": mae / size if mae is not None and size else None,
        "quarantined": entity.quarantined,
        "updates": entity.updates,
    }


def live_table(entities: Sequence[EntityAnswer]) -> Table:
    """The live errors of entities."""
    columns = ["entity", "readings", "RMSE", "MAE", "RMSE, share", "MAE, share", "held back"]
    table = Table(title="live errors since the warm-up; shares of capacity")
    for place, name in enumerate([*columns, "updates"]):
        table.add_column(name, justify="right" if place else "left")
    for entity in entities:
        facts = live_facts(entity)
        table.add_row(
            str(facts["entity"]),
            f"{facts['readings']:,}",
            *(_figure(facts[name], entity.unit) for name in ("rmse", "mae")),
            *(_figure(facts[name]) for name in ("rmse_share", "mae_share")),
            f"{facts['quarantined']:,}",
            f"{facts['updates']:,}",
        )
    return table


def _figure(value: object, unit: str = "") -> str:
    return f"{value:.4g} {unit}".strip() if isinstance(value, float) else "–"
