"""The competition as users of the command meet it."""

import json

import pytest
from tests.benchmark.competition.wind_task import skip_without_wheel

from clearwatt.cli import main


def command(*options, data="gefcom2012-wind"):
    return main(["benchmark", "--data", data, "--protocol", "competition", *options])


def test_the_figures_are_printed_and_written(tmp_path, capsys):
    skip_without_wheel()
    assert command("--peers", "last-value", "--json", "--out", str(tmp_path / "out")) == 0
    printed = capsys.readouterr()
    board = json.loads(printed.out)
    assert board == json.loads((tmp_path / "out" / "competition.json").read_text())
    assert {row["peer"]: round(row["rmse"], 4) for row in board["rows"]} == {
        "organisers": 0.3537,
        "last-value": 0.3537,
    }
    assert "last-value: 156 of 156 done" in printed.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--peers", "prophet"], "no peer 'prophet'"),
        (["--entities", "wp1"], "--entities does not go with"),
        (["--without", "wp1"], "--without does not go with"),
        (["--delay", "12"], "--delay does not go with"),
        (["--seed", "-1"], "seed is -1"),
    ],
)
def test_mistakes_are_told_in_one_sentence(capsys, options, says):
    assert command(*options) == 2
    assert says in capsys.readouterr().err


def test_other_data_have_no_competition(capsys):
    assert command(data="gefcom2012-load") == 2
    assert "that of gefcom2012-wind" in capsys.readouterr().err
