"""``clearwatt benchmark --protocol competition``: the wind track of GEFCom2012."""

from __future__ import annotations

import argparse

from clearwatt.cli.options import DELAY
from clearwatt.cli.printing import (
    json_text,
    print_json,
    print_lines,
    print_tables,
    progress,
)
from clearwatt.cli.progress import show_progress
from clearwatt.errors import ConfigurationError


def run_competition(options: argparse.Namespace) -> None:
    """Run the competition, and print the errors of all peers."""
    from clearwatt.benchmark.competition.board import competition_table
    from clearwatt.benchmark.competition.peers import choose_competition_peers
    from clearwatt.benchmark.competition.run import CompetitionRun
    from clearwatt.benchmark.tables import skipped_lines
    from clearwatt.data.wind_competition import NAME, load_wind_competition
    from clearwatt.files import write_text_atomically
    from clearwatt.report.tables import markdown_table, terminal_table

    _refuse_for_competition(options, NAME)
    peers = choose_competition_peers(options.peers)
    with progress(f"loading {NAME}"):
        competition = load_wind_competition()
    run = CompetitionRun(competition, peers, seed=options.seed)
    show_progress(run.steps(), workers=1)
    board = run.board
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        write_text_atomically(options.out / "competition.json", json_text(board.to_dict()))
    if options.json:
        print_json(board.to_dict())
    elif options.markdown:
        print_lines([markdown_table(competition_table(board))])
    else:
        print_tables([terminal_table(competition_table(board))])
        print_lines(skipped_lines(board.skipped))


def _refuse_for_competition(options: argparse.Namespace, name: str) -> None:
    """Raise for options that the competition leaves no choice of."""
    if options.data != name:
        raise ConfigurationError(
            f"--data is {options.data}; the competition's protocol is that of {name}"
        )
    if options.seed < 0:
        raise ConfigurationError(f"seed is {options.seed}; it must be 0 or more")
    fixed = {
        "--entities": options.entities is not None,
        "--without": options.without is not None,
        "--delay": options.delay != DELAY,
        "--leads": options.leads is not None,
        "--instances": options.instances is not None,
        "--autoencoder": options.autoencoder is not None,
        "--predictor": options.predictor is not None,
    }
    given = [option for option, chosen in fixed.items() if chosen]
    if given:
        raise ConfigurationError(
            f"{given[0]} does not go with --protocol competition, where all farms are forecast "
            "with what was measured before each block; leave it out"
        )
