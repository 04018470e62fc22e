"""``clearwatt data``: list the catalogue, get from it, import, check and describe data sets."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.cli import data_import
from clearwatt.cli.fault_table import fault_table
from clearwatt.cli.options import Commands, add_json_option
from clearwatt.cli.printing import (
    facts_table,
    print_json,
    print_lines,
    print_tables,
    progress,
    rows_table,
)
from clearwatt.errors import DataError

if TYPE_CHECKING:
    from clearwatt.data import Dataset

_PATH_HELP = "a data-set folder, a name of the catalogue, or 'simulated'"


def register(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("data", help="real data sets: list, get, import, check, describe")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="show the catalogue", allow_abbrev=False)
    listing.set_defaults(run=list_catalogue)
    get = actions.add_parser("get", help="download, convert and cache one", allow_abbrev=False)
    get.add_argument("name", metavar="NAME", help="a name shown by 'clearwatt data list'")
    get.add_argument("--refresh", action="store_true", help="convert it again")
    get.set_defaults(run=get_dataset)
    data_import.register(actions)
    check = actions.add_parser("check", help="say what is wrong, if anything", allow_abbrev=False)
    check.add_argument("path", metavar="PATH", help=_PATH_HELP)
    check.set_defaults(run=check_path)
    describe = actions.add_parser("describe", help="print its figures", allow_abbrev=False)
    describe.add_argument("path", metavar="PATH", help=_PATH_HELP)
    describe.add_argument("--html", type=Path, metavar="FILE", help="write a page with pictures")
    describe.set_defaults(run=describe_path)
    for action in (listing, get, check, describe):
        add_json_option(action)


def list_catalogue(options: argparse.Namespace) -> None:
    """Print the data sets of the catalogue, and whether each is cached."""
    from clearwatt.data.catalogue import CATALOGUE

    entries = [
        {"name": entry.name, "cached": entry.folder.is_dir(), "summary": entry.summary}
        for entry in CATALOGUE.values()
    ]
    if options.json:
        print_json(entries)
        return
    rows = [(e["name"], "yes" if e["cached"] else "no", e["summary"]) for e in entries]
    print_tables([rows_table(("name", "cached", "what it is"), rows)])


def get_dataset(options: argparse.Namespace) -> None:
    """Download and convert one data set of the catalogue, and print its folder."""
    from clearwatt.data.catalogue import fetch

    with progress(f"fetching {options.name}"):
        folder = fetch(options.name, refresh=options.refresh)
    if options.json:
        print_json({"name": options.name, "folder": str(folder)})
    else:
        print_lines([f"{options.name} is in {folder}"])


def check_path(options: argparse.Namespace) -> None:
    """Check a data set, and print a summary, or all its faults."""
    from clearwatt.data.data_faults import raise_first
    from clearwatt.data.load import check_dataset_of

    with progress(f"checking {options.path}"):
        dataset, faults = check_dataset_of(options.path)
    facts = {} if dataset is None else dataset_summary(dataset)
    if options.json:
        document = {"faults": [fault.to_dict() for fault in faults]} if faults else facts
        print_json({"ok": not faults, **document})
    elif not faults:
        print_tables([facts_table(f"{options.path} is in order", facts)])
    elif len(faults) > 1:
        print_tables([fault_table(faults)])
    if len(faults) > 1:
        raise DataError(f"{options.path} has {len(faults)} faults; the first: {faults[0].message}")
    raise_first(faults)


def describe_path(options: argparse.Namespace) -> None:
    """Print the statistics of a data set; with ``--html``, also write the page."""
    from clearwatt.data.describe import describe
    from clearwatt.report.dataset_tables import dataset_tables
    from clearwatt.report.tables import terminal_table

    dataset = _load(options.path)
    with progress(f"measuring {dataset.name}"):
        description = describe(dataset)
    if options.html:
        from clearwatt.report.dataset_page import write_dataset_page

        with progress(f"drawing {options.html}"):
            write_dataset_page(dataset, description, options.html)
    if options.json:
        print_json(description.to_dict())
        return
    print_tables(map(terminal_table, dataset_tables(description).values()))
    if options.html:
        print_lines([f"pictures are in {options.html}"])


def dataset_summary(dataset: Dataset) -> dict[str, object]:
    """A few facts about a data set: name, span, sizes."""
    kinds = Counter(f"{entity.kind}s" for entity in dataset.entities)
    return {
        "name": dataset.name,
        "start": dataset.times[0].isoformat(),
        "end": dataset.times[-1].isoformat(),
        "step_minutes": dataset.step.total_seconds() / 60,
        "steps": len(dataset.times),
        "entities": len(dataset.entities),
        **kinds,
        "zones": len(dataset.zones),
        "weather_columns": sum(len(frame.columns) for frame in dataset.weather.values()),
        "missing_share": round(float(dataset.power.isna().to_numpy().mean()), 6),
        "drifts": len(dataset.drifts),
        "timezone": dataset.timezone,
        "unit": dataset.unit or "unknown",
    }


def _load(path: str) -> Dataset:
    from clearwatt.data import load_dataset

    with progress(f"loading {path}"):
        return load_dataset(path)
