"""``clearwatt data import``: readings of a utility's export become a data-set folder."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearwatt.cli.import_report import choice_name, export_document, export_tables, question_lines
from clearwatt.cli.options import Commands, add_json_option, add_list_option
from clearwatt.cli.printing import print_json, print_lines, print_tables, progress
from clearwatt.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from clearwatt.imports import Export, Recipe
    from clearwatt.imports.folder import ImportedFolder
    from clearwatt.imports.log import Question

_MARKS = {"comma": ",", "point": ".", "space": " ", "apostrophe": "'", "none": ""}
_SINGLE = (
    ("--encoding", "NAME", "of text files, such as utf-8, cp1250 or cp1252"),
    ("--timezone", "ZONE", "of times without offset: Europe/Warsaw, UTC, or +01:00"),
    ("--value-column", "HEADER", "the column of values, in the long layout"),
    ("--zone", "NAME", "weather zone of new entities (default region)"),
)
_LISTS = (
    ("--time-column", "HEADER", "the column of times, or those of date and time of day"),
    ("--name-column", "HEADER", "the columns that name the meter, in the long layout"),
    ("--sheets", "SHEET", "of workbooks (default: all that have a table)"),
    ("--leave-out", "NAME", "columns or meters to leave out"),
    ("--bad-status", "STATUS", "statuses that mark a wrong value, such as 0 or Estimated"),
    ("--negate", "NAME", "meters whose sign is changed, such as a feed-in below zero"),
)
_KEYS = {"time_column": "time_columns", "name_column": "name_columns", "rename": "names"}


def register(actions: Commands) -> None:
    """Add the action to the parser of ``clearwatt data``."""
    parser = actions.add_parser(
        "import", help="make a data set of CSV, Excel or Parquet exports", allow_abbrev=False
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of one export")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder to write")
    parser.add_argument("--recipe", type=Path, metavar="FILE", help="read as this file says")
    parser.add_argument(
        "--save-recipe", type=Path, metavar="FILE", help="write how it was read, to repeat it"
    )
    parser.add_argument("--dry-run", action="store_true", help="show everything, write nothing")
    _add_format_options(parser)
    for name, metavar, about in _LISTS:
        add_list_option(parser, name, metavar, about)
    add_list_option(parser, "--rename", "METER=ENTITY", "names of entities", parse=_parse_rename)
    parser.add_argument("--weather", type=Path, metavar="PATH", help="weather to put beside it")
    parser.add_argument(
        "--entities", type=Path, metavar="FILE", help="kinds, capacities and zones, as entities.csv"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--overwrite", action="store_true", help="replace the readings in DIR")
    mode.add_argument("--append", action="store_true", help="add to the readings in DIR")
    add_json_option(parser)
    parser.set_defaults(run=run)


def _add_format_options(parser: argparse.ArgumentParser) -> None:
    for name, metavar, about in _SINGLE:
        parser.add_argument(name, metavar=metavar, help=about)
    parser.add_argument(
        "--separator",
        type=_parse_separator,
        metavar="MARK",
        help="of columns: semicolon, comma, tab, bar, space, or the character",
    )
    parser.add_argument("--decimal", type=_parse_mark, metavar="MARK", help="comma or point")
    parser.add_argument(
        "--thousands",
        type=_parse_mark,
        metavar="MARK",
        help="point, comma, space, apostrophe or none",
    )
    choices: tuple[tuple[str, tuple[str, ...], str], ...] = (
        ("--date-order", ("ymd", "dmy", "mdy"), "order of day, month and year"),
        (
            "--unit",
            ("W", "kW", "MW", "GW", "Wh", "kWh", "MWh", "GWh"),
            "of values whose header names none",
        ),
        ("--interval", ("start", "end"), "the end of its interval that a time marks"),
        ("--values", ("interval", "register"), "energy of an interval, or running total"),
        ("--layout", ("wide", "long"), "one column per meter, or one row per reading"),
        ("--autumn", ("first", "second"), "the hour of the autumn change that is there alone"),
        ("--duplicates", ("first", "last", "mean"), "where a time has different values"),
        ("--unreadable", ("empty",), "let cells that are not numbers count as no reading"),
        ("--names-from", ("header", "file", "sheet"), "name of a table's only column"),
    )
    for name, values, about in choices:
        parser.add_argument(name, choices=values, help=about)
    parser.add_argument(
        "--step", type=float, metavar="MINUTES", help="average the readings to this step"
    )


def run(options: argparse.Namespace) -> None:
    """Read the export, show what was understood, and write the folder."""
    from clearwatt.data.folder import write_folder
    from clearwatt.files import write_text_atomically
    from clearwatt.imports.folder import plan_folder

    if options.out is None and not options.dry_run:
        raise ConfigurationError("--out is missing; name the folder to write, or give --dry-run")
    export = _read(options)
    plan = None
    if export.complete and options.out is not None:
        plan = plan_folder(
            export,
            options.out,
            mode="append" if options.append else "overwrite" if options.overwrite else "new",
            weather=options.weather,
            entities=options.entities,
        )
    if options.json:
        print_json(export_document(export, plan, written=bool(plan) and not options.dry_run))
    else:
        print_tables(export_tables(export, plan))
    if not export.complete:
        raise DataError(_open_points(export))
    if options.save_recipe:
        write_text_atomically(options.save_recipe, export.recipe.to_toml())
    if plan is not None and not options.dry_run:
        write_folder(plan.contents, options.out, overwrite=True)
    if not options.json:
        print_lines(_closing_lines(options, plan))


def _read(options: argparse.Namespace) -> Export:
    """Read the files; on a terminal, ask what they leave open."""
    from clearwatt.imports import read_export

    recipe = _recipe(options)
    ask = sys.stdin.isatty() and sys.stdout.isatty() and not options.json
    while True:
        with progress(f"reading {len(options.files)} files"):
            export = read_export(options.files, recipe)
        if not (ask and export.log.questions):
            return export
        print_tables(export_tables(export, None, questions=False))
        for question in export.log.questions.values():
            recipe = _answer(question, recipe)


def _recipe(options: argparse.Namespace) -> Recipe:
    """The recipe of the file, with the options in place of its values."""
    from clearwatt.imports import Recipe, read_recipe
    from clearwatt.imports.recipe import recipe_from

    recipe = Recipe() if options.recipe is None else read_recipe(options.recipe)
    keys = {each.name for each in fields(Recipe)}
    told: dict[str, Any] = {}
    for option, value in vars(options).items():
        key = _KEYS.get(option, option)
        if key in keys and value not in (None, []):
            told[key] = {**recipe.names, **dict(value)} if key == "names" else value
    return recipe_from({**asdict(recipe), **told}, where="options")


def _answer(question: Question, recipe: Recipe) -> Recipe:
    """Ask until the answer is one that the recipe accepts."""
    print_lines(["", *question_lines(question)])
    while True:
        sys.stdout.write(f"{question.option}: ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            raise DataError(f"no answer; give {question.option}")
        try:
            return _with_answer(question, line.strip(), recipe)
        except ConfigurationError as error:
            print_lines([str(error)])


def _with_answer(question: Question, text: str, recipe: Recipe) -> Recipe:
    from clearwatt.imports.local_time import zone_of
    from clearwatt.imports.recipe import recipe_from

    if question.key in {"decimal", "thousands"}:
        text = _MARKS.get(text, text)
    if question.choices and text not in question.choices:
        names = ", ".join(choice_name(question, each) for each in question.choices)
        raise ConfigurationError(f"{text!r} is none of {names}")
    if question.key == "timezone":
        zone_of(text)
    answer: object = text
    if question.key in {"time_columns", "name_columns", "bad_status"}:
        answer = [text]
    elif question.key == "separator":
        answer = _parse_separator(text)
    return recipe_from({**asdict(recipe), question.key: answer}, where=question.option)


def _open_points(export: Export) -> str:
    """One sentence about everything that keeps the import from being written."""
    questions = [f"{each.text} ({each.option})" for each in export.log.questions.values()]
    options = [each.option for each in export.log.questions.values()]
    faults = [
        fault.message
        for fault in export.log.fatal
        if not any(option in fault.wrong for option in options)
    ]
    first = "; ".join([*questions, *faults])
    count = len(questions) + len(faults)
    return (
        f"nothing was written, {count} {'point is' if count == 1 else 'points are'} open: {first}"
    )


def _closing_lines(options: argparse.Namespace, plan: ImportedFolder | None) -> list[str]:
    """What was written, and what is missing for forecasts."""
    lines = [f"the recipe is in {options.save_recipe}"] if options.save_recipe else []
    if plan is None or options.dry_run:
        return [*lines, "nothing was written (--dry-run)"]
    lines.append(f"the data set is in {options.out}; correct kinds and capacities in entities.csv")
    if missing := plan.zones_without_weather:
        zones = ", ".join(missing)
        return [
            *lines,
            f"no weather yet for zone {zones}: benchmark, replay and forecasts need a file "
            f"{options.out}/weather.csv or weather.parquet with columns {missing[0]}__<variable>; "
            f"'clearwatt weather fetch {options.out} --coordinates LAT,LON' gets one",
        ]
    return [*lines, f"next: clearwatt data check {options.out}"]


def _parse_separator(text: str) -> str:
    from clearwatt.imports.recipe import SEPARATORS

    mark = SEPARATORS.get(text, "\t" if text == "\\t" else text)
    if len(mark) != 1:
        names = ", ".join(SEPARATORS)
        raise argparse.ArgumentTypeError(f"{text!r} is neither one character nor one of {names}")
    return mark


def _parse_mark(text: str) -> str:
    mark = _MARKS.get(text, text)
    if mark not in _MARKS.values():
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(_MARKS)}")
    return mark


def _parse_rename(text: str) -> tuple[str, str]:
    source, mark, entity = text.rpartition("=")
    if not (source and mark and entity):
        raise argparse.ArgumentTypeError(f"{text!r} is not METER=ENTITY, as Wert=park-7 is")
    return source, entity
