"""``clearwatt benchmark --leads``: error against lead."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from clearwatt.cli.benchmark_options import benchmark_from, require_out
from clearwatt.cli.options import DELAY
from clearwatt.cli.printing import json_text, print_json, print_lines, print_tables, progress
from clearwatt.cli.progress import show_progress
from clearwatt.errors import ConfigurationError

if TYPE_CHECKING:
    import pandas as pd


def run_benchmark_by_lead(options: argparse.Namespace) -> None:
    """Run a benchmark at several leads, and print the errors by lead."""
    from clearwatt.benchmark.lead_page import PAGE, write_lead_page
    from clearwatt.benchmark.lead_tables import lead_tables
    from clearwatt.benchmark.leads import LeadLeaderboard, run_leads
    from clearwatt.benchmark.peers import LEAD_PEERS
    from clearwatt.benchmark.tables import skipped_lines
    from clearwatt.compute import executor
    from clearwatt.data import load_dataset
    from clearwatt.files import write_text_atomically
    from clearwatt.report.tables import markdown_table, terminal_table

    require_out(options)
    leads = _leads(options)
    benchmark = benchmark_from(options, default=LEAD_PEERS)
    with progress(f"loading {options.data}"):
        dataset = load_dataset(options.data)
    with executor(
        options.executor, workers=options.workers, address=options.ray_address
    ) as compute:
        steps = run_leads(benchmark, dataset, options.out, leads, compute=compute)
        show_progress(steps, compute.workers)
    board = LeadLeaderboard.read(options.out, leads)
    write_text_atomically(options.out / "leads.json", json_text(board.to_dict()))
    write_lead_page(board, options.out / PAGE)
    tables = lead_tables(board)
    if options.json:
        print_json(board.to_dict())
    elif options.markdown:
        print_lines(f"**{each.title}**\n\n{markdown_table(each)}\n" for each in tables)
    else:
        print_tables([terminal_table(each) for each in tables])
        print_lines([*skipped_lines(board.first.skipped), f"the page is {options.out / PAGE}"])


def _leads(options: argparse.Namespace) -> list[pd.Timedelta]:
    """The leads, ascending."""
    import pandas as pd

    if options.delay != DELAY:
        raise ConfigurationError("--leads and --delay exclude each other; leave one out")
    for lead in options.leads:
        if not (math.isfinite(lead) and lead > 0):
            raise ConfigurationError(f"--leads has {lead}; give hours, more than 0")
    return [pd.Timedelta(hours=lead) for lead in sorted(set(options.leads))]
