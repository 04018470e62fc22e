"""``clearwatt zones leads`` and ``clearwatt entities leads``: errors by lead of a service."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Literal

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, rows_table
from clearwatt.cli.service import add_address_options, open_client

if TYPE_CHECKING:
    from clearwatt.service.api.schemas.signals import LeadAnswer

Subject = Literal["zone", "entity"]
COLUMNS = ("lead", "readings", "RMSE", "RMSE, share", "against persistence", "in the 90 % interval")


def add_leads_action(actions: Commands, subject: Subject) -> None:
    """Add the action to the commands of zones or entities."""
    about = "error, skill and coverage over two weeks by how far ahead forecasts are made"
    parser = actions.add_parser("leads", help=about, allow_abbrev=False)
    parser.add_argument("id", metavar="ID", help=f"id of the {subject}")
    add_address_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run_leads, subject=subject)


def run_leads(options: argparse.Namespace) -> None:
    """Print a table of errors by lead."""
    with open_client(options) as client:
        whole = options.subject == "zone"
        found = client.leads(options.id if whole else client.entity(options.id).zone)
    entities = {each.entity: each for each in found.entities}
    leads, unit = found.leads, found.unit
    if not whole:
        leads, unit = entities[options.id].leads, entities[options.id].unit
    if options.json:
        rows = [each.model_dump(mode="json") for each in leads]
        print_json({options.subject: options.id, "unit": unit, "leads": rows})
    elif leads:
        print_tables([rows_table(COLUMNS, (_row(each, unit or "") for each in leads))])
    else:
        print_lines(["errors by lead are known after the first full day of live forecasts"])


def _row(each: LeadAnswer, unit: str) -> tuple[str, ...]:
    from clearwatt.service.leads import lead_label

    return (
        lead_label(each.lead),
        f"{each.n:,}",
        "–" if each.rmse is None else f"{each.rmse:.4g} {unit}",
        _percent(each.rmse_share),
        "–" if each.skill is None else f"{100 * each.skill:+.1f} %",
        _percent(each.coverage),
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
