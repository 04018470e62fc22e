"""``clearwatt weather``: weather of Open-Meteo for a data set or a running service."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.cli.options import Commands, add_json_option, add_list_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, progress, rows_table
from clearwatt.cli.service import add_address_options, open_client, require_service
from clearwatt.errors import ClearwattError, ConfigurationError

if TYPE_CHECKING:
    from clearwatt.weather import Coordinates, OpenMeteo
    from clearwatt.weather.dataset_weather import ReadingsFolder, ZonePlace, ZoneWeather

AHEAD = 2
"""Default of --days-ahead."""


def register(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser(
        "weather", help="weather of Open-Meteo for a data set or a running service"
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    fetch = actions.add_parser(
        "fetch", help="past weather, as it was forecast, for a data set", allow_abbrev=False
    )
    _add_fetch_options(fetch)
    fetch.set_defaults(run=fetch_weather)
    feed = actions.add_parser(
        "feed", help="send weather to zones of a running service", allow_abbrev=False
    )
    _add_feed_options(feed)
    feed.set_defaults(run=feed_weather)
    for action in (fetch, feed):
        action.add_argument(
            "--days-ahead",
            type=int,
            default=AHEAD,
            metavar="N",
            help="age in days of the model run that past values are from (0 to 7, default 2)",
        )
        action.add_argument(
            "--weather-url", metavar="URL", help="address of a mirror or of your own server"
        )
        action.add_argument("--refresh", action="store_true", help="do not use cached answers")
        add_json_option(action)


def _add_fetch_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="DATA", help="data-set folder to put it into"
    )
    add_list_option(
        parser,
        "--coordinates",
        "[ZONE=]LAT,LON",
        "places of the zones (default: columns latitude and longitude of entities.csv)",
        parse=_parse_zone_place,
    )
    add_list_option(parser, "--variables", "NAME", "weather variables (default: by kind)")
    parser.add_argument("--start", type=_parse_date, metavar="DATE", help="first day, UTC")
    parser.add_argument("--end", type=_parse_date, metavar="DATE", help="last day, UTC")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write a .parquet or .csv instead of into DATA"
    )
    parser.add_argument(
        "--no-archive",
        action="store_true",
        help="leave days empty for which no previous run is kept",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the weather of DATA")


def _add_feed_options(parser: argparse.ArgumentParser) -> None:
    add_address_options(parser)
    parser.add_argument("--zone", required=True, metavar="NAME", help="zone of the service")
    parser.add_argument(
        "--coordinates",
        type=_parse_place,
        metavar="LAT,LON",
        help="its place (default: that of its settings)",
    )
    parser.add_argument(
        "--days", type=int, default=7, metavar="N", help="days to forecast (default 7, up to 15)"
    )
    parser.add_argument(
        "--start", type=_parse_date, metavar="DATE", help="also send past weather from this day on"
    )


def fetch_weather(options: argparse.Namespace) -> None:
    """Fetch past weather, write it, and print what it is."""
    require_service()
    from clearwatt.weather.dataset_weather import fetch_weather, weather_table, write_table

    readings, zones, first, last = _fetch_plan(options)
    found: list[ZoneWeather] = []
    with _open_source(options) as source, progress("fetching weather"):
        for part in fetch_weather(
            source,
            zones,
            first=first,
            last=last,
            days_ahead=options.days_ahead,
            archive=not options.no_archive,
        ):
            found += part
    table = weather_table(found)
    if options.out is not None:
        write_table(table, options.out)
    elif readings is not None:
        from clearwatt.weather.dataset_weather import write_to_folder

        write_to_folder(table, readings, _note(options, found))
    _print_fetched(options, found)


def _fetch_plan(
    options: argparse.Namespace,
) -> tuple[ReadingsFolder | None, list[ZonePlace], date, date]:
    """The readings, if a folder is given, its zones, and the first and last day."""
    from clearwatt.weather.dataset_weather import ReadingsFolder, ZonePlace, has_weather
    from clearwatt.weather.variables import default_variables

    places: dict[str, Coordinates] = dict(options.coordinates)
    if options.folder is None:
        if not (options.out and options.start and options.end and places):
            raise ConfigurationError(
                "give a data-set folder, or --out, --start, --end and --coordinates"
            )
        variables = tuple(options.variables) or default_variables((), step=3600)
        zones = [ZonePlace(zone or "region", place, variables) for zone, place in places.items()]
        return None, zones, options.start, options.end
    if options.out is None and has_weather(options.folder) and not options.overwrite:
        raise ConfigurationError(f"{options.folder} has weather; give --overwrite to replace it")
    readings = ReadingsFolder.read(options.folder)
    first = options.start or readings.times[0].date()
    last = options.end or readings.times[-1].date()
    return readings, readings.zones(places, options.variables), first, last


def _note(options: argparse.Namespace, found: list[ZoneWeather]) -> str:
    archived = sum(each.archived for each in found)
    runs = f"model runs started {options.days_ahead} days before" if options.days_ahead else ""
    first_hours = "the first hours of each run" if archived else ""
    places = "; ".join(f"{each.zone.zone}: {each.zone.place}" for each in found)
    return f"{' and '.join(filter(None, (runs, first_hours)))}, at {places}"


def _print_fetched(options: argparse.Namespace, found: list[ZoneWeather]) -> None:
    rows = [
        {
            "zone": each.zone.zone,
            "coordinates": str(each.zone.place),
            "variables": list(each.zone.variables),
            "hours": len(each.frame),
            "days_ahead": each.days - each.archived,
            "days_archived": each.archived,
            "missing_share": round(float(each.frame.isna().to_numpy().mean()), 6),
        }
        for each in found
    ]
    target = options.out or options.folder
    if options.json:
        print_json({"written": str(target), "zones": rows})
        return
    names = ("zone", "place", "variables", "hours", "days forecast", "days archived", "missing")
    counted = [
        {**row, "variables": len(each.zone.variables)}
        for row, each in zip(rows, found, strict=True)
    ]
    print_tables([rows_table(names, [tuple(row.values()) for row in counted])])
    print_lines([f"the weather is in {target} (Open-Meteo, CC BY 4.0)"])
    if any(each.archived for each in found):
        print_lines(
            [
                "archived days are the first hours of each model run, which nobody had a day "
                "before: errors on them look better than they will be"
            ]
        )


def feed_weather(options: argparse.Namespace) -> None:
    """Send the newest forecast, and past weather if wanted, and print how much was new."""
    require_service()
    from clearwatt.service.client.weather_feed import FeedPlan, place_of
    from clearwatt.service.client.weather_feed import feed_weather as feed

    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    plan = FeedPlan(options.days, options.start, yesterday, options.days_ahead)
    with (
        open_client(options) as client,
        _open_source(options) as source,
        progress(f"sending weather to {options.url}"),
    ):
        zone = client.zone(options.zone)
        place = place_of(zone, options.coordinates)
        receipts = list(feed(client, source, zone, place, plan))
    facts = {
        "zone": zone.id,
        "coordinates": str(place),
        "issues": len(receipts),
        "new": sum(receipt.new for receipt in receipts),
        "issued_at": receipts[-1].issued_at,
    }
    if options.json:
        print_json(facts)
    else:
        print_tables([rows_table(tuple(facts), [tuple(facts.values())])])


def _open_source(options: argparse.Namespace) -> OpenMeteo:
    from clearwatt.data.catalogue import cache_folder
    from clearwatt.weather import OpenMeteo

    return OpenMeteo(
        options.weather_url,
        cache=cache_folder() / "weather",
        refresh=options.refresh,
        on_retry=_report_retry,
    )


def _report_retry(error: ClearwattError, pause: float) -> None:
    sys.stderr.write(f"{error}; next try in {pause:.0f} s\n")


def _parse_zone_place(text: str) -> tuple[str, Coordinates]:
    zone, _, place = text.rpartition("=")
    return zone, _parse_place(place)


def _parse_place(text: str) -> Coordinates:
    from clearwatt.weather.coordinates import Coordinates

    try:
        return Coordinates.parse(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parse_date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write 2024-05-01") from None
