"""The page of a benchmark: everything in one file, nothing that could run."""

import json
import re

import numpy as np
import pytest

from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.page import write_leaderboard_page
from clearwatt.benchmark.peer import Cost
from clearwatt.benchmark.scores import PeerRecord, PhaseScore

ABOUT = {
    "experiment": {
        "delay_hours": 24.0,
        "phases": {"warmup": 10, "updating": 20, "test": 30},
        "seed": 0,
    },
    "data": {
        "name": "<b>grid</b>",
        "start": "2024-01-01T00:00:00+00:00",
        "end": "2024-02-01T00:00:00+00:00",
        "step_minutes": 60.0,
    },
    "versions": {},
    "machine": {},
}


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    daily = tuple(np.linspace(0.1, 0.2, 30).tolist())
    score = PhaseScore(0.4, 0.3, None)
    board = Leaderboard(
        ABOUT,
        (
            PeerRecord(
                "none-held",
                "holds nothing",
                "a<i>",
                "z",
                score,
                score,
                Cost(0.0, 0, 0),
                daily,
                daily,
            ),
            PeerRecord(
                "much", "holds much", "a<i>", "z", score, score, Cost(9.0, 5, 10**6), daily, daily
            ),
        ),
    )
    path = tmp_path_factory.mktemp("page") / "leaderboard.html"
    write_leaderboard_page(board, path)
    return path.read_text(encoding="utf-8")


def test_both_pictures_have_every_peer_by_its_rank(page):
    figures = json.loads(re.search(r'id="figures">(.*?)</script>', page, re.DOTALL).group(1))
    assert len(figures) == 2
    for figure in figures.values():
        dots = {dot["text"][0]: dot for dot in figure["data"]}
        assert "holds nothing" in dots["1"]["hovertemplate"]
        assert 0 < dots["1"]["x"][0] < dots["2"]["x"][0]  # a logarithmic axis has no place for 0


def test_names_cannot_bring_markup_in(page):
    body = page.split("<script", 1)[0]
    assert "<b>grid</b>" not in body
    assert "&lt;b&gt;grid" in body
    assert "a&lt;i&gt;" in body


def test_nothing_is_fetched(page):
    assert not re.search(r'(src|href)="https?:', page.split("<script", 1)[0])
    assert "default-src 'none'" in page
