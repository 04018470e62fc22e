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
    if options.json:
        print_json(board.to_dict())
    elif options.markdown:
        print_lines([markdown_table(board.table())])
    else:
        print_tables([terminal_table(board.table())])
        print_lines(skipped_lines(next(iter(board.boards.values())).skipped))


def _leads(options: argparse.Namespace) -> list[pd.Timedelta]:
    """The leads, ascending."""
    import pandas as pd

    if options.delay != DELAY:
        raise ConfigurationError("--leads and --delay exclude each other; leave one out")
    for lead in options.leads:
        if not (math.isfinite(lead) and lead > 0):
            raise ConfigurationError(f"--leads has {lead}; give hours, more than 0")
    return [pd.Timedelta(hours=lead) for lead in sorted(set(options.leads))]
