"""Progress on stderr, where it is no terminal: few lines, and a time left that comes true."""

import re

from clearwatt.cli.progress import RATE, show_progress
from clearwatt.runs.work import Progress


def test_each_stage_is_told_at_its_beginning_and_end(capsys):
    steps = [Progress("autoencoders", done, 50, done * 1e9, 50e9) for done in range(51)] + [
        Progress("updating", 3, 3, 9.0, 9.0)
    ]
    show_progress(steps, workers=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("autoencoders: 0 of 50 done, about")
    assert lines[-2:] == ["autoencoders: 50 of 50 done", "updating: 3 of 3 done"]
    assert len(lines) == 3


def test_before_anything_is_done_the_time_is_guessed_from_the_work(capsys):
    show_progress([Progress("updating", 0, 10, 0.0, 3600 * 2 * RATE)], workers=2)
    assert "about 1:00:00 left" in capsys.readouterr().err


def test_the_own_rate_counts_only_what_this_start_has_done(capsys, monkeypatch):
    now = iter([100.0, 100.0, 100.0, 160.0, 160.0, 160.0, 160.0])
    monkeypatch.setattr("clearwatt.cli.progress.time.monotonic", lambda: next(now))
    steps = [
        Progress("updating", 5, 10, 50.0, 100.0),
        Progress("updating", 6, 10, 60.0, 100.0),
    ]
    show_progress(steps, workers=1)
    shown = re.findall(r"about (\S+) left", capsys.readouterr().err)
    assert shown[-1] == "0:04:00"  # 10 in a minute, 40 to go


def test_the_time_left_is_that_of_the_whole_run(capsys):
    show_progress([Progress("predictors", 0, 1, 0.0, 60 * RATE, 120 * RATE)], workers=1)
    assert "about 0:03:00 left in all" in capsys.readouterr().err
