"""``clearwatt benchmark``: ClearWatt compared with other ways to forecast."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clearwatt.cli.benchmark_leads import run_benchmark_by_lead
from clearwatt.cli.benchmark_options import benchmark_from, require_out
from clearwatt.cli.competition import run_competition
from clearwatt.cli.options import (
    DELAY,
    Commands,
    add_executor_options,
    add_json_option,
    add_network_options,
    add_without_option,
)
from clearwatt.cli.printing import (
    print_json,
    print_lines,
    print_tables,
    progress,
)
from clearwatt.cli.progress import show_progress

if TYPE_CHECKING:
    from clearwatt.benchmark.leaderboard import Leaderboard


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "benchmark",
        help="compare with persistence, LightGBM, River and plain networks",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--data", required=True, metavar="DATA", help="'simulated', a catalogue name, or a folder"
    )
    parser.add_argument(
        "--protocol",
        choices=("live", "competition"),
        default="live",
        help="live: the whole stream, with a delay (default); competition: the blocks of 48 hours "
        "of GEFCom2012's wind track",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of results; the live protocol needs one"
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        metavar="PEER",
        help="some of them, or families such as lightgbm; 'quick' for a first look (default all)",
    )
    parser.add_argument(
        "--instances",
        nargs="+",
        metavar="KEY",
        help="CLeaR instances beside the peers: keys, or your own as package.module:MyStrategy",
    )
    add_network_options(parser)
    parser.add_argument("--entities", nargs="+", metavar="ENTITY", help="names, how many, or 'all'")
    add_without_option(parser)
    parser.add_argument(
        "--delay", type=float, default=DELAY, metavar="H", help="hours until a measurement is known"
    )
    parser.add_argument(
        "--leads",
        nargs="+",
        type=float,
        metavar="H",
        help="compare by lead: hours ahead, with measurements known at once",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of everything random")
    parser.add_argument("--markdown", action="store_true", help="print Markdown instead of tables")
    add_executor_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run_benchmark)


def run_benchmark(options: argparse.Namespace) -> None:
    """Run a benchmark, and print the leaderboard."""
    if options.protocol == "competition":
        run_competition(options)
    elif options.leads:
        run_benchmark_by_lead(options)
    else:
        _run_live(options)


def _run_live(options: argparse.Namespace) -> None:
    from clearwatt.benchmark.leaderboard import Leaderboard
    from clearwatt.benchmark.page import PAGE, write_leaderboard_page
    from clearwatt.benchmark.run import run
    from clearwatt.compute import executor
    from clearwatt.data import load_dataset

    require_out(options)
    benchmark = benchmark_from(options)
    with progress(f"loading {options.data}"):
        dataset = load_dataset(options.data)
    with executor(
        options.executor, workers=options.workers, address=options.ray_address
    ) as compute:
        show_progress(run(benchmark, dataset, options.out, compute=compute), compute.workers)
    board = Leaderboard.read(options.out)
    write_leaderboard_page(board, options.out / PAGE)
    _print(board, options)


def _print(board: Leaderboard, options: argparse.Namespace) -> None:
    from clearwatt.benchmark.page import PAGE
    from clearwatt.benchmark.tables import leaderboard_table, skipped_lines
    from clearwatt.report.tables import markdown_table, terminal_table

    if options.json:
        print_json(board.to_dict())
    elif options.markdown:
        print_lines([markdown_table(replace(leaderboard_table(board), best=frozenset()))])
    else:
        print_tables([terminal_table(leaderboard_table(board))])
        print_lines([*skipped_lines(board.skipped), f"the page is {options.out / PAGE}"])
