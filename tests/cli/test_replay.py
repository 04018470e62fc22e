"""Wrong options of a replay are refused before anything is sent."""

import pytest

from clearwatt.cli.main import main


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (["--speed", "fast"], "neither a number above 0 nor 'max'"),
        (["--speed", "0"], "neither a number above 0 nor 'max'"),
        (["--set", "alpha"], "is not KEY=VALUE"),
    ],
)
def test_an_option_that_cannot_be_read_is_refused(option, why, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["replay", "simulated", "--to", "http://127.0.0.1:9", *option])
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "why"),
    [(["--set", "alhpa=1"], "alhpa"), (["--duplicate-share", "2"], "share of duplicates")],
)
def test_a_value_that_makes_no_sense_is_refused(option, why, capsys):
    assert main(["replay", "simulated", "--to", "http://127.0.0.1:9", *option]) == 2
    assert why in capsys.readouterr().err
