"""``clearwatt forecast``: ask a running service for forecasts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clearwatt.cli.printing import (
    add_json_option,
    print_json,
    print_lines,
    print_tables,
    rows_table,
)
from clearwatt.cli.service import ADDRESS, add_token_option, require_service, token_of

if TYPE_CHECKING:
    from clearwatt.service.schemas.forecasts import ForecastAnswer

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "forecast", help="ask a running service for forecasts", allow_abbrev=False
    )
    parser.add_argument(
        "--url", default=ADDRESS, metavar="URL", help=f"the service (default {ADDRESS})"
    )
    add_token_option(parser)
    parser.add_argument(
        "--entity", nargs="+", action="extend", required=True, metavar="NAME", help="of whom"
    )
    parser.add_argument("--start", metavar="TIME", help="from then on (default: now)")
    parser.add_argument("--end", metavar="TIME", help="until then (default: 48 hours on)")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print a table per entity, with where each value comes from."""
    require_service()
    from clearwatt.service.client import Client

    with Client(options.url, token_of(options)) as client:
        answer = client.forecasts(options.entity, start=options.start, end=options.end)
    if options.json:
        print_json(answer.model_dump(mode="json"))
        return
    for forecast in answer.forecasts:
        print_lines(_about(forecast))
        columns = ("time", f"power ({forecast.unit})", "source")
        print_tables([rows_table(columns, _rows(forecast))])


def _about(forecast: ForecastAnswer) -> Iterator[str]:
    models = forecast.predictor or "no model"
    if forecast.encoder:
        models += f" on {forecast.encoder}"
    weather = f", weather issued {forecast.weather.newest}" if forecast.weather else ""
    yield f"{forecast.entity}: issued {forecast.issued_at} by {models}{weather}"
    for missing in forecast.missing:
        yield f"  {missing.start} to {missing.end}: {missing.reason}"


def _rows(forecast: ForecastAnswer) -> Iterator[tuple[str, str, str]]:
    for time, value, source in zip(forecast.times, forecast.values, forecast.sources, strict=True):
        yield time, "–" if value is None else f"{value:.1f}", source
