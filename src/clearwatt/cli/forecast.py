"""``clearwatt forecast``: print forecasts of a running service."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import (
    print_json,
    print_lines,
    print_tables,
    rows_table,
    write_line,
)
from clearwatt.cli.service import add_address_options, open_client

if TYPE_CHECKING:
    from clearwatt.service.api.schemas.forecasts import ForecastAnswer, LearnerBacklog


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "forecast", help="print forecasts of a running service", allow_abbrev=False
    )
    add_address_options(parser)
    parser.add_argument(
        "--entity",
        nargs="+",
        action="extend",
        required=True,
        metavar="NAME",
        help="entities to forecast",
    )
    parser.add_argument(
        "--start",
        metavar="TIME",
        help="first time (default: now; the newest reading sent, if that is over a week old)",
    )
    parser.add_argument(
        "--end", metavar="TIME", help="time to stop before (default: 48 hours later)"
    )
    parser.add_argument(
        "--levels",
        nargs="*",
        type=float,
        metavar="SHARE",
        help="levels of the quantiles to print, such as 0.05 0.95; nothing: no quantiles "
        "(default: 0.05 0.1 0.25 0.5 0.75 0.9 0.95)",
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print a table per entity with values, quantiles and sources."""
    with open_client(options) as client:
        answer = client.forecasts(
            options.entity, start=options.start, end=options.end, levels=options.levels
        )
    for backlog in answer.behind:
        write_line(_backlog_line(backlog))
    if options.json:
        print_json(answer.model_dump(mode="json"))
        return
    for forecast in answer.forecasts:
        print_lines(_heading_lines(forecast))
        levels = [f"{100 * level:g} %" for level in forecast.levels]
        columns = ("time", f"power ({forecast.unit})", *levels, "source")
        print_tables([rows_table(columns, _rows(forecast))])


def _backlog_line(backlog: LearnerBacklog) -> str:
    learned = backlog.learned_until or "none of them"
    return (
        f"zone {backlog.zone}: the learner is behind: readings up to {backlog.sent_until} are "
        f"sent, learned up to {learned} ({backlog.entries:,} journal entries to go); the forecasts "
        "do not know the rest yet"
    )


def _heading_lines(forecast: ForecastAnswer) -> Iterator[str]:
    models = forecast.predictor or "no model"
    if forecast.encoder:
        models += f" on {forecast.encoder}"
    weather = f", weather issued {forecast.weather.newest}" if forecast.weather else ""
    yield f"{forecast.entity}: issued {forecast.issued_at} by {models}{weather}"
    for missing in forecast.missing:
        yield f"  {missing.start} to {missing.end}: {missing.reason}"


def _rows(forecast: ForecastAnswer) -> Iterator[tuple[str, ...]]:
    columns = zip(
        forecast.times, forecast.sources, forecast.values, *forecast.quantiles, strict=True
    )
    for time, source, *powers in columns:
        yield time, *("–" if power is None else f"{power:.1f}" for power in powers), source
